#include <surety/optimizers/empirical_risk/snapped.h>

#include <gtest/gtest.h>

#include <cmath>

namespace surety::optimizers::snapped_test {
namespace {

TEST(Snapped, IsTheNearestMultipleAndKeepsMultiples) {
  for (const double scale : {1.0, 1.5, 0x1p30, 0x1.8p-20}) {
    const double step = std::ldexp(1.0, std::ilogb(scale) - 40);
    for (const double share : {-1.0, -0.3, 0.0, 1e-13, 0.1, 0.7, 1.0}) {
      const double found = detail::snapped(share * scale, scale);
      EXPECT_LE(std::abs(found - share * scale), step / 2) << share << " " << scale;
      EXPECT_EQ(std::remainder(found, step), 0) << share << " " << scale;
      EXPECT_EQ(detail::snapped(found, scale), found);
      // Last digits that were lost beside a multiple move nothing.
      EXPECT_EQ(detail::snapped(found + 0.25 * step, scale), found);
      EXPECT_EQ(detail::snapped(found - 0.25 * step, scale), found);
    }
  }
}

TEST(Snapped, HasTheUnitOfItsScale) {
  for (const int power : {-30, 30}) {
    EXPECT_EQ(detail::snapped(std::ldexp(0.123456789, power), std::ldexp(1.3, power)),
              std::ldexp(detail::snapped(0.123456789, 1.3), power));
  }
}

}  // namespace
}  // namespace surety::optimizers::snapped_test
