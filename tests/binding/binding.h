// Whether what a mechanism says it costs is what it costs: the accountants' answers for its event against the exact divergence of what it
// releases on neighbouring inputs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <ostream>
#include <vector>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/event.h>

#include <support/gaussian_truth.h>
#include <support/outcomes.h>
#include <support/scripted_bits.h>

namespace surety::testing {

using reference::Neighbours;
using reference::Real;
using reference::shifted;
using reference::SymmetricLaw;

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr auto all_adjacencies = {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out};

/// Enough that differences of distribution functions keep 25 digits where their value is above 1e-40.
inline constexpr mpfr_prec_t law_bits = 256;

// ---- Laws, from their definitions -----------------------------------------------------------------------------------------------

/// The nearest integer to sigma N.
inline SymmetricLaw rounded_gaussian_law(double sigma) {
  return {[sigma](std::int64_t k) {
            return reference::normal_tail((Real{static_cast<double>(k), law_bits} - 0.5) / sigma);
          },
          static_cast<std::int64_t>(13 * sigma) + 2};
}

/// The nearest integer to b L. Beyond both queries every result has the same loss, so nothing further out is needed.
inline SymmetricLaw rounded_laplace_law(double b) {
  return {[b](std::int64_t k) { return 0.5 * exp((0.5 - Real{static_cast<double>(k), law_bits}) / b); }, 2};
}

// ---- The comparison -------------------------------------------------------------------------------------------------------------

/// The least and the largest quotient of what the accountants claim and what is true.
struct Quotients {
  double least = std::numeric_limits<double>::infinity();
  double largest = 0;

  void take(double claimed, const Real& truth) {
    if (!(truth > 1e-40)) return;
    if (std::isinf(claimed)) return take(Real{claimed, law_bits});
    // The truth itself is computed to some 1e-35 of its value.
    take(Real{claimed, law_bits} / truth + 1e-25);
  }
  friend std::ostream& operator<<(std::ostream& out, const Quotients& q) {
    return out << "claimed / true from " << q.least << " to " << q.largest;
  }

 private:
  void take(const Real& quotient) {
    least = std::min(least, quotient.rounded_down());
    largest = std::max(largest, quotient.rounded_up());
  }
};

struct Points {
  std::vector<double> epsilons;
  std::vector<double> deltas;
};
inline const Points usual_points{{0, 0.1, 0.5, 1, 2}, {1e-2, 1e-5, 1e-9}};
/// For events whose losses are bounded.
inline const Points pure_points{{0, 0.1, 0.5, 1}, {0, 1e-9, 1e-5, 1e-2}};

/// The dearest of the pairs of neighbours at each point, against the event.
inline Quotients quotients(const Event& event, const std::vector<Neighbours>& pairs, const Points& points = usual_points) {
  Quotients result;
  const auto dearest = [&](auto cost) {
    Real most{0, law_bits};
    for (const auto& pair : pairs) {
      const Real value = cost(pair);
      if (value > most) most = value;
    }
    return most;
  };
  for (const double epsilon : points.epsilons) {
    const Real truth = dearest([&](const Neighbours& pair) { return pair.delta(epsilon); });
    result.take(accounting::best_delta(event, Epsilon{epsilon}).value.upper, truth);
  }
  for (const double delta : points.deltas) {
    const Real truth = dearest([&](const Neighbours& pair) { return pair.epsilon(delta); });
    result.take(accounting::best_epsilon(event, Delta{delta}).value.upper, truth);
  }
  return result;
}

inline Quotients quotients(const Event& event, const Neighbours& pair, const Points& points = usual_points) {
  return quotients(event, std::vector{pair}, points);
}

/// The event never says less than the truth, and at most `excess` more.
inline ::testing::AssertionResult binds(const Event& event, const std::vector<Neighbours>& pairs, const Points& points = usual_points,
                                        double excess = 0.01) {
  const auto found = quotients(event, pairs, points);
  const bool holds = found.least >= 1 && found.largest <= 1 + excess;
  return (holds ? ::testing::AssertionSuccess() : ::testing::AssertionFailure()) << describe(event) << ": " << found;
}
inline ::testing::AssertionResult binds(const Event& event, const Neighbours& pair, const Points& points = usual_points,
                                        double excess = 0.01) {
  return binds(event, std::vector{pair}, points, excess);
}

/// What a planted bug does: it claims less than the truth somewhere.
inline ::testing::AssertionResult claims_too_little(const Event& event, const std::vector<Neighbours>& pairs,
                                                    const Points& points = usual_points) {
  const auto found = quotients(event, pairs, points);
  return (found.least < 0.99 ? ::testing::AssertionSuccess() : ::testing::AssertionFailure()) << describe(event) << ": " << found;
}
inline ::testing::AssertionResult claims_too_little(const Event& event, const Neighbours& pair, const Points& points = usual_points) {
  return claims_too_little(event, std::vector{pair}, points);
}

// ---- What the sampler draws, from its outside -----------------------------------------------------------------------------------

/// The word at which `is_above` turns from false to true, 2^64 for none, as a fraction of 2^64; to the last bit, or to so many bits of the
/// smaller of it and its distance from 1, which is quicker. \pre false comes before true.
template <class Predicate>
Real turning_point(Predicate is_above, int bits = 64) {
  std::uint64_t low = 0;
  std::uint64_t high = ~std::uint64_t{0};
  if (!is_above(high)) return Real{1, law_bits};
  while (low < high && (bits >= 64 || high - low > std::min(low, ~high) >> bits)) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (is_above(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return (Real{static_cast<double>(low >> 32), law_bits} * 0x1p32 + static_cast<double>(low & 0xffffffff)) / 0x1p64;
}

/// Whether a release of the query 0 on the grid of whole numbers draws the law: P(|noise| >= j) = 2 P(noise >= j) is where the word that it
/// draws turns from one result to the next, to 2^-60, as long as it is above 2^-30. `release(word, bits)` is the release with that as its
/// deciding word, which decreases in magnitude as the word grows.
template <class Release>
::testing::AssertionResult draws(Release release, const SymmetricLaw& law) {
  for (std::int64_t j = 1;; ++j) {
    const Real expected = 2.0 * law.at_least(j);
    if (expected < 0x1p-30) return ::testing::AssertionSuccess();
    const Real found = turning_point([&](std::uint64_t word) { return std::abs(release(word)) < static_cast<double>(j); });
    const Real error = found - expected;
    if (error > 0x1p-60 || error < -0x1p-60) {
      return ::testing::AssertionFailure() << "P(|noise| >= " << j << ") is " << found << ", not " << expected;
    }
  }
}

/// Words to go on with where one is not enough.
inline ScriptedBits words(std::vector<std::uint64_t> first) {
  for (int i = 0; i < 8; ++i) first.push_back(0x8123456789abcdef * (2 * static_cast<std::uint64_t>(i) + 1));
  return ScriptedBits{std::move(first)};
}

/// The tape of one trial of a narrow isochronous sampler, and of a block of trials of which it is the first. Its bits are T's digits, 63 of them, and
/// in bit 0 the sign. Further words follow.
inline ScriptedBits tape_of_one(std::uint64_t word) { return words(one_trial(word >> 1, (word & 1) != 0)); }
inline ScriptedBits tape_of_block(std::uint64_t word) {
  const auto trial = one_trial(word >> 1, (word & 1) != 0);
  return words(block_of_trials({trial[0], std::uint64_t{1} << 63}, trial[1]));
}

}  // namespace surety::testing
