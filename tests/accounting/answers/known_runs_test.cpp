// What a secret number of runs is worth: docs/trust.md#time prints these numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/event_kinds.h>

namespace surety::accounting::known_runs_test {
namespace {

constexpr double mean = 10;

double log_density(double x) { return -x * x / 2 - std::log(2 * std::numbers::pi) / 2; }
/// log P(X > x), also where that is far below what erfc can say.
double log_above(double x) {
  return x < 30 ? std::log(std::erfc(x / std::numbers::sqrt2) / 2) : -x * x / 2 - std::log(x * std::sqrt(2 * std::numbers::pi));
}

/// The divergence at e^epsilon of (K, the least of K values): each value is from N(shift, 1) against N(0, 1), K is geometric. A sum over a grid of
/// steps 0.01, whose terms are smooth but for one corner each.
double delta_with_known_runs(double epsilon, double shift) {
  constexpr double step = 0.01;
  double sum = 0;
  double total = 0;
  for (int k = 1; k <= 350; ++k) {
    const double weight = std::pow(1 - 1 / mean, k - 1) / mean;
    const auto log_least = [&](double x) { return std::log(k) + log_density(x) + (k - 1) * log_above(x); };
    for (double x = -12; x <= 14; x += step) {
      const double p = log_least(x - shift);
      const double q = log_least(x) + epsilon;
      total += weight * std::exp(p) * step;
      if (p > q) sum += weight * std::exp(p) * -std::expm1(q - p) * step;
    }
  }
  EXPECT_NEAR(total, 1, 1e-9) << "it is a law";
  return sum;
}

TEST(KnownRuns, CostFarMoreThanSecretOnes) {
  const auto search = best_of(Runs{RunsLaw::geometric, mean}, gaussian(NoiseMultiplier{1}, Adjacency::add_or_remove_one));
  const auto secret = best_epsilon(search, Delta{1e-6}).value;
  EXPECT_GT(secret.lower, 6.895);
  EXPECT_LT(secret.upper, 6.905);
  EXPECT_NEAR(delta_with_known_runs(16, 1), 2.87e-4, 5e-7);
  EXPECT_GT(delta_with_known_runs(27, 1), 1.01e-6);
  EXPECT_LT(delta_with_known_runs(28, 1), 1e-6) << "a tighter number could be printed";
  EXPECT_LT(delta_with_known_runs(16, -1), 1e-30) << "it is one direction that tells";
}

}  // namespace
}  // namespace surety::accounting::known_runs_test
