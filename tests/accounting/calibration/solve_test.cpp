#include <surety/accounting/calibration/solve.h>

#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include <support/refusal.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/calibration/best_cost.h>
#include <surety/accounting/events/event_text.h>
#include <string>
#include <utility>

namespace surety::solve_test {
namespace {

using reference::refusal_of;

constexpr auto adjacency = Adjacency::add_or_remove_one;

Target target(double epsilon, double delta) { return {.epsilon = Epsilon{epsilon}, .delta = Delta{delta}, .adjacency = adjacency}; }

Solution solve_text(const std::string& text, const Target& wanted) {
  return solve(
      [&](double x) {
        return parse_event(text, adjacency, {{"x", x}});
      },
      wanted, parameter_of(text, adjacency, "x"), accounting::best_cost(wanted));
}

/// `value` meets the target and `failing` does not, asked again.
void expect_certified(const std::string& text, const Target& wanted, const Solution& found) {
  const auto cost = [&](double x) { return accounting::quick_delta(parse_event(text, adjacency, {{"x", x}}), wanted.epsilon); };
  EXPECT_LE(cost(found.value).upper, wanted.delta.value()) << text;
  EXPECT_LE(found.epsilon.upper, wanted.epsilon.value()) << text;
  ASSERT_TRUE(found.failing) << text;
  EXPECT_GT(cost(*found.failing).upper, wanted.delta.value()) << text;
}

TEST(Solve, FindsTheNoiseOfASampledGaussian) {
  const std::string text = "repeat(100000, poisson(0.001, gaussian(x)))";
  const auto found = solve_text(text, target(1, 1e-6));
  EXPECT_GT(found.value, 1.505833);
  EXPECT_LT(found.value, 1.505860);
  expect_certified(text, target(1, 1e-6), found);
}

TEST(Solve, FindsTheLargestCount) {
  const std::string text = "repeat(x, poisson(0.01, gaussian(1)))";
  const auto found = solve_text(text, target(4, 1e-5));
  EXPECT_EQ(*found.failing, found.value + 1);
  expect_certified(text, target(4, 1e-5), found);
}

TEST(Solve, FindsTheLargestSamplingRate) {
  const std::string text = "repeat(1000, poisson(x, gaussian(1)))";
  const auto found = solve_text(text, target(4, 1e-5));
  EXPECT_GT(*found.failing, found.value);
  EXPECT_LT(*found.failing / found.value - 1, 1e-6);
  expect_certified(text, target(4, 1e-5), found);
}

TEST(Solve, ARateThatIsAlwaysAffordableIsOne) {
  const auto found = solve_text("repeat(10, poisson(x, gaussian(1000)))", target(4, 1e-5));
  EXPECT_EQ(found.value, 1);
  EXPECT_FALSE(found.failing);
}

TEST(Solve, FindsAScaleOnAGridAndAnEpsilonPerStep) {
  const auto scale = solve_text("repeat(20, laplace(x))", target(1, 1e-5));
  expect_certified("repeat(20, laplace(x))", target(1, 1e-5), scale);
  const auto step = solve_text("repeat(4, pure(x))", target(1, 0));
  EXPECT_NEAR(step.value, 0.25, 1e-4);
  EXPECT_LE(step.value, 0.25);
}

TEST(Solve, OneNameMayStandInSeveralPlacesThatAct) {
  const std::string text = "compose(gaussian(x), repeat(3, gaussian(x)), gaussian(9))";
  expect_certified(text, target(1, 1e-6), solve_text(text, target(1, 1e-6)));
}

TEST(Solve, WhatNoCountReachesIsRefusedWithWhatIsReachable) {
  const auto refusal = refusal_of([] { return solve_text("repeat(x, gaussian(0.5))", target(1, 1e-6)); });
  EXPECT_TRUE(refusal.says(ErrorCode::unreachable, "with a count of 1 epsilon is still")) << refusal;
}

// At delta 0 the largest loss decides, and it does not depend on the number of reports. A law on a grid for each number took a minute.
TEST(Solve, OfDeltaZeroAsksForTheLargestLoss) {
  const Target pure{.epsilon = Epsilon{1}, .delta = Delta{0}, .adjacency = Adjacency::replace_one};
  const auto solved = [&](const std::string& text) {
    return solve(
        [&](double x) {
          return parse_event(text, pure.adjacency, {{"x", x}});
        },
        pure, parameter_of(text, pure.adjacency, "x"), accounting::best_cost(pure));
  };
  const auto refusal = refusal_of([&] { return solved("repeat(10, shuffled_responses(x, 0.5, 4))"); });
  EXPECT_TRUE(refusal.says(ErrorCode::unreachable, "epsilon is still 10.98612")) << refusal;
  const auto found = solved("repeat(10, shuffled_responses(1000, x, 4))");
  const double odds = std::exp(0.1) / 3;
  EXPECT_NEAR(found.value, odds / (1 + odds), 1e-12);
  EXPECT_EQ(found.delta, (Enclosure{0, 0}));
  EXPECT_TRUE(found.failing && found.failing_is_proved);
}

TEST(Solve, StartsAtTheLeastNumberThatTheEventTakes) {
  const Target wanted{.epsilon = Epsilon{0.5}, .delta = Delta{1e-5}, .adjacency = Adjacency::replace_one};
  const auto solved = [&](const std::string& text) {
    return solve(
        [&](double x) {
          return parse_event(text, wanted.adjacency, {{"x", x}});
        },
        wanted, parameter_of(text, wanted.adjacency, "x"), accounting::best_cost(wanted));
  };
  const auto all = solved("without_replacement(x, 20, gaussian(100))");
  EXPECT_EQ(all.value, 20);
  EXPECT_FALSE(all.failing);
  const auto some = solved("without_replacement(x, 20, gaussian(1))");
  EXPECT_EQ(some.failing, some.value - 1);
  EXPECT_GT(some.value, 20);
}

TEST(Solve, FindsEveryRhoOfDouble) {
  for (const double rho : {1e308, 1e-308}) {
    const auto found = solve(
        [&](double x) {
          return parse_event("zcdp(x)", adjacency, {{"x", x}});
        },
        RhoTarget{.most = Rho{rho}, .adjacency = adjacency}, parameter_of("zcdp(x)", adjacency, "x"));
    EXPECT_LE(found.value, rho);
    EXPECT_GE(found.value, rho * (1 - 1e-9));
    EXPECT_TRUE(found.failing) << rho;
  }
}

// The search compares upper ends of grids of its own; an account looks at both ends.
TEST(Solve, IsMetByAnAccountToo) {
  const Target wanted = target(1, 1e-6);
  for (const std::string text :
       {"compose(gaussian(x), repeat(3, laplace(5)))", "repeat(3, allocated(10, gaussian(x)))", "repeat(10, zcdp(x))"}) {
    accounting::BestCost cost{wanted};
    auto functions = cost.functions();
    const auto event = [&](double x) { return parse_event(text, adjacency, {{"x", x}}); };
    const auto found = solve(event, wanted, parameter_of(text, adjacency, "x"), functions);
    EXPECT_LE(accounting::best_epsilon(found.event, wanted.delta).value.upper, wanted.epsilon.value()) << text;
    EXPECT_LE(found.gap, 2e-4) << text;
    EXPECT_EQ(found.event, event(found.value)) << text;
  }
}

/// The cost of one gaussian(x), of which nobody knows anything below `least`; counts the questions there.
CostFunctions known_from(double least, int& unanswered) {
  const auto require_known = [least, &unanswered](const Event& event) {
    if (pairwise_multiplier(event)->value() >= least) return;
    ++unanswered;
    throw Error{ErrorCode::unsupported, "too little noise"};
  };
  return {.delta =
              [=](const Event& event, Epsilon at) {
                require_known(event);
                return accounting::quick_delta(event, at);
              },
          .epsilon =
              [=](const Event& event, Delta at) {
                require_known(event);
                return accounting::quick_epsilon(event, at);
              }};
}

// As of few rounds of an epoch with little noise: where the answers end is no end of the search, unless there are none.
TEST(Solve, EndsWhereTheAnswersEnd) {
  const auto solve_known_from = [](double least, double epsilon, int& unanswered) {
    return solve([](double z) { return gaussian(NoiseMultiplier{z}, adjacency); }, target(epsilon, 1e-5),
                 {.name = "noise multiplier", .lowest = 0x1p-600, .highest = 0x1p600}, known_from(least, unanswered));
  };
  int unanswered = 0;
  // z = 1, where the search begins, has no answer; the root, z = 3.7306, has one.
  const auto beyond = solve_known_from(3, 1, unanswered);
  EXPECT_NEAR(beyond.value, 3.7306, 1e-4);
  EXPECT_GT(beyond.value, *beyond.failing);
  EXPECT_LT(beyond.value, (1 + 1e-11) * *beyond.failing);
  EXPECT_TRUE(beyond.failing_is_proved);
  // The root, about 0.66, has none: what is found has one, meets the target by far, and is near the end of the answers.
  unanswered = 0;
  const auto at_the_end = solve_known_from(0.8, 8, unanswered);
  EXPECT_GE(at_the_end.value, 0.8);
  EXPECT_LT(at_the_end.value, 0.82);
  EXPECT_LT(at_the_end.epsilon.upper, 7);
  EXPECT_LT(*at_the_end.failing, 0.8);
  EXPECT_FALSE(at_the_end.failing_is_proved);
  EXPECT_LT(unanswered, 10) << "answers are dearest where they end";
  // Where nobody has any, that is what is said, and not that the target is out of reach.
  const auto nowhere = refusal_of([&] { return solve_known_from(0x1p601, 1, unanswered); });
  EXPECT_EQ(nowhere.code, ErrorCode::unsupported);
  EXPECT_EQ(nowhere.message, "too little noise");
}

/// How well the cost of gaussian(z) is known: for a noise multiplier within a share of z, and whether from below.
struct Known {
  double share;
  bool from_below;
};
/// What a search for the noise of (1, 1e-5), 3.730631, finds where costs are known so; `questions` are counted.
Solution solve_known(const std::function<Known(double)>& known_at, int& questions) {
  questions = 0;
  double last = 0;
  const auto known = [&](const Event& event, auto cost) {
    ++questions;
    const double z = pairwise_multiplier(event)->value();
    const auto [share, from_below] = known_at(z);
    last = share;
    return Enclosure{from_below ? cost(z * (1 + share)).lower : 0, cost(z / (1 + share)).upper};
  };
  const auto at = [](double z) { return gaussian(NoiseMultiplier{z}, adjacency); };
  return solve(
      at, target(1, 1e-5), {.name = "noise multiplier", .lowest = 0x1p-600, .highest = 0x1p600},
      {.delta = [&](const Event& event, Epsilon e) { return known(event, [&](double z) { return accounting::quick_delta(at(z), e); }); },
       .epsilon = [&](const Event& event, Delta d) { return known(event, [&](double z) { return accounting::quick_epsilon(at(z), d); }); },
       .resolution = [&] { return last; }});
}
constexpr double exact_noise = 3.730631;

// A search ends as near to its level as the cost is known, and asks no more than that takes.
TEST(Solve, EndsAsNearAsTheCostIsKnown) {
  int questions = 0;
  for (const double share : {1e-4, 1e-3, 1e-2}) {
    const auto found = solve_known([=](double) { return Known{share, true}; }, questions);
    // Its upper end meets the target from there on.
    EXPECT_GE(found.value, exact_noise * (1 + share) * (1 - 1e-6)) << share;
    EXPECT_LE(found.value, exact_noise * (1 + 2 * share)) << share;
    EXPECT_LT(*found.failing, found.value) << share;
    EXPECT_GE(*found.failing, exact_noise * (1 - 40 * share)) << share;
    EXPECT_LE(questions, 12) << share;
  }
}

// Where bounds leave a bracket open, the answer is no tight one: of the root on, 3.7306, delta meets the target, and nobody knows epsilon up to 3.9.
TEST(Solve, SaysWhereTheNearestFailingValueIsFarAway) {
  const auto known_from = [](double least) {
    const auto event = [](double z) { return gaussian(NoiseMultiplier{z}, adjacency); };
    return solve(event, target(1, 1e-5), {.name = "noise multiplier", .lowest = 0x1p-600, .highest = 0x1p600},
                 CostFunctions{.delta = [](const Event& one, Epsilon e) { return accounting::quick_delta(one, e); },
                               .epsilon =
                                   [=](const Event& one, Delta d) {
                                     const bool is_known = pairwise_multiplier(one)->value() >= least;
                                     return is_known ? accounting::quick_epsilon(one, d) : Enclosure{0, 100};
                                   }});
  };
  const auto open = known_from(3.9);
  EXPECT_EQ(open.value, 8);
  EXPECT_NEAR(*open.failing, exact_noise, 1e-5);
  EXPECT_NEAR(open.gap, 1 - exact_noise / 8, 1e-5);
  EXPECT_FALSE(open.is_tight());
  const auto closed = known_from(0);
  EXPECT_TRUE(closed.is_tight());
  EXPECT_LE(closed.gap, 1e-11);
  // Whole numbers that are neighbours are tight, however few.
  EXPECT_EQ(solve_text("repeat(x, gaussian(5))", target(1, 1e-5)).gap, 0);
  // One that is beyond doubt may be farther away than the nearest one.
  int questions = 0;
  const auto doubted = solve_known([](double) { return Known{1e-3, true}; }, questions);
  EXPECT_GT(1 - *doubted.failing / doubted.value, tight_gap);
  EXPECT_TRUE(doubted.is_tight());
}

// Far within the target, where no digits are left, a cost may be known by bounds alone; the root is found by formulas still.
TEST(Solve, FollowsFormulasToARootThatTheyKnow) {
  int questions = 0;
  for (const double far : {4.5, 8.0}) {
    const auto found = solve_known([=](double z) { return z > far ? Known{1e-2, false} : Known{0, true}; }, questions);
    EXPECT_NEAR(found.value, exact_noise, 1e-6) << far;
    EXPECT_LT(found.value - *found.failing, 1e-12) << far;
    EXPECT_LE(questions, 24) << far;
  }
}

// For many exponential mechanisms a closed form decides values that miss the target, and bounds decide values that meet it.
TEST(Solve, IsTightWhereAFormulaKnowsOneSideOfTheRoot) {
  constexpr auto replaced = Adjacency::replace_one;
  const Target wanted{.epsilon = Epsilon{5}, .delta = Delta{1e-6}, .adjacency = replaced};
  const std::string text = "repeat(30, exponential(x))";
  const auto found = solve(EventOfNumber{text, replaced, "x"}, wanted, parameter_of(text, replaced, "x"), accounting::best_cost(wanted));
  EXPECT_TRUE(found.is_tight()) << found.gap;
  EXPECT_GT(found.value, 0.3768);
}

RhoSolution solve_rho(const std::string& text, double rho, Adjacency under = Adjacency::replace_one) {
  return solve(EventOfNumber{text, under, "x"}, RhoTarget{Rho{rho}, under}, parameter_of(text, under, "x"));
}

// n releases of multiplier z have rho = n / (2 z^2): in 64 bits of mantissa the answer is within the target, and the failing value is not.
TEST(SolveRho, OfGaussianReleasesIsTheirSum) {
  for (const double rho : {1e-6, 0.015, 0.5, 2.63, 40.0}) {
    for (const unsigned count : {1U, 3U, 100U}) {
      const auto found = solve_rho("repeat(" + std::to_string(count) + ", gaussian(x))", rho);
      const auto exact = [&](double z) { return static_cast<long double>(count) / (2 * static_cast<long double>(z) * z); };
      EXPECT_LE(exact(found.value), static_cast<long double>(rho)) << count;
      ASSERT_TRUE(found.failing);
      EXPECT_GT(exact(*found.failing), static_cast<long double>(rho)) << count;
      EXPECT_TRUE(found.failing_is_proved && found.is_tight());
      EXPECT_LT(found.value / *found.failing - 1, 1e-12);
      EXPECT_LE(found.rho.upper, rho);
      EXPECT_GT(found.rho.lower, rho * (1 - 1e-12));
    }
  }
}

TEST(SolveRho, OfOtherReleasesIsAnUpperBound) {
  const auto laplace = solve_rho("laplace(x)", 0.5);
  EXPECT_NEAR(laplace.value, 1, 1e-12);
  EXPECT_LE(laplace.rho.upper, 0.5);
  EXPECT_EQ(laplace.rho.lower, 0) << "(epsilon^2 / 2) is not the rho of Laplace noise";
  EXPECT_FALSE(laplace.failing_is_proved);
  EXPECT_NEAR(solve_rho("compose(zcdp(x), gaussian(2))", 0.5).value, 0.375, 1e-12);
  EXPECT_EQ(solve_rho("repeat(x, gaussian(10))", 0.504).value, 100);
  EXPECT_NEAR(solve_rho("repeat(4, exponential(x))", 0.5).value, 1, 1e-12);
}

TEST(SolveRho, RefusesWhatHasNoRho) {
  const auto says = [](const std::string& text, double rho, ErrorCode code, const std::string& word,
                       Adjacency under = Adjacency::add_or_remove_one) {
    const auto refusal = refusal_of([&] { return solve_rho(text, rho, under); });
    EXPECT_TRUE(refusal.says(code, word)) << text << ": " << refusal;
  };
  says("repeat(10, poisson(0.1, gaussian(x)))", 0.5, ErrorCode::unsupported,
       "the zcdp accountant has no theorem for poisson(0.1, gaussian(");
  says("compose(approx(1, 1e-5), gaussian(x))", 0.5, ErrorCode::unsupported, "no theorem for approx(1, 1e-05)");
  says("compose(zcdp(1, 0.1), gaussian(x))", 0.5, ErrorCode::unsupported, "has no rho alone");
  says("compose(gaussian(1), gaussian(x))", 0.5, ErrorCode::unreachable, "rho = 0.5 is out of reach");
  says("gaussian(x)", 0, ErrorCode::invalid_argument, "rho of the target is 0");
  for (const double bad : {-1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
    says("gaussian(x)", bad, ErrorCode::invalid_argument, "rho is");
  }
  const auto other = refusal_of([] {
    return solve(EventOfNumber{"gaussian(x)", Adjacency::zero_out, "x"}, RhoTarget{Rho{1}, adjacency},
                 parameter_of("gaussian(x)", Adjacency::zero_out, "x"));
  });
  EXPECT_TRUE(other.says(ErrorCode::invalid_argument, "must be the target's")) << other;
}

// At delta 0 one answer of k values is epsilon-private for p <= e^epsilon / (e^epsilon + k - 1).
TEST(Solve, FindsTheTruthOfRandomizedResponse) {
  constexpr auto replaced = Adjacency::replace_one;
  for (const double epsilon : {1e-6, 0.1, 1.0, 14.0}) {
    for (const unsigned k : {2U, 4U, 165U}) {
      const std::string text = "randomized_response(x, " + std::to_string(k) + ")";
      const Target wanted{.epsilon = Epsilon{epsilon}, .delta = Delta{0}, .adjacency = replaced};
      const auto found =
          solve(EventOfNumber{text, replaced, "x"}, wanted, parameter_of(text, replaced, "x"), accounting::best_cost(wanted));
      const long double e = std::exp(static_cast<long double>(epsilon));
      const long double exact = e / (e + k - 1);
      EXPECT_LE(static_cast<long double>(found.value), exact) << text << " at " << epsilon;
      EXPECT_GT(found.value, exact * (1 - 1e-12L)) << text << " at " << epsilon;
      ASSERT_TRUE(found.failing);
      EXPECT_GT(static_cast<long double>(*found.failing), exact) << text << " at " << epsilon;
    }
  }
}

}  // namespace
}  // namespace surety::solve_test
