#include <surety/base/numbers/interval.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include <support/gaussian_truth.h>
#include <support/random.h>
#include <support/refusal.h>

namespace surety::accounting::interval_test {
namespace {

using reference::draw_log_uniform;
using reference::Real;
using reference::refusal_of;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr mpfr_prec_t truth_bits = 900;

/// An interval with a point of it, often one of its ends.
struct Drawn {
  Interval interval;
  double point;
};

double draw_signed(double low, double high) { return (*rc::gen::arbitrary<bool>() ? 1 : -1) * draw_log_uniform(low, high); }
double draw_point(double low, double high) {
  const auto choice = *rc::gen::inRange(0, 3);
  if (choice == 0) return low;
  if (choice == 1) return high;
  const double t = *rc::gen::inRange(0, 1025) / 1024.0;
  return std::min(std::max(low + t * (high - low), low), high);
}

/// Ends between `low` and `high`, at a random precision.
Drawn draw_between(const std::function<double()>& end) {
  const double a = end();
  const double b = end();
  const auto precision = *rc::gen::inRange<mpfr_prec_t>(53, 120);
  return {hull(Interval{a, precision}, Interval{b, precision}), draw_point(std::min(a, b), std::max(a, b))};
}
Drawn draw_any() {
  return draw_between([] { return *rc::gen::inRange(0, 20) == 0 ? 0.0 : draw_signed(1e-10, 1e10); });
}
Drawn draw_near_zero() {
  return draw_between([] { return draw_signed(1e-30, 200); });
}
Drawn draw_positive() {
  return draw_between([] { return draw_log_uniform(1e-200, 1e200); });
}
Drawn draw_nonzero() {
  const bool negative = *rc::gen::arbitrary<bool>();
  return draw_between([&] { return (negative ? -1 : 1) * draw_log_uniform(1e-100, 1e100); });
}

bool contains(const Interval& interval, const Real& truth) { return Real{interval.lower()} <= truth && truth <= Real{interval.upper()}; }

Real exactly(double value) { return Real{value, truth_bits}; }

// ---- containment of every point, one law per operation ----

RC_GTEST_PROP(IntervalContains, Negation, ()) {
  const auto a = draw_any();
  RC_ASSERT(contains(-a.interval, -exactly(a.point)));
}
RC_GTEST_PROP(IntervalContains, Sum, ()) {
  const auto a = draw_any();
  const auto b = draw_any();
  RC_ASSERT(contains(a.interval + b.interval, exactly(a.point) + exactly(b.point)));
}
RC_GTEST_PROP(IntervalContains, Difference, ()) {
  const auto a = draw_any();
  const auto b = draw_any();
  RC_ASSERT(contains(a.interval - b.interval, exactly(a.point) - exactly(b.point)));
}
RC_GTEST_PROP(IntervalContains, Product, ()) {
  const auto a = draw_any();
  const auto b = draw_any();
  RC_ASSERT(contains(a.interval * b.interval, exactly(a.point) * exactly(b.point)));
}
RC_GTEST_PROP(IntervalContains, Quotient, ()) {
  const auto a = draw_any();
  const auto b = draw_nonzero();
  RC_ASSERT(contains(a.interval / b.interval, exactly(a.point) / exactly(b.point)));
}
RC_GTEST_PROP(IntervalContains, Root, ()) {
  const auto a = draw_positive();
  RC_ASSERT(contains(sqrt(a.interval), sqrt(exactly(a.point))));
}
RC_GTEST_PROP(IntervalContains, Exponential, ()) {
  const auto a = draw_any();
  RC_ASSERT(contains(exp(a.interval), exp(exactly(a.point))));
}
RC_GTEST_PROP(IntervalContains, ExponentialLessOne, ()) {
  const auto a = draw_near_zero();
  RC_ASSERT(contains(expm1(a.interval), expm1(exactly(a.point))));
}
RC_GTEST_PROP(IntervalContains, Logarithm, ()) {
  const auto a = draw_positive();
  RC_ASSERT(contains(log(a.interval), log(exactly(a.point))));
}
RC_GTEST_PROP(IntervalContains, LogarithmOfOneMore, ()) {
  const auto a = *rc::gen::arbitrary<bool>() ? draw_positive() : draw_between([] { return -draw_log_uniform(1e-30, 0.999); });
  RC_ASSERT(contains(log1p(a.interval), log1p(exactly(a.point))));
}
RC_GTEST_PROP(IntervalContains, ErrorFunction, ()) {
  const auto a = draw_between([] { return draw_signed(1e-10, 8); });
  RC_ASSERT(contains(erfc(a.interval), erfc(exactly(a.point))));
}
RC_GTEST_PROP(IntervalContains, NormalDistribution, ()) {
  const auto a = draw_between([] { return draw_signed(1e-10, 8); });
  RC_ASSERT(contains(normal_cdf(a.interval), reference::normal_tail(-exactly(a.point))));
}
RC_GTEST_PROP(IntervalContains, NormalDensity, ()) {
  const auto a = draw_between([] { return draw_signed(1e-10, 300); });
  const Real x = exactly(a.point);
  RC_ASSERT(contains(normal_density(a.interval), exp(-x * x / 2.0) / sqrt(2.0 * reference::pi(truth_bits))));
}
RC_GTEST_PROP(IntervalContains, MillsRatio, ()) {
  const auto a = draw_between([] { return draw_log_uniform(0.01, 12); });
  const Real x = exactly(a.point);
  const Real root_two = sqrt(exactly(2));
  const Real truth = sqrt(reference::pi(truth_bits) / 2.0) * exp(x * x / 2.0) * erfc(x / root_two);
  RC_ASSERT(contains(mills_ratio(a.interval), truth));
}
RC_GTEST_PROP(IntervalContains, Hull, ()) {
  const auto a = draw_any();
  const auto b = draw_any();
  const auto both = hull(a.interval, b.interval);
  RC_ASSERT(contains(both, exactly(a.point)));
  RC_ASSERT(contains(both, exactly(b.point)));
}
RC_GTEST_PROP(IntervalContains, ClampKeepsThePointsBetween, ()) {
  const auto a = draw_any();
  const double low = a.point - draw_log_uniform(1e-5, 1e12);
  const double high = a.point + draw_log_uniform(1e-5, 1e12);
  const auto clamped = clamp(a.interval, low, high);
  RC_ASSERT(contains(clamped, exactly(a.point)));
  RC_ASSERT(Real{clamped.lower()} >= low);
  RC_ASSERT(Real{clamped.upper()} <= high);
}
RC_GTEST_PROP(IntervalContains, EnclosureByDoubles, ()) {
  const auto a = draw_any();
  const auto third = a.interval / Interval{3, a.interval.precision()};
  RC_ASSERT(contains(third, exactly(a.point) / 3.0));
  RC_ASSERT(reference::contains(third.enclosure(), exactly(a.point) / 3.0));
}
TEST(IntervalContains, Pi) {
  EXPECT_TRUE(contains(Interval::pi(53), reference::pi(truth_bits)));
  EXPECT_TRUE(Interval::pi(53).agrees_to(51));
}

// ---- narrowness: a point gives neighbouring ends, so no operation rounds further than it must ----

bool ends_are_neighbours(const Interval& interval) {
  mpfr_t next;
  mpfr_init2(next, interval.precision());
  mpfr_set(next, interval.lower(), MPFR_RNDN);
  mpfr_nextabove(next);
  const bool neighbours = mpfr_greaterequal_p(next, interval.upper()) != 0;
  mpfr_clear(next);
  return neighbours;
}

TEST(IntervalContains, InexactResultsOfPoints) {
  const Interval a{0.7, 60};
  const Interval b{-3.3e-9, 60};
  const Real x = exactly(0.7);
  const Real y = exactly(-3.3e-9);
  for (const auto& [result, truth] : std::vector<std::pair<Interval, Real>>{{a + b, x + y},
                                                                            {b + a, x + y},
                                                                            {a - b, x - y},
                                                                            {b - a, y - x},
                                                                            {a * b, x * y},
                                                                            {a / b, x / y},
                                                                            {sqrt(a), sqrt(x)},
                                                                            {exp(b), exp(y)},
                                                                            {expm1(b), expm1(y)},
                                                                            {log(a), log(x)},
                                                                            {log1p(b), log1p(y)},
                                                                            {erfc(a), erfc(x)}}) {
    EXPECT_LT(Real{result.lower()}, truth);
    EXPECT_GT(Real{result.upper()}, truth);
  }
}

TEST(IntervalIsNarrow, OperationsOnPoints) {
  const Interval a{0.7, 113};
  const Interval b{-3.3, 113};
  for (const auto& result : {a + b, a - b, a * b, a / b, sqrt(a), exp(b), expm1(a), log(a), log1p(a), erfc(b), hull(a, a), -b}) {
    EXPECT_TRUE(ends_are_neighbours(result)) << result.enclosure().lower;
  }
}

TEST(IntervalIsNarrow, ProductOfSignsIsTheRange) {
  const auto between = [](double low, double high) { return hull(Interval{low, 64}, Interval{high, 64}); };
  EXPECT_EQ((between(-2, 3) * between(-5, 7)).enclosure(), (Enclosure{-15, 21}));
  EXPECT_EQ((between(-3, -2) * between(-7, 5)).enclosure(), (Enclosure{-15, 21}));
  EXPECT_EQ((between(-2, 3) / between(-0.5, -0.25)).enclosure(), (Enclosure{-12, 8}));
}

// The closed form relies on this: its precision doubles until the answer is narrow, so the ratio's bits must grow along.
TEST(IntervalIsNarrow, MillsRatioGrowsWithThePrecisionBeyondItsRoot) {
  for (const mpfr_prec_t precision : {128, 512, 2048, 8192}) {
    const double x = 0.7 * std::sqrt(static_cast<double>(precision));
    EXPECT_TRUE(mills_ratio(Interval{x, precision}).agrees_to(static_cast<int>(0.43 * static_cast<double>(precision)))) << precision;
  }
  EXPECT_TRUE(mills_ratio(Interval{1e8, 128}).agrees_to(120));
}

// ---- infinite results ----

TEST(IntervalOverflow, UpperEndIsInfiniteAndLowerEndFinite) {
  const auto huge = exp(Interval{1e300, 64});
  EXPECT_FALSE(mpfr_inf_p(huge.lower()));
  EXPECT_TRUE(mpfr_inf_p(huge.upper()));
  EXPECT_EQ(huge.enclosure(), (Enclosure{std::numeric_limits<double>::max(), infinity}));
}

TEST(IntervalOverflow, ZeroTimesInfinityCountsAsZero) {
  const auto huge = exp(Interval{1e300, 64});
  EXPECT_EQ((Interval{0, 64} * huge).enclosure(), (Enclosure{0, 0}));
  EXPECT_EQ((hull(Interval{0, 64}, Interval{2, 64}) * huge).enclosure(), (Enclosure{0, infinity}));
}

TEST(IntervalOverflow, DifferenceAndQuotientOfInfinitesKnowNothingAndHoldNoNaN) {
  const auto huge = exp(Interval{1e300, 64});
  EXPECT_EQ((huge - huge).enclosure(), (Enclosure{-infinity, infinity}));
  EXPECT_EQ((huge / huge).enclosure(), (Enclosure{0, infinity}));
  EXPECT_EQ((-huge).enclosure(), (Enclosure{-infinity, -std::numeric_limits<double>::max()}));
}

TEST(IntervalUnderflow, LowerEndIsZeroAndUpperEndTheSmallestDouble) {
  EXPECT_EQ(exp(Interval{-1e300, 64}).enclosure(), (Enclosure{0, 5e-324}));
}

// ---- refusals ----

TEST(IntervalDivision, ByAnIntervalThatContainsZeroIsRefused) {
  const Interval one{1, 64};
  const Interval zero{0, 64};
  const Interval minus_one{-1, 64};
  for (const auto& divisor : {zero, hull(zero, one), hull(minus_one, zero), hull(minus_one, one)}) {
    const auto refusal = refusal_of([&] { return one / divisor; });
    EXPECT_TRUE(refusal.says(ErrorCode::internal, "contains 0")) << refusal;
  }
}

// ---- questions ----

TEST(IntervalCompare, IsCertainOnlyWhereTheWholeIntervalLiesOnOneSide) {
  const auto interval = hull(Interval{2.5, 64}, Interval{4, 64});
  EXPECT_EQ(interval.compare(4.5), -1);
  EXPECT_EQ(interval.compare(4), -1);
  EXPECT_EQ(interval.compare(3), 0);
  EXPECT_EQ(interval.compare(2.5), 0);
  EXPECT_EQ(interval.compare(2), +1);
}

TEST(IntervalAgreesTo, MeasuresTheGapAgainstTheGreaterEnd) {
  const auto apart = [](double gap) { return hull(Interval{8, 100}, Interval{8, 100} + Interval{gap, 100}); };
  EXPECT_TRUE(apart(0x1p-27).agrees_to(30));
  EXPECT_FALSE(apart(0x1.01p-27).agrees_to(30));
  EXPECT_TRUE((-apart(0x1p-27)).agrees_to(30));
  EXPECT_FALSE((-apart(0x1.01p-27)).agrees_to(30));
}

TEST(IntervalAgreesTo, FailsAcrossZeroAndAtInfinity) {
  EXPECT_FALSE(hull(Interval{-1e-300, 64}, Interval{1e-300, 64}).agrees_to(1));
  EXPECT_FALSE(hull(Interval{0, 64}, Interval{1, 64}).agrees_to(1));
  EXPECT_FALSE(exp(Interval{1e300, 64}).agrees_to(1));
}

TEST(IntervalAgreesTo, ZeroAgreesWithItself) { EXPECT_TRUE((Interval{0, 64}).agrees_to(60)); }

TEST(IntervalApproximateLog, IsRightBelowTheRangeOfDouble) {
  EXPECT_DOUBLE_EQ(exp(Interval{-54321.5, 128}).approximate_log(), -54321.5);
  EXPECT_DOUBLE_EQ((Interval{7.25, 128}).approximate_log(), std::log(7.25));
}

TEST(IntervalApproximateLog, OfZeroIsMinusInfinity) { EXPECT_EQ((Interval{0, 64}).approximate_log(), -infinity); }

TEST(IntervalPrecision, OfAResultIsTheGreaterOfItsParts) {
  const Interval coarse{1, 60};
  const Interval fine{3, 250};
  for (const auto& result : {coarse + fine, fine - coarse, coarse * fine, coarse / fine, hull(coarse, fine)})
    EXPECT_EQ(result.precision(), 250);
  EXPECT_EQ(exp(coarse).precision(), 60);
}

TEST(IntervalFromDouble, IsRoundedOutwardBelow53Bits) {
  const Interval coarse{1 + 0x1p-40, 20};
  EXPECT_LT(mpfr_cmp_d(coarse.lower(), 1 + 0x1p-40), 0);
  EXPECT_GT(mpfr_cmp_d(coarse.upper(), 1 + 0x1p-40), 0);
}

// ---- value semantics ----

TEST(IntervalValue, CopyIsIndependent) {
  Interval a{2.5, 64};
  const Interval copy{a};
  a = a + Interval{1, 64};
  EXPECT_EQ(copy.enclosure(), (Enclosure{2.5, 2.5}));
  EXPECT_EQ(a.enclosure(), (Enclosure{3.5, 3.5}));
}

TEST(IntervalValue, MoveKeepsValueAndPrecision) {
  Interval a{-2.5, 177};
  const Interval moved{std::move(a)};
  EXPECT_EQ(moved.enclosure(), (Enclosure{-2.5, -2.5}));
  EXPECT_EQ(moved.precision(), 177);
}

TEST(IntervalValue, MovedFromCanBeAssigned) {
  Interval a{-2.5, 64};
  const Interval moved{std::move(a)};
  a = moved;
  EXPECT_EQ(a.enclosure(), moved.enclosure());
}

TEST(IntervalValue, AssignmentTakesOverThePrecision) {
  Interval a{1, 60};
  a = Interval::pi(300);
  EXPECT_EQ(a.precision(), 300);
  EXPECT_TRUE(contains(a, reference::pi(truth_bits)));
  EXPECT_TRUE(a.agrees_to(298));
}

TEST(IntervalValue, SelfAssignmentChangesNothing) {
  Interval a{1.75, 64};
  Interval& same = a;
  a = same;
  EXPECT_EQ(a.enclosure(), (Enclosure{1.75, 1.75}));
  a = std::move(same);
  EXPECT_EQ(a.enclosure(), (Enclosure{1.75, 1.75}));
}

TEST(IntervalValue, ResultMayReplaceAnOperand) {
  Interval a = hull(Interval{-1, 64}, Interval{3, 64});
  a = a + a;
  EXPECT_EQ(a.enclosure(), (Enclosure{-2, 6}));
  a = a * a;
  EXPECT_EQ(a.enclosure(), (Enclosure{-12, 36}));
  a = -a;
  EXPECT_EQ(a.enclosure(), (Enclosure{-36, 12}));
  a = clamp(a, -5, 10);
  EXPECT_EQ(a.enclosure(), (Enclosure{-5, 10}));
}

}  // namespace
}  // namespace surety::accounting::interval_test
