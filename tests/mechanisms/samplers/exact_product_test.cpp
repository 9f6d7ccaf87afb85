// Against MPFR: what is decided is the nearest integer to both ends, and what is not has a half integer between them.
#include <surety/mechanisms/samplers/exact_product.h>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include <support/real.h>

namespace surety::mechanisms::exact_product_test {
namespace {

using reference::Real;

constexpr mpfr_prec_t bits = 1000;
using Scale = std::array<double, 3>;

Real real(const WideInteger<3>& a) {
  Real result{0, bits};
  for (std::size_t i = 3; i-- > 0;) {
    result = result * 0x1p64 + (Real{static_cast<double>(a.limbs[i] >> 32), bits} * 0x1p32 + static_cast<double>(a.limbs[i] & 0xffffffff));
  }
  return result;
}

Real power_of_two(int exponent) {
  Real result{1, bits};
  for (; exponent < 0; ++exponent) result = result * 0.5;
  for (; exponent > 0; --exponent) result = result * 2.0;
  return result;
}

TEST(WideFactor, IsTheExactProductOfItsDoubles) {
  for (const Scale& scale : {Scale{1, 1, 1}, Scale{1.1, 2.3, 0x1p20}, Scale{0.1, 0.7, 0.3}, Scale{5e-324, 1, 0x1p-900}}) {
    const auto factor = WideFactor::product_of(scale);
    EXPECT_TRUE(factor.is_exact);
    EXPECT_EQ(factor.low.limbs[2] >> 62, 1U);
    const Real expected = Real{scale[0], bits} * scale[1] * scale[2];
    EXPECT_EQ(mpfr_cmp((real(factor.low) * power_of_two(factor.exponent)).get(), expected.get()), 0);
  }
}

TEST(WideFactor, ProductsEncloseAllProducts) {
  std::mt19937_64 random{1};
  const auto scale = WideFactor::product_of({1.7, 3.3, 0x1p10});
  for (int i = 0; i < 2000; ++i) {
    WideFactor factor{.low = {{random(), random(), random() >> 2}}, .width = {{random() >> (i % 64), 0, 0}}, .exponent = -150};
    const auto product = scale * factor;
    const Real unit = power_of_two(product.exponent);
    const Real exact_scale = real(scale.low) * power_of_two(scale.exponent);
    const Real low = exact_scale * real(factor.low) * power_of_two(factor.exponent);
    const Real high = exact_scale * real(factor.low + factor.width) * power_of_two(factor.exponent);
    ASSERT_LE(real(product.low) * unit, low);
    ASSERT_GE((real(product.low) + 1.0) * unit, low);
    ASSERT_GE(real(product.low + product.width) * unit, high);
    ASSERT_LE((real(product.low + product.width) - 1.0) * unit, high);
  }
}

/// The nearest integer, saturated.
std::int64_t nearest(const Real& x) { return mpfr_get_si(x.get(), MPFR_RNDN); }

TEST(RoundedProduct, DecidesWhatAllDigitsToComeLeave) {
  std::mt19937_64 random{2};
  int decided = 0;
  int undecided = 0;
  for (int i = 0; i < 12'000; ++i) {
    // Factors from 2^-300 to 2^90, of few and of many digits that are not known.
    const auto exponent = static_cast<int>(random() % 390) - 300 - 190;
    WideFactor factor{.low = {{random(), random(), random() >> 2 | std::uint64_t{1} << 61}}, .width = {}, .exponent = exponent};
    factor.is_exact = i % 3 == 0;
    if (!factor.is_exact) factor.width = {{random(), random(), random() >> (2 + i % 62)}};
    const Magnitude magnitude{.low = {{random(), random(), random() >> (26 + i % 38)}}, .width = i % 2 == 0 ? 1 : std::uint64_t{1} << 48};
    const Real unit = power_of_two(exponent - magnitude_digits);
    const Real low = real(factor.low) * real(magnitude.low) * unit;
    const Real high = real(factor.low + factor.width) * (real(magnitude.low) + static_cast<double>(magnitude.width)) * unit;
    const auto rounded = rounded_product(factor, magnitude, 0);
    const auto negative = rounded_product(factor, magnitude, ~std::uint64_t{0});
    ASSERT_EQ(rounded.in_doubt, negative.in_doubt);
    if (rounded.in_doubt == 0) {
      ASSERT_EQ(rounded.value, nearest(low));
      ASSERT_EQ(rounded.value, nearest(high));
      ASSERT_EQ(negative.value, -rounded.value);
      ++decided;
    } else {
      ASSERT_NE(nearest(low), nearest(high));
      ++undecided;
    }
  }
  EXPECT_GT(decided, 6000);
  EXPECT_GT(undecided, 300);
}

// One unit of the 159 digits before a half integer, what follows is not known; two units before, it is.
TEST(RoundedProduct, LeavesADigitBeforeAHalfIntegerInDoubt) {
  const auto one = WideFactor::product_of({1, 1, 1});
  const auto below_half = [](std::uint64_t units) {
    const WideInteger<3> half{{0, 0, std::uint64_t{1} << 30}};
    return Magnitude{.low = half - WideInteger<3>::of(units), .width = 1};
  };
  EXPECT_NE(rounded_product(one, below_half(1), 0).in_doubt, 0);
  const auto decided = rounded_product(one, below_half(2), 0);
  EXPECT_EQ(decided.in_doubt, 0);
  EXPECT_EQ(decided.value, 0);
  EXPECT_EQ(rounded_product(one, below_half(0), 0).value, 1);
}

}  // namespace
}  // namespace surety::mechanisms::exact_product_test
