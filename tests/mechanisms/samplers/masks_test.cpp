#include <surety/mechanisms/samplers/masks.h>

#include <gtest/gtest.h>

#include <cstdint>

#include <surety/mechanisms/samplers/trial.h>

namespace surety::mechanisms::masks_test {
namespace {

TEST(Masks, ChooseAllDigits) {
  const UnsignedWide wide = UnsignedWide{0x0123456789abcdef} << 64 | 0xfedcba9876543210;
  EXPECT_TRUE(where(true, wide) == wide);
  EXPECT_TRUE(where(false, wide) == 0);
  EXPECT_EQ(where(true, std::int64_t{-1}), -1);
  EXPECT_EQ(where(false, std::int64_t{-1}), 0);
  EXPECT_EQ(select(true, std::uint64_t{5}, std::uint64_t{6}), 5U);
  EXPECT_EQ(select(false, std::uint64_t{5}, std::uint64_t{6}), 6U);
}

}  // namespace
}  // namespace surety::mechanisms::masks_test
