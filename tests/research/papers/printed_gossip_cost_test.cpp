#include <surety/research/papers/printed_gossip_cost.h>

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace surety::papers::printed_gossip_cost_test {

using namespace optimizers;

namespace {

// What the printed Algorithm 2 costs over its claim.
TEST(PrintedGossipCost, IsUpToETimesItsClaim) {
  const Regularization one{1};
  const StepRule inverse = InverseStep{Quantity<StepDecayRule>{1}};
  EXPECT_NEAR(printed_minibatch_factor(inverse, one, 100), std::numbers::e, 1e-12);
  // The record of the last round, and of the last but one.
  EXPECT_EQ(printed_minibatch_factor(inverse, one, 1), 1);
  EXPECT_EQ(printed_minibatch_factor(inverse, one, 2), 2);
  EXPECT_NEAR(printed_minibatch_factor(inverse, one, 3), 2.5, 1e-15);
  // alpha = 1 / (2 sqrt(t)), phi = 1 and 0.01, by the sum itself.
  const StepRule root = InverseRootStep{StepSize{0.5}};
  double sum = 1;
  double product = 1;
  for (int t = 1; t < 1000; ++t) sum += product *= 0.5 / std::sqrt(t);
  EXPECT_NEAR(printed_minibatch_factor(root, one, 1000), sum, 1e-12);
  EXPECT_NEAR(sum, 1.74, 0.005);
  EXPECT_NEAR(printed_minibatch_factor(root, Regularization{0.01}, 1000), 1.005, 5e-4);
  // No regularisation, no way to carry a record on.
  EXPECT_EQ(printed_minibatch_factor(root, Regularization{0}, 1000), 1);
}

}  // namespace
}  // namespace surety::papers::printed_gossip_cost_test
