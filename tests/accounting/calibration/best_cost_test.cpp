#include <surety/accounting/calibration/best_cost.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <surety/accounting/accountants/contour/contour.h>
#include <surety/accounting/answers/asked.h>
#include <surety/accounting/calibration/solve.h>
#include <surety/accounting/events/event_text.h>
#include <surety/base/numbers/limit.h>

namespace surety::accounting::best_cost_test {
namespace {

constexpr auto adjacency = Adjacency::add_or_remove_one;

Target target(double epsilon, double delta) { return {.epsilon = Epsilon{epsilon}, .delta = Delta{delta}, .adjacency = adjacency}; }
Event event_of(const std::string& text, double x) { return parse_event(text, adjacency, {{"x", x}}); }

Solution solved(const std::string& text, const Target& wanted) {
  return solve([&](double x) { return event_of(text, x); }, wanted, parameter_of(text, adjacency, "x"), best_cost(wanted));
}

TEST(BestCost, ASearchEndsWhereNoAccountantShowsThatMoreIsMet) {
  const std::string text = "repeat(10, zcdp(x))";
  const auto found = solved(text, target(2, 1e-6));
  EXPECT_GE(found.value, 0.0088);
  EXPECT_LE(best_epsilon(found.event, Delta{1e-6}).value.upper, 2);
  EXPECT_GT(best_epsilon(event_of(text, *found.failing), Delta{1e-6}).value.upper, 2);
  EXPECT_FALSE(found.failing_is_proved);  // zcdp says the least here, and its lower end is a Gaussian release's
}

// A plan is calibrated when it is chosen, when it is run and by whoever runs it again.
TEST(BestCost, ASearchThatWasMadeIsNotMadeAgain) {
  const std::string text = "compose(laplace(x), repeat(3, gaussian(17)))";
  const auto polls_of = [&](const Target& wanted) {
    const Limit limit{{}};
    const double found = solved(text, wanted).value;
    return std::pair{limit.polls(), found};
  };
  const auto first = polls_of(target(1.3, 1e-6));
  const auto again = polls_of(target(1.3, 1e-6));
  EXPECT_EQ(again.second, first.second);
  EXPECT_LT(again.first, first.first / 4);
  // Of another target, or another delta, nothing is known.
  for (const auto& other : {target(1.31, 1e-6), target(1.3, 1.1e-6)}) {
    const auto found = polls_of(other);
    EXPECT_LT(found.second, first.second);
    EXPECT_GT(found.first, first.first / 2);
  }
}

TEST(BestCost, LargeEpsilonsAreSearchedByTheTightestBoundInAFewSteps) {
  const auto wanted = target(1000, 1e-5);
  const std::string text = "repeat(1000, poisson(0.01, gaussian(x)))";
  BestCost cost{wanted};
  int asked = 0;
  const auto functions = cost.functions();
  const CostFunctions counted{.delta = [&](const Event& event, Epsilon at) { return ++asked, functions.delta(event, at); },
                              .epsilon = [&](const Event& event, Delta at) { return ++asked, functions.epsilon(event, at); },
                              .resolution = functions.resolution};
  const auto found = solve([&](double x) { return event_of(text, x); }, wanted, parameter_of(text, adjacency, "x"), counted);
  EXPECT_LE(asked, 24);
  EXPECT_GT(found.value, 0.10845);
  EXPECT_LT(found.value, 0.1085);
  EXPECT_LE(found.epsilon.upper, 1000);
  EXPECT_GT(cost.report(found.event).value.lower, 999.5);
  ASSERT_TRUE(found.failing && found.failing_is_proved);
  EXPECT_GT(epsilon(Participation{}, event_of(text, *found.failing), Delta{1e-5}).lower, 1000);
}

TEST(BestCost, ASearchKnowsHowFarItsAnswersAreFromCertain) {
  // Answers of a contour are as wide as 1e-9 of delta: the margin that this takes is found without trying smaller ones.
  const auto wanted = target(2, 1e-5);
  BestCost cost{wanted};
  const auto functions = cost.functions();
  int asked = 0;
  const CostFunctions counted{.delta = [&](const Event& event, Epsilon at) { return ++asked, functions.delta(event, at); },
                              .epsilon = [&](const Event& event, Delta at) { return ++asked, functions.epsilon(event, at); },
                              .resolution = functions.resolution};
  const auto batches = [](double factor) {
    std::vector<Event> events;
    for (int i = 0; i < 20; ++i) {
      const Event batch = gaussian(NoiseMultiplier{factor * (1 + 0.05 * i)}, adjacency);
      events.push_back(repeat(Count{500}, poisson(SamplingRate{0.005 + 0.0005 * i}, batch)));
    }
    return compose(std::move(events));
  };
  const auto found = solve(batches, wanted, {.name = "factor", .lowest = 1e-3, .highest = 1e3}, counted);
  EXPECT_LE(asked, 22);
  EXPECT_LE(found.delta.upper, 1e-5);
  EXPECT_GT(found.value / *found.failing, 1);
  EXPECT_LE(found.value / *found.failing, 1 + 1e-8);
}

TEST(BestCost, SaysTheSameAsTheAccountantThatKnowsBest) {
  const auto event = event_of("repeat(1000, poisson(0.01, gaussian(x)))", 1.25);
  BestCost cost{target(1, 1e-6)};
  EXPECT_EQ(cost.delta(event, Epsilon{1}), delta(Contour{}, event, Epsilon{1}));
  EXPECT_EQ(cost.epsilon(event, Delta{1e-6}), epsilon(Contour{}, event, Delta{1e-6}));
  EXPECT_EQ(cost.resolution(), 0);
}

TEST(BestCost, SettlesEachSideAsEverybodyTogether) {
  for (const auto* text : {"repeat(10, exponential(0.28))", "repeat(10, exponential(0.3))", "compose(laplace(3), repeat(5, laplace(4)))",
                           "repeat(100, poisson(0.05, laplace(2)))", "repeat(4, pure(0.3))", "repeat(20, k_norm(l2, 3, 9))"}) {
    const Event event = parse_event(text, adjacency);
    const double everybody = best_epsilon(event, Delta{1e-6}).value.upper;
    for (const double factor : {0.97, 1.03}) {
      BestCost cost{target(everybody * factor, 1e-6)};
      EXPECT_EQ(cost.epsilon(event, Delta{1e-6}).upper <= everybody * factor, factor > 1) << text;
      EXPECT_EQ(cost.delta(event, Epsilon{everybody * factor}).upper <= 1e-6, factor > 1) << text;
    }
  }
}

TEST(QuickEpsilon, IsTheBestUpperBound) {
  const Event event = parse_event("repeat(50, exponential(0.1))", adjacency);
  EXPECT_EQ(quick_epsilon(event, Delta{1e-6}).upper, best_epsilon(event, Delta{1e-6}).value.upper);
  EXPECT_LT(quick_epsilon(event, Delta{1e-6}).upper, 1.64);
}

TEST(PldUpperOnly, IsAnUpperBoundAsNarrowAsTheWidth) {
  for (const auto* text : {"repeat(30, laplace(4))", "repeat(10, exponential(0.3))", "repeat(5, without_replacement(100, 5, gaussian(1)))",
                           "repeat(7, parallel(laplace(3), gaussian(2)))"}) {
    const Event event = parse_event(text, Adjacency::replace_one);
    const Pld both{};
    const Pld upper{.upper_only = true};
    const auto narrow = epsilon(both, event, Delta{1e-6});
    const auto above = epsilon(upper, event, Delta{1e-6});
    EXPECT_EQ(above.lower, 0) << text;
    EXPECT_GE(above.upper, narrow.lower) << text;
    EXPECT_NEAR(above.upper, narrow.upper, 2e-4) << text;
    EXPECT_GE(delta(upper, event, Epsilon{narrow.lower}).upper, 1e-6) << text;
  }
}

// A level far away is answered by a few coarse looks, each of them a bound; one nearby by as many as without it.
TEST(PldUpperOnly, IsOnTheSameSideOfALevelAsWithoutOne) {
  for (const auto* text : {"repeat(100, truncated_poisson(0.1, 130, 1000, gaussian(1)))", "repeat(7, parallel(laplace(3), gaussian(2)))"}) {
    const Event event = parse_event(text, Adjacency::add_or_remove_one);
    const double fine = epsilon(Pld{.upper_only = true}, event, Delta{1e-6}).upper;
    const double delta_there = delta(Pld{.upper_only = true}, event, Epsilon{fine}).upper;
    double coarsest = fine;
    for (const double share : {0.2, 0.9, 0.999, 1 - 1e-6, 1 + 1e-6, 1.001, 1.1, 5.0}) {
      const Pld compared{.upper_only = true, .level = share * fine};
      const double found = epsilon(compared, event, Delta{1e-6}).upper;
      EXPECT_GE(found, fine) << text << share;
      EXPECT_EQ(found <= share * fine, fine <= share * fine) << text << share;
      EXPECT_NEAR(found, fine, 1e-4 + 0.2 * std::abs(share - 1) * fine) << text << share;
      coarsest = std::max(coarsest, found);
      const Pld of_delta{.upper_only = true, .level = share * delta_there};
      const double delta_found = delta(of_delta, event, Epsilon{fine}).upper;
      EXPECT_GE(delta_found, delta_there) << text << share;
      EXPECT_EQ(delta_found <= share * delta_there, delta_there <= share * delta_there) << text << share;
    }
    EXPECT_GT(coarsest, fine + 1e-5) << text << ": no level saves a look";
  }
}

TEST(BestEpsilon, WhoAsksForMoreGetsNoLess) {
  const Event event = parse_event("repeat(1000, poisson(0.01, laplace(1)))", adjacency);
  const auto usual = best_epsilon(event, Delta{1e-5}).value;
  const auto more = best_epsilon(event, Delta{1e-5}, {.width = 1e-12}).value;
  EXPECT_LE(more.width(), usual.width());
  EXPECT_LT(usual.width(), 2e-4);
}

TEST(BestEpsilon, ALowerEndBeyondTheRangeOfDoubleIsItsLargestNumber) {
  for (const auto* text : {"repeat(9007199254740992, pure(1e300))", "repeat(9007199254740992, laplace(1e-300))", "laplace(5e-324)",
                           "repeat(9007199254740992, discrete_laplace(1e-300, 1))", "compose(laplace(5e-324), gaussian(2))",
                           "parallel(pure(1), laplace(5e-324))", "repeat(9007199254740992, exponential(1e300))"}) {
    const Event event = parse_event(text, adjacency);
    const bool is_finite = std::string{text}.find("gaussian") == std::string::npos;
    const auto found = best_epsilon(event, Delta{0}).value;
    EXPECT_TRUE(!is_finite || found.lower < std::numeric_limits<double>::infinity()) << text;
    EXPECT_EQ(found.upper, std::numeric_limits<double>::infinity()) << text;
    EXPECT_LT(best_epsilon(event, Delta{1e-6}).value.lower, std::numeric_limits<double>::infinity()) << text;
  }
}

TEST(BestEpsilon, AnAccountantThatCannotHoldANumberOnTheWayHasNoOpinion) {
  const auto found = best_epsilon(parse_event("laplace(5e-324)", adjacency), Delta{1e-6});
  EXPECT_EQ(found.value.upper, std::numeric_limits<double>::infinity());
  EXPECT_EQ(found.opinions.size(), accountants_asked);
}

TEST(BestEpsilon, ZeroConcentrationCostsNothingAtDeltaZero) {
  for (const auto* text : {"zcdp(0)", "repeat(5, zcdp(0))"}) {
    EXPECT_EQ(best_epsilon(parse_event(text, adjacency), Delta{0}).value, (Enclosure{0, 0})) << text;
  }
}

}  // namespace
}  // namespace surety::accounting::best_cost_test
