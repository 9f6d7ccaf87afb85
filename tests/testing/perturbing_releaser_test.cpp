#include <surety/testing/perturbing_releaser.h>

#include <gtest/gtest.h>

#include <vector>

#include <support/refusal.h>

namespace surety::testing::perturbing_releaser_test {
namespace {

const Event leaf = gaussian(NoiseMultiplier{2}, Adjacency::replace_one);

TEST(ScriptedPerturbingReleaser, ReplaysAndLogs) {
  ScriptedPerturbingReleaser releaser{{0.5, -1}, {{3}}};
  EXPECT_EQ(releaser.perturb(2, L2Sensitivity{4}, leaf), (std::vector<double>{0.5, -1}));
  EXPECT_TRUE(refuses([&] { static_cast<void>(releaser.perturb(3, L2Sensitivity{4}, leaf)); }, ErrorCode::invalid_argument,
                      {"2 coordinates", "3 are asked for"}));
  EXPECT_EQ(releaser.release({.grid = {.log2_step = -3}, .steps = {7}}, L2Sensitivity{2}, leaf), std::vector<double>{3});
  ASSERT_EQ(releaser.perturbations().size(), 1U);
  EXPECT_EQ(releaser.perturbations()[0].dimension, 2U);
  EXPECT_EQ(releaser.perturbations()[0].sigma, L2Sensitivity{4});
  EXPECT_EQ(releaser.perturbations()[0].event, leaf);
  ASSERT_EQ(releaser.log().size(), 1U);
  EXPECT_EQ(releaser.log()[0].sensitivity, L2Sensitivity{2});
}

}  // namespace
}  // namespace surety::testing::perturbing_releaser_test
