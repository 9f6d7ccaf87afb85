// The rule that keeps a block, by all tapes of 12 digits of a model with h = 1/2 and on both sides of its limit; the largest k; distributions, by exact
// binomial tails of the number of reals below each of 15 quantiles, false alarm 1e-10 per statistic, n = 200,000.
#include <surety/mechanisms/samplers/ideal_reals.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <boost/math/distributions/exponential.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include <surety/base/numbers/floating_point.h>

#include <support/exact_counts.h>
#include <support/ideal_tapes.h>
#include <support/real.h>
#include <support/scripted_bits.h>

namespace surety::mechanisms::ideal_reals_test {
namespace {

using reference::Real;
using testing::ScriptedBits;

constexpr std::uint64_t all_ones = ~std::uint64_t{0};

// ---- All tapes of 12 digits ----

/// How many of the 4096 tapes, with the first 6 digits of F and of U, are kept: with zeros, or with ones, as all further digits.
int kept_tapes(const IdealBlock& rule, std::uint64_t k, std::uint64_t rest) {
  int kept = 0;
  for (std::uint64_t tape = 0; tape < 4096; ++tape) {
    const std::uint64_t f = tape >> 6 << 58 | rest >> 6;
    const std::uint64_t u = (tape & 63) << 58 | rest >> 6;
    const IdealReal real{k, {f, rest}};
    const auto decision = rule.decide(std::span{&real, 1}, {u, rest});
    kept += decision.is_kept ? 1 : 0;
  }
  return kept;
}

/// The region {U < exp(-loss(F))} contains a cell whose last point is kept, and meets no cell whose first point is not.
void expect_probability(IdealShape shape, const std::function<double(std::uint64_t, double)>& loss) {
  const IdealBlock model{shape, 1};
  for (std::uint64_t k = 0; k <= 8; ++k) {
    const double probability =
        boost::math::quadrature::gauss_kronrod<double, 31>::integrate([&](double f) { return std::exp(-loss(k, f)); }, 0.0, 1.0);
    const double lower = kept_tapes(model, k, all_ones) / 4096.0;
    const double upper = kept_tapes(model, k, 0) / 4096.0;
    EXPECT_LE(lower, probability) << k;
    EXPECT_GE(upper, probability) << k;
    // A monotone curve meets fewer than 128 of 64 x 64 cells.
    EXPECT_LE(upper - lower, 128 / 4096.0) << k;
  }
}

TEST(IdealBlock, AllTapesOfAModelOfExponentials) {
  expect_probability(IdealShape::exponential, [](std::uint64_t, double f) { return f / 2; });
}

TEST(IdealBlock, AllTapesOfAModelOfHalfNormals) {
  expect_probability(IdealShape::half_normal, [](std::uint64_t k, double f) { return (2 * static_cast<double>(k) * f + f * f) / 8; });
}

/// With its integers, the model has the distribution that it is for: P(k) times the probability that k is kept is proportional to the mass of the cell.
TEST(IdealBlock, TheModelHasTheMassOfEveryCell) {
  const auto mass = [](double k) {
    return boost::math::cdf(boost::math::normal{}, (k + 1) / 2) - boost::math::cdf(boost::math::normal{}, k / 2);
  };
  const IdealBlock model{IdealShape::half_normal, 1};
  const auto bound = [&](std::uint64_t k, std::uint64_t rest) {
    const auto x = static_cast<double>(k);
    return std::exp(-x * x / 8) * kept_tapes(model, k, rest) / 4096.0;
  };
  for (std::uint64_t k = 1; k <= 8; ++k) {
    const double share = mass(static_cast<double>(k)) / mass(0);
    EXPECT_LE(bound(k, all_ones) / bound(0, 0), share) << k;
    EXPECT_GE(bound(k, 0) / bound(0, all_ones), share) << k;
  }
}

// ---- The limit ----

Real real(std::uint64_t x) { return Real{static_cast<double>(x >> 32)} * 0x1p32 + static_cast<double>(x & 0xffffffff); }

/// The first 128 digits of x in (0, 1).
std::array<std::uint64_t, 2> digits_of(const Real& x) {
  const Real first = x * 0x1p64;
  const std::uint64_t high = mpfr_get_ui(first.get(), MPFR_RNDD);
  return {high, mpfr_get_ui(((first - real(high)) * 0x1p64).get(), MPFR_RNDD)};
}

TEST(IdealBlock, DecidesOnBothSidesOfItsLimit) {
  std::mt19937_64 random{1};
  for (const auto shape : {IdealShape::exponential, IdealShape::half_normal}) {
    const IdealBlock rule{shape, IdealReals::log2_cells};
    for (const std::size_t count : {1U, 7U, 256U}) {
      std::vector<IdealReal> reals(count);
      Real loss{0};
      const Real h{0x1p-31};
      for (auto& one : reals) {
        one = {random() >> (26 + random() % 20), {random(), random()}};
        const Real f = (real(one.digits[0]) + real(one.digits[1]) * 0x1p-64) * 0x1p-64;
        loss = loss + (shape == IdealShape::exponential ? f * h : (2.0 * real(one.k) * f + f * f) * h * h * 0.5);
      }
      const Real limit = exp(-loss);
      // The margin is 2^-78.
      for (const double distance : {0x1p-76, 0x1p-60}) {
        const auto below = rule.decide(reals, digits_of(limit - distance));
        EXPECT_TRUE(below.is_kept && !below.is_in_doubt) << count << " " << distance;
        if (limit + distance >= 1) continue;
        const auto above = rule.decide(reals, digits_of(limit + distance));
        EXPECT_TRUE(!above.is_kept && !above.is_in_doubt) << count << " " << distance;
      }
      EXPECT_TRUE(rule.decide(reals, digits_of(limit)).is_in_doubt);
      EXPECT_TRUE(rule.decide(reals, digits_of(limit - 0x1p-80)).is_in_doubt);
    }
    const IdealReal large{std::uint64_t{1} << 38, {}};
    EXPECT_TRUE(rule.decide(std::span{&large, 1}, {0, 0}).is_in_doubt) << "128";
    const IdealReal below{(std::uint64_t{1} << 38) - 1, {}};
    EXPECT_FALSE(rule.decide(std::span{&below, 1}, {0, 0}).is_in_doubt);
  }
}

/// One exponential real of this k, whose loss is about 2^-32: undecided words of U draw more of U and of F, and the real keeps its digits.
TEST(IdealReals, DrawsMoreDigitsWhereABlockIsInDoubt) {
  const std::uint64_t f = std::uint64_t{1} << 63;
  const auto u = digits_of(exp(-Real{0x1p-32}));
  for (const bool is_kept : {false, true}) {
    auto tape = testing::exponential_tape(12345, {f, 0}, u);
    // Of U, of F: U is below for a small word. In doubt again for none.
    tape.insert(tape.end(), {is_kept ? 0 : all_ones, 7});
    if (!is_kept) {
      const auto next = testing::exponential_tape(54321, {f, 0}, {0, 0});
      tape.insert(tape.end(), next.begin(), next.end());
    }
    ScriptedBits bits{tape};
    IdealReals reals;
    reals.draw(IdealShape::exponential, 1, bits);
    ASSERT_EQ(bits.used(), tape.size());
    EXPECT_EQ(reals.reals()[0].k, is_kept ? 12345U : 54321U);
    EXPECT_EQ(reals.has_rare(), is_kept);
    const Interval cell = reals.enclose(0, 400);
    // 31 + 192 digits, or 31 + 128.
    EXPECT_EQ((cell - cell).enclosure().upper, std::ldexp(1.0, is_kept ? -223 : -159));
  }
}

// ---- The largest k ----

TEST(IdealReals, GoOnBeyondTheLargestIntegers) {
  // T below e^-(2^32): no tape is so long. The sampler of integers is asked for what follows one that saturates.
  constexpr auto limit = static_cast<std::uint64_t>(IsochronousSampler::saturation);
  std::vector<double> beyond;
  ReplayBits bits{5};
  for (int i = 0; i < 20'000; ++i) {
    const UnsignedWide k = IdealReals::beyond(IdealShape::exponential, bits);
    ASSERT_TRUE(k >= limit);
    beyond.push_back(static_cast<double>(k - limit) * 0x1p-31);
  }
  EXPECT_TRUE(testing::have_law(beyond, boost::math::exponential_distribution<double>{1}));
  EXPECT_FALSE(testing::have_law(beyond, boost::math::exponential_distribution<double>{1.1}));
  // P(j) is proportional to exp(-2^32 2^-31 j), nearly: 1 - e^-2, ...
  std::vector<std::int64_t> counts(4);
  for (int i = 0; i < 20'000; ++i) {
    const UnsignedWide j = IdealReals::beyond(IdealShape::half_normal, bits) - limit;
    ++counts[static_cast<std::size_t>(std::min<UnsignedWide>(j, 3))];
  }
  const double y = std::exp(-2.0);
  EXPECT_TRUE(testing::counts_fit(counts, std::vector<double>{1 - y, y * (1 - y), y * y * (1 - y), y * y * y}));
}

// ---- Distributions ----

std::vector<double> sample(IdealShape shape, TrialPath path) {
  ReplayBits bits{7};
  IdealReals reals;
  reals.draw(shape, 200'000, bits, path);
  std::vector<double> values;
  for (const auto& real : reals.reals()) {
    values.push_back(std::ldexp(static_cast<double>(real.k) + std::ldexp(static_cast<double>(real.digits[0]), -64), -31));
  }
  return values;
}

TEST(IdealReals, HaveTheirDistributionsByEveryPath) {
  for (const auto path : available_paths()) {
    const auto exponentials = sample(IdealShape::exponential, path);
    EXPECT_TRUE(testing::have_law(exponentials, boost::math::exponential_distribution<double>{1}));
    EXPECT_FALSE(testing::have_law(exponentials, boost::math::exponential_distribution<double>{1.03}));
    auto normals = sample(IdealShape::half_normal, path);
    for (double& value : normals) value = 2 * boost::math::cdf(boost::math::normal{}, value) - 1;
    EXPECT_TRUE(testing::have_law(normals, boost::math::uniform_distribution<double>{}));
    const auto uniforms = sample(IdealShape::uniform, path);
    EXPECT_TRUE(testing::have_law(uniforms, boost::math::uniform_distribution<double>{}));
    EXPECT_EQ(exponentials, sample(IdealShape::exponential, TrialPath::baseline));
    EXPECT_EQ(sample(IdealShape::half_normal, path), sample(IdealShape::half_normal, TrialPath::baseline));
    // The digits of F are uniform.
    std::vector<double> digits;
    for (const double value : exponentials) digits.push_back(value * 0x1p31 - std::floor(value * 0x1p31));
    EXPECT_TRUE(testing::have_law(digits, boost::math::uniform_distribution<double>{}));
  }
}

TEST(IdealReals, AppendsRealsWithAllTheirDigits) {
  ReplayBits bits{8};
  const NextWord next = words_of(bits);
  IdealReals one;
  one.draw(IdealShape::uniform, 3, bits);
  one.draw_another_word(1, next);
  IdealReals other;
  other.append(one, 1);
  other.append(one, 2);
  for (const std::size_t i : {0U, 1U}) {
    const Interval difference = other.enclose(i, 500) - one.enclose(i + 1, 500);
    EXPECT_LE(difference.enclosure().upper, i == 0 ? 0x1p-222 : 0x1p-158);
  }
  EXPECT_TRUE(other.has_rare());
  other.clear();
  EXPECT_EQ(other.size(), 0U);
  EXPECT_FALSE(other.has_rare());
  EXPECT_EQ((IdealReal{3, {std::uint64_t{1} << 63, 1}}.fixed().value), UnsignedWide{7} << 88);
}

}  // namespace
}  // namespace surety::mechanisms::ideal_reals_test
