#include <surety/mechanisms/bits/lazy_real.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include <surety/mechanisms/bits/random_bits.h>

#include <support/exact_counts.h>
#include <support/real.h>
#include <support/scripted_bits.h>

namespace surety::mechanisms::lazy_real_test {
namespace {

using reference::Real;
using testing::ScriptedBits;

constexpr std::uint64_t all_ones = ~std::uint64_t{0};
constexpr std::array<NoiseShape, 3> shapes{NoiseShape::gumbel, NoiseShape::laplace, NoiseShape::exponential};

Real unit_at(std::uint64_t word, int add) {
  return (Real{static_cast<double>(word >> 32)} * 0x1p32 + static_cast<double>(word & 0xffffffff) + static_cast<double>(add)) * 0x1p-64;
}

Real noise_at(NoiseShape shape, const Real& u) {
  if (shape == NoiseShape::exponential) return -log(u);
  if (shape == NoiseShape::gumbel) return -log(-log(u));
  return u < 0.5 ? log(u * 2) : -log((1 - u) * 2);
}

std::uint64_t any_word() {
  return *rc::gen::oneOf(rc::gen::arbitrary<std::uint64_t>(),
                         rc::gen::map(rc::gen::inRange(0, 64), [](int k) { return std::uint64_t{1} << k; }),
                         rc::gen::map(rc::gen::inRange(0, 64), [](int k) { return ~(std::uint64_t{1} << k); }),
                         rc::gen::element<std::uint64_t>(0, 1, 2, all_ones, all_ones - 1, all_ones / 2, all_ones / 2 + 1));
}

// The premise of every shortcut in double: its error is far below the margin. Checked at both ends of cells everywhere.
RC_GTEST_PROP(NoiseOfFirstWord, ErrsByLessThanASixteenthOfTheMargin, ()) {
  const std::uint64_t word = any_word();
  for (const auto shape : shapes) {
    const auto bounds = noise_of_first_word(shape, word);
    const Real one = noise_at(shape, unit_at(word, 0));
    const Real other = noise_at(shape, unit_at(word, 1));
    const Real& low = one < other ? one : other;
    const Real& high = one < other ? other : one;
    if (std::isfinite(bounds.low)) {
      RC_ASSERT(std::abs((low - bounds.low).nearest_double()) <= double_margin / 16 * (1 + std::abs(bounds.low)));
    } else {
      RC_ASSERT(bounds.low < 0);
    }
    if (std::isfinite(bounds.high)) {
      RC_ASSERT(std::abs((high - bounds.high).nearest_double()) <= double_margin / 16 * (1 + std::abs(bounds.high)));
    } else {
      RC_ASSERT(bounds.high > 0);
    }
  }
}

RC_GTEST_PROP(Noise, EnclosesEveryCompletionOfTheBits, ()) {
  const std::vector<std::uint64_t> words{any_word(), any_word()};
  ScriptedBits bits{words};
  const NextWord next = [&bits] { return draw_word(bits); };
  LazyUniform uniform{next};
  for (const auto shape : shapes) {
    const auto before = noise(shape, uniform, precision_for(1));
    // A point inside the cell of two words.
    const Real inside = unit_at(words[0], 0) + (unit_at(words[1], 0) + 0x1p-65) * 0x1p-64;
    const Real value = noise_at(shape, inside);
    RC_ASSERT(mpfr_lessequal_p(before.lower(), value.get()) && mpfr_lessequal_p(value.get(), before.upper()));
    LazyUniform more = uniform;
    ScriptedBits rest{{words[1]}};
    more.draw_another_word([&rest] { return draw_word(rest); });
    const auto after = noise(shape, more, precision_for(2));
    RC_ASSERT(mpfr_lessequal_p(after.lower(), value.get()) && mpfr_lessequal_p(value.get(), after.upper()));
    // Up to a rounding, what is known later lies within what was known earlier.
    RC_ASSERT(mpfr_cmp(before.lower(), after.upper()) <= 0 && mpfr_cmp(after.lower(), before.upper()) <= 0);
  }
}

struct Coin {
  bool happened;
  std::size_t words;
  friend bool operator==(const Coin&, const Coin&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Coin& coin) { return out << coin.happened << " after " << coin.words; }
};
Coin flip(const std::function<bool(const NextWord&)>& coin, std::vector<std::uint64_t> words) {
  ScriptedBits bits{std::move(words)};
  const bool happened = coin([&bits] { return draw_word(bits); });
  return {happened, bits.used()};
}

/// The first two words of the binary digits of `p`.
std::array<std::uint64_t, 2> digits(const Real& p) {
  Real scaled = p * 0x1p64;
  const std::uint64_t first = mpfr_get_ui(scaled.get(), MPFR_RNDD);
  scaled = (scaled - unit_at(first, 0) * 0x1p64) * 0x1p64;
  return {first, mpfr_get_ui(scaled.get(), MPFR_RNDD)};
}

// The probability of a coin is the length of {U : it happens}, an interval from 0: its other end is found to lie at p, on either side of it
// at distance 2^-64, and inside that at distance 2^-128.
void expect_exact(const std::function<bool(const NextWord&)>& coin, const Real& p) {
  const auto at = digits(p);
  EXPECT_EQ(flip(coin, {at[0] - 1}), (Coin{true, 1})) << p;
  EXPECT_EQ(flip(coin, {at[0] + 1}), (Coin{false, 1})) << p;
  EXPECT_EQ(flip(coin, {at[0], at[1] - 1}), (Coin{true, 2})) << p;
  EXPECT_EQ(flip(coin, {at[0], at[1] + 1}), (Coin{false, 2})) << p;
  EXPECT_EQ(flip(coin, {at[0], at[1], 1, 1}).words, 3U) << p;
}

TEST(Coins, OfAnExponentialAreExact) {
  for (const double x : {1e-9, 0.1, 0.5, 1.0, 3.7, 20.0, 40.0}) {
    for (const auto& bounds : {DoubleBounds{x, x}, DoubleBounds{0, 1e300}}) {  // with and without the shortcut
      const Exponent exponent{.bounds = bounds, .enclose = [x](mpfr_prec_t precision) { return Interval{x, precision}; }};
      expect_exact([&exponent](const NextWord& next) { return happens_with_exp_minus(exponent, next); }, exp(-Real{x}));
    }
  }
  const Exponent zero{.bounds = {0, 0}, .enclose = [](mpfr_prec_t precision) { return Interval{0, precision}; }};
  for (const std::uint64_t word : {std::uint64_t{0}, all_ones}) {
    EXPECT_EQ(flip([&zero](const NextWord& next) { return happens_with_exp_minus(zero, next); }, {word}), (Coin{true, 1}));
  }
}

TEST(Coins, OfAQuotientAreExact) {
  for (const auto& [a, b] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{{1, 3}, {2, 7}, {355, 1130}, {all_ones - 2, all_ones}}) {
    expect_exact([a = a, b = b](const NextWord& next) { return happens_with_ratio(a, b, next); }, unit_at(a, 0) / unit_at(b, 0));
  }
  // Finite digits end: U = p has already happened not to be below p.
  const auto quarter = [](const NextWord& next) { return happens_with_ratio(1, 4, next); };
  EXPECT_EQ(flip(quarter, {all_ones / 4}), (Coin{true, 1}));
  EXPECT_EQ(flip(quarter, {all_ones / 4 + 1}), (Coin{false, 1}));
  EXPECT_EQ(flip([](const NextWord& next) { return happens_with_ratio(0, 5, next); }, {0}), (Coin{false, 1}));
  EXPECT_EQ(flip([](const NextWord& next) { return happens_with_ratio(5, 5, next); }, {}), (Coin{true, 0}));
}

TEST(Coins, OfADoubleAreExactlyThatBinaryFraction) {
  for (const double p : {0.5, 0.75, 0.1, 1.0 / 3, 0x1p-20 * 1.1}) {
    const auto coin = [p](const NextWord& next) { return happens_with(p, next); };
    const auto at = digits(Real{p});
    EXPECT_EQ(flip(coin, {at[0] - 1}), (Coin{true, 1}));
    EXPECT_EQ(flip(coin, {at[0] + 1}), (Coin{false, 1}));
    EXPECT_EQ(flip(coin, {at[0], at[1]}).happened, false);  // U >= p once all its digits agree
    if (at[1] != 0) {
      EXPECT_EQ(flip(coin, {at[0], at[1] - 1}), (Coin{true, 2}));
    }
  }
  const auto smallest = [](const NextWord& next) { return happens_with(5e-324, next); };
  EXPECT_EQ(flip(smallest, std::vector<std::uint64_t>(17, 0)), (Coin{true, 17}));  // 2^-1074 is the 50th bit of the 17th word
  std::vector<std::uint64_t> equal(17, 0);
  equal[16] = std::uint64_t{1} << 14;
  EXPECT_EQ(flip(smallest, equal), (Coin{false, 17}));
  EXPECT_EQ(flip([](const NextWord& next) { return happens_with(1, next); }, {}), (Coin{true, 0}));
  EXPECT_EQ(flip([](const NextWord& next) { return happens_with(0, next); }, {0}), (Coin{false, 1}));
}

TEST(UniformBelow, RejectsExactlyTheExcessWords) {
  const auto draw = [](std::uint64_t n, std::vector<std::uint64_t> words) {
    ScriptedBits bits{std::move(words)};
    return uniform_below(n, [&bits] { return draw_word(bits); });
  };
  // 2^64 = 1 modulo 3 and 2^64 = 6 modulo 10: so many of the last words are rejected.
  EXPECT_EQ(draw(3, {all_ones, 5}), 2U);
  EXPECT_EQ(draw(3, {all_ones - 1}), (all_ones - 1) % 3);
  EXPECT_EQ(draw(10, {all_ones - 5, 7}), 7U);
  EXPECT_EQ(draw(10, {all_ones - 6}), 9U);
  EXPECT_EQ(draw(1, {all_ones}), 0U);
  EXPECT_EQ(draw(8, {all_ones}), 7U);
  EXPECT_EQ(draw((std::uint64_t{1} << 63) + 1, {(std::uint64_t{1} << 63) + 1, 4}), 4U);
}

}  // namespace
}  // namespace surety::mechanisms::lazy_real_test
