#include <surety/accounting/filter.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <functional>

#include <surety/accounting/calibrate.h>
#include <surety/accounting/closed_form.h>
#include <surety/accounting/zcdp.h>

namespace surety::accounting {
namespace {

constexpr auto adjacency = Adjacency::replace_one;

Event leaf(double multiplier) { return gaussian(NoiseMultiplier{multiplier}, adjacency); }

Target target(double epsilon, double delta) { return {.epsilon = Epsilon{epsilon}, .delta = Delta{delta}, .adjacency = adjacency}; }

Filter filter(FilterKind kind, double epsilon, double delta) { return Filter{{.target = target(epsilon, delta), .filter = kind}}; }

Releases releases(double multiplier, std::uint64_t count) { return Releases::of(repeated(Count{count}, leaf(multiplier))); }

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
      const auto run = [count](NoiseMultiplier z) { return repeated(Count{count}, gaussian(z, adjacency)); };
      const auto by_curve = calibrate(run, target(epsilon, delta));
      EXPECT_TRUE(filter(FilterKind::gaussian, epsilon, delta).admits(Releases::of(by_curve.event)))
          << epsilon << ' ' << delta << ' ' << count;
      const auto by_rho = calibrate(run, target(epsilon, delta), Zcdp{});
      EXPECT_TRUE(filter(FilterKind::zcdp, epsilon, delta).admits(Releases::of(by_rho.event))) << epsilon << ' ' << delta << ' ' << count;
    }
  }
}

TEST(Filter, RefusesWhatIsBarelyTooMuch) {
  const auto run = [](NoiseMultiplier z) { return repeated(Count{100}, gaussian(z, adjacency)); };
  const auto found = calibrate(run, target(0.7, 1e-6));
  const auto gaussian_filter = filter(FilterKind::gaussian, 0.7, 1e-6);
  EXPECT_FALSE(gaussian_filter.admits(releases(found.value.value() * (1 - 1e-11), 100)));
  EXPECT_FALSE(gaussian_filter.admits(releases(found.value.value(), 101)));
}

TEST(Filter, SpentIsTheSumOfMuSquaredOrOfRho) {
  const auto total = Releases::of(composed({repeated(Count{3}, leaf(2)), leaf(0.5)}));
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
  for (const auto kind : {FilterKind::gaussian, FilterKind::zcdp}) EXPECT_EQ(parse_filter_kind(name(kind)), kind);
  EXPECT_THROW(static_cast<void>(parse_filter_kind("Gaussian")), Error);
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
}  // namespace surety::accounting
