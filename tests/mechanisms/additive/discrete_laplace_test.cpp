#include <surety/mechanisms/additive/discrete_laplace.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include <surety/accounting/answers/asked.h>
#include <surety/accounting/events/event_kinds.h>

#include <support/additive_checks.h>
#include <support/discrete_laws.h>
#include <support/refusal.h>
#include <support/scripted_bits.h>

namespace surety::mechanisms::discrete_laplace_test {
namespace {

using reference::refusal_of;
using testing::discrete_laplace_law;
using testing::DiscreteLaw;
using testing::enumerated_delta;
using testing::ScriptedBits;

DiscreteLaplace with(double scale, double sensitivity) {
  return DiscreteLaplace{
      {.scale = NoiseScale{scale}, .sensitivity = L1Sensitivity{sensitivity}, .adjacency = Adjacency::add_or_remove_one}};
}

TEST(DiscreteLaplace, KnowsItsEvent) {
  EXPECT_EQ(with(2.5, 3).event(), discrete_laplace(NoiseScale{2.5}, Count{3}, Adjacency::add_or_remove_one));
}

TEST(DiscreteLaplace, EveryScaleIsExact) {
  EXPECT_EQ(with(0.75, 1).noise().scale(), (Rational{3, 4}));
  EXPECT_EQ(with(6, 1).noise().scale(), (Rational{6, 1}));
  EXPECT_EQ(with(0x1p56, 1).noise().scale(), (Rational{std::uint64_t{1} << 56, 1}));
  EXPECT_EQ(with(0x1p-10, 1).noise().scale(), (Rational{1, 1024}));
  EXPECT_EQ(with(std::nextafter(0x1p-10, 1), 1).noise().scale(), (Rational{(std::uint64_t{1} << 52) + 1, std::uint64_t{1} << 62}));
}

RC_GTEST_PROP(DiscreteLaplace, TheScaleOfTheNoiseIsThatOfTheEvent, ()) {
  const double wanted = std::exp(*rc::gen::inRange(-6'900, 38'000) / 1000.0);
  const auto scale = with(wanted, 1).noise().scale();
  // Numerators have at most 53 bits and denominators are powers of two: each of these is exact.
  RC_ASSERT(static_cast<double>(scale.num) / static_cast<double>(scale.den) == wanted);
  RC_ASSERT(scale.num < std::uint64_t{1} << 57 && (scale.den & (scale.den - 1)) == 0);
}

TEST(DiscreteLaplace, RefusesWhatIsOutOfRange) {
  for (const double scale : {0x1p-11, 0x1p57}) {
    EXPECT_TRUE(refusal_of([&] { return with(scale, 1); }).says(ErrorCode::invalid_argument, "integer steps, must be from 2^-10 to 2^56"));
  }
  for (const double sensitivity : {0.5, 1.5, 0x1p54}) {
    EXPECT_TRUE(
        refusal_of([&] { return with(1, sensitivity); }).says(ErrorCode::invalid_argument, "must be a whole number from 1 to 2^53"));
  }
}

// The binding to 2^-63: a release changes its mind where the law that the *event* names has its thresholds.
TEST(DiscreteLaplace, DrawsFromTheLawThatItsEventNames) {
  for (const double scale : {0.4, 1.0, 3.3, 15.0}) {
    const auto mechanism = with(scale, 2);
    const auto law = discrete_laplace_law(std::get<Event::DiscreteLaplace>(mechanism.event().node()).scale.value());
    SCOPED_TRACE(scale);
    for (const std::int64_t j : {1, 2, 3}) expect_threshold(mechanism, j, testing::binary_digits(law.beyond(j), 63));
  }
}

double claimed(const DiscreteLaplace& mechanism, double epsilon) {
  return accounting::delta(accounting::Pld{}, mechanism.event(), Epsilon{epsilon}).upper;
}

// What a release costs, from the law's probabilities on neighbouring inputs, against what the accountant says of the event.
TEST(DiscreteLaplace, CostsWhatItsEventSays) {
  for (const auto& [scale, s] : {std::pair{0.8, 1}, {3.0, 1}, {3.3, 2}, {10.0, 7}}) {
    const auto mechanism = with(scale, s);
    const auto law = discrete_laplace_law(scale);
    for (const double epsilon : {0.0, 0.1, 0.25, 0.5}) {
      double worst = 0;
      for (std::int64_t shift = 1; shift <= s; ++shift) worst = std::max(worst, enumerated_delta(law, shift, epsilon));
      if (worst < 1e-9) continue;
      EXPECT_GE(claimed(mechanism, epsilon), worst) << scale << " " << s << " at " << epsilon;
      EXPECT_LE(claimed(mechanism, epsilon), 1.01 * worst) << scale << " " << s << " at " << epsilon;
      EXPECT_GT(claimed(with(scale, s + 1), epsilon), 1.02 * worst);
      EXPECT_LT(claimed(with(1.05 * scale, s), epsilon), worst);
    }
  }
}

/// Probabilities of the losses, in units of 1 / b, of a move by `shift`.
std::map<std::int64_t, double> losses(const DiscreteLaw& law, std::int64_t shift) {
  std::map<std::int64_t, double> result;
  for (std::int64_t k = -law.reach(); k <= law.reach() + shift; ++k) {
    result[std::abs(k) - std::abs(k - shift)] += law(k - shift).nearest_double();
  }
  return result;
}

using Losses = std::map<std::int64_t, double>;

Losses losses_of_moves(const DiscreteLaw& law, const std::vector<std::int64_t>& moves) {
  Losses composed{{0, 1.0}};
  for (const auto move : moves) {
    Losses next;
    for (const auto& [b, q] : losses(law, move)) {
      for (const auto& [a, p] : composed) next[a + b] += p * q;
    }
    composed = next;
  }
  return composed;
}

/// delta at an epsilon in units of 1 / scale.
double delta_of(const Losses& losses, double scale, double epsilon) {
  double delta = 0;
  for (const auto& [loss, p] : losses) delta += p * std::max(0.0, -std::expm1((epsilon - static_cast<double>(loss)) / scale));
  return delta;
}

// docs/proofs/samplers.md#discrete-laplace-vectors: to move one coordinate by all of the sensitivity is the worst.
TEST(DiscreteLaplace, MovingSeveralCoordinatesCostsNoMore) {
  for (const double scale : {0.3, 1.0, 4.0, 25.0}) {
    const auto law = discrete_laplace_law(scale);
    for (const std::int64_t s : {2, 3, 5, 8}) {
      const auto alone = losses_of_moves(law, {s});
      for (std::int64_t a = 1; 2 * a <= s; ++a) {
        for (const auto& moves : {std::vector{a, s - a}, std::vector{a, (s - a) / 2, s - a - (s - a) / 2}}) {
          const auto shared = losses_of_moves(law, moves);
          for (double epsilon = -static_cast<double>(s); epsilon <= static_cast<double>(s); epsilon += 0.25) {
            ASSERT_LE(delta_of(shared, scale, epsilon), delta_of(alone, scale, epsilon) + 1e-13)
                << scale << " " << s << " " << a << " at " << epsilon << " / b";
          }
        }
      }
    }
    // The test can fail: a sensitivity of one less does not cover the moves.
    EXPECT_EQ(delta_of(losses_of_moves(law, {2}), scale, 2), 0);
    EXPECT_GT(delta_of(losses_of_moves(law, {1, 2}), scale, 2), 1e-5);
  }
}

TEST(DiscreteLaplace, ReleasesTheQueryPlusItsNoise) { expect_the_query_plus_its_noise(with(300, 1)); }

TEST(DiscreteLaplace, ClampsAsAFunctionOfTheSum) {
  const auto mechanism = with(1, 1);
  const auto release = [&](std::int64_t query) {
    ScriptedBits bits{{std::uint64_t{1} << 62, 0}};  // T = 1/4, positive: 1
    return mechanism.release(query, bits);
  };
  EXPECT_EQ(release(5), 6);
  EXPECT_EQ(release(largest_sum - 2), largest_sum - 1);
  EXPECT_EQ(release(std::numeric_limits<std::int64_t>::max()), largest_sum - 1);
  EXPECT_EQ(release(std::numeric_limits<std::int64_t>::min()), -largest_sum + 1);
}

}  // namespace
}  // namespace surety::mechanisms::discrete_laplace_test
