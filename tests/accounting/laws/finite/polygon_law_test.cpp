// The law of a polygon against the polygon, at 200 bits.
#include <surety/accounting/laws/finite/polygon_law.h>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <support/real.h>

namespace surety::accounting::laws::polygon_law_test {
namespace {

using reference::Real;
Real real(double x) { return Real{x, 200}; }

/// delta of the atoms, each with its mass moved by so much of what it may be wrong by.
Real curve(const LossLaw& law, double at, int direction) {
  const auto& base = std::get<AtomsBase>(law.base);
  Real total = real(law.infinite_mass);
  for (const auto& atom : base.atoms) {
    if (atom.loss > at) total = total + atom.mass * (1 + direction * base.mass_error) * -expm1(at - real(atom.loss));
  }
  return total;
}

// Corners of a curve that is convex in e^x, so that each is one of the law; some so near to each other that their slopes are nearly equal.
TEST(PolygonLaw, PassesThroughItsCorners) {
  for (const double scale : {0.3, 1.0, 4.0}) {
    std::vector<Corner> corners;
    for (const double x : {0.0, 1e-7, 2e-7, 0.01, 0.5, 0.500001, 1.0, 2.5, 6.0})
      corners.push_back({x, 0.1 * scale * std::exp(-x / scale) * (1 - x / 7)});
    for (const int direction : {+1, -1}) {
      const LossLaw law = polygon_law(corners, direction);
      for (const auto& corner : corners) {
        const Real found = curve(law, corner.loss, direction);
        // After the last one the curve is level from above, and the mass at infinity is added by others.
        const Real wanted = real(static_cast<double>(corner.value)) - static_cast<double>(corners.back().value);
        SCOPED_TRACE(::testing::Message() << scale << " " << direction << " at " << corner.loss);
        if (direction > 0) {
          EXPECT_GE(found, wanted);
          EXPECT_LE(found, wanted + 1e-15);
        } else {
          EXPECT_LE(found, wanted);
          EXPECT_GE(found, wanted - 1e-15);
        }
      }
    }
  }
}

/// delta of N(1, 1) against N(0, 1), and the best test at a loss.
double normal(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
CurveTest best_test(double x) {
  const double other = normal(-0.5 - x);
  return {normal(0.5 - x) - std::exp(x) * other, other};
}

// By the best tests of a curve the polygon lies below it and near; by tests of other losses, too, and by ones that show nothing from some loss on.
TEST(BelowTests, LiesBelowTheCurveOfTheTests) {
  for (const double off : {0.0, 0.1}) {
    for (const double end : {1.0, 6.0}) {
      std::vector<double> at;
      std::vector<CurveTest> tests;
      for (double x = 0; x < 7; x += 0.05) {
        at.push_back(x);
        const CurveTest best = best_test(x + off);
        // The line of a test that was made for another loss.
        tests.push_back({x < end ? best.delta + (std::exp(x + off) - std::exp(x)) * best.other : 0, best.other});
      }
      const auto law = below_tests(at, tests);
      ASSERT_TRUE(law);
      for (double x = 0; x < 4; x += 0.033) {
        const double truth = best_test(x).delta;
        const double found = curve(*law, x, -1).nearest_double();
        EXPECT_LE(found, truth * (1 + 1e-12)) << off << ' ' << end << ' ' << x;
        if (x < end - 0.2) {
          EXPECT_GE(found, truth * (off == 0 ? 0.99 : 0.9) - 1e-7) << off << ' ' << end << ' ' << x;
        }
      }
    }
  }
}
TEST(BelowTests, SayNothingWhereTheFirstTestShowsNothing) {
  EXPECT_FALSE(below_tests({0, 1}, {{0, 0.5}, {0.1, 0.1}}));
  EXPECT_FALSE(below_tests({0}, {{-0.1, 0.5}}));
}

}  // namespace
}  // namespace surety::accounting::laws::polygon_law_test
