#include <surety/statistics/tail_sums.h>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace surety::statistics::tail_sums_test {
namespace {

// In closed form: one exponential, one Laplace variable, and the sum of two equal exponentials, whose tail is (1 + t) exp(-t).
TEST(TailSums, AreThoseInClosedForm) {
  for (const double exceeded : {0.2, 0.05, 0.01, 0.001}) {
    const double one = quantile_of_larger(std::array{LargerOfTwo{2, {3, 5}, {0, 0}}}, exceeded);
    EXPECT_GE(one, 2 * (3 - 5 * std::log(exceeded)));
    EXPECT_LE(one, 1.01 * 2 * (3 - 5 * std::log(exceeded)));
    const double two = quantile_of_larger(std::array{LargerOfTwo{1, {0, 1}, {0, 0}}, LargerOfTwo{0.5, {0, 2}, {0, 0}}}, exceeded);
    EXPECT_LE((1 + two) * std::exp(-two), exceeded);
    EXPECT_GE((1 + 0.98 * two) * std::exp(-0.98 * two), exceeded);
    const double larger = quantile_of_larger(std::array{LargerOfTwo{1, {0, 1}, {0, 1}}}, exceeded);
    EXPECT_LE(1 - std::pow(1 - std::exp(-larger), 2), exceeded);
    EXPECT_GE(1 - std::pow(1 - std::exp(-0.98 * larger), 2), exceeded);
    const double laplace = quantile_of_laplace(std::array{LaplaceTerms{4, 1}}, exceeded);
    EXPECT_GE(laplace, -4 * std::log(2 * exceeded));
    EXPECT_LE(laplace, 1.02 * -4 * std::log(2 * exceeded) + 0.01);
  }
}

// By draws: a quantile that is 5 % too small is exceeded more often than stated.
TEST(TailSums, AreExceededAsOftenAsStated) {
  std::mt19937_64 random{3};
  std::exponential_distribution<double> exponential{1};
  const auto laplace = [&] { return exponential(random) - exponential(random); };
  const double t = quantile_of_laplace(std::array{LaplaceTerms{0.5, 6}, LaplaceTerms{1.5, 4}, LaplaceTerms{0, 3}}, 0.025);
  constexpr int runs = 100000;
  int exceeded = 0;
  int nearly = 0;
  for (int run = 0; run < runs; ++run) {
    double sum = 0;
    for (int k = 0; k < 6; ++k) sum += 0.5 * laplace();
    for (int k = 0; k < 4; ++k) sum += 1.5 * laplace();
    exceeded += sum > t ? 1 : 0;
    nearly += sum > 0.95 * t ? 1 : 0;
  }
  EXPECT_LE(exceeded, runs * 0.025 + 5 * std::sqrt(runs * 0.025));
  EXPECT_GE(nearly, runs * 0.025);
}

TEST(TailSums, AreInfiniteWhereAPartIs) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(quantile_of_larger(std::array{LargerOfTwo{1, {0, infinity}, {0, 1}}}, 0.05), infinity);
  EXPECT_EQ(quantile_of_laplace(std::array{LaplaceTerms{0, 5}}, 0.05), 0);
}

}  // namespace
}  // namespace surety::statistics::tail_sums_test
