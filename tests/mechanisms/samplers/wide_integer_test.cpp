// Against GMP, for numbers with few and with many digits.
#include <surety/mechanisms/samplers/wide_integer.h>

#include <gmp.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>

namespace surety::mechanisms::wide_integer_test {
namespace {

class Integer {
 public:
  Integer() { mpz_init(value_); }
  Integer(const Integer& other) { mpz_init_set(value_, other.value_); }
  Integer& operator=(const Integer& other) {
    mpz_set(value_, other.value_);
    return *this;
  }
  ~Integer() { mpz_clear(value_); }
  mpz_t& get() { return value_; }

 private:
  mpz_t value_;
};

template <std::size_t n>
Integer exact(const WideInteger<n>& a) {
  Integer result;
  mpz_import(result.get(), n, -1, 8, 0, 0, a.limbs.data());
  return result;
}

/// Of GMP's integer, modulo 2^(64 n).
template <std::size_t n>
WideInteger<n> wide(Integer value) {
  mpz_fdiv_r_2exp(value.get(), value.get(), 64 * n);
  WideInteger<n> result;
  mpz_export(result.limbs.data(), nullptr, -1, 8, 0, 0, value.get());
  return result;
}

/// With so many digits, of which long runs are alike.
template <std::size_t n>
WideInteger<n> random_integer(std::mt19937_64& random) {
  WideInteger<n> result;
  for (auto& limb : result.limbs) {
    const auto kind = random() % 4;
    limb = kind == 0 ? 0 : kind == 1 ? ~std::uint64_t{0} : random();
  }
  return shifted_down(result, random() % (64 * n));
}

template <std::size_t n>
void expect_arithmetic() {
  std::mt19937_64 random{n};
  for (int i = 0; i < 5000; ++i) {
    const auto a = random_integer<n>(random);
    const auto b = random_integer<n>(random);
    Integer x = exact(a);
    Integer y = exact(b);
    Integer z;
    mpz_add(z.get(), x.get(), y.get());
    ASSERT_EQ((a + b).limbs, wide<n>(z).limbs);
    mpz_sub(z.get(), x.get(), y.get());
    ASSERT_EQ((a - b).limbs, wide<n>(z).limbs);
    ASSERT_EQ(a < b, mpz_cmp(x.get(), y.get()) < 0);
    mpz_mul(z.get(), x.get(), y.get());
    ASSERT_EQ(product(a, b).limbs, wide<2 * n>(z).limbs);
    const std::size_t count = random() % (64 * n);
    mpz_mul_2exp(z.get(), x.get(), count);
    ASSERT_EQ(shifted_up(a, count).limbs, wide<n>(z).limbs) << count;
    mpz_mul_2exp(z.get(), x.get(), 2);
    ASSERT_EQ(shifted_up<2>(a).limbs, wide<n>(z).limbs);
    mpz_fdiv_q_2exp(z.get(), x.get(), count);
    ASSERT_EQ(shifted_down(a, count).limbs, wide<n>(z).limbs) << count;
    mpz_fdiv_q_2exp(z.get(), x.get(), count % 256);
    ASSERT_EQ(shifted_down_by_secret(a, static_cast<unsigned>(count % 256)).limbs, wide<n>(z).limbs);
    ASSERT_EQ(select(true, a, b).limbs, a.limbs);
    ASSERT_EQ(select(false, a, b).limbs, b.limbs);
    ASSERT_EQ(is_zero(a), mpz_sgn(x.get()) == 0);
    ASSERT_TRUE(is_zero(a - a));
    if constexpr (n % 2 == 0) {
      mpz_sqrt(z.get(), x.get());
      ASSERT_EQ(square_root(a).limbs, wide<n / 2>(z).limbs);
    }
    if constexpr (n <= 4 && n >= 2) {
      const auto [mantissa, exponent] = normalized(a);
      mpz_setbit(x.get(), 0);
      ASSERT_EQ(exponent + 1, mpz_sizeinbase(x.get(), 2));
      mpz_mul_2exp(z.get(), x.get(), 127);
      mpz_fdiv_q_2exp(z.get(), z.get(), exponent);
      ASSERT_EQ(WideInteger<2>::of(mantissa).limbs, wide<2>(z).limbs);
    }
  }
}

TEST(WideInteger, CalculatesAsGmpDoes) {
  expect_arithmetic<2>();
  expect_arithmetic<3>();
  expect_arithmetic<4>();
  expect_arithmetic<6>();
}

TEST(WideInteger, MultipliesNumbersOfOtherSizes) {
  const WideInteger<3> a{{~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}}};
  const WideInteger<1> b{{~std::uint64_t{0}}};
  EXPECT_EQ(product(a, b).limbs, (std::array<std::uint64_t, 4>{1, ~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0} - 1}));
  EXPECT_EQ(resized<2>(a).limbs, (std::array<std::uint64_t, 2>{~std::uint64_t{0}, ~std::uint64_t{0}}));
  EXPECT_EQ(resized<2>(b).limbs, (std::array<std::uint64_t, 2>{~std::uint64_t{0}, 0}));
}

}  // namespace
}  // namespace surety::mechanisms::wide_integer_test
