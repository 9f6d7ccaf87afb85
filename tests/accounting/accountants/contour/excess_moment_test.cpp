// M - 1 where batches rarely hold the record, by itself and in the answers.
#include <surety/accounting/accountants/contour/contour.h>
#include <surety/accounting/accountants/contour/excess_moment.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include <support/random.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/calibration/solve.h>
#include <surety/accounting/events/event_text.h>

namespace surety::accounting::contour::excess_moment_test {
namespace {

using reference::log_uniform;
using Long = long double;
using Complex = std::complex<Long>;

/// exp(y) - 1 - y.
Complex exponential_less_its_line(Complex y) {
  if (std::abs(y) > 0.5L) return std::exp(y) - Long{1} - y;
  Complex term = y;
  Complex sum = 0;
  for (int n = 2; n < 40; ++n) sum += term *= y / static_cast<Long>(n);
  return sum;
}
/// log(1 + v) - v, v real.
Long logarithm_less_its_line(Long v) {
  if (std::abs(v) > 0.125L) return std::log1p(v) - v;
  Long power = v;
  Long sum = 0;
  for (int n = 2; n < 60; ++n) sum += (power *= -v) / static_cast<Long>(n);
  return sum;
}

struct Truth {
  Complex excess;  // M(s + it) - 1, of the add direction its conjugate
  Long size;       // the sum of the sizes of all terms
};

/// By so many nodes of the real line, in long double, that nothing else is left.
Truth by_definition(const SampledReleases& part, double w, double t) {
  const Long mu = part.mu;
  const Complex power{w, t};
  const Long step = 0.01L / (1 + static_cast<Long>(part.mu * t) / 200);
  const Long high = 15 + std::max<Long>(1, w) * mu;
  Truth truth{0, 0};
  for (Long u = -15 - std::max<Long>(0, -w) * mu; u <= high; u += step) {
    const Long v = static_cast<Long>(part.rate) * std::expm1(mu * u - mu * mu / 2);
    const Complex term = exponential_less_its_line(power * std::log1p(v)) + power * logarithm_less_its_line(v);
    const Long weight = std::exp(-u * u / 2) * step / std::sqrt(2 * std::numbers::pi_v<Long>);
    truth.excess += weight * term;
    truth.size += weight * std::abs(term);
  }
  return truth;
}

struct Case {
  SampledReleases part;
  double w;
  double t;
};
std::vector<Case> random_cases(int count) {
  std::mt19937_64 words{20'268};
  std::vector<Case> cases;
  while (static_cast<int>(cases.size()) < count) {
    Case next{{log_uniform(words, 1e-8, 1e-2), log_uniform(words, 0.3, 2.5), 1}, 0, 0};
    next.w = power(cases.size() % 2 == 0 ? Direction::remove : Direction::add, log_uniform(words, 0.1, 6));
    next.t = cases.size() % 7 == 0 ? 0 : shorten(log_uniform(words, 0.1, 3000), 20);
    if (std::abs(by_definition(next.part, next.w, 0).excess) < 0.1L) cases.push_back(next);
  }
  return cases;
}

TEST(ExcessMoment, IsWithinItsErrors) {
  int rounding_counts = 0;
  int cut_counts = 0;
  for (const auto& [part, w, t] : random_cases(40)) {
    const auto truth = by_definition(part, w, t);
    for (const double digits : {3.0, 60.0}) {
      const auto found = ExcessMoment{part, w, digits, t, 1.5 * t}.at(t);
      const auto off = static_cast<double>(std::abs(Complex{found.excess} - truth.excess));
      const double of_reference = 1e-18 * static_cast<double>(truth.size);
      EXPECT_LE(off, found.rounding + found.cut + of_reference) << part.rate << ' ' << part.mu << ' ' << w << ' ' << t;
      // Shares of the terms, and not of the 1 that they are added to.
      const double allowed = digits > 50 ? 1e-10 * static_cast<double>(truth.size) : infinity;
      EXPECT_LE(found.rounding, allowed) << part.rate << ' ' << w << ' ' << t;
      rounding_counts += digits > 50 && off > found.cut + of_reference;
      cut_counts += digits < 50 && off > found.rounding + of_reference;
    }
  }
  EXPECT_GT(rounding_counts, 30);
  EXPECT_GT(cut_counts, 30);
}

Event rare(const std::string& text) { return parse_event(text, Adjacency::add_or_remove_one); }

struct Known {
  const char* event;
  double delta;
  double least;  // by a fast Fourier transform with linear interpolation, which is within the digits given here
  double most;
};

/// Grids of losses drown in rounding here, and the plain sum for M does, too.
TEST(ExcessMoment, AnswersWhereBatchesRarelyHoldTheRecord) {
  constexpr Known known[] = {{"repeat(1000000, poisson(1e-6, gaussian(0.5)))", 1e-6, 0.05969, 0.05970},
                             {"repeat(100000000, poisson(1e-6, gaussian(0.5)))", 1e-6, 0.3435, 0.3440},
                             {"repeat(100000000, poisson(1e-6, gaussian(0.5)))", 1e-9, 1.44, 1.45},
                             {"repeat(100000, poisson(2e-6, gaussian(0.6)))", 1e-7, 0.01808, 0.01809},
                             {"repeat(1000000, poisson(5e-7, gaussian(0.6)))", 1e-8, 0.0127, 0.0129},
                             {"repeat(10000, poisson(1e-5, gaussian(0.7)))", 1e-7, 0.0168, 0.01683}};
  for (const auto& [text, at, least, most] : known) {
    const auto found = epsilon(Contour{}, rare(text), Delta{at});
    EXPECT_GT(found.lower, least) << text;
    EXPECT_LT(found.upper, most) << text;
    EXPECT_LE(found.width(), 1e-5 * found.upper) << text;
    const auto back = delta(Contour{}, rare(text), Epsilon{found.upper});
    EXPECT_LE(back.lower, at) << text;
    EXPECT_GE(back.upper, at * (1 - 1e-3)) << text;
  }
}

TEST(ExcessMoment, CalibratesRareBatches) {
  const Target target{.epsilon = Epsilon{0.34387}, .delta = Delta{1e-6}, .adjacency = Adjacency::add_or_remove_one};
  const EventOfNumber event{"repeat(100000000, poisson(0.000001, gaussian(z)))", target.adjacency, "z"};
  const auto found = solve(event, target, parameter_of(event), Best{});
  EXPECT_NEAR(found.value, 0.5, 1e-4);
}

}  // namespace
}  // namespace surety::accounting::contour::excess_moment_test
