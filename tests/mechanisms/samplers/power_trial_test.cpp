// Trials of g: all tapes of 12 digits, both sides of their limits, and logarithms and powers against MPFR.
#include <surety/mechanisms/samplers/power_trial.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include <support/ideal_tapes.h>
#include <support/real.h>

namespace surety::mechanisms::power_trial_test {
namespace {

using reference::Real;

constexpr std::uint64_t all_ones = ~std::uint64_t{0};
constexpr std::array<double, 5> exponents{2, 2.5, 3, 77.7, 0x1p20};

IdealReal ideal(const Real& x) {
  const testing::IdealDigits digits{x};
  return {digits.k, digits.f};
}
Real real(UnsignedWide x) {
  Real result{0};
  for (int part = 3; part >= 0; --part) result = result * 0x1p32 + static_cast<double>(static_cast<std::uint32_t>(x >> (32 * part)));
  return result;
}
Real signed_real(UnsignedWide x) { return ((x >> 127) != 0 ? -real(UnsignedWide{0} - x) : real(x)) * 0x1p-120; }
std::array<std::uint64_t, 2> digits_of(const Real& x) {
  const testing::IdealDigits digits{x * 0x1p-31};  // the digits after the point of x, below 1
  return digits.f;
}

/// exp(-(g^r - 1 - E)) or exp(-g^r).
Real probability(double r, const Real& x, bool is_tail) {
  if (!is_tail) return exp(-exp(log(x) * r));
  return exp(x + 1.0 - exp(log(x / r + 1.0) * r));
}

// ---- All tapes of 12 digits: four of the coin, of the real and of U each ----

/// Where in [0, 1) the first four digits say, the further ones 0 or 1.
std::array<std::uint64_t, 2> tape_digits(std::uint64_t four, std::uint64_t rest) { return {four << 60 | rest >> 4, rest}; }

struct Kept {
  int body = 0;
  int tail = 0;
};

/// Accepted tapes. The probability of acceptance falls in the real, so further digits 0 accept at least, and further digits 1 at most, what is true of a cell.
Kept kept(const PowerTrial& trial, std::uint64_t rest_of_coin, std::uint64_t rest) {
  Kept result;
  for (std::uint64_t tape = 0; tape < 4096; ++tape) {
    const auto digits = tape_digits(tape >> 4 & 15, rest);
    // E from 0 to 4, in equal steps.
    const IdealReal e{digits[0] >> 31, {digits[0] << 33 | rest >> 31, rest}};
    const IdealReal uniform{digits[0] >> 33, {digits[0] << 31 | rest >> 33, rest}};
    const auto decision = trial.decide(e, uniform, tape_digits(tape >> 8, rest_of_coin), tape_digits(tape & 15, rest));
    // Where all digits of U are 1 and the probability is nearly 1.
    EXPECT_TRUE(decision.in_doubt == 0 || (rest == all_ones && (tape & 15) == 15)) << tape;
    if (decision.accepted == 0) continue;
    ++(decision.is_tail != 0 ? result.tail : result.body);
  }
  return result;
}

TEST(PowerTrial, AllTapesOfAModelBracketItsProbabilities) {
  for (const double r : exponents) {
    const PowerTrial trial{r};
    const Kept lower = kept(trial, 0, all_ones);
    const Kept upper = kept(trial, 0, 0);
    const Kept fewer_tails = kept(trial, all_ones, 0);
    // Cells of the coin below 1 / (1 + e r).
    const double tail = 1 / (1 + std::exp(1.0) * r);
    const double tails = std::ceil(tail * 16);
    double body = 0;
    double beyond = 0;
    constexpr int parts = 20'000;
    for (int i = 0; i < parts; ++i) {
      const double x = (i + 0.5) / parts;
      body += std::exp(-std::pow(x, r)) / parts;
      beyond += std::exp(1 + 4 * x - std::exp(r * std::log1p(4 * x / r))) / parts;
    }
    EXPECT_LE(lower.body, body * (16 - tails) * 256 + 1e-3) << r;
    EXPECT_GE(upper.body, body * (16 - tails) * 256 - 1e-3) << r;
    EXPECT_LE(upper.body - lower.body, 32 * (16 - tails)) << r;
    EXPECT_LE(lower.tail, beyond * tails * 256 + 1e-3) << r;
    EXPECT_GE(upper.tail, beyond * tails * 256 - 1e-3) << r;
    EXPECT_LE(upper.tail - lower.tail, 32 * tails) << r;
    // With all further digits 1, one cell fewer is below.
    EXPECT_EQ(fewer_tails.tail * tails, upper.tail * (tails - 1)) << r;
  }
}

// ---- Limits ----

TEST(PowerTrial, DecidesOnBothSidesOfItsLimits) {
  std::mt19937_64 random{1};
  for (const double r : exponents) {
    const PowerTrial trial{r};
    const double margin = std::ceil(r) * 0x1p-98;
    const Real coin = 1 / (Real{r} * exp(Real{1}) + 1.0);
    for (int i = 0; i < 400; ++i) {
      const bool is_tail = i % 2 == 0;
      // Small and large ones, near 0, near 1, and what is rejected nearly surely.
      const double part = std::exp(-std::uniform_real_distribution<double>{0, i % 4 < 2 ? 1.0 : 60.0}(random));
      const Real x = is_tail ? Real{part * 120} : Real{part};
      const IdealReal value = ideal(x);
      const Real known =
          is_tail ? x
                  : (real(value.magnitude().low.limbs[2]) + real(value.digits[0]) * 0x1p-64 + real(value.digits[1]) * 0x1p-128) * 0x1p-31;
      const Real limit = probability(r, known, is_tail);
      const auto decide = [&](const Real& u) {
        const IdealReal other{random() >> 33, {random(), random()}};
        return trial.decide(is_tail ? value : other, is_tail ? other : value, digits_of(is_tail ? coin * 0.999 : coin * 1.001),
                            digits_of(u));
      };
      const Real near = Real{4 * margin};
      if (limit - near > 0) {
        const auto below = decide(limit - near);
        EXPECT_TRUE(below.accepted != 0 && below.in_doubt == 0) << r << " " << x;
        EXPECT_EQ(below.is_tail != 0, is_tail);
        EXPECT_EQ(below.real.k, value.k);
        EXPECT_EQ(below.real.digits, value.digits);
        if (limit < 1) {
          EXPECT_NE(decide(limit).in_doubt, 0) << r << " " << x;
        }
      }
      if (limit + near < 1) {
        const auto above = decide(limit + near);
        EXPECT_TRUE(above.accepted == 0 && above.in_doubt == 0) << r << " " << x;
        const Real g = is_tail ? known / r + 1.0 : known;
        // log g within 2^12 units.
        EXPECT_LT(std::abs(((signed_real(above.log) - log(g)) * 0x1p120).nearest_double()), 1 << 12) << r << " " << x;
        const auto magnitude = trial.magnitude(value, is_tail ? all_ones : 0);
        const Real low =
            (real(magnitude.low.limbs[2]) + real(magnitude.low.limbs[1]) * 0x1p-64 + real(magnitude.low.limbs[0]) * 0x1p-128) * 0x1p-31;
        EXPECT_LE(low, g);
        EXPECT_GE(low + static_cast<double>(magnitude.width) * 0x1p-159, g);
        EXPECT_LE(static_cast<double>(magnitude.width), 0x1p48);
      }
    }
    const auto at = digits_of(coin);
    const IdealReal half{std::uint64_t{1} << 30, {}};
    EXPECT_NE(trial.decide(half, half, at, {0, 0}).in_doubt, 0);
    const auto beyond = trial.decide(half, half, {at[0], at[1] + 1}, {0, 0});
    EXPECT_TRUE(beyond.in_doubt == 0 && beyond.is_tail == 0 && beyond.accepted != 0);
    const auto before = trial.decide(half, half, {at[0], at[1] - 1}, {0, 0});
    EXPECT_TRUE(before.in_doubt == 0 && before.is_tail != 0 && before.accepted != 0);
  }
}

TEST(PowerTrial, MultipliesByRAndByItsInverse) {
  std::mt19937_64 random{2};
  for (const double r : exponents) {
    const PowerTrial trial{r};
    const UnsignedWide limit = fixed_point::whole(PowerTrial::largest_exponent);
    for (int i = 0; i < 1000; ++i) {
      const UnsignedWide x = (UnsignedWide{random()} << 64 | random()) >> (1 + random() % 40);
      const Real exact = real(x) * r;
      const UnsignedWide product = trial.times_r(x, limit);
      if (exact >= real(limit)) {
        EXPECT_TRUE(product == limit);
      } else {
        EXPECT_LE(real(product), exact);
        EXPECT_GT(real(product) + 1.0, exact);
      }
      EXPECT_LT(std::abs((real(trial.over_r(x)) - real(x) / r).nearest_double()), 2 + std::ldexp(static_cast<double>(x), -120));
    }
  }
}

TEST(PowerTrial, ItsDefinitionEnclosesItsProbabilities) {
  for (const double r : exponents) {
    const PowerTrial trial{r};
    const Interval coin = trial.tail_probability(200);
    EXPECT_NEAR(coin.enclosure().lower, 1 / (1 + std::exp(1.0) * r), 1e-15);
    const Interval x{0.75, 300};
    EXPECT_NEAR(trial.enclose(x, true).enclosure().upper, 1 + 0.75 / r, 1e-15);
    EXPECT_NEAR(trial.enclose(x, false).enclosure().upper, 0.75, 1e-15);
    for (const bool is_tail : {false, true}) {
      const double expected = probability(r, Real{0.75}, is_tail).nearest_double();
      EXPECT_NEAR(std::exp(-trial.exponent(x, is_tail).enclosure().upper), expected, 1e-14);
    }
  }
}

}  // namespace
}  // namespace surety::mechanisms::power_trial_test
