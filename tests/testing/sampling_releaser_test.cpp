#include <surety/testing/sampling_releaser.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <surety/mechanisms/bits/random_bits.h>

#include <support/refusal.h>

namespace surety::testing::sampling_releaser_test {
namespace {

const mechanisms::FixedSizeBatches fixed{Batches{Count{40}, Count{10}}};
const L2Sensitivity sensitivity{0.75};

GridVector zeros(std::size_t size) { return {.grid = {.log2_step = -20}, .steps = std::vector<std::int64_t>(size)}; }
Event adding(double z) { return gaussian(NoiseMultiplier{z}, Adjacency::add_or_remove_one); }
Event replacing(double z) { return gaussian(NoiseMultiplier{z}, Adjacency::replace_one); }

TEST(ExactSamplingReleaser, DrawsBatchesAndAddsNothing) {
  mechanisms::ReplayBits bits{7};
  ExactSamplingReleaser releaser{bits, fixed};
  auto query = zeros(2);
  query.steps[1] = -3 << 18;
  EXPECT_EQ(releaser.draw_batch(40).size(), 10U);
  EXPECT_EQ(releaser.release_sampled(query, sensitivity, replacing(2)), (std::vector<double>{0, -0.75}));
  EXPECT_TRUE(refuses([&] { static_cast<void>(releaser.release_sampled(query, sensitivity, replacing(2))); }, ErrorCode::internal, {}));
  EXPECT_EQ(releaser.release(query, sensitivity, replacing(2)), (std::vector<double>{0, -0.75}));
}

TEST(ScriptedSamplingReleaser, ReplaysAndLogs) {
  ScriptedSamplingReleaser releaser{{{1, 5}, {0}}, {{1, 2}, {3}, {4}}};
  const auto batch = releaser.draw_batch(6);
  EXPECT_EQ(std::vector(batch.begin(), batch.end()), (std::vector<std::size_t>{1, 5}));
  EXPECT_EQ(releaser.release_sampled(zeros(2), sensitivity, adding(2)), (std::vector<double>{1, 2}));
  EXPECT_TRUE(refuses([&] { static_cast<void>(releaser.release_sampled(zeros(1), sensitivity, adding(2))); }, ErrorCode::internal, {}));
  EXPECT_EQ(releaser.release(zeros(1), L2Sensitivity{4}, adding(3)), (std::vector<double>{3}));
  static_cast<void>(releaser.draw_batch(6));
  EXPECT_TRUE(refuses([&] { static_cast<void>(releaser.release_sampled(zeros(2), sensitivity, adding(2))); }, ErrorCode::invalid_argument,
                      {"1 coordinates"}));
  EXPECT_TRUE(refuses([&] { static_cast<void>(releaser.draw_batch(6)); }, ErrorCode::invalid_argument, {"ends after 2 batches"}));
  ASSERT_EQ(releaser.log().size(), 2U);
  EXPECT_EQ(releaser.log()[0].batch, 0U);
  EXPECT_FALSE(releaser.log()[1].batch);
  EXPECT_EQ(releaser.log()[1].sensitivity.value(), 4);
  ScriptedSamplingReleaser beyond{{{6}}, {}};
  EXPECT_TRUE(refuses([&] { static_cast<void>(beyond.draw_batch(6)); }, ErrorCode::invalid_argument, {"place 6", "below 6"}));
}

}  // namespace
}  // namespace surety::testing::sampling_releaser_test
