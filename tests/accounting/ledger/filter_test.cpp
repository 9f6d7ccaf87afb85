#include <surety/accounting/ledger/filter.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/accountants/composition/composition.h>
#include <surety/accounting/accountants/renyi/renyi.h>
#include <surety/accounting/accountants/zcdp/zcdp.h>
#include <surety/accounting/answers/asked.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/calibration/calibrate.h>

#include <support/refusal.h>

namespace surety::accounting::filter_test {
namespace {

constexpr auto adjacency = Adjacency::replace_one;

Event leaf(double multiplier) { return gaussian(NoiseMultiplier{multiplier}, adjacency); }

Target target(double epsilon, double delta) { return {.epsilon = Epsilon{epsilon}, .delta = Delta{delta}, .adjacency = adjacency}; }

Filter filter(FilterKind kind, double epsilon, double delta) { return Filter{{.target = target(epsilon, delta), .filter = kind}}; }

Releases releases(double multiplier, std::uint64_t count) { return Releases::of(repeat(Count{count}, leaf(multiplier))); }

/// A random multiset of Gaussian releases.
Releases any_releases() {
  Releases total{adjacency};
  const int parts = *rc::gen::inRange(0, 4);
  for (int i = 0; i < parts; ++i) {
    total.add(releases(std::exp2(*rc::gen::inRange(-8, 80) / 8.0), *rc::gen::inRange<std::uint64_t>(1, 50)));
  }
  return total;
}

FilterKind any_kind() { return *rc::gen::element(FilterKind::gaussian, FilterKind::zcdp, FilterKind::renyi); }

TEST(Filter, AdmitsNothingAlways) {
  EXPECT_TRUE(filter(FilterKind::gaussian, 1e-6, 1e-300).admits(Releases{adjacency}));
  EXPECT_EQ(filter(FilterKind::zcdp, 1e-6, 1e-300).spent(Releases{adjacency}), Enclosure(0, 0));
}

// Published to five digits: mu*(1, 1e-5) = 0.26805 and rho*(4, 1e-3) = 0.61180.
TEST(Filter, LimitsAreTheKnownOnes) {
  EXPECT_NEAR(std::sqrt(filter(FilterKind::gaussian, 1, 1e-5).limit().lower), 0.26805, 1e-5);
  EXPECT_NEAR(std::sqrt(filter(FilterKind::gaussian, 4, 1e-3).limit().upper), 1.21495, 1e-5);
  EXPECT_NEAR(filter(FilterKind::zcdp, 1, 1e-5).limit().lower, 0.03056, 1e-5);
  EXPECT_NEAR(filter(FilterKind::zcdp, 4, 1e-3).limit().upper, 0.61180, 1e-5);
}

TEST(Filter, AdmitsTheRunCalibratedToTheWholeBudget) {
  for (const auto& [epsilon, delta] : {std::pair{1.0, 1e-5}, {0.1, 1e-7}, {4.0, 1e-3}, {0.37, 3e-11}, {12.5, 1e-40}, {1e-3, 1e-9}}) {
    for (const std::uint64_t count : {1U, 7U, 100U, 12345U}) {
      const auto run = [count](NoiseMultiplier z) { return repeat(Count{count}, gaussian(z, adjacency)); };
      const auto by_curve = calibrate(run, target(epsilon, delta));
      EXPECT_TRUE(filter(FilterKind::gaussian, epsilon, delta).admits(Releases::of(by_curve.event)))
          << epsilon << ' ' << delta << ' ' << count;
      const auto by_rho = calibrate(run, target(epsilon, delta), Zcdp{});
      EXPECT_TRUE(filter(FilterKind::zcdp, epsilon, delta).admits(Releases::of(by_rho.event))) << epsilon << ' ' << delta << ' ' << count;
    }
  }
}

TEST(Filter, RefusesWhatIsBarelyTooMuch) {
  const auto run = [](NoiseMultiplier z) { return repeat(Count{100}, gaussian(z, adjacency)); };
  const auto found = calibrate(run, target(0.7, 1e-6));
  const auto gaussian_filter = filter(FilterKind::gaussian, 0.7, 1e-6);
  EXPECT_FALSE(gaussian_filter.admits(releases(found.value.value() * (1 - 1e-11), 100)));
  EXPECT_FALSE(gaussian_filter.admits(releases(found.value.value(), 101)));
}

TEST(Filter, SpentIsTheSumOfMuSquaredOrOfRho) {
  const auto total = Releases::of(compose({repeat(Count{3}, leaf(2)), leaf(0.5)}));
  EXPECT_EQ(filter(FilterKind::gaussian, 1, 1e-5).spent(total), Enclosure(4.75, 4.75));
  EXPECT_EQ(filter(FilterKind::zcdp, 1, 1e-5).spent(total), Enclosure(2.375, 2.375));
}

TEST(Filter, RefusesAnotherAdjacency) {
  try {
    static_cast<void>(filter(FilterKind::gaussian, 1, 1e-5).admits(Releases{Adjacency::add_or_remove_one}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_STREQ(error.what(), "adjacency of the releases is add-or-remove-one, must be the budget's, replace-one");
  }
}

TEST(Filter, RefusesABudgetThatAdmitsNothing) {
  EXPECT_THROW(filter(FilterKind::gaussian, 1, 0), Error);
  EXPECT_THROW(filter(FilterKind::zcdp, 1, 0), Error);
  EXPECT_THROW(filter(FilterKind::gaussian, 0, 1e-5), Error);
  EXPECT_THROW(filter(FilterKind::renyi, 1, 0), Error);
  EXPECT_THROW(filter(FilterKind::renyi, 0, 1e-5), Error);
}

TEST(Filter, KindsRoundTripThroughTheirNames) {
  for (const auto kind : {FilterKind::gaussian, FilterKind::zcdp, FilterKind::basic, FilterKind::renyi}) {
    EXPECT_EQ(parse_filter_kind(name(kind)), kind);
  }
  EXPECT_THROW(static_cast<void>(parse_filter_kind("Gaussian")), Error);
}

// ---- basic ----

Releases of(const char* text) { return Releases::of(parse_event(text, adjacency)); }

TEST(Filter, OfRhoTakesTheDearestPartAndOneBatchOfAnEpoch) {
  const auto concentrated = filter(FilterKind::zcdp, 1, 1e-5);
  EXPECT_EQ(concentrated.spent(of("parallel(gaussian(2), repeat(2, gaussian(1)), pure(1))")), Enclosure(1, 1));
  EXPECT_EQ(concentrated.spent(of("repeat(3, deterministic(9, 3, gaussian(2)))")), Enclosure(0.375, 0.375));
  EXPECT_EQ(concentrated.spent(of("shuffled(9, 3, gaussian(2))")), Enclosure(0.125, 0.125));
  for (const char* text : {"parallel(gaussian(2), approx(1, 1e-6))", "deterministic(9, 3, without_replacement(9, 3, gaussian(2)))",
                           "without_replacement(9, 3, gaussian(2))", "shuffled(9, 3, approx(1, 1e-6))"}) {
    EXPECT_THROW(static_cast<void>(concentrated.admits(of(text))), Error) << text;
  }
  for (const char* text : {"parallel(gaussian(2), gaussian(2))", "deterministic(9, 3, gaussian(2))"}) {
    EXPECT_THROW(static_cast<void>(filter(FilterKind::gaussian, 1, 1e-5).admits(of(text))), Error) << text;
  }
}

TEST(BasicFilter, AddsUpEpsilonsAndDeltas) {
  const auto basic = filter(FilterKind::basic, 1, 0.25);
  EXPECT_TRUE(basic.admits(of("repeat(4, pure(0.25))")));
  EXPECT_FALSE(basic.admits(of("compose(repeat(4, pure(0.25)), pure(1e-300))")));
  EXPECT_TRUE(basic.admits(of("repeat(2, approx(0.5, 0.125))")));
  EXPECT_FALSE(basic.admits(of("compose(repeat(2, approx(0.5, 0.125)), approx(0, 1e-300))"))) << "delta is exceeded";
  EXPECT_FALSE(basic.admits(of("repeat(3, approx(0.1, 0.125))"))) << "delta is exceeded";
  EXPECT_TRUE(basic.admits(of("compose(laplace(4), discrete_laplace(8, 2), k_norm(l2, 3, 8), exponential(0.125), approx(0.25, 0.25))")));
  EXPECT_FALSE(basic.admits(of("compose(laplace(4), discrete_laplace(8, 2), k_norm(l2, 3, 8), exponential(0.126), approx(0.25, 0.25))")));
}

TEST(BasicFilter, RoundsAgainstTheAnalyst) {
  const auto basic = filter(FilterKind::basic, 1, 0);
  EXPECT_FALSE(basic.admits(of("repeat(10, pure(0.1))"))) << "0.1 as a double is above a tenth";
  EXPECT_TRUE(basic.admits(of("repeat(10, pure(0.09999999999999999))")));
  EXPECT_TRUE(basic.admits(of("repeat(2, laplace(2))")));
  EXPECT_FALSE(basic.admits(of("repeat(3, laplace(3))"))) << "a third is rounded up";
}

TEST(BasicFilter, SaysWhatIsSpent) {
  const auto basic = filter(FilterKind::basic, 2, 0.25);
  EXPECT_EQ(basic.unit(), "epsilon");
  EXPECT_EQ(basic.limit(), Enclosure(2, 2));
  const auto total = of("compose(repeat(3, approx(0.5, 0.0625)), laplace(4))");
  EXPECT_EQ(basic.spent(total), Enclosure(1.75, 1.75));
  EXPECT_EQ(basic.spent_delta(total), Enclosure(0.1875, 0.1875));
  EXPECT_EQ(filter(FilterKind::zcdp, 2, 0.25).spent_delta(of("laplace(4)")), Enclosure(0, 0));
}

TEST(BasicFilter, RefusesByNameWhatPromisesNoEpsilon) {
  const auto basic = filter(FilterKind::basic, 1, 1e-5);
  for (const char* text :
       {"gaussian(3)", "zcdp(0.5)", "discrete_gaussian(3, 1)", "parallel(pure(1), pure(1))", "shuffled(9, 3, pure(1))"}) {
    try {
      static_cast<void>(basic.admits(of(text)));
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported);
      const std::string message = error.what();
      EXPECT_EQ(message.rfind(std::string{"no filter of kind basic is proved for "} + text + "; ", 0), 0U) << message;
      EXPECT_NE(message.find("zcdp"), std::string::npos) << message;
    }
  }
}

// What it admits is within the target by an accountant that shares nothing with it.
RC_GTEST_PROP(BasicFilterLaws, WhatItAdmitsTheClosedFormConfirms, ()) {
  const double each = std::exp2(*rc::gen::inRange(-40, 8) / 8.0);
  const double lost = *rc::gen::inRange(0, 2) * std::exp2(*rc::gen::inRange(-160, -32) / 8.0);
  const auto count = *rc::gen::inRange<std::uint64_t>(1, 40);
  const auto event = repeat(Count{count}, approx(Epsilon{each}, Delta{lost}, adjacency));
  const auto basic = filter(FilterKind::basic, std::exp2(*rc::gen::inRange(-24, 32) / 8.0), std::exp2(*rc::gen::inRange(-160, -8) / 8.0));
  const auto& target = basic.budget().target;
  const bool admitted = basic.admits(Releases::of(event));
  if (admitted) RC_ASSERT(delta(ClosedForm{}, event, target.epsilon).upper <= target.delta.value());
  // And it refuses only what exceeds a sum.
  const double n = static_cast<double>(count);
  if (!admitted) RC_ASSERT(n * each > target.epsilon.value() || n * lost > target.delta.value());
}

// ---- renyi ----

constexpr auto present = Adjacency::add_or_remove_one;

Filter renyi(double epsilon, double delta, std::optional<double> order = std::nullopt, Adjacency under = present) {
  Budget budget{.target = {.epsilon = Epsilon{epsilon}, .delta = Delta{delta}, .adjacency = under}};
  if (order) budget.order = RenyiOrder{*order};
  return Filter{budget};
}
Event event_of(const std::string& text, Adjacency under = present) { return parse_event(text, under); }
Releases all_of(const std::string& text, Adjacency under = present) { return Releases::of(event_of(text, under)); }

// epsilon + log(a / (a - 1)) + log(a delta) / (a - 1), to 17 digits by mpmath.
TEST(RenyiFilter, LimitsAreThoseOfTheConversion) {
  for (const auto& [epsilon, delta, order, limit] :
       {std::array{1.0, 1e-6, 22.0, 0.5358310582727044}, {8.0, 1e-3, 2.0, 2.4785390821377536}, {8.0, 1e-3, 6.0, 7.1591223948431382}}) {
    const auto found = renyi(epsilon, delta, order).limit();
    EXPECT_NEAR(found.lower, limit, 1e-15 * limit);
    EXPECT_LT(found.width(), 1e-15);
  }
}

TEST(RenyiFilter, IsTheDefaultAndKeepsItsOrder) {
  EXPECT_EQ(Budget{.target = target(1, 1e-6)}.filter, FilterKind::renyi);
  const auto chosen = renyi(1, 1e-6);
  ASSERT_TRUE(chosen.budget().order);
  EXPECT_NEAR(chosen.budget().order->value(), 22.11, 0.2);
  EXPECT_EQ(Filter{chosen.budget()}.budget().order, chosen.budget().order);
  EXPECT_EQ(chosen.unit(), "divergence");
  EXPECT_THROW(renyi(1, 1e-6, 2), Error) << "at that order nothing fits";
  Budget other{.target = target(1, 1e-6), .filter = FilterKind::zcdp, .order = RenyiOrder{9}};
  EXPECT_THROW(Filter{other}, Error);
  for (const auto& [epsilon, delta] : {std::pair{1e-6, 1e-300}, {1e-12, 0.5}, {700.0, 1e-300}, {1e6, 1e-3}}) {
    EXPECT_GT(renyi(epsilon, delta).limit().lower, 0) << epsilon;
  }
}

TEST(RenyiFilter, RefusesByNameWhatHasNoCurve) {
  try {
    static_cast<void>(renyi(1, 1e-5).admits(all_of("parallel(gaussian(2), approx(0.5, 1e-7))")));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_STREQ(
        error.what(),
        "no filter of kind renyi is proved for parallel(gaussian(2), approx(0.5, 1e-07)); no other kind is, so a ledger with this budget cannot hold it");
  }
  for (const char* text : {"approx(0.1, 1e-9)", "poisson(0.1, approx(0.1, 1e-9))"}) {
    EXPECT_THROW(static_cast<void>(renyi(1, 1e-5).admits(all_of(text))), Error) << text;
  }
  for (const char* text : {"shuffled(9, 3, approx(0.1, 1e-9))", "poisson(0.1, parallel(record_sum(9), record_sum(9)))",
                           "poisson(0.1, laplace_record_sum(20))", "binomial(1000, 1)", "skellam(100, 1)"}) {
    EXPECT_THROW(static_cast<void>(renyi(1, 1e-5, {}, adjacency).admits(all_of(text, adjacency))), Error) << text;
  }
}

// Statistics and training under one budget, which each of the other kinds refuses.
TEST(RenyiFilter, AdmitsCountsAndTrainingUnderOneBudget) {
  for (const auto under : {Adjacency::add_or_remove_one, Adjacency::zero_out, Adjacency::replace_one}) {
    const std::string noise = under == Adjacency::replace_one ? "record_sum(8)" : "gaussian(4)";
    const auto training = event_of("repeat(1000, poisson(0.01, " + noise + "))", under);
    const auto count = event_of("laplace(50)", under);
    const auto budget = renyi(1, 1e-6, {}, under);
    Releases total{under};
    for (const auto& run : {count, training, count, count}) {
      total.add(Releases::of(run));
      EXPECT_TRUE(budget.admits(total)) << describe(run);
    }
    const auto counts = budget.room_for(total, count, 1000);
    EXPECT_GT(counts, 20U);
    EXPECT_LT(counts, 200U);
    const auto runs = budget.room_for(total, training, 1000);
    EXPECT_GE(runs, 1U);
    EXPECT_LT(runs, 30U);
    for (const auto kind : {FilterKind::gaussian, FilterKind::zcdp, FilterKind::basic}) {
      const Filter other{{.target = budget.budget().target, .filter = kind}};
      EXPECT_THROW(static_cast<void>(other.admits(total)), Error) << name(kind);
    }
  }
}

TEST(RenyiFilter, AdmitsEveryKindThatHasACurve) {
  for (const char* text : {"laplace(9)",
                           "gaussian(9)",
                           "record_sum(20)",
                           "laplace_record_sum(20)",
                           "discrete_gaussian(9, 1)",
                           "discrete_laplace(9, 1)",
                           "randomized_response(0.55, 2)",
                           "exponential(0.1)",
                           "pure(0.1)",
                           "shuffled_reports(100, 0.1)",
                           "shuffled_responses(100, 0.55, 2)",
                           "zcdp(0.001)",
                           "generalized_gaussian(3, 5, 9)",
                           "k_norm(l2, 3, 9)",
                           "parallel(pure(0.1), gaussian(9))",
                           "shuffled(9, 3, pure(0.1))",
                           "deterministic(9, 3, laplace(9))",
                           "without_replacement(100, 3, gaussian(9))",
                           "without_replacement(100, 3, laplace(9))",
                           "poisson(0.1, record_sum(9))",
                           "poisson(0.1, repeat(2, record_sum(9)))",
                           "zcdp(0.01, 0.001)",
                           "last_iterate(100, 0.9, gaussian(40))",
                           "last_iterate_within(2, 100, 0.9, gaussian(40))",
                           "last_iterate_of_passes(10, 3, 0.9, gaussian(40))",
                           "last_iterate_of_batches(10, 3, gaussian(40))",
                           "users(2, last_iterate(100, 0.9, gaussian(80)))",
                           "renyi(8, 0.01, 64, 0.05)",
                           "law(0.1, 0.52497918747894, -0.1, 0.47502081252106)"}) {
    EXPECT_TRUE(renyi(1, 1e-6, {}, adjacency).admits(all_of(text, adjacency))) << text;
  }
  for (const char* text :
       {"poisson(0.1, laplace(9))", "poisson(0.1, laplace_record_sum(9))", "poisson(0.1, compose(gaussian(9), gaussian(12)))",
        "poisson(0.1, exponential(0.1))", "poisson(0.1, parallel(gaussian(9), gaussian(9)))", "poisson(0.1, zcdp(0.001))",
        "truncated_poisson(0.1, 5, 100, gaussian(9))", "users(2, poisson(0.1, gaussian(9)))", "allocated(9, gaussian(9))"}) {
    EXPECT_TRUE(renyi(1, 1e-6).admits(all_of(text))) << text;
  }
}

// mu^2 is 4 / 20^2 for each of the first three, of which sum and limit are known.
TEST(GaussianFilter, CountsALastIterateAsItsGaussianRelease) {
  const Filter gaussian{{.target = renyi(1, 1e-6, {}, Adjacency::replace_one).budget().target, .filter = FilterKind::gaussian}};
  const auto spent = [&](const char* text) { return gaussian.spent(all_of(text, Adjacency::replace_one)); };
  const double one = 4.0 / 400;
  for (const char* text : {"last_iterate(4, 1, gaussian(20))", "last_iterate_of_passes(10, 3, 1, gaussian(20))",
                           "users(4, last_iterate(4, 1, gaussian(80)))"}) {
    EXPECT_NEAR(spent(text).upper, one, 1e-15) << text;
  }
  EXPECT_NEAR(spent("compose(last_iterate_of_batches(3, 2, gaussian(5)), gaussian(10))").upper, 0.01 + 0.01, 1e-15);
  EXPECT_THROW((void)spent("last_iterate_within(2, 9, 1, gaussian(20))"), Error);
  const Filter concentrated{{.target = gaussian.budget().target, .filter = FilterKind::zcdp}};
  // (4 + 4)^2 / 4 / (2 20^2).
  EXPECT_NEAR(concentrated.spent(all_of("last_iterate_within(4, 99, 1, gaussian(20))", Adjacency::replace_one)).upper, 0.02, 1e-15);
}

TEST(RenyiFilter, RefusesWhatHasNoCurveOrNoneAtItsOrder) {
  EXPECT_THROW((void)renyi(1, 1e-6).admits(all_of("curve(0.1, 1e-9, 0.2, 1e-12)")), Error);
  EXPECT_THROW((void)renyi(1, 1e-6).admits(all_of("law(inf, 1e-9, 0, 0.999999999)")), Error);
  EXPECT_THROW((void)renyi(1, 1e-6).admits(all_of("mixture(0.5, 0, 0.5, 1, gaussian(9))")), Error);
  EXPECT_FALSE(renyi(1, 1e-6).admits(all_of("renyi(2, 0.01)")));
  const Filter concentrated{{.target = renyi(1, 1e-6).budget().target, .filter = FilterKind::zcdp}};
  EXPECT_TRUE(concentrated.admits(all_of("zcdp(0.001)")));
  EXPECT_THROW((void)concentrated.admits(all_of("zcdp(0.01, 0.001)")), Error);
}

TEST(RenyiFilter, TakesTurnsForTheirRoundsAndUsersForWhatTheyAdd) {
  const auto under = Adjacency::add_or_remove_one;
  const auto budget = renyi(1, 1e-6);
  const auto costs_as = [&](const char* text, const char* other) {
    const auto cost = budget.spent(all_of(text));
    const auto other_cost = budget.spent(all_of(other));
    EXPECT_NEAR(cost.upper, other_cost.upper, 1e-13 * other_cost.upper) << text;
    EXPECT_GE(cost.upper, other_cost.lower) << text;
  };
  costs_as("cyclic(10, 95, 0.1, gaussian(9))", "repeat(10, poisson(0.1, gaussian(9)))");
  costs_as("users(2, repeat(3, gaussian(40)))", "repeat(3, gaussian(20))");
  const Filter gaussian{{.target = budget.budget().target, .filter = FilterKind::gaussian}};
  EXPECT_EQ(gaussian.spent(all_of("users(2, repeat(3, gaussian(8)))")), Enclosure(0.1875, 0.1875));
  const Filter basic{{.target = budget.budget().target, .filter = FilterKind::basic}};
  EXPECT_THROW(static_cast<void>(basic.admits(all_of("users(2, gaussian(40))"))), Error);
  EXPECT_NEAR(basic.spent(all_of("users(3, laplace(10))")).upper, 0.3, 1e-15);
  EXPECT_NEAR(basic.spent(all_of("users(4, compose(pure(0.1), exponential(0.2)))")).upper, 1.2, 1e-15);
  EXPECT_NEAR(basic.spent_delta(all_of("users(2, approx(0, 1e-9))")).upper, 2e-9, 1e-20);
  const Filter concentrated{{.target = budget.budget().target, .filter = FilterKind::zcdp}};
  EXPECT_NEAR(concentrated.spent(all_of("users(4, zcdp(0.0001))")).upper, 0.0016, 1e-15);
  EXPECT_NEAR(concentrated.spent(all_of("users(2, repeat(3, pure(0.01)))")).upper, 3 * 0.0002, 1e-15);
  EXPECT_THROW(static_cast<void>(concentrated.admits(all_of("users(2, zcdp(0.001, 0.0001))"))), Error);
  EXPECT_THROW(static_cast<void>(concentrated.admits(all_of("users(2, approx(0.01, 1e-9))"))), Error);
  EXPECT_THROW(static_cast<void>(gaussian.admits(all_of("users(2, laplace(100))"))), Error);
  costs_as("users(2, zcdp(0.001, 0.0001))", "zcdp(0.003, 0.0004)");
  EXPECT_TRUE(budget.admits(all_of("users(2, pure(0.3))"))) << "by the sum of its epsilons";
  EXPECT_FALSE(basic.admits(all_of("users(2, approx(0.1, 1e-6))"))) << "delta is used up";
  for (const char* text :
       {"users(2, poisson(0.1, gaussian(9)))", "truncated_poisson(0.1, 5, 100, gaussian(9))", "allocated(9, gaussian(9))",
        "allocated(9, 2, gaussian(9))", "users(2, allocated(9, gaussian(9)))", "users(2, cyclic(3, 9, 0.1, gaussian(9)))"}) {
    for (const auto kind : {FilterKind::gaussian, FilterKind::zcdp, FilterKind::basic}) {
      const Filter each{{.target = budget.budget().target, .filter = kind}};
      EXPECT_THROW(static_cast<void>(each.admits(all_of(text, under))), Error) << text;
    }
  }
  for (const auto kind : {FilterKind::renyi, FilterKind::gaussian, FilterKind::zcdp, FilterKind::basic}) {
    const Filter each{{.target = budget.budget().target, .filter = kind}};
    const auto refusal = reference::refusal_of([&] { return each.admits(all_of("best_of(geometric_runs, 2, gaussian(9))", under)); });
    EXPECT_TRUE(refusal.says(ErrorCode::unsupported, "is proved for best_of(geometric_runs, 2, gaussian(9)); no other kind is")) << refusal;
  }
  // What the filter admits costs no more than the budget by the accountant that knows the pair.
  for (const char* text :
       {"users(3, poisson(0.01, gaussian(4)))", "allocated(100, gaussian(2))", "truncated_poisson(0.05, 50, 500, gaussian(5))"}) {
    const auto event = event_of(text, under);
    const auto room = budget.room_for(all_of("gaussian(50)"), event, 100000);
    ASSERT_GT(room, 5U) << text;
    const auto all = compose({repeat(Count{room}, event), event_of("gaussian(50)", under)});
    EXPECT_LE(epsilon(Pld{.width = 1e-3, .upper_only = true}, all, Delta{1e-6}).upper, 1) << text;
    EXPECT_GE(epsilon(Pld{.width = 1e-3, .upper_only = true}, all, Delta{1e-6}).upper, 0.8) << text << ": much is left unused";
  }
  EXPECT_THROW(static_cast<void>(budget.admits(all_of("users(2, allocated(9, 2, gaussian(9)))", under))), Error);
}

TEST(RenyiFilter, TakesEpochsOfReplacedRecordsAndOfSeveralParticipations) {
  for (const auto& [text, under] : {std::pair{"allocated(9, 2, gaussian(9))", Adjacency::add_or_remove_one},
                                    {"allocated(100, record_sum(4))", Adjacency::replace_one},
                                    {"allocated(100, 3, record_sum(8))", Adjacency::replace_one}}) {
    const auto budget = renyi(1, 1e-6, {}, under);
    const auto event = event_of(text, under);
    const auto room = budget.room_for(all_of("gaussian(50)", under), event, 100000);
    ASSERT_GT(room, 5U) << text;
    const auto all = compose({repeat(Count{room}, event), event_of("gaussian(50)", under)});
    const auto spent = epsilon(Pld{.width = 1e-2, .upper_only = true}, all, Delta{1e-6}).upper;
    EXPECT_LE(spent, 1) << text;
    EXPECT_GE(spent, 0.8) << text << ": much is left unused";
  }
  // A user's records cost no more than an epoch of each with its share of the noise, and more than one of them.
  const auto spent = [](const char* text) { return renyi(1, 1e-6).spent(all_of(text)).upper; };
  const double users = spent("users(2, allocated(100, gaussian(6)))");
  EXPECT_LE(users, spent("repeat(2, allocated(100, gaussian(4.242)))"));
  EXPECT_GE(users, spent("allocated(100, gaussian(6))"));
  EXPECT_TRUE(
      renyi(1, 1e-6, {}, Adjacency::replace_one).admits(all_of("users(2, allocated(100, record_sum(12)))", Adjacency::replace_one)));
}

TEST(RenyiFilter, AdmitsTheRunCalibratedToTheWholeBudgetByRho) {
  for (const auto& [epsilon, delta] : {std::pair{1.0, 1e-5}, {0.1, 1e-7}, {4.0, 1e-3}, {0.37, 3e-11}, {12.5, 1e-40}, {1e-3, 1e-9}}) {
    const auto run = [](NoiseMultiplier z) { return repeat(Count{7}, gaussian(z, adjacency)); };
    const auto by_rho = calibrate(run, target(epsilon, delta), Zcdp{});
    const auto the_filter = filter(FilterKind::renyi, epsilon, delta);
    EXPECT_TRUE(the_filter.admits(Releases::of(run(NoiseMultiplier{by_rho.value.value() * (1 + 1e-12)})))) << epsilon << ' ' << delta;
    EXPECT_FALSE(the_filter.admits(Releases::of(run(NoiseMultiplier{by_rho.value.value() * (1 - 1e-9)})))) << epsilon << ' ' << delta;
  }
}

/// A release or a batch of a few kinds.
std::string any_leaf(bool with_batches) {
  const double size = std::exp2(*rc::gen::inRange(-64, 0) / 8.0);
  switch (*rc::gen::inRange(0, with_batches ? 8 : 5)) {
    case 0: return fmt::format("laplace({})", 1 / size);
    case 1: return fmt::format("gaussian({})", 1 / size);
    case 2: return fmt::format("exponential({})", size);
    case 3: return fmt::format("pure({})", size);
    case 4: return fmt::format("zcdp({})", size * size / 2);
    case 5: return fmt::format("poisson({}, gaussian({}))", size, 1 + 0.1 / size);
    case 6: return fmt::format("poisson(0.03125, pure({}))", size);
    default: return fmt::format("poisson(0.0078125, gaussian({}))", 1 + *rc::gen::inRange(0, 8) / 4.0);
  }
}

RC_GTEST_PROP(RenyiFilterLaws, AdmitsWhateverZcdpOrBasicAdmits, ()) {
  const double epsilon = std::exp2(*rc::gen::inRange(-24, 24) / 8.0);
  const double delta = std::exp2(*rc::gen::inRange(-200, -16) / 8.0);
  std::string text = any_leaf(false);
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i)
    text += ", " + fmt::format("repeat({}, {})", *rc::gen::inRange(1, 200), any_leaf(false));
  const auto total = all_of("compose(" + text + ")", adjacency);
  const auto admitted = [&](FilterKind kind, double room) {
    try {
      return filter(kind, epsilon * room, delta).admits(total);
    } catch (const Error&) {
      return false;
    }
  };
  if (admitted(FilterKind::zcdp, 1 - 1e-12)) RC_ASSERT(admitted(FilterKind::renyi, 1));
  if (admitted(FilterKind::basic, 1)) RC_ASSERT(admitted(FilterKind::renyi, 1));
}

// An analyst who releases what is admitted, for as long as it is; the accountants together confirm what that costs.
RC_GTEST_PROP(RenyiFilterLaws, WhatItAdmitsTheBestAccountantConfirms, ()) {
  const double epsilon = std::exp2(*rc::gen::inRange(-8, 24) / 8.0);
  const double delta = *rc::gen::element(1e-3, 1e-6, 1e-9);
  const auto the_filter = renyi(epsilon, delta);
  Releases total{present};
  for (int tries = *rc::gen::inRange(1, 5); tries > 0; --tries) {
    const auto event = event_of(any_leaf(true));
    const auto room = the_filter.room_for(total, event, 100000);
    if (room > 0) total.add(Releases::of(repeat(Count{1 + *rc::gen::inRange<std::uint64_t>(0, room)}, event)));
  }
  if (total.empty()) return;
  RC_ASSERT(the_filter.admits(total));
  const auto event = *total.event();
  // By the renyi accountant, or where all are pure, by the sum of epsilons; everybody together takes longer.
  if (surety::accounting::delta(Renyi{}, event, Epsilon{epsilon}).upper > delta) {
    RC_ASSERT(surety::accounting::delta(Composition::Basic{}, event, Epsilon{epsilon}).upper <= delta);
  }
  if (*rc::gen::inRange(0, 10) == 0) RC_ASSERT(best_delta(event, Epsilon{epsilon}, {.width = 0.05}).value.upper <= delta);
}

RC_GTEST_PROP(RenyiFilterLaws, RoomIsWhatIsAdmitted, ()) {
  const auto the_filter = renyi(1, 1e-6);
  auto total = all_of(fmt::format("repeat({}, laplace(100))", *rc::gen::inRange(1, 100)));
  const auto event = event_of(fmt::format("repeat({}, {})", *rc::gen::inRange(1, 3), any_leaf(true)));
  const auto room = the_filter.room_for(total, event, 50);
  if (room > 0) total.add(Releases::of(repeat(Count{room}, event)));
  RC_ASSERT(the_filter.admits(total));
  total.add(Releases::of(event));
  RC_ASSERT(room == 50 || !the_filter.admits(total));
}

/// A release with two answers, in the batch's pair of which one is likelier by e^loss with the record: poisson(q, pure(e)).
struct TwoAnswers {
  double with;     ///< probability of that answer with the record
  double without;  ///< and without it

  static TwoAnswers of(double with, double loss) { return {with, with * std::exp(-loss)}; }
  [[nodiscard]] std::string event() const {
    const double pure = std::log1p(-without) - std::log(without);
    return fmt::format("poisson({}, pure({}))", (with / without - 1) / std::expm1(pure), pure);
  }
};

// What nobody may do: go on while some order of several fits. An analyst sees the first answer, and goes on by the order that it has left room
// at. On each path some order fits, and together the transcripts cost 1.8 times the budget's delta.
TEST(RenyiFilter, OneOrderIsKeptAndNotWhicheverFits) {
  constexpr double epsilon = 8;
  constexpr double delta = 1e-3;
  const auto first = TwoAnswers::of(0.006, 2);
  const double after_the_rare = 6.17;  // pure(6.17)
  const auto after_the_common = TwoAnswers::of(0.00174, 8.69);
  const auto rare = all_of(fmt::format("compose({}, pure({}))", first.event(), after_the_rare));
  const auto common = all_of(fmt::format("compose({}, {})", first.event(), after_the_common.event()));

  const auto second = renyi(epsilon, delta, 2);
  const auto sixth = renyi(epsilon, delta, 6);
  EXPECT_TRUE(sixth.admits(rare));
  EXPECT_TRUE(second.admits(common));
  // So the mutant admits both paths, and each order by itself only one.
  EXPECT_FALSE(second.admits(rare));
  EXPECT_FALSE(sixth.admits(common));
  EXPECT_TRUE(second.admits(all_of(first.event())) && sixth.admits(all_of(first.event())));

  // The four transcripts, and what the paths cost.
  const auto beyond = [&](double with, double without) { return std::max(0.0, with - std::exp(epsilon) * without); };
  const double likely = 1 / (1 + std::exp(-after_the_rare));
  const double of_rare =
      beyond(first.with * likely, first.without * (1 - likely)) + beyond(first.with * (1 - likely), first.without * likely);
  const auto& next = after_the_common;
  const double of_common = beyond((1 - first.with) * next.with, (1 - first.without) * next.without) +
                           beyond((1 - first.with) * (1 - next.with), (1 - first.without) * (1 - next.without));
  EXPECT_GT(of_rare + of_common, 1.7 * delta);
  // One order keeps the budget: it stops on the other path after the first answer, which by itself costs nothing at this epsilon.
  EXPECT_LT(of_rare, delta);
  EXPECT_LT(of_common, delta);
}

// Whoever adds up the divergences towards the data with the record alone admits 54 batches, of which the first one breaks the budget.
TEST(RenyiFilter, BothDirectionsAreKept) {
  const auto budget = renyi(1, 1e-6, 22);
  const auto batch = TwoAnswers::of(0.0124, 1.6);
  const double reverse = std::log(batch.without * std::pow(batch.without / batch.with, 21) +
                                  (1 - batch.without) * std::pow((1 - batch.without) / (1 - batch.with), 21)) /
                         21;
  EXPECT_LT(reverse * 50, budget.limit().lower);
  EXPECT_FALSE(budget.admits(all_of(batch.event())));
  EXPECT_GT(batch.with - std::exp(1) * batch.without, 1e-6);
}

// D_a of the pair (1 - q) N(0) + q N(+-1 / z) by Simpson's rule.
TEST(RenyiFilter, ReplacedRecordsInABatchCostAtLeastTheTruth) {
  for (const auto& values : {std::array{0.01, 4.0, 22.0}, {0.1, 3.0, 8.0}, {0.01, 0.5, 4.0}, {0.5, 4.0, 22.0}, {0.9, 10.0, 60.0}}) {
    const double rate = values[0];
    const double noise = values[1];
    const double order = values[2];
    const double mu = 1 / noise;
    const auto log_ratio = [&](double x, double sign) {
      const double y = mu * (sign * x - mu / 2);
      return y > 700 ? y + std::log(rate) : std::log1p(rate * std::expm1(y));
    };
    const double a = order;
    double sum = 0;
    constexpr int panels = 40000;
    const double low = -12 - 2 * a * mu;
    const double high = 12 + 2 * a * mu;
    const double step = (high - low) / panels;
    for (int i = 0; i <= panels; ++i) {
      const double x = low + i * step;
      const double weight = i == 0 || i == panels ? 1 : i % 2 == 1 ? 4 : 2;
      sum += weight * std::exp(-x * x / 2 + a * log_ratio(x, 1) + (1 - a) * log_ratio(x, -1));
    }
    const double truth = std::log(sum * step / 3 / std::sqrt(2 * std::numbers::pi)) / (a - 1);
    const auto at = renyi(100, 1e-6, order, adjacency);
    const auto spent = at.spent(all_of(fmt::format("poisson({}, record_sum({}))", rate, noise), adjacency));
    EXPECT_GE(spent.upper, truth * (1 - 1e-9)) << rate << ' ' << noise << ' ' << order;
    EXPECT_LE(spent.upper, at.spent(all_of(fmt::format("record_sum({})", noise), adjacency)).upper);
    if (rate == 0.01 && noise == 4) {
      EXPECT_LE(spent.upper, 1.2 * truth);
    }
  }
}

TEST(RenyiFilter, PlannedEventsFitMostOftenAtTheirOrder) {
  const auto plan = event_of("poisson(0.001, gaussian(1))");
  const auto target = renyi(1, 1e-6).budget().target;
  const auto order = renyi_order(target, plan);
  EXPECT_NEAR(order.value(), 13, 1.5);
  const auto room = [&](const Filter& one) { return one.room_for(Releases{present}, plan, 100000); };
  const auto planned = room(renyi(1, 1e-6, order.value()));
  EXPECT_GT(planned, 11000U);
  EXPECT_EQ(room(renyi(1, 1e-6)), 0U) << "the default order is too high for so little noise in a batch";
  for (const double factor : {0.9, 1.25}) EXPECT_GE(planned, room(renyi(1, 1e-6, 1 + (order.value() - 1) * factor)));
  EXPECT_NEAR(renyi_order(target, event_of("gaussian(5)")).value(), renyi_order(target).value(), 1e-3);
}

// P(the loss of one of the first 200 answers exceeds the odometer at that time), exactly, for an analyst who repeats pure(0.5) until it does.
TEST(RenyiFilter, OdometerIsExceededWithProbabilityDeltaAtMost) {
  constexpr double each = 0.5;
  constexpr double delta = 0.05;
  const auto budget = renyi(4, delta);
  const double up = 1 / (1 + std::exp(-each));
  const auto exceeded = [&](const std::function<double(int)>& odometer) {
    std::vector<double> alive{1};  // by the number of answers that speak for the record
    double gone = 0;
    for (int n = 1; n <= 200; ++n) {
      std::vector<double> next(alive.size() + 1, 0.0);
      for (std::size_t k = 0; k < alive.size(); ++k) {
        next[k] += alive[k] * (1 - up);
        next[k + 1] += alive[k] * up;
      }
      const double bound = odometer(n);
      for (std::size_t k = 0; k < next.size(); ++k) {
        if (each * (2 * static_cast<double>(k) - n) <= bound) continue;
        gone += next[k];
        next[k] = 0;
      }
      alive = next;
    }
    return gone;
  };
  const auto odometer = [&](int n) { return budget.odometer(all_of(fmt::format("repeat({}, pure({}))", n, each)))->upper; };
  EXPECT_LE(exceeded(odometer), delta);
  const auto divergence = [&](int n) { return budget.spent(all_of(fmt::format("repeat({}, pure({}))", n, each))).upper; };
  EXPECT_GT(exceeded([&](int n) { return std::min(divergence(n), each * n); }), delta) << "the sum alone is no odometer";
  EXPECT_EQ(odometer(1), each);
  EXPECT_LT(odometer(200), 60);
  EXPECT_EQ(budget.odometer(Releases{present})->upper, 0);
  EXPECT_FALSE(filter(FilterKind::zcdp, 1, 1e-5).odometer(Releases{adjacency}));
}

RC_GTEST_PROP(FilterLaws, AdmitsExactlyWhatCostsAtMostTheLimit, ()) {
  const auto the_filter = filter(any_kind(), std::exp2(*rc::gen::inRange(-40, 30) / 8.0), std::exp2(*rc::gen::inRange(-300, -8) / 8.0));
  const auto total = any_releases();
  const auto spent = the_filter.spent(total);
  const auto limit = the_filter.limit();
  if (spent.upper <= limit.lower * (1 - 1e-9)) RC_ASSERT(the_filter.admits(total));
  if (spent.lower > limit.upper) RC_ASSERT(!the_filter.admits(total));
}

RC_GTEST_PROP(FilterLaws, APartOfWhatIsAdmittedIsAdmitted, ()) {
  const auto the_filter = filter(any_kind(), 2.5, 1e-4);
  const auto part = any_releases();
  auto whole = part;
  whole.add(any_releases());
  if (the_filter.admits(whole)) RC_ASSERT(the_filter.admits(part));
}

RC_GTEST_PROP(FilterLaws, WhatTheFilterAdmitsTheAccountantConfirms, ()) {
  const double epsilon = std::exp2(*rc::gen::inRange(-24, 24) / 8.0);
  const auto the_filter = filter(any_kind(), epsilon, 1e-6);
  const auto total = any_releases();
  if (!total.empty() && the_filter.admits(total)) RC_ASSERT(delta(ClosedForm{}, *total.event(), Epsilon{epsilon}).upper <= 1e-6);
}

// A total of exactly rho is admitted, one above it by a part in 10^9 is not; and the limit is rho.
TEST(FilterOfRho, AdmitsThatRhoAndNoMore) {
  for (const double rho : {1e-4, 0.015, 0.5, 2.63, 100.0}) {
    for (const double delta : {1e-3, 1e-10, 1e-100}) {
      const auto target = target_of_rho(Rho{rho}, Delta{delta}, adjacency);
      const Filter concentrated{{.target = target, .filter = FilterKind::zcdp}};
      const auto of_rho = [](double value) { return Releases::of(zcdp(Rho{value}, adjacency)); };
      EXPECT_EQ(target.delta.value(), delta);
      EXPECT_TRUE(concentrated.admits(of_rho(rho))) << rho << ' ' << delta;
      EXPECT_FALSE(concentrated.admits(of_rho(rho * (1 + 1e-9)))) << rho << ' ' << delta;
      EXPECT_NEAR(concentrated.limit().lower / rho, 1, 1e-9) << rho << ' ' << delta;
      EXPECT_NEAR(concentrated.limit().upper / rho, 1, 1e-9) << rho << ' ' << delta;
      EXPECT_LT(target.epsilon.value(), rho + 2 * std::sqrt(rho * std::log(1 / delta)) + 1e-12) << "the classical conversion";
    }
  }
}

TEST(FilterOfRho, RefusesWhatIsNoBudget) {
  EXPECT_THROW(static_cast<void>(target_of_rho(Rho{0}, Delta{1e-5}, adjacency)), Error);
  EXPECT_THROW(static_cast<void>(target_of_rho(Rho{1}, Delta{0}, adjacency)), Error);
  EXPECT_THROW(static_cast<void>(target_of_rho(Rho{1e-6}, Delta{0.1}, adjacency)), Error) << "no epsilon is needed there";
}

}  // namespace
}  // namespace surety::accounting::filter_test
