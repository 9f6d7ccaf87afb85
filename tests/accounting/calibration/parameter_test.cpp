#include <surety/accounting/calibration/parameter.h>

#include <gtest/gtest.h>

#include <support/refusal.h>

namespace surety::parameter_test {
namespace {

using reference::refusal_of;

constexpr auto adjacency = Adjacency::add_or_remove_one;

TEST(ParameterOf, KnowsWhatANameStandsFor) {
  const auto multiplier = parameter_of("repeat(7, gaussian(x))", adjacency, "x");
  EXPECT_EQ(multiplier.name, "noise multiplier");
  EXPECT_FALSE(multiplier.whole || multiplier.cost_rises);
  const auto count = parameter_of("repeat(x, gaussian(2))", adjacency, "x");
  EXPECT_TRUE(count.whole && count.cost_rises);
}

TEST(ParameterOf, RefusesWhatCannotBeSolvedFor) {
  EXPECT_TRUE(refusal_of([] {
                return parameter_of("gaussian(2)", adjacency, "x");
              }).says(ErrorCode::invalid_argument, "the name to solve for is 'x'"));
  EXPECT_TRUE(refusal_of([] {
                return parameter_of("k_norm(l2, x, 3)", adjacency, "x");
              }).says(ErrorCode::invalid_argument, "stands for a dimension, which cannot be solved for"));
  EXPECT_TRUE(refusal_of([] {
                return parameter_of("repeat(x, gaussian(x))", adjacency, "x");
              }).says(ErrorCode::invalid_argument, "stands for a count and for a noise multiplier"));
}

TEST(ParameterOf, KeepsToWhatAllItsPlacesAllow) {
  const auto rate = parameter_of("compose(poisson(x, gaussian(2)), poisson(x, gaussian(3)))", adjacency, "x");
  EXPECT_EQ(rate.name, "sampling rate");
  EXPECT_TRUE(rate.cost_rises && !rate.whole);
  EXPECT_EQ(rate.highest, 1);
}

}  // namespace
}  // namespace surety::parameter_test
