#include <surety/base/numbers/long_sum.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace surety::accounting::long_sum_test {
namespace {

// Each addition of so little to 1 is lost altogether, and all of them are a thousand units.
TEST(LongSum, KeepsWhatAdditionsLose) {
  constexpr int count = 4096;
  const long double little = 0x1p-65L;
  LongSum sum;
  long double plain = 1;
  sum += 1;
  for (int i = 0; i < count; ++i) {
    sum += little;
    plain += little;
  }
  EXPECT_EQ(plain, 1);
  EXPECT_EQ(sum.value(), 1 + count * little);
}

// What is large goes again; the sum errs by units of what is left, and of the moduli.
TEST(LongSum, OfLargeNumbersThatCancelIsWhatIsLeft) {
  LongSum sum;
  const long double large = 0x1p40L;
  for (int i = 0; i < 1000; ++i) {
    sum += large;
    sum += 0x1p-30L;
    sum += -large;
  }
  EXPECT_NEAR(static_cast<double>(sum.value()), 1000 * 0x1p-30, 0x1p-63 * 2000 * 0x1p40);
  EXPECT_EQ(sum.value(), 1000 * 0x1p-30L);
}

TEST(LongSum, OfAnOverflowIsInfinite) {
  LongSum sum;
  sum += std::numeric_limits<long double>::max();
  sum += std::numeric_limits<long double>::max();
  EXPECT_TRUE(std::isinf(sum.value()));
}

}  // namespace
}  // namespace surety::accounting::long_sum_test
