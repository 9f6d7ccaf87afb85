#include <surety/accounting/ledger/filter.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include <surety/accounting/accountants/closed_form.h>
#include <surety/accounting/accountants/zcdp.h>
#include <surety/accounting/calibration/calibrate.h>

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

FilterKind any_kind() { return *rc::gen::element(FilterKind::gaussian, FilterKind::zcdp); }

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
}

TEST(Filter, KindsRoundTripThroughTheirNames) {
  for (const auto kind : {FilterKind::gaussian, FilterKind::zcdp, FilterKind::basic}) EXPECT_EQ(parse_filter_kind(name(kind)), kind);
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
  const auto event = repeat(Count{count}, release(Event::Approximate{Epsilon{each}, Delta{lost}}, adjacency));
  const auto basic = filter(FilterKind::basic, std::exp2(*rc::gen::inRange(-24, 32) / 8.0), std::exp2(*rc::gen::inRange(-160, -8) / 8.0));
  const auto& target = basic.budget().target;
  const bool admitted = basic.admits(Releases::of(event));
  if (admitted) RC_ASSERT(delta(ClosedForm{}, event, target.epsilon).upper <= target.delta.value());
  // And it refuses only what exceeds a sum.
  const double n = static_cast<double>(count);
  if (!admitted) RC_ASSERT(n * each > target.epsilon.value() || n * lost > target.delta.value());
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

}  // namespace
}  // namespace surety::accounting::filter_test
