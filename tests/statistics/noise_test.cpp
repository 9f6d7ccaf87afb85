#include <surety/statistics/noise.h>

#include <gtest/gtest.h>

#include <cmath>

#include <support/every_statistic.h>
#include <support/refusal.h>

namespace surety::statistics::noise_test {

using namespace data;

namespace {

TEST(Quantile, IsTheSmallestMultipleOfTheStepThatSuffices) {
  const auto count = example({.of = CountOf{}, .adjacency = Adjacency::add_or_remove_one});
  const auto mean = example({.of = MeanOf{"x", {-3, 4}}, .adjacency = Adjacency::replace_one}, 7);
  for (const StatisticSum* sum : {&count, &mean}) {
    const double step = sum->grid().step();
    for (const double scale : {0.01, 0.4, 3.0, 1234.5}) {
      for (const auto& noise : {laplace(*sum, scale), gaussian(*sum, scale)}) {
        for (const double exceeded : {0.5, 0.05, 1e-9}) {
          const double t = quantile(noise, exceeded);
          EXPECT_EQ(std::fmod(t, step), 0);
          EXPECT_LE(exceeds(noise, t, step), exceeded * (1 + 1e-12));
          if (t > 0) {
            EXPECT_GT(exceeds(noise, t - step, step), exceeded * (1 - 1e-12)) << scale << " " << exceeded;
          }
        }
      }
    }
  }
}

TEST(Noise, IsItsEventAndNoOther) {
  auto sum = example({.of = HistogramOf{"x", Bins{{0, 1}, 3}}, .adjacency = Adjacency::replace_one});
  EXPECT_EQ(describe(event_of(laplace(sum, 0.75))), "laplace(0.75)");
  EXPECT_EQ(describe(event_of(gaussian(sum, 4))), "gaussian(4)");
  EXPECT_NEAR(standard_deviation(laplace(sum, 0.75)), 0.75 * 2 * std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(standard_deviation(gaussian(sum, 4)), 4 * std::sqrt(2.0), 1e-12);
  EXPECT_TRUE(
      refuses([&] { return noise_for(sum, surety::pure(Epsilon{1}, Adjacency::replace_one)); }, ErrorCode::unsupported, {"pure(1)"}));
}

}  // namespace
}  // namespace surety::statistics::noise_test
