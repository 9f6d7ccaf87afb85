#include <surety/mechanisms/samplers/fixed_point.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include <support/real.h>

namespace surety::mechanisms::fixed_point_test {
namespace {

using reference::Real;

Real real(UnsignedWide units) {
  Real result{0, 320};
  for (int part = 3; part >= 0; --part) {
    result = result * 0x1p32 + static_cast<double>(static_cast<std::uint32_t>(units >> (32 * part)));
  }
  return result * 0x1p-120;
}

/// Of what is computed, in units of 2^-120.
double distance(UnsignedWide computed, const Real& exact) { return std::abs(((real(computed) - exact) * 0x1p120).nearest_double()); }

/// Below 2^bits units.
UnsignedWide random_units(std::mt19937_64& random, int bits) { return (UnsignedWide{random()} << 64 | random()) >> (128 - bits); }

TEST(FixedPoint, ProductsAreRoundedDown) {
  std::mt19937_64 random{1};
  for (int i = 0; i < 20'000; ++i) {
    const int bits = 1 + i % 127;
    const FixedPoint a{random_units(random, bits)};
    const FixedPoint b{random_units(random, std::min(127, 248 - bits))};
    const Real exact = real(a.value) * real(b.value);
    ASSERT_LT(distance((a * b).value, exact), 1);
    ASSERT_LE(real((a * b).value), exact);
  }
}

TEST(FixedPoint, ProductsOfSmallNumbersAreTheSame) {
  std::mt19937_64 random{4};
  const UnsignedWide largest = (UnsignedWide{255} << FixedPoint::digits) - 1;
  for (int i = 0; i < 20'000; ++i) {
    const int bits = 1 + i % 127;
    const FixedPoint a{random_units(random, bits)};
    FixedPoint b{random_units(random, std::min(127, 248 - bits))};
    // Every fourth sum is as large as it may be.
    if (i % 4 == 0 && bits > 122) b.value = std::min(b.value, largest - a.value);
    if (a.value > largest - b.value) continue;
    ASSERT_TRUE(product(a, b).value == (a * b).value);
  }
  // The numbers whose sum is largest.
  for (unsigned n = 0; n < 8; ++n) {
    const FixedPoint a{largest - (UnsignedWide{1} << (FixedPoint::digits - n))};
    const FixedPoint b{UnsignedWide{1} << (FixedPoint::digits - n)};
    EXPECT_TRUE(product(a, b).value == (a * b).value) << n;
    EXPECT_TRUE(product(b, a).value == (a * b).value) << n;
  }
}

TEST(FixedPoint, ConstantsAreRoundedDown) {
  const Real log_of_2 = log(Real{2, 320});
  EXPECT_LT(distance(fixed_point::log_of_2.value, log_of_2), 1);
  EXPECT_LT(distance(fixed_point::inverse_log_of_2.value, 1 / log_of_2), 1);
  EXPECT_LE(real(fixed_point::log_of_2.value), log_of_2);
  EXPECT_LE(real(fixed_point::inverse_log_of_2.value), 1 / log_of_2);
}

TEST(FixedPoint, ShiftsByAnyNumber) {
  std::mt19937_64 random{3};
  for (unsigned n = 0; n < 128; ++n) {
    const UnsignedWide value = random_units(random, 128);
    EXPECT_TRUE(fixed_point::shifted_down(value, n) == value >> n) << n;
  }
}

// The proof allows 207 units.
TEST(FixedPoint, ExpIsAsCloseAsProved) {
  std::mt19937_64 random{2};
  const UnsignedWide largest = UnsignedWide{88} << FixedPoint::digits;
  double worst = 0;
  for (int i = 0; i < 40'000; ++i) {
    UnsignedWide x = random_units(random, 1 + i % 127);
    // Beside the multiples of ln 2, where the exponent changes.
    if (i % 3 == 0) x = fixed_point::log_of_2.times(random() % 127).value + random() % 9 - 4;
    x = std::min(x, largest);
    if (x >> 127 != 0) x = 0;
    worst = std::max(worst, distance(fixed_point::exp_of_minus({x}).value, exp(-real(x))));
  }
  EXPECT_LT(worst, 64);
  EXPECT_GT(worst, 1);
  EXPECT_EQ(static_cast<double>(fixed_point::exp_of_minus({0}).value), 0x1p120);
}

// The proof allows 2^10 units.
TEST(FixedPoint, LogIsAsCloseAsProved) {
  std::mt19937_64 random{5};
  const UnsignedWide one = UnsignedWide{1} << 127;
  double worst = 0;
  const auto look = [&](UnsignedWide mantissa) {
    const Real exact = log(real(mantissa) * 0x1p-7);
    // Where it is computed as less than 0, modulo 2^128.
    const UnsignedWide computed = fixed_point::log_of_mantissa(mantissa).value;
    const Real value = (computed >> 127) != 0 ? -real(UnsignedWide{0} - computed) : real(computed);
    worst = std::max(worst, std::abs(((value - exact) * 0x1p120).nearest_double()));
  };
  for (int i = 0; i < 200'000; ++i) look(one | random_units(random, 127));
  for (int bits = 0; bits < 127; ++bits) {
    look(one + (UnsignedWide{1} << bits));
    look(one + (UnsignedWide{1} << bits) - 1);
    look(~UnsignedWide{0} - (UnsignedWide{1} << bits));
  }
  look(one);
  EXPECT_LT(worst, 1 << 10);
  EXPECT_GT(worst, 1);
}

}  // namespace
}  // namespace surety::mechanisms::fixed_point_test
