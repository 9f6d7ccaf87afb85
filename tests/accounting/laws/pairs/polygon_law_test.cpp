// The law of a polygon against the polygon, at 200 bits.
#include <surety/accounting/laws/pairs/polygon_law.h>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <support/real.h>

namespace surety::accounting::privacy_loss::polygon_law_test {
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

}  // namespace
}  // namespace surety::accounting::privacy_loss::polygon_law_test
