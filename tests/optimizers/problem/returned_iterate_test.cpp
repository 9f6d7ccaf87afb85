#include <surety/optimizers/problem/returned_iterate.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include <support/refusal.h>

namespace surety::optimizers::returned_iterate_test {
namespace {

/// What is kept of w_0 = (0, 1), w_1 = (1, 2), w_2 = (4, 3), w_3 = (9, 4), w_4 = (16, 5).
std::vector<double> kept(const ReturnedIterate& which) {
  IterateKeeper keeper{which, Count{4}};
  for (int t = 0; t <= 4; ++t) keeper.see(std::vector<double>{1.0 * t * t, 1.0 + t});
  return std::move(keeper).result();
}

TEST(ReturnedIterate, IsTheOneThatWasAskedFor) {
  EXPECT_EQ(kept(LastIterate{}), (std::vector<double>{16, 5}));
  EXPECT_EQ(kept(IterateAt{0}), (std::vector<double>{0, 1}));
  EXPECT_EQ(kept(IterateAt{3}), (std::vector<double>{9, 4}));
  EXPECT_EQ(kept(IterateAt{4}), (std::vector<double>{16, 5}));
  EXPECT_EQ(kept(AverageIterate{.of_last = Count{1}}), (std::vector<double>{16, 5}));
  EXPECT_EQ(kept(AverageIterate{.of_last = Count{2}}), (std::vector<double>{12.5, 4.5}));
  const auto all = kept(AverageIterate{});
  EXPECT_NEAR(all[0], 7.5, 1e-14);
  EXPECT_NEAR(all[1], 3.5, 1e-14);
}

TEST(ReturnedIterate, RefusesWhatTheStepsDoNotMake) {
  EXPECT_TRUE(refuses([] { IterateKeeper(IterateAt{5}, Count{4}); }, ErrorCode::invalid_argument,
                      {"index of the returned iterate is 5", "at most the 4 steps"}));
  EXPECT_TRUE(refuses([] { IterateKeeper(AverageIterate{.of_last = Count{5}}, Count{4}); }, ErrorCode::invalid_argument,
                      {"iterates to average are 5", "at most the 4 steps"}));
}

// n = 200,000 draws over 10 indices: each count has standard deviation 134, and 6 of them are exceeded with probability 2e-8.
TEST(ReturnedIterate, RandomIndicesAreUniformBelowTheSteps) {
  mechanisms::ReplayBits bits{3};
  std::vector<int> counts(10);
  for (int k = 0; k < 200'000; ++k) ++counts.at(random_iterate(Count{10}, bits).index);
  for (const int count : counts) EXPECT_NEAR(count, 20'000, 6 * 134);
  EXPECT_EQ(random_iterate(Count{1}, bits).index, 0U);
}

}  // namespace
}  // namespace surety::optimizers::returned_iterate_test
