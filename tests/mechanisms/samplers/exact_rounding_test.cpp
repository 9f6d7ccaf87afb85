#include <surety/mechanisms/samplers/exact_rounding.h>

#include <gtest/gtest.h>
#include <mpfr.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <surety/base/text/error.h>

#include <support/scripted_bits.h>

namespace surety::mechanisms::exact_rounding_test {
namespace {

using testing::Outcome;
using testing::ScriptedBits;

constexpr mpfr_prec_t truth_precision = 256;
constexpr std::uint64_t all_ones = ~std::uint64_t{0};

struct Number {
  mpfr_t value;
  Number() { mpfr_init2(value, truth_precision); }
  ~Number() { mpfr_clear(value); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
};

/// erfc((j - 1/2) / (sigma sqrt 2)), to nearest at 256 bits and independently of the library.
void set_threshold(Number& result, std::uint64_t j, double sigma) {
  Number scale;
  mpfr_set_ui(scale.value, 2, MPFR_RNDN);
  mpfr_sqrt(scale.value, scale.value, MPFR_RNDN);
  mpfr_mul_d(scale.value, scale.value, sigma, MPFR_RNDN);
  mpfr_set_ui(result.value, j, MPFR_RNDN);
  mpfr_sub_d(result.value, result.value, 0.5, MPFR_RNDN);
  mpfr_div(result.value, result.value, scale.value, MPFR_RNDN);
  mpfr_erfc(result.value, result.value, MPFR_RNDN);
}

/// Bits 2^-63 .. of the threshold: the 63-bit integer below 2^63 threshold, and the next 64 bits.
struct Binary {
  std::uint64_t first;
  std::uint64_t second;
};
Binary digits(std::uint64_t j, double sigma) {
  Number threshold;
  set_threshold(threshold, j, sigma);
  mpfr_mul_2ui(threshold.value, threshold.value, 63, MPFR_RNDN);
  const std::uint64_t first = mpfr_get_ui(threshold.value, MPFR_RNDD);
  mpfr_sub_ui(threshold.value, threshold.value, first, MPFR_RNDN);
  mpfr_mul_2ui(threshold.value, threshold.value, 64, MPFR_RNDN);
  return {first, mpfr_get_ui(threshold.value, MPFR_RNDD)};
}

Outcome sample(double sigma, std::vector<std::uint64_t> words) {
  ScriptedBits bits{std::move(words)};
  const auto k = RoundedGaussian{StepSigma{sigma}}(bits);
  return {k, bits.used()};
}
Outcome by_definition(double sigma, std::vector<std::uint64_t> words) {
  ScriptedBits bits{std::move(words)};
  const auto k = rounded_gaussian_by_definition(bits, StepSigma{sigma});
  return {k, bits.used()};
}

/// The word whose sign bit and first 63 bits of T are these.
std::uint64_t word(std::uint64_t first_bits, bool negative = false) { return first_bits << 1 | (negative ? 1U : 0U); }

// The law, enumerated: P(|k| >= j) is the length of {T : |k| >= j}, which is an interval from 0 whose other end is found to lie exactly at
// the threshold: on either side of it at distance 2^-63, and within that at distance 2^-127.
void expect_exact_threshold(std::uint64_t j, double sigma) {
  const auto at = digits(j, sigma);
  const auto k = static_cast<std::int64_t>(j);
  SCOPED_TRACE(::testing::Message() << "sigma " << sigma << ", threshold " << j);
  ASSERT_GE(at.first, 1U);
  ASSERT_LT(at.first, (std::uint64_t{1} << 63) - 1);
  const std::vector<std::uint64_t> more(4, 0x5555555555555555);
  const auto with_more = [&more](std::vector<std::uint64_t> words) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  for (const auto& sampler : {sample, by_definition}) {
    // Thresholds closer together than 2^-63 do not occur in the cases below.
    EXPECT_EQ(sampler(sigma, with_more({word(at.first - 1)})), (Outcome{k, 1}));
    EXPECT_EQ(sampler(sigma, with_more({word(at.first - 1, true)})), (Outcome{-k, 1}));
    EXPECT_EQ(sampler(sigma, with_more({word(at.first + 1)})), (Outcome{k - 1, 1}));
    EXPECT_EQ(sampler(sigma, with_more({word(at.first + 1, true)})), (Outcome{1 - k, 1}));
    // The threshold lies inside what the first word leaves open: a second one is needed and decides.
    EXPECT_EQ(sampler(sigma, with_more({word(at.first), at.second - 1})), (Outcome{k, 2}));
    EXPECT_EQ(sampler(sigma, with_more({word(at.first, true), at.second + 1})), (Outcome{1 - k, 2}));
    EXPECT_EQ(sampler(sigma, with_more({word(at.first), at.second})).words, 3U);
  }
}

TEST(RoundedGaussian, HasExactlyTheEnumeratedLaw) {
  // For each sigma every threshold with a probability above 2^-55, or a spread of them. Larger ones: lattice_sampler_test.
  for (const double sigma : {0.125, 0.3, 1.0, 2.7, 8.0, 31.6}) {
    const auto last = static_cast<std::uint64_t>(8.2 * sigma + 0.5);
    for (std::uint64_t j = 1; j <= last; j += 1 + last / 20) expect_exact_threshold(j, sigma);
  }
}

TEST(RoundedGaussian, IsZeroWhenSigmaIsTiny) {
  for (const double sigma : {0x1p-40, 1e-300, 5e-324}) {
    for (const auto& sampler : {sample, by_definition}) {
      EXPECT_EQ(sampler(sigma, {word(1)}), (Outcome{0, 1}));
      EXPECT_EQ(sampler(sigma, {word(0), 1}), (Outcome{0, 2}));  // T below 2^-63 is known better before it is decided
      EXPECT_EQ(sampler(sigma, {all_ones}), (Outcome{0, 1}));
    }
  }
}

RC_GTEST_PROP(RoundedGaussian, AgreesWithItsDefinitionOnEveryWord, ()) {
  const double sigma = std::exp2(*rc::gen::inRange(-400, 560) / 10.0);
  const auto any_word = rc::gen::oneOf(rc::gen::arbitrary<std::uint64_t>(),
                                       rc::gen::element<std::uint64_t>(0, 1, 2, 3, 1023, all_ones, all_ones - 1, all_ones / 2));
  const auto words = *rc::gen::container<std::vector<std::uint64_t>>(4, any_word);
  std::vector<std::uint64_t> script{words};
  script.insert(script.end(), 16, 0x123456789abcdef);
  RC_ASSERT(sample(sigma, script) == by_definition(sigma, script));
}

TEST(RoundedGaussian, AgreesWithItsDefinitionOnAStream) {
  for (const double sigma : {0.7, 100.0, 1e6, 0x1p33}) {
    ReplayBits fast{11};
    ReplayBits slow{11};
    const RoundedGaussian noise{StepSigma{sigma}};
    for (int i = 0; i < 20; ++i) ASSERT_EQ(noise(fast), rounded_gaussian_by_definition(slow, StepSigma{sigma})) << sigma << " " << i;
    ASSERT_EQ(draw_word(fast), draw_word(slow));
  }
}

TEST(RoundedGaussian, RefinesFromFarTails) {
  // T just above 0: 63 + 64 zeros, then a one. erfc^-1(2^-128) sqrt 2 = 13.1.
  const auto outcome = sample(30, {word(0), 0, 0x8000000000000000});
  EXPECT_EQ(outcome, by_definition(30, {word(0), 0, 0x8000000000000000}));
  EXPECT_GT(outcome.sample, 390);
  EXPECT_LT(outcome.sample, 396);
}

TEST(RoundedGaussian, SaturatesAtTheEndsOfInt64) {
  // The words choose the tail and a piece of it that begins beyond 8 sigma.
  const std::uint64_t piece = ~(all_ones >> 40);
  EXPECT_EQ(sample(0x1p60, {0, 0, piece, 0, 0}), (Outcome{RoundedGaussian::saturation, 5}));
  EXPECT_EQ(sample(0x1p60, {std::uint64_t{1} << 35, 0, piece, 0, 0}), (Outcome{-RoundedGaussian::saturation, 5}));
}

TEST(RoundedGaussian, IsSymmetric) {
  ReplayBits bits{5};
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t drawn = draw_word(bits) | 2;
    EXPECT_EQ(sample(3.5, {drawn, 1, 1}).sample, -sample(3.5, {drawn ^ 1, 1, 1}).sample);
  }
}

TEST(RoundedGaussian, FillsInOrder) {
  ReplayBits one{6};
  ReplayBits other{6};
  const RoundedGaussian noise{StepSigma{12.5}};
  std::vector<std::int64_t> filled(100);
  noise.fill(filled, one);
  for (const auto sample : filled) EXPECT_EQ(sample, noise(other));
}

TEST(RoundedGaussian, FillsDoublesWithTheSameSamplesInDataUnits) {
  ReplayBits one{6};
  ReplayBits other{6};
  const RoundedGaussian noise{StepSigma{1000}};
  std::vector<std::int64_t> steps(700);
  std::vector<double> values(700);
  noise.fill(steps, one);
  noise.fill(values, Grid{-4}, other);
  for (std::size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(values[i], static_cast<double>(steps[i]) / 16);
  EXPECT_EQ(draw_word(one), draw_word(other));
}

RC_GTEST_PROP(RoundedGaussian, GrowsWithSigma, (std::uint64_t drawn)) {
  const double sigma = std::exp2(*rc::gen::inRange(-30, 40) / 10.0);
  const double larger = sigma * (1 + *rc::gen::inRange(0, 1000) / 1000.0);
  RC_ASSERT(std::abs(sample(sigma, {drawn, 7, 7}).sample) <= std::abs(sample(larger, {drawn, 7, 7}).sample));
}

TEST(RoundedLaplace, IsTheLatticeSamplersLaw) {
  for (const double scale : {1.5, 1e6}) {
    std::vector<std::int64_t> samples(1000);
    std::vector<std::int64_t> expected(1000);
    ReplayBits one{8};
    ReplayBits other{8};
    const RoundedLaplace noise{StepScale{scale}};
    EXPECT_EQ(noise.scale().value(), scale);
    noise.fill(samples, one);
    LatticeSampler::rounded_laplace(scale).fill(expected, other);
    EXPECT_EQ(samples, expected);
  }
  EXPECT_THROW(StepScale{0x1p59}, Error);
}

TEST(StepSigma, IsPositiveAndAtMost2To60) {
  for (const double bad : {0.0, -1.0, std::nextafter(0x1p60, 1e300), std::numeric_limits<double>::infinity(), std::nan("")}) {
    EXPECT_THROW(StepSigma{bad}, Error) << bad;
  }
  try {
    StepSigma{0x1p61};
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(std::string{error.what()}, "sigma in grid steps is 2.305843009213694e+18, must be greater than 0 and at most 2^60");
  }
}

}  // namespace
}  // namespace surety::mechanisms::exact_rounding_test
