// Values below 0 by those above, and what a curve at steps says between them.
#include <surety/accounting/laws/choices/mirrored_values.h>

#include <gtest/gtest.h>

#include <cmath>

namespace surety::accounting::mirrored_values_test {
namespace {

TEST(MirroredValues, BelowZeroAreThoseOfTheRolesChanged) {
  MirroredValues values{3, 5, 0.1};
  values.take({0.5, 0.4, 0.3, 0.2, 0.1});
  for (int i = 1; i <= 3; ++i) {
    const double truth = 1 - std::exp(-0.1 * i) + std::exp(-0.1 * i) * values.at_zero()[i];
    EXPECT_LE(values.at_zero()[-i], truth) << i;
    EXPECT_NEAR(values.at_zero()[-i], truth, 1e-14) << i;
  }
  EXPECT_EQ(values.from_zero().back(), 0.1);
}

TEST(MirroredValues, ACurveAtStepsSaysNoMoreThanTheNextMultiple) {
  const CurveAtSteps curve{0.5, {0.8, 0.4, 0.2, 0.1, 0.05}};
  EXPECT_EQ(curve.delta(0), 0.8);
  EXPECT_EQ(curve.delta(1e-300), 0.4);
  EXPECT_EQ(curve.delta(0.6), 0.2);
  EXPECT_EQ(curve.delta(100), 0);
  EXPECT_LE(curve.epsilon(0.3), 0.5);
  EXPECT_NEAR(curve.epsilon(0.3), 0.5, 1e-15);
  EXPECT_EQ(curve.epsilon(0.9), 0);
  EXPECT_NEAR(curve.left_of(0.3), 0.5 * std::log(0.4 / 0.3) / std::log(2), 1e-15);
}

}  // namespace
}  // namespace surety::accounting::mirrored_values_test
