#include <surety/mechanisms/bits/fork_guard.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <string>

#include <surety/base/text/error.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/additive/scaled_noise.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/mechanisms/choices/sparse_vector.h>
#include <surety/mechanisms/prefix_sums/buffered_sum.h>
#include <surety/mechanisms/prefix_sums/continual_sum.h>
#include <surety/mechanisms/prefix_sums/toeplitz_sum.h>

#include <support/child_process.h>

namespace surety::mechanisms::fork_guard_test {
namespace {

using reference::in_child;

class ForkGuardByMethod : public ::testing::TestWithParam<ForkGuard::Method> {};

TEST_P(ForkGuardByMethod, NoticesEachNewProcessOnce) {
  ForkGuard guard{GetParam()};
  ASSERT_EQ(guard.method(), GetParam());
  EXPECT_FALSE(guard.entered_new_process());
  for (int repetition = 0; repetition < 3; ++repetition) {
    EXPECT_EQ(in_child([&] {
                const int once = guard.entered_new_process() && !guard.entered_new_process() ? 1 : 0;
                const int grandchild = in_child([&] { return guard.entered_new_process() && !guard.entered_new_process() ? 2 : 0; });
                return once + grandchild;
              }),
              3);
    EXPECT_FALSE(guard.entered_new_process());
  }
}

INSTANTIATE_TEST_SUITE_P(Both, ForkGuardByMethod, ::testing::Values(ForkGuard::Method::wiped_page, ForkGuard::Method::process_id));

TEST(ForkGuard, NoticesAForkBetweenMakingAndFirstUse) {
  ForkGuard guard;
  EXPECT_EQ(in_child([&] { return guard.entered_new_process() ? 1 : 0; }), 1);
}

// ---- What is charged once and keeps a secret answers in one process alone ---------------------------------------------------------------

/// 1 when `action` is refused in a copy of the process as made elsewhere, and works here afterwards.
template <class Action>
int refused_in_a_copy_alone(Action action) {
  const int refused = in_child([&] {
    try {
      action();
    } catch (const Error& error) {
      return error.code() == ErrorCode::invalid_argument && std::string{error.what()}.find("another process") != std::string::npos ? 1 : 2;
    }
    return 0;
  });
  action();
  return refused;
}

TEST(CopiedProcess, GetsNoAnswersOnTheSameThreshold) {
  SystemBits bits;
  AboveThreshold mechanism{{.epsilon = Epsilon{1},
                            .sensitivity = ScoreSensitivity{1},
                            .change = ScoreChange::either_way,
                            .answers = Count{3},
                            .adjacency = Adjacency::replace_one}};
  const auto ask = [&] { EXPECT_TRUE(mechanism.release(1e6, 0, bits)); };
  EXPECT_EQ(refused_in_a_copy_alone(ask), 1);
  EXPECT_EQ(refused_in_a_copy_alone(ask), 1);
  EXPECT_EQ(mechanism.answers_left(), 1U);
}

const Grid grid{.log2_step = -20};
const GridVector contribution{.grid = grid, .steps = {1 << 19}};

TEST(CopiedProcess, GetsNoSecondNoiseOnTheSameSums) {
  SystemBits bits;
  const NoiseMultiplier multiplier{2};
  const FactorizedSumOptions options{.steps = Count{8},
                                     .dimension = Count{1},
                                     .sensitivity = L2Sensitivity{1},
                                     .multiplier = multiplier,
                                     .grid = grid,
                                     .adjacency = Adjacency::replace_one};
  const Gaussian node{{.multiplier = multiplier, .sensitivity = L2Sensitivity{1}, .grid = grid, .adjacency = Adjacency::replace_one}};
  TreeSum<Gaussian> tree{node, Count{8}, Count{1}};
  TreeSum<Gaussian> streaming{node, Count{8}, Count{1}, TreeEstimate::streaming};
  AdaptiveTreeSum<ScaledGaussian> adaptive{ScaledGaussian{{.multiplier = multiplier, .grid = grid, .adjacency = Adjacency::replace_one}},
                                           Count{8}, Count{1}};
  RestartedSum<TreeSum<Gaussian>> restarted{Count{8}, [&](Count steps) { return TreeSum<Gaussian>{node, steps, Count{1}}; }};
  ToeplitzSum toeplitz{options};
  BufferedSum buffered{options};
  for (int step = 0; step < 2; ++step) {
    EXPECT_EQ(refused_in_a_copy_alone([&] { EXPECT_EQ(tree.push(contribution, bits).size(), 1U); }), 1);
    EXPECT_EQ(refused_in_a_copy_alone([&] { EXPECT_EQ(streaming.push(contribution, bits).size(), 1U); }), 1);
    EXPECT_EQ(refused_in_a_copy_alone([&] { EXPECT_EQ(adaptive.push(contribution, L2Sensitivity{1}, bits).size(), 1U); }), 1);
    EXPECT_EQ(refused_in_a_copy_alone([&] { EXPECT_EQ(restarted.push(contribution, bits).size(), 1U); }), 1);
    EXPECT_EQ(refused_in_a_copy_alone([&] { EXPECT_EQ(toeplitz.push(contribution, bits).size(), 1U); }), 1);
    EXPECT_EQ(refused_in_a_copy_alone([&] { EXPECT_EQ(buffered.push(contribution, bits).size(), 1U); }), 1);
  }
}

}  // namespace
}  // namespace surety::mechanisms::fork_guard_test
