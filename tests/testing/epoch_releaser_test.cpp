#include <surety/testing/epoch_releaser.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <surety/mechanisms/bits/random_bits.h>

#include <support/refusal.h>

namespace surety::testing::epoch_releaser_test {
namespace {

const mechanisms::Allocation allocation{Count{4}};
const L2Sensitivity sensitivity{0.75};

GridVector zeros(std::size_t size) { return {.grid = {.log2_step = -20}, .steps = std::vector<std::int64_t>(size)}; }
Event adding(double z) { return gaussian(NoiseMultiplier{z}, Adjacency::add_or_remove_one); }

TEST(ExactEpochReleaser, ReturnsTheQueryOfEachRoundOnce) {
  mechanisms::ReplayBits bits{7};
  ExactEpochReleaser releaser{bits, allocation};
  auto query = zeros(2);
  query.steps[1] = -3 << 18;
  std::size_t served = 0;
  for (int round = 0; round < 4; ++round) {
    served += releaser.draw_batch(40).size();
    EXPECT_EQ(releaser.release_sampled(query, sensitivity, adding(2)), (std::vector<double>{0, -0.75}));
    EXPECT_TRUE(refuses([&] { static_cast<void>(releaser.release_sampled(query, sensitivity, adding(2))); }, ErrorCode::internal, {}));
  }
  EXPECT_EQ(served, 40U);
  EXPECT_EQ(releaser.release(query, sensitivity, adding(2)), (std::vector<double>{0, -0.75}));
}

}  // namespace
}  // namespace surety::testing::epoch_releaser_test
