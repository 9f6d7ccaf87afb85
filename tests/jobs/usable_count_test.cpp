// What a count of usable records is told to reach by its noise.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include <surety/jobs/algorithms/usable_count.h>

using namespace surety::jobs;

namespace {

TEST(UsableCount, KnowsTheTailOfSumsOfLaplaceNoise) {
  for (const double t : {0.0, 0.5, 3.0, 20.0}) {
    EXPECT_NEAR(laplace_tail(1, t), std::exp(-t) / 2, 1e-15);
    EXPECT_NEAR(laplace_tail(2, t), std::exp(-t) * (2 + t) / 4, 1e-15);
    EXPECT_NEAR(laplace_tail(3, t), std::exp(-t) * (8 + 5 * t + t * t) / 16, 1e-15);
  }
  std::mt19937_64 bits{1};
  std::exponential_distribution<double> exponential;
  constexpr int draws = 200'000;
  for (const std::uint64_t parts : {4, 16}) {
    const double t = 2 * std::sqrt(static_cast<double>(parts));
    int above = 0;
    for (int draw = 0; draw < draws; ++draw) {
      double sum = 0;
      for (std::uint64_t k = 0; k < parts; ++k) sum += exponential(bits) - exponential(bits);
      if (sum > t) ++above;
    }
    const double tail = laplace_tail(parts, t);
    EXPECT_NEAR(above / static_cast<double>(draws), tail, 5 * std::sqrt(tail / draws)) << parts;
  }
}

TEST(UsableCount, ReachesAsFarAsTheNoiseDoesOnceInAThousand) {
  EXPECT_NEAR(laplace_reach(1), std::log(500), 1e-3);
  for (const std::uint64_t parts : {1, 2, 7, 256}) {
    const double reach = laplace_reach(parts);
    EXPECT_LE(laplace_tail(parts, reach), 0.001) << parts;
    EXPECT_GT(laplace_tail(parts, 0.999 * reach), 0.001) << parts;
  }
  // Beyond it a bound: above the quantile of a normal number of the same variance, and within a third of it.
  for (const std::uint64_t parts : {257, 10'000}) {
    const double normal = 3.0902 * std::sqrt(2 * static_cast<double>(parts));
    EXPECT_GT(laplace_reach(parts), normal);
    EXPECT_LT(laplace_reach(parts), 1.3 * normal);
  }
}

}  // namespace
