// The files of the PLD accountant, each by itself.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include <support/refusal.h>
#include <surety/accounting/accountants/pld/composed_curve.h>
#include <surety/accounting/accountants/pld/task.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/laws/pairs/pairs.h>

namespace surety::accounting::laws::parts_of_events_test {
namespace {

using pld::ApproximateCumulants;
using pld::are_many;
using pld::Saddle;
using pld::Task;
using pld::Window;
using reference::refusal_of;

BothDirections directions_of(const std::string& text) {
  return both_directions(parse_event(text, Adjacency::add_or_remove_one), curves_of_all().leaves);
}

TEST(PldPairs, OfABatchGoInBothDirections) {
  const auto found = directions_of("repeat(5, poisson(0.1, gaussian(2)))");
  EXPECT_FALSE(found.symmetric);
  ASSERT_EQ(found.remove.size(), 1U);
  EXPECT_EQ(found.remove.front().count, 5U);
  EXPECT_EQ(found.remove.front().upper.mixing, Mixing::remove);
  EXPECT_EQ(found.add.front().upper.mixing, Mixing::add);
  EXPECT_EQ(found.add.front().upper.rate, 0.1);
  EXPECT_TRUE(directions_of("compose(gaussian(2), laplace(1))").symmetric);
}

TEST(PldPairs, AddUpTheirLargestLosses) {
  EXPECT_EQ(largest_of(directions_of("compose(laplace(1), gaussian(2))").remove).upper, infinity);
  const auto bounded = largest_of(directions_of("repeat(4, compose(laplace(0.5), pure(1)))").remove);
  EXPECT_LE(bounded.lower, 12);
  EXPECT_GE(bounded.upper, 12);
  EXPECT_NEAR(bounded.width(), 0, 1e-12);
  EXPECT_EQ(count_of(directions_of("repeat(4, compose(laplace(0.5), pure(1)))").remove), 8);
}

TEST(PldPairs, AreNamedWhereThereAreNoneWithAHintWhoMayKnow) {
  const auto refusal = refusal_of([] { return directions_of("zcdp(20000)"); });
  EXPECT_TRUE(
      refusal.says(ErrorCode::unsupported, "privacy-loss: zcdp(20000) has rho 20000, must be below 10000; alone it is known to renyi"))
      << refusal;
}

/// Of one Gaussian release Lambda(s) = s (s + 1) mu^2 / 2, and the saddle of epsilon is where its derivatives say.
TEST(PldSaddle, CumulantsAreThoseOfTheLaw) {
  const auto found = directions_of("repeat(9, gaussian(3))");
  const ApproximateCumulants cumulants{found.remove, {-60, -60}};
  const auto at = cumulants.at(2);
  EXPECT_NEAR(at.value, 3, 1e-6);
  EXPECT_NEAR(at.mean, 2.5, 1e-6);
  EXPECT_NEAR(at.variance, 1, 1e-6);
  const auto saddle = find_saddle(cumulants, 1e7, [](const Saddle& here) { return here.epsilon > 3; });
  EXPECT_NEAR(saddle.epsilon, 3, 0.01);
}

TEST(PldTask, LooksAtAWindowAroundTheAnswer) {
  Task task;
  task.parts = directions_of("repeat(9, gaussian(3))").remove;
  task.wanted = 1e-4;
  const auto made = prepare(task, {.epsilon = std::nullopt, .delta = 1e-6});
  EXPECT_LT(made.window.least, 4.4);
  EXPECT_GT(made.window.largest, 4.4);  // epsilon(1e-6) of mu = 1 is 4.38
  EXPECT_GT(made.steps.needed, 0);
  EXPECT_GT(made.saddle.s, 1);
}

TEST(PldComposedCurve, EnclosesTheCurveOfAPureRelease) {
  const auto parts = directions_of("pure(1)").remove;
  const Window window{.least = -2, .largest = 2, .step = 1.0 / 64, .size = 256, .s = 1, .right_tilt = 1, .left_tilt = 1};
  const auto pair = compose(parts, window, {-60, -60});
  const double truth = (std::exp(1.0) - std::exp(0.5)) / (1 + std::exp(1.0));
  const auto found = delta_of(pair, 0.5);
  EXPECT_LE(found.lower, truth);
  EXPECT_GE(found.upper, truth);
  EXPECT_LT(found.width(), 1e-10);
  EXPECT_NEAR(epsilon_of(pair, truth).upper, 0.5, 1e-9);
  EXPECT_FALSE(are_many(parts));
}

}  // namespace
}  // namespace surety::accounting::laws::parts_of_events_test
