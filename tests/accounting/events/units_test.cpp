#include <surety/accounting/events/units.h>

#include <surety/accounting/events/format.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

#include <support/random.h>
#include <support/refusal.h>

namespace surety::units_test {
namespace {

using reference::refusal_of;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <class Quantity>
reference::Refusal refusal_of_value(double value) {
  return refusal_of([&] { return Quantity{value}; });
}

TEST(Epsilon, IsFiniteAndNotNegative) {
  EXPECT_EQ(Epsilon{0}.value(), 0);
  EXPECT_EQ(Epsilon{1.5e300}.value(), 1.5e300);
  for (const double value : {-5e-324, -1.0, infinity, -infinity, nan}) EXPECT_TRUE(refusal_of_value<Epsilon>(value).refused) << value;
}

TEST(Delta, IsAtLeastZeroAndBelowOne) {
  EXPECT_EQ(Delta{0}.value(), 0);
  EXPECT_EQ(Delta{1e-300}.value(), 1e-300);
  EXPECT_EQ(Delta{std::nextafter(1.0, 0.0)}.value(), std::nextafter(1.0, 0.0));
  for (const double value : {-5e-324, 1.0, 1.5, infinity, nan}) EXPECT_TRUE(refusal_of_value<Delta>(value).refused) << value;
}

TEST(NoiseMultiplier, IsFiniteAndPositive) {
  EXPECT_EQ(NoiseMultiplier{5e-324}.value(), 5e-324);
  for (const double value : {0.0, -0.0, -40.0, infinity, nan}) EXPECT_TRUE(refusal_of_value<NoiseMultiplier>(value).refused) << value;
}

TEST(RhoAndMu, AreFiniteAndNotNegative) {
  EXPECT_EQ(Rho{0}.value(), 0);
  EXPECT_EQ(Mu{0.25}.value(), 0.25);
  for (const double value : {-1e-9, infinity, nan}) {
    EXPECT_TRUE(refusal_of_value<Rho>(value).refused) << value;
    EXPECT_TRUE(refusal_of_value<Mu>(value).refused) << value;
  }
}

TEST(Quantity, RefusalNamesTheValueAndTheConstraint) {
  const auto is = [](const reference::Refusal& refusal, const char* message) {
    return refusal.code == ErrorCode::invalid_argument && refusal.message == message;
  };
  EXPECT_TRUE(is(refusal_of_value<Epsilon>(-0.5), "epsilon is -0.5, must be finite and at least 0"));
  EXPECT_TRUE(is(refusal_of_value<Delta>(1.25), "delta is 1.25, must be at least 0 and less than 1"));
  EXPECT_TRUE(is(refusal_of_value<NoiseMultiplier>(0), "noise multiplier is 0, must be finite and greater than 0"));
  EXPECT_TRUE(is(refusal_of_value<NoiseMultiplier>(nan), "noise multiplier is nan, must be finite and greater than 0"));
  EXPECT_TRUE(is(refusal_of_value<Rho>(infinity), "rho is inf, must be finite and at least 0"));
  EXPECT_TRUE(is(refusal_of_value<Mu>(-3), "mu is -3, must be finite and at least 0"));
}

TEST(Quantity, DoesNotTurnIntoAnother) {
  EXPECT_FALSE((std::is_convertible_v<double, Epsilon>));
  EXPECT_FALSE((std::is_constructible_v<Epsilon, Delta>));
  EXPECT_FALSE((std::is_convertible_v<Delta, double>));
}

RC_GTEST_PROP(Quantity, PrintsAsTheShortestTextThatReadsBackTheSame, ()) {
  const double value = reference::draw_log_uniform(5e-324, 1e308);
  RC_ASSERT(std::stod(fmt::format("{}", Epsilon{std::max(value, 3e-308)})) == std::max(value, 3e-308));
}

RC_GTEST_PROP(Quantity, IsOrderedAsItsValue, ()) {
  const double a = reference::draw_log_uniform(1e-100, 1e100);
  const double b = reference::draw_log_uniform(1e-100, 1e100);
  RC_ASSERT((Epsilon{a} < Epsilon{b}) == (a < b));
  RC_ASSERT((Epsilon{a} == Epsilon{b}) == (a == b));
}

TEST(Count, IsFromOneToTwoToThe53) {
  EXPECT_EQ(Count{1}.value(), 1U);
  EXPECT_EQ(Count{std::uint64_t{1} << 53}.value(), std::uint64_t{1} << 53);
  for (const std::uint64_t value : {std::uint64_t{0}, (std::uint64_t{1} << 53) + 1, ~std::uint64_t{0}}) {
    EXPECT_TRUE(refusal_of([&] { return Count{value}; }).says(ErrorCode::invalid_argument, "must be an integer from 1 to 2^53")) << value;
  }
}

TEST(Adjacency, NameRoundTrips) {
  for (const auto adjacency : {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out}) {
    EXPECT_EQ(parse_adjacency(name(adjacency)), adjacency);
  }
}

TEST(Adjacency, NamesAreTheDocumentedOnes) {
  EXPECT_EQ(name(Adjacency::add_or_remove_one), "add-or-remove-one");
  EXPECT_EQ(name(Adjacency::replace_one), "replace-one");
  EXPECT_EQ(name(Adjacency::zero_out), "zero-out");
}

// A refusal names the parameter, its value and the constraint.
TEST(Quantity, RefusedIsNamedWithItsValueAndConstraint) {
  const auto refusal = refusal_of_value<Epsilon>(-0.5);
  EXPECT_TRUE(refusal.says(ErrorCode::invalid_argument, "epsilon is -0.5, must be finite and at least 0")) << refusal;
}

TEST(Adjacency, UnknownNameIsRefusedWithTheKnownOnes) {
  for (const char* text : {"", "replace", "replace_one", "Replace-One", " replace-one", "replace-one "}) {
    const auto refusal = refusal_of([&] { return parse_adjacency(text); });
    EXPECT_TRUE(refusal.says(ErrorCode::invalid_argument, "must be add-or-remove-one, replace-one or zero-out")) << refusal;
  }
}

}  // namespace
}  // namespace surety::units_test
