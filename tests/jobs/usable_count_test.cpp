// The noise of the count of usable records, and when records are counted.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/jobs/algorithms/usable_count.h>

using namespace surety;
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
    EXPECT_LE(laplace_tail(parts, 2 * reach), 2e-6 * (1 + 1e-9)) << "with which all usable records stop a training";
  }
  // Beyond it a bound: above the quantile of a normal number of the same variance, and within a third of it.
  for (const std::uint64_t parts : {257, 10'000}) {
    const double normal = 3.0902 * std::sqrt(2 * static_cast<double>(parts));
    EXPECT_GT(laplace_reach(parts), normal);
    EXPECT_LT(laplace_reach(parts), 1.3 * normal);
  }
}

TrainPlan plan_of(Adjacency adjacency) { return {.target = {Epsilon{1}, Delta{1e-5}, adjacency}, .source = {}}; }

TEST(UsableCount, IsTakenByDefaultWhereItsNoiseHidesLessThanHalfOfAPublicNumber) {
  const auto is_counted = [](CountNeeds needs, Adjacency adjacency = Adjacency::replace_one, CountPlan own = {}) {
    const auto plan = plan_of(adjacency);
    return UsableCount{own, plan, std::move(needs)}.is_counted();
  };
  EXPECT_TRUE(is_counted({}));
  EXPECT_FALSE(is_counted({.public_records = 230}));
  EXPECT_TRUE(is_counted({.public_records = 231}));
  EXPECT_TRUE(is_counted({.public_records = 230}, Adjacency::replace_one, {.count_records = true}));
  EXPECT_FALSE(is_counted({.public_records = 461, .parts = 4}));
  EXPECT_TRUE(is_counted({.public_records = 462, .parts = 4}));
  EXPECT_FALSE(is_counted({.is_pure = true, .public_records = 1242}));
  EXPECT_TRUE(is_counted({.is_pure = true, .public_records = 1245}));
  EXPECT_FALSE(is_counted({.public_records = 4000}, Adjacency::add_or_remove_one));
  EXPECT_TRUE(is_counted({.public_records = 4000}, Adjacency::add_or_remove_one, {.count_records = true}));
  EXPECT_FALSE(is_counted({}, Adjacency::replace_one, {.no_count_records = true}));
}

TEST(UsableCount, StopsOnlyWhereItsNoiseHidesLessThanHalf) {
  const auto plan = plan_of(Adjacency::replace_one);
  UsableCount count{{}, plan, {}};
  // The noise is beyond 115.3 in one direction with probability .001.
  EXPECT_NO_THROW(count.keep(-1000, 48));
  EXPECT_NO_THROW(count.keep(-1000, 230));
  EXPECT_THROW(count.keep(-1000, 231), Error);
  EXPECT_NO_THROW(count.keep(400, 1000));
  EXPECT_THROW(count.keep(380, 1000), Error);
  EXPECT_THROW(count.keep(0, 231), Error);
}

TEST(UsableCount, MovesByOneAndCostsAHundredth) {
  const auto plan = plan_of(Adjacency::zero_out);
  const UsableCount gaussian_noise{{}, plan, {}};
  const auto& event = std::get<Event::Gaussian>(gaussian_noise.event().value().node());
  EXPECT_NEAR(event.multiplier.value(), 37.30631634815945, 1e-12);
  EXPECT_EQ(gaussian_noise.query(7).sensitivity.value(), 1);
  const auto count = [&](std::uint64_t usable) {
    const auto sum = gaussian_noise.query(usable).sum;
    return static_cast<double>(sum.steps.front()) * sum.grid.step();
  };
  EXPECT_EQ(count(0), 0);
  EXPECT_EQ(count(8), 8);
  const UsableCount pure{{}, plan, {.is_pure = true}};
  EXPECT_NEAR(pure.pure_epsilon(), 0.01, 1e-15);
}

}  // namespace
