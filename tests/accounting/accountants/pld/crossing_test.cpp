// Where falling curves cross a delta, against their inverses.
#include <surety/accounting/accountants/pld/crossing.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace surety::accounting::pld::crossing_test {
namespace {

/// A curve whose ends are that share apart, and how often it was looked at.
struct Curve {
  double (*value)(double);
  double share;
  double digits;  ///< less than this is not seen
  int looks = 0;

  [[nodiscard]] Place operator()(double x) {
    ++looks;
    const double found = value(x);
    return {x, {std::max(0.0, found * (1 - share) - digits), found * (1 + share) + digits}};
  }
};

double straight(double x) { return 0.4 * std::exp(-3 * x); }
double bent(double x) { return 0.3 * std::exp(-2 * x * x); }
double with_a_step(double x) { return x < 1 ? 0.2 : 1e-12; }

Crossing crossing(Curve& curve, double delta, const Look& look) {
  return crossing_of([&](double x) { return curve(x); }, delta, look);
}

TEST(CrossingOf, LiesBetweenTwoPlacesAsNearAsAsked) {
  for (const double start : {1e-3, 0.5, 20.0}) {
    for (const double delta : {0.05, 1e-4, 1e-9}) {
      for (const auto value : {straight, bent, with_a_step}) {
        Curve curve{value, 1e-12, 0};
        const auto [rest, high] = crossing(curve, delta, {start, 1e-6, false});
        EXPECT_LE(high.delta.upper, delta) << start << ' ' << delta;
        EXPECT_GT(rest.delta.upper, delta) << start << ' ' << delta;
        // By bisection alone where there is no slope.
        EXPECT_LE(high.x - rest.x, value == with_a_step ? 1e-3 : 2.5e-6) << start << ' ' << delta;
        EXPECT_LT(rest.x, high.x) << start << ' ' << delta;
        EXPECT_LE(curve.looks, 70) << start << ' ' << delta;
      }
    }
  }
}

TEST(CrossingOf, IsAtZeroWhereTheCurveIsAtMostThatFromThereOn) {
  Curve curve{straight, 0, 0};
  const auto [rest, high] = crossing(curve, 0.5, {0.5, 1e-6, false});
  EXPECT_EQ(high.x, 0);
  EXPECT_EQ(rest.x, 0);
}

// Whoever compares with the start alone is told on which side of it the crossing is, sooner.
TEST(CrossingOf, IsNotNarrowedFarFromWhatItIsComparedWith) {
  Curve compared{bent, 0, 0};
  Curve narrowed{bent, 0, 0};
  const auto [rest, high] = crossing(compared, 1e-9, {0.5, 1e-9, true});
  static_cast<void>(crossing(narrowed, 1e-9, {0.5, 1e-9, false}));
  EXPECT_GT(rest.x, 0.5);
  EXPECT_LE(high.delta.upper, 1e-9);
  EXPECT_LT(compared.looks, narrowed.looks);
}

TEST(CrossingOf, IsRefusedWhereTheCurveHasNoDigits) {
  Curve curve{straight, 0, 1e-7};
  EXPECT_THROW(static_cast<void>(crossing(curve, 1e-8, {0.5, 1e-6, false})), Error);
  const auto [rest, high] = crossing(curve, 1e-5, {0.5, 1e-6, false});
  EXPECT_LE(high.delta.upper, 1e-5);
}

}  // namespace
}  // namespace surety::accounting::pld::crossing_test
