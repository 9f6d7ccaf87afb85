#include <surety/base/numbers/checked_cast.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include <surety/base/text/error.h>

namespace surety::checked_cast_test {
namespace {

template <class To, class From>
std::optional<ErrorCode> refusal_of(From value) {
  try {
    (void)checked_cast<To>(value);
  } catch (const Error& error) {
    return error.code();
  }
  return std::nullopt;
}

TEST(CheckedCast, CutsTowardsZero) {
  EXPECT_EQ(checked_cast<int>(-2.9), -2);
  EXPECT_EQ(checked_cast<int>(2147483647.5), std::numeric_limits<int>::max());
  EXPECT_EQ(checked_cast<int>(-2147483648.0), std::numeric_limits<int>::min());
  EXPECT_EQ(checked_cast<std::int64_t>(-0x1p63), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(checked_cast<std::uint64_t>(std::nextafter(0x1p64, 0)), 0xfffffffffffff800);
  EXPECT_EQ(size_of(0.99), 0);
}

TEST(CheckedCast, RefusesWhatTheIntegerCannotHold) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(refusal_of<std::size_t>(0x1p64), ErrorCode::memory);
  EXPECT_EQ(refusal_of<std::int64_t>(0x1p63), ErrorCode::memory);
  EXPECT_EQ(refusal_of<int>(2147483648.0), ErrorCode::memory);
  EXPECT_EQ(refusal_of<std::size_t>(infinity), ErrorCode::memory);
  EXPECT_EQ(refusal_of<std::size_t>(1e4000L), ErrorCode::memory);
  EXPECT_EQ(refusal_of<std::size_t>(-1.0), ErrorCode::internal);
  EXPECT_EQ(refusal_of<std::int64_t>(-0x1.0000000000001p63), ErrorCode::internal);
  EXPECT_EQ(refusal_of<std::int64_t>(-infinity), ErrorCode::internal);
  EXPECT_EQ(refusal_of<int>(std::nan("")), ErrorCode::internal);
}

}  // namespace
}  // namespace surety::checked_cast_test
