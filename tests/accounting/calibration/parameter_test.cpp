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

// Below 1 / k the true answer is the rarest, and costs less the more often it is given.
TEST(ParameterOf, KeepsTheTruthAboveThatOfAnAnswerAtRandom) {
  constexpr auto replaced = Adjacency::replace_one;
  const auto truth = parameter_of("randomized_response(x, 4)", replaced, "x");
  EXPECT_TRUE(truth.cost_rises && !truth.whole);
  EXPECT_EQ(truth.lowest, 0.25);
  EXPECT_LT(truth.highest, 1);
  const std::string deep =
      "compose(gaussian(1), repeat(3, compose(randomized_response(0.9, 2), randomized_response(x, 5))), randomized_response(x, 3))";
  EXPECT_EQ(parameter_of(deep, replaced, "x").lowest, 1.0 / 3);
  EXPECT_TRUE(refusal_of([] {
                return parameter_of("randomized_response(x, 1)", replaced, "x");
              }).says(ErrorCode::invalid_argument, "categories is 1, must be at least 2"));
}

TEST(ParameterOf, KnowsTheNumbersOfShuffledReports) {
  constexpr auto replaced = Adjacency::replace_one;
  const auto epsilon0 = parameter_of("shuffled_reports(100, x)", replaced, "x");
  EXPECT_TRUE(epsilon0.cost_rises && !epsilon0.whole);
  const auto reports = parameter_of("repeat(2, shuffled_reports(x, 1))", replaced, "x");
  EXPECT_TRUE(!reports.cost_rises && reports.whole);
  EXPECT_EQ(parameter_of("shuffled_responses(100, x, 4)", replaced, "x").lowest, 0.25);
}

TEST(ParameterOf, KnowsTheLengthOfARunOfWhichTheLastIterateIsPublished) {
  constexpr auto replaced = Adjacency::replace_one;
  for (const auto* text : {"last_iterate(x, 0.9, gaussian(2))", "last_iterate_within(3, x, 0.9, gaussian(2))",
                           "last_iterate_of_passes(x, 3, 0.9, gaussian(2))"}) {
    const auto steps = parameter_of(text, replaced, "x");
    EXPECT_TRUE(steps.cost_rises && steps.whole) << text;
  }
  EXPECT_FALSE(parameter_of("last_iterate(9, 0.9, gaussian(x))", replaced, "x").cost_rises);
  EXPECT_TRUE(refusal_of([&] {
                return parameter_of("last_iterate(9, x, gaussian(2))", replaced, "x");
              }).says(ErrorCode::invalid_argument, "stands for a lipschitz constant, which cannot be solved for"));
}

TEST(ParameterOf, KeepsToWhatAllItsPlacesAllow) {
  const auto rate = parameter_of("compose(poisson(x, gaussian(2)), poisson(x, gaussian(3)))", adjacency, "x");
  EXPECT_EQ(rate.name, "sampling rate");
  EXPECT_TRUE(rate.cost_rises && !rate.whole);
  EXPECT_EQ(rate.highest, 1);
}

}  // namespace
}  // namespace surety::parameter_test
