#include <surety/base/numbers/root.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

#include <support/random.h>

namespace surety::accounting::root_test {
namespace {

using reference::draw_log_uniform;

TEST(NarrowRoot, ClosesOnTheRootFromBothSides) {
  int evaluations = 0;
  const auto cubic = [&](double x) { return ++evaluations, x * x * x - 2; };
  const auto found = narrow_root(cubic, 1, 2, 50, 200);
  EXPECT_LE(found.low, std::cbrt(2.0) * (1 + 1e-15));
  EXPECT_GE(found.high, std::cbrt(2.0) * (1 - 1e-15));
  EXPECT_NEAR(found.middle(), std::cbrt(2.0), 1e-14);
  EXPECT_LT(evaluations, 20);
}

TEST(NarrowRoot, StopsWhereTheAskerSaysThatItIsNear) {
  const auto line = [](double x) { return x - 0.3; };
  const auto found = narrow_root(
      line, 0, 1, -0.3, 0.7, [](double a, double b) { return b - a < 2; }, 100);
  EXPECT_LE(found.low, 0.3);
  EXPECT_GE(found.high, 0.3);
}

TEST(NarrowRoot, AsksNoMoreOftenThanAllowed) {
  int evaluations = 0;
  const auto steep = [&](double x) { return ++evaluations, x < 0.7 ? -1.0 : 1.0; };
  const auto found = narrow_root(steep, 0, 1, 50, 9);
  EXPECT_LE(evaluations, 9);
  EXPECT_LE(found.low, 0.7);
  EXPECT_GE(found.high, 0.7);
}

TEST(FirstCertain, IsTheFirstCandidateThatHoldsOrNothing) {
  const auto powers = [](int i) -> std::optional<double> { return i < 10 ? std::optional{std::ldexp(1.0, i)} : std::nullopt; };
  EXPECT_EQ(first_certain([](double x) { return x > 20; }, powers), 32.0);
  EXPECT_EQ(first_certain([](double) { return true; }, powers), 1.0);
  EXPECT_EQ(first_certain([](double x) { return x > 1e6; }, powers), std::nullopt);
}

/// A side that is in doubt within `doubt` of the root, and wrong about the distance there.
struct DoubtfulSide {
  double root;
  double doubt;
  SideOfRoot operator()(double x) const {
    const double distance = 1 - x / root;
    if (std::abs(distance) <= doubt) return {0, -distance};
    return {distance > 0 ? 1 : -1, distance};
  }
};

RC_GTEST_PROP(EncloseRoot, HoldsTheRootHoweverWideTheDoubtAroundItIs, ()) {
  const double root = draw_log_uniform(1e-10, 1e10);
  const double doubt = draw_log_uniform(1e-15, 1e-3);
  const auto found = enclose_root(DoubtfulSide{root, doubt}, root / draw_log_uniform(2, 1e6), root * draw_log_uniform(2, 1e6));
  RC_ASSERT(found.lower < root);
  RC_ASSERT(found.upper > root);
  // Outward by factors of 8.
  RC_ASSERT(found.upper - found.lower <= 40 * (doubt + 1e-14) * root);
}

TEST(EncloseRoot, FallsBackToTheEndsThatAreCertain) {
  const auto found = enclose_root(DoubtfulSide{1, 0.9}, 0.05, 20);
  EXPECT_EQ(found.lower, 0.05);
  EXPECT_GE(found.upper, 1.9);
  EXPECT_LE(found.upper, 20);
}

TEST(WhereItFallsTo, IsAtOrJustBeyondThePointOfCrossing) {
  for (const double root : {1e-7, 0.3, 1.0, 77.0, 1e12}) {
    const double found = where_it_falls_to(1 / root, [](double x) { return 1 / x; });
    EXPECT_LE(1 / found, 1 / root);
    EXPECT_LE(found, root * (1 + 2e-9));
  }
  EXPECT_GE(where_it_falls_to(0.5, [](double) { return 1.0; }), 1e300);
}

}  // namespace
}  // namespace surety::accounting::root_test
