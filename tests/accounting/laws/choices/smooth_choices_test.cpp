// A Gaussian release above choices, against strategies and against one choice on top of a Gaussian release, by formulas that are no header's.
#include <surety/accounting/laws/choices/smooth_choices.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <support/choice_strategies.h>

namespace surety::accounting::smooth_choices_test {
namespace {

using reference::played;

/// The curve of N(mu, 1) against N(0, 1), mu^2 = v.
long double gaussian(long double v, long double x) {
  const long double mu = std::sqrt(v);
  const auto tail = [](long double z) { return std::erfc(z * 0.707106781186547524400844362104849039L) / 2; };
  return tail(x / mu - mu / 2) - std::exp(x) * tail(x / mu + mu / 2);
}
long double variance(const ChoiceCounts& counts) {
  const auto multiplier = gaussian_above_choices(counts);
  return multiplier ? 1 / (static_cast<long double>(*multiplier) * static_cast<long double>(*multiplier)) : -1;
}
/// What one choice adds to a variance v, by the page, and with another number in the place of 6.
long double added(long double range, long double most, long double start, long double v, long double bend = 6) {
  const long double a = range * range / 4;
  const long double largest = most * most / 4;
  const long double first = largest + largest * largest / (6 * start);
  const long double u = first + first * first / 8;
  const long double larger = 1 + largest / (6 * v);
  return a + a * a * (1 / (bend * v) + std::exp(u / 8) * larger * larger * std::sqrt(1 + u / v) / 16);
}

TEST(SmoothChoices, CostNoLessThanAnyStrategy) {
  for (const double range : {0.1, 1.0, 1.9}) {
    const auto v = variance({{range, 1}});
    for (long double x = -1; x <= 1; x += 0.125L) EXPECT_GE(gaussian(v, x * range), played({range}, x * range, 400)) << range << " " << x;
  }
  const auto several = variance({{0.4, 1}, {1.0, 1}});
  const auto alike = variance({{0.5, 3}});
  for (long double x = -1; x <= 1.4L; x += 0.2L) {
    EXPECT_GE(gaussian(several, x), std::max(played({1, 0.4L}, x, 60), played({0.4L, 1}, x, 60))) << x;
    EXPECT_GE(gaussian(alike, x), played({0.5L, 0.5L, 0.5L}, x, 20)) << x;
  }
  // Without what there is before the first choice one would escape.
  EXPECT_LT(gaussian(variance({{1.0, 1}}) - 0.15L, 0), played({1}, 0, 400));
}

// One choice on top of a Gaussian release is below one of the variance that the page says, and of little less it is not.
TEST(SmoothChoices, AddOneAtATime) {
  const auto escape = [](long double range, long double v, long double more) {
    long double worst = -1;
    for (long double t = 0; t <= range; t += range / 32) {
      const long double p = (std::exp(range) - std::exp(t)) / std::expm1(range);
      for (long double x = -5 * std::sqrt(v); x <= 6 * std::sqrt(v); x += std::sqrt(v) / 8) {
        const long double both = p * gaussian(v, x - t) + (1 - p) * gaussian(v, x - t + range);
        worst = std::max(worst, both / gaussian(v + more, x) - 1);
      }
    }
    return worst;
  };
  for (const long double range : {0.05L, 0.7L, 1.3L}) {
    for (const long double share : {0.6L, 1.0L, 4.0L, 40.0L}) {
      const long double start = 0.6L * range * range / 4;
      const long double v = share * range * range / 4;
      EXPECT_LE(escape(range, v, added(range, range, start, v)), 1e-15L) << range << " " << share;
    }
  }
  const long double v = 4 * 0.05L * 0.05L / 4;
  EXPECT_GT(escape(0.05L, v, added(0.05L, 0.05L, 0.6L * 0.05L * 0.05L / 4, v, 12)), 1e-4L);
}

TEST(SmoothChoices, SumUpFromTheLargestOn) {
  const std::vector<long double> ranges{0.8L, 0.8L, 0.5L, 0.1L};
  const long double start = 0.6L * 0.16L;
  long double sum = start;
  long double before = start;
  for (const auto range : ranges) {
    sum += added(range, 0.8L, start, before);
    before += range * range / 4;
  }
  EXPECT_NEAR(static_cast<double>(variance({{0.8, 2}, {0.5, 1}, {0.1, 1}}) / sum), 1, 1e-13);
  // Many of one range cost about a quarter of their squares.
  const auto many = static_cast<double>(variance({{0.001, 100'000'000}}));
  EXPECT_GT(many, 25);
  EXPECT_LT(many, 25.01);
  EXPECT_FALSE(gaussian_above_choices({{3.0, 100}}));
}

}  // namespace
}  // namespace surety::accounting::smooth_choices_test
