#include <surety/base/numbers/rounding.h>

#include <gtest/gtest.h>

#include <limits>

namespace surety::accounting::rounding_test {
namespace {

TEST(Rounding, TheUnitRoundoffIsHalfTheDistanceToTheNextDouble) {
  EXPECT_EQ(ulp, std::numeric_limits<double>::epsilon());
  EXPECT_EQ(unit_roundoff, std::numeric_limits<double>::epsilon() / 2);
  // The largest share that rounding to nearest takes away, and one that is more.
  const volatile double one = 1;
  EXPECT_EQ(one + unit_roundoff, 1);
  EXPECT_GT(one + 1.0000001 * unit_roundoff, 1);
  EXPECT_LE(std::numeric_limits<long double>::epsilon() / 2, long_unit_roundoff);
}

TEST(Rounding, LongDoublesAreKeptInsideTheDoublesAroundThem) {
  for (const long double value : {1.0L, 1.0L + 0x1p-63L, -3.3L, 0x1p-1070L, 0.0L, 1e300L / 3}) {
    EXPECT_GT(static_cast<long double>(round_up(value)), value);
    EXPECT_LT(static_cast<long double>(round_down(value)), value);
  }
}

TEST(Rounding, InfinityStaysWhereItIs) {
  EXPECT_EQ(round_up(infinity), infinity);
  EXPECT_EQ(round_down(-infinity), -infinity);
  EXPECT_EQ(round_up(std::numeric_limits<double>::max()), infinity);
}

}  // namespace
}  // namespace surety::accounting::rounding_test
