#include <surety/testing/learner_releaser.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace surety::testing::learner_releaser_test {
namespace {

const Event leaf = gaussian(NoiseMultiplier{2}, Adjacency::replace_one);
const optimizers::GossipPass pass{.rounds = 9, .release = leaf, .pass = leaf};

GridVector query(std::int64_t steps) { return {.grid = {.log2_step = -3}, .steps = {steps}}; }

TEST(ExactLearnerReleaser, ReturnsTheQuery) {
  ExactLearnerReleaser releaser;
  releaser.begin(pass);
  EXPECT_EQ(releaser.release(2, 3, query(-6), L2Sensitivity{1}), std::vector<double>{-0.75});
}

TEST(ScriptedLearnerReleaser, RepliesFromItsScriptAndLogs) {
  ScriptedLearnerReleaser releaser{[](std::size_t learner, std::uint64_t round) {
    return std::vector{static_cast<double>(learner), static_cast<double>(round)};
  }};
  releaser.begin(pass);
  EXPECT_EQ(releaser.release(2, 3, query(7), L2Sensitivity{4}), (std::vector<double>{2, 3}));
  ASSERT_EQ(releaser.passes().size(), 1U);
  EXPECT_EQ(releaser.passes()[0].rounds, 9U);
  ASSERT_EQ(releaser.log().size(), 1U);
  EXPECT_EQ(releaser.log()[0].learner, 2U);
  EXPECT_EQ(releaser.log()[0].round, 3U);
  EXPECT_EQ(releaser.log()[0].query, query(7));
  EXPECT_EQ(releaser.log()[0].sensitivity, L2Sensitivity{4});
}

}  // namespace
}  // namespace surety::testing::learner_releaser_test
