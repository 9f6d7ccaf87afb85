#include <surety/testing/releaser.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <support/refusal.h>

namespace surety::testing::releaser_test {
namespace {

const Event leaf = gaussian(NoiseMultiplier{2.5}, Adjacency::replace_one);
const L2Sensitivity sensitivity{0.75};

GridVector zeros(std::size_t size) { return {.grid = {.log2_step = -20}, .steps = std::vector<std::int64_t>(size)}; }

TEST(ExactReleaser, ReturnsTheQuery) {
  auto query = zeros(2);
  query.steps[1] = -3 << 18;
  EXPECT_EQ(ExactReleaser{}.release(query, sensitivity, leaf), (std::vector<double>{0, -0.75}));
}

TEST(ScriptedReleaser, ReplaysAndLogs) {
  ScriptedReleaser releaser{{{1, 2}, {3}}};
  EXPECT_EQ(releaser.release(zeros(2), sensitivity, leaf), (std::vector<double>{1, 2}));
  EXPECT_TRUE(
      refuses([&] { static_cast<void>(releaser.release(zeros(2), sensitivity, leaf)); }, ErrorCode::invalid_argument, {"1 coordinates"}));
  EXPECT_EQ(releaser.release(zeros(1), L2Sensitivity{4}, leaf), (std::vector<double>{3}));
  EXPECT_TRUE(
      refuses([&] { static_cast<void>(releaser.release(zeros(1), sensitivity, leaf)); }, ErrorCode::invalid_argument, {"ends after 2"}));
  ASSERT_EQ(releaser.log().size(), 2U);
  EXPECT_EQ(releaser.log()[0].query, zeros(2));
  EXPECT_EQ(releaser.log()[1].sensitivity.value(), 4);
  EXPECT_EQ(releaser.log()[1].event, leaf);
}

}  // namespace
}  // namespace surety::testing::releaser_test
