// What is tested, for every distribution and for narrow and wide scales:
//   the constants   every threshold against plain MPFR, which shares no code with the library's interval arithmetic
//   the decisions   on both sides of every threshold and ratio, at the distances where doubles, 120 digits and intervals decide
//   the ways        all instructions, single draws, blocks and the definition decide the same
//   the samples     their statistics
#include <surety/mechanisms/samplers/isochronous_sampler.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <surety/base/numbers/floating_point.h>
#include <surety/base/text/error.h>
#include <surety/mechanisms/samplers/trial_loops.h>

#include <support/discrete_laws.h>
#include <support/foreign_floating_point.h>
#include <support/integer_laws.h>
#include <support/lattice.h>
#include <support/real.h>
#include <support/scripted_bits.h>

namespace surety::mechanisms::isochronous_sampler_test {
namespace {

using reference::Real;
using testing::ScriptedBits;

constexpr mpfr_prec_t bits = 320;
constexpr std::uint64_t all_ones = ~std::uint64_t{0};

enum class Kind { rounded_gaussian, rounded_laplace, discrete_gaussian, discrete_laplace, geometric, half_gaussian, binomial, skellam };

Real real(std::uint64_t value) { return Real{static_cast<double>(value >> 32), bits} * 0x1p32 + static_cast<double>(value & 0xffffffff); }

/// A law as its formula says, and the sampler of it.
struct Law {
  std::string name;
  Kind kind;
  Real parameter;  ///< sigma^2 (also of a binomial or Skellam law) or b
  IsochronousSampler sampler;
  std::function<Real(std::uint64_t)> probability = {};  ///< of a binomial or Skellam law
  std::uint64_t largest = all_ones;                     ///< of |k|

  [[nodiscard]] bool is_gaussian() const {
    return kind == Kind::rounded_gaussian || kind == Kind::discrete_gaussian || kind == Kind::half_gaussian;
  }
  [[nodiscard]] bool is_rounded() const { return kind == Kind::rounded_gaussian || kind == Kind::rounded_laplace; }
  [[nodiscard]] bool is_integer() const { return kind == Kind::binomial || kind == Kind::skellam; }
  [[nodiscard]] TrialWeights weights() const {
    if (is_integer()) return TrialWeights::cosines;
    return is_gaussian() ? TrialWeights::gaussian : TrialWeights::exponential;
  }
  [[nodiscard]] bool has_thresholds() const { return weights() != TrialWeights::exponential; }
  [[nodiscard]] bool is_two_sided() const { return kind != Kind::geometric && kind != Kind::half_gaussian; }
  [[nodiscard]] double scale() const {
    const double value = parameter.nearest_double();
    return has_thresholds() ? std::sqrt(value) : value;
  }
  /// 2^b P(k) of a wide binomial or Skellam law, which its heights are in units of.
  [[nodiscard]] Real weight(std::uint64_t k) const { return probability(k) * std::ldexp(1.0, sampler.log2_block_width()); }
  /// Indices that have a height of their own, but the last one, whose tail fixed-point numbers leave in doubt.
  [[nodiscard]] std::uint64_t last_block() const { return sampler.heights().size() - 1; }
  /// exp(-x^2 / (2 sigma^2)) or exp(-x / b).
  [[nodiscard]] Real density(const Real& x) const { return is_gaussian() ? exp(-(x * x) / (2 * parameter)) : exp(-x / parameter); }

  /// P(|k| >= j) for j = 0, ..., count.
  [[nodiscard]] std::vector<Real> magnitude_survivals(std::uint64_t count) const {
    std::vector<Real> result;
    if (is_rounded()) {
      for (std::uint64_t j = 0; j <= count; ++j) {
        const Real edge = Real{static_cast<double>(j), bits} - 0.5;
        if (j == 0)
          result.emplace_back(1, bits);
        else
          result.push_back(is_gaussian() ? erfc(edge / sqrt(2 * parameter)) : exp(-edge / parameter));
      }
      return result;
    }
    // Sums until 2^-bits.
    const double reach = has_thresholds() ? std::sqrt(1.5 * bits) : 0.75 * bits;
    const auto terms = count + (is_integer() ? 100 : 2) + static_cast<std::uint64_t>(reach * scale());
    std::vector<Real> sums(terms + 1, Real{0, bits});
    for (std::uint64_t j = terms; j-- > 0;) {
      const Real weight = is_integer() ? probability(j) : density(Real{static_cast<double>(j), bits});
      sums[j] = sums[j + 1] + (j == 0 && is_two_sided() ? weight / 2 : weight);
    }
    for (std::uint64_t j = 0; j <= count; ++j) result.push_back(sums[j] / sums[0]);
    return result;
  }

  [[nodiscard]] Real block_edge(std::uint64_t i) const {
    return Real{static_cast<double>(i), bits} * std::ldexp(1.0, sampler.log2_block_width());
  }

  /// S(1), ..., S(count): of magnitudes (narrow), or of blocks by the density at their lower ends (wide).
  [[nodiscard]] std::vector<Real> thresholds(std::uint64_t count) const {
    std::vector<Real> result;
    if (!sampler.is_wide()) {
      result = magnitude_survivals(count);
      result.erase(result.begin());
      // The reference has some 260 digits; of few flips S(j) has fewer, and all of them 0 or all 1 beyond.
      if (is_integer()) {
        for (auto& survival : result) survival = survival + (survival > 0 ? 0x1p-220 : 0);
      }
      return result;
    }
    if (is_integer()) {
      const auto heights = sampler.heights();
      Real sum = Real{heights.back(), bits} * 2;
      std::vector<Real> sums(heights.size(), sum);
      for (std::size_t i = heights.size() - 1; i-- > 0;) sums[i] = sum = sum + heights[i];
      for (std::uint64_t j = 1; j <= count; ++j) {
        const auto own = std::min<std::uint64_t>(j, heights.size() - 1);
        result.push_back(sums[own] / sum * std::ldexp(1.0, static_cast<int>(own) - static_cast<int>(j)));
      }
      return result;
    }
    const double reach = is_gaussian() ? 40 : 16 * 230;
    const auto terms = std::max(count + 2, static_cast<std::uint64_t>(reach));
    std::vector<Real> sums(terms + 1, Real{0, bits});
    for (std::uint64_t i = terms; i-- > 0;) sums[i] = sums[i + 1] + density(block_edge(i));
    // What is beyond is nothing in 300 digits of a Gaussian sum, and a geometric series otherwise.
    for (std::uint64_t j = 1; j <= count; ++j) result.push_back(is_gaussian() ? sums[j] / sums[0] : density(block_edge(j)));
    return result;
  }
};

Law rounded_gaussian(double sigma) {
  return {"rounded Gaussian " + std::to_string(sigma), Kind::rounded_gaussian, Real{sigma, bits} * Real{sigma, bits},
          IsochronousSampler::rounded_gaussian(sigma)};
}
Law rounded_laplace(double scale) {
  return {"rounded Laplace " + std::to_string(scale), Kind::rounded_laplace, Real{scale, bits}, IsochronousSampler::rounded_laplace(scale)};
}
Law discrete(Kind kind, Rational value) {
  const Real parameter = real(value.num) / real(value.den);
  const std::string text = std::to_string(value.num) + "/" + std::to_string(value.den);
  if (kind == Kind::discrete_gaussian) return {"discrete Gaussian " + text, kind, parameter, IsochronousSampler::discrete_gaussian(value)};
  if (kind == Kind::discrete_laplace) return {"discrete Laplace " + text, kind, parameter, IsochronousSampler::discrete_laplace(value)};
  return {"geometric " + text, kind, parameter, IsochronousSampler::geometric(value)};
}

Law half_gaussian(std::uint64_t sigma) {
  return {"half Gaussian " + std::to_string(sigma), Kind::half_gaussian, real(sigma) * real(sigma),
          IsochronousSampler::half_gaussian(sigma)};
}

Law binomial(std::uint64_t flips) {
  return {"binomial " + std::to_string(flips),
          Kind::binomial,
          Real{static_cast<double>(flips) / 4, bits},
          IsochronousSampler::binomial(flips),
          [flips](std::uint64_t k) { return testing::binomial_probability(flips, k, bits); },
          flips / 2};
}
Law skellam(double mean) {
  return {"Skellam " + std::to_string(mean), Kind::skellam, Real{2 * mean, bits}, IsochronousSampler::skellam(mean),
          [mean](std::uint64_t k) { return testing::skellam_probability(mean, k, bits); }};
}

std::vector<Law> narrow_laws() {
  return {rounded_gaussian(0.3),
          rounded_gaussian(2.7),
          rounded_gaussian(3.99),
          rounded_laplace(0.2),
          rounded_laplace(5.5),
          rounded_laplace(15.9),
          discrete(Kind::discrete_gaussian, {1, 4}),
          discrete(Kind::discrete_gaussian, {1, 1}),
          discrete(Kind::discrete_gaussian, {111, 7}),
          discrete(Kind::discrete_laplace, {1, 3}),
          discrete(Kind::discrete_laplace, {3, 2}),
          discrete(Kind::discrete_laplace, {31, 2}),
          discrete(Kind::geometric, {1, 2}),
          discrete(Kind::geometric, {37, 3}),
          binomial(2),
          binomial(6),
          binomial(62),
          binomial(100),
          binomial(1022),
          skellam(1e-5),
          skellam(0.3),
          skellam(40.7),
          skellam(127.9)};
}

std::vector<Law> wide_laws() {
  return {rounded_gaussian(4),
          rounded_gaussian(31.9),
          rounded_gaussian(0x1.23p20),
          rounded_gaussian(0x1.fffp41),
          rounded_gaussian(0x1p60),
          rounded_laplace(16),
          rounded_laplace(0x1.8p24),
          rounded_laplace(0x1p58),
          discrete(Kind::discrete_gaussian, {113, 7}),
          discrete(Kind::discrete_gaussian, {50'001, 3}),
          discrete(Kind::discrete_gaussian, {all_ones, 1}),
          discrete(Kind::discrete_laplace, {1000, 7}),
          discrete(Kind::discrete_laplace, {0x40000000000003, 5}),
          discrete(Kind::discrete_laplace, {std::uint64_t{1} << 58, 1}),
          discrete(Kind::geometric, {1000, 7}),
          discrete(Kind::geometric, {1'000'001, 2}),
          half_gaussian(4),
          half_gaussian(std::uint64_t{1} << 31),
          binomial(1024),
          binomial(131'002),
          binomial(std::uint64_t{1} << 40),
          binomial(std::uint64_t{1} << 52),
          skellam(128),
          skellam(512.1),
          skellam(50'000.7)};
}

std::vector<Law> all_laws() {
  auto laws = narrow_laws();
  for (auto& law : wide_laws()) laws.push_back(law);
  return laws;
}

// ---- One trial in every way ----

struct Trial {
  std::vector<std::uint64_t> words;
  std::vector<std::uint64_t> further;
  std::vector<std::uint64_t> more = {};  ///< for the definition
};

/// The sample that it gives, if it is accepted. \pre a rejection is followed by no further words.
std::optional<std::int64_t> of_script(const std::function<std::int64_t(ScriptedBits&)>& draw, const Trial& trial, std::size_t used) {
  auto script = trial.words;
  script.insert(script.end(), trial.further.begin(), trial.further.end());
  script.insert(script.end(), trial.more.begin(), trial.more.end());
  ScriptedBits source{script};
  try {
    const auto sample = draw(source);
    EXPECT_EQ(source.used(), trial.words.size() + trial.further.size() + used);
    return sample;
  } catch (const std::logic_error&) {
    return std::nullopt;  // rejected, and no words are left for the next trial
  }
}

/// The samples of a block in which the trial stands among others that give 0.
std::vector<std::int64_t> of_block(const Law& law, const Trial& trial, TrialPath path, std::size_t copies) {
  constexpr std::size_t count = 16;
  const std::size_t own = law.sampler.words_per_trial();
  std::vector<std::uint64_t> words(own * count);
  for (std::size_t k = 0; k < count; ++k) words[k] = all_ones << 56;
  for (std::size_t copy = 0; copy < copies; ++copy) {
    for (std::size_t w = 0; w < own; ++w) words[w * count + 5 + 3 * copy] = trial.words[w];
  }
  std::array<std::int64_t, IsochronousSampler::block + trial_lanes> samples;
  std::size_t used = 0;
  const StandardFloatingPoint environment;
  const auto accepted = law.sampler.decide_block(
      count, words.data(), trial.further, [&] { return trial.more.at(used++ % trial.more.size()); }, path, samples.data());
  return {samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(accepted)};
}

/// The trial gives this sample, or is rejected, in every way. `used` of its `more` words are read.
void expect(const Law& law, const Trial& trial, std::optional<std::int64_t> expected, std::size_t used = 0) {
  EXPECT_EQ(of_script([&](ScriptedBits& source) { return law.sampler(source); }, trial, used), expected) << "one draw";
  EXPECT_EQ(of_script([&](ScriptedBits& source) { return law.sampler.by_definition(source); }, trial, used), expected) << "by definition";
  std::vector<std::int64_t> samples(15);
  if (expected) samples.insert(samples.begin() + 5, *expected);
  for (const auto path : available_paths()) EXPECT_EQ(of_block(law, trial, path, 1), samples) << name_of(path);
}

/// The digits of T that a first word has, 44 or 52, the next 64, and the next.
std::array<std::uint64_t, 3> digits_of(const Law& law, const Real& x) {
  const int first = law.sampler.constants().index_digits;
  return {testing::binary_digits(x, first), testing::binary_digits(x, first + 64), testing::binary_digits(x, first + 128)};
}
/// Those of the largest T.
std::uint64_t top(const Law& law) { return (std::uint64_t{1} << law.sampler.constants().index_digits) - 1; }

/// Digits of V in two words: those above the sign, and those above U.
void set_place(const Law& law, std::vector<std::uint64_t>& words, std::uint64_t v) {
  if (words.size() == 3) {
    words[1] = v;
    return;
  }
  const int upper = 63 - law.sampler.constants().index_digits;
  const int below = law.sampler.constants().acceptance_digits;
  words[0] |= v >> (64 - upper) << 1;
  words[1] |= v << upper >> below << below;
}

/// A trial of this T, accepted if it is wide: V and U are 0.
Trial trial_of_index(const Law& law, std::array<std::uint64_t, 3> t, bool is_negative = false) {
  Trial trial{{t[0] << (64 - law.sampler.constants().index_digits) | (is_negative ? 1 : 0)}, {t[1]}, {t[2]}};
  trial.words.resize(law.sampler.words_per_trial());
  trial.further.resize(law.sampler.further_words());
  return trial;
}

// ---- Constants ----

TEST(IsochronousSampler, EveryThresholdIsThatOfTheLaw) {
  for (const auto& law : all_laws()) {
    SCOPED_TRACE(law.name);
    const auto table = law.sampler.thresholds();
    EXPECT_EQ(law.sampler.constants().weights, law.weights());
    EXPECT_EQ(table.empty(), !law.has_thresholds());
    EXPECT_EQ(law.sampler.heights().empty(), !law.is_integer() || !law.sampler.is_wide());
    const auto truth = law.thresholds(table.size() + 1);
    const int first = law.sampler.constants().index_digits;
    for (std::size_t j = 0; j < table.size(); ++j) {
      ASSERT_EQ(static_cast<std::uint64_t>(table[j] >> 64), testing::binary_digits(truth[j], first)) << "threshold " << j + 1;
      ASSERT_EQ(static_cast<std::uint64_t>(table[j]), testing::binary_digits(truth[j], first + 64)) << "threshold " << j + 1;
    }
    // Wide binomial and Skellam laws: what is beyond, fixed-point numbers leave in doubt.
    const bool has_heights = !law.sampler.heights().empty();
    EXPECT_LT(has_heights ? truth.at(table.size() - 1) : truth.back(), has_heights            ? 0x1p-104
                                                                       : law.has_thresholds() ? std::ldexp(1.0, -first - 64)
                                                                                              : 1);
    const auto& in_doubles = law.sampler.constants().thresholds;
    for (std::size_t j = 0; j < table.size(); ++j) {
      const auto digits = static_cast<double>(static_cast<std::uint64_t>(table[j] >> 64));
      ASSERT_TRUE(digits == 0 ? j >= in_doubles.size() : in_doubles.at(j) == 1 + std::ldexp(digits, -first)) << j;
    }
  }
}

// ---- Decisions about T ----

/// T < S(j) chooses an index of at least j: on both sides of S(j), at a distance of the last digit of a first, a second and a third word.
void expect_exact_threshold(const Law& law, std::uint64_t j, const std::vector<Real>& truth) {
  SCOPED_TRACE(::testing::Message() << law.name << ", threshold " << j);
  const auto digits = digits_of(law, truth[j - 1]);
  const auto sample = [&](std::uint64_t index, bool is_negative) -> std::optional<std::int64_t> {
    if (index == 0 && is_negative && law.sampler.is_wide() && law.is_two_sided() && !law.is_rounded()) return std::nullopt;
    __extension__ using Wide = __int128;
    const auto magnitude = static_cast<std::int64_t>(
        std::min<Wide>(Wide{index} << (law.sampler.is_wide() ? law.sampler.log2_block_width() : 0), IsochronousSampler::saturation));
    return is_negative && law.is_two_sided() ? -magnitude : magnitude;
  };
  const auto expect_index = [&](std::array<std::uint64_t, 3> t, std::uint64_t index, std::size_t used, bool is_negative = false) {
    expect(law, trial_of_index(law, t, is_negative), sample(index, is_negative), used);
  };
  // Where no other threshold has the same 52 or next digits.
  const auto far = [&](std::uint64_t other) {
    const auto theirs = testing::binary_digits(truth.at(other), law.sampler.constants().index_digits);
    return theirs + 1 < digits[0] || theirs > digits[0] + 1;
  };
  if (digits[0] > 0 && (j == truth.size() || far(j))) {
    expect_index({digits[0] - 1, all_ones / 3, 0}, j, 0);
    expect_index({digits[0] - 1, all_ones / 3, 0}, j, 0, true);
  }
  if (digits[0] < top(law) && (j == 1 || far(j - 2))) {
    expect_index({digits[0] + 1, 5, 0}, j - 1, 0);
    expect_index({digits[0] + 1, 5, 0}, j - 1, 0, true);
  }
  if (j < truth.size() && digits_of(law, truth[j])[0] == digits[0] && digits_of(law, truth[j])[1] + 1 >= digits[1]) return;
  if (digits[1] > 0) expect_index({digits[0], digits[1] - 1, 0}, j, 0);
  if (digits[1] < all_ones) expect_index({digits[0], digits[1] + 1, 0}, j - 1, 0);
  if (digits[2] == 0) return;  // of few digits: an end of T's interval decides
  if (digits[2] > 0) expect_index({digits[0], digits[1], digits[2] - 1}, j, 1);
  if (digits[2] < all_ones) expect_index({digits[0], digits[1], digits[2] + 1}, j - 1, 1);
}

TEST(IsochronousSampler, DecidesOnBothSidesOfAThreshold) {
  for (const auto& law : all_laws()) {
    // Until S(j) < 2^-110.
    const std::uint64_t count = law.has_thresholds()
                                    ? std::max<std::uint64_t>(2, law.sampler.thresholds().size()) - 1
                                    : std::max<std::uint64_t>(1, static_cast<std::uint64_t>(76 / law.sampler.constants().index_rate));
    const auto truth = law.thresholds(count + 1);
    for (std::uint64_t j = 1; j <= count; j += 1 + count / 9) expect_exact_threshold(law, j, truth);
    expect_exact_threshold(law, count, truth);
  }
}

TEST(IsochronousSampler, ATBelowAllDigitsIsDecidedByDefinition) {
  auto laws = all_laws();
  laws.push_back(discrete(Kind::geometric, {1, 90}));  // S(1) is 2^-130, between 0 and S(0) = 1 nothing else
  laws.push_back(discrete(Kind::geometric, {1, 25}));  // S(1) is 2^-36, and nearest to a T of 0 in doubles
  for (const auto& law : laws) {
    if (law.is_integer() && (law.sampler.is_wide() || law.largest <= 50)) continue;  // their tails are tested below
    SCOPED_TRACE(law.name);
    const auto trial = trial_of_index(law, {0, 0, std::uint64_t{1} << 40});
    const auto deep = of_script([&](ScriptedBits& source) { return law.sampler.by_definition(source); }, trial, 1);
    ASSERT_TRUE(deep);
    EXPECT_GE(*deep, law.scale() < 0.3 ? 1 : static_cast<std::int64_t>(std::min(12 * law.scale(), 0x1p62)));
    expect(law, trial, deep, 1);
  }
}

TEST(IsochronousSampler, IsZeroWhereTheScaleIsTiny) {
  for (const auto& law :
       {rounded_gaussian(0x1p-40), rounded_gaussian(5e-324), rounded_laplace(1e-300), rounded_laplace(5e-324), rounded_laplace(1.0 / 200),
        discrete(Kind::discrete_gaussian, {1, all_ones}), discrete(Kind::discrete_laplace, {1, all_ones}),
        discrete(Kind::geometric, {1, 1'000'000}), discrete(Kind::geometric, {1, 181}), skellam(1e-40), skellam(5e-324)}) {
    SCOPED_TRACE(law.name);
    expect(law, trial_of_index(law, {1, 0, 0}), 0);
    expect(law, trial_of_index(law, {0, all_ones, 0}), 0);
    expect(law, trial_of_index(law, {top(law), all_ones, 0}), 0);
    expect(law, trial_of_index(law, {0, 0, all_ones}), 0, 1);
  }
}

TEST(IsochronousSampler, NothingIsBeyondTheFlips) {
  for (const auto& law : {binomial(2), binomial(6), binomial(100)}) {
    SCOPED_TRACE(law.name);
    const auto last = static_cast<std::int64_t>(law.largest);
    expect(law, trial_of_index(law, {0, 0, 0}), last);
    expect(law, trial_of_index(law, {0, 0, 0}, true), -last);
    expect(law, trial_of_index(law, {0, 1, 0}), last);
  }
}

TEST(IsochronousSampler, TwoFlipsAreTwoBits) {
  const auto law = binomial(2);
  const std::uint64_t half = std::uint64_t{1} << 51;
  // T = 1/2 exactly is not below S(1) = 1/2: no further word.
  expect(law, trial_of_index(law, {half, 0, 0}), 0);
  expect(law, trial_of_index(law, {half, 0, 0}, true), 0);
  expect(law, trial_of_index(law, {half - 1, all_ones, 0}), 1);
  expect(law, trial_of_index(law, {half - 1, all_ones, 0}, true), -1);
}

/// Below and above the share of all tapes of T that have these first 16 digits, whatever follows, lies P(|k| >= j).
TEST(IsochronousSampler, AllShortTapesEncloseTheNarrowBinomialAndSkellamLaws) {
  for (const auto& law : narrow_laws()) {
    if (!law.is_integer()) continue;
    SCOPED_TRACE(law.name);
    constexpr std::uint64_t tapes = 1U << 16;
    const auto truth = law.thresholds(std::min<std::uint64_t>(law.largest, law.sampler.thresholds().size()));
    std::vector<double> surely(truth.size() + 1);
    std::vector<double> maybe(truth.size() + 1);
    const auto magnitude = [&](std::uint64_t first, std::uint64_t rest) {
      ScriptedBits source{{first, rest, rest, rest}};
      return static_cast<std::size_t>(std::abs(law.sampler(source)));
    };
    for (std::uint64_t tape = 0; tape < tapes; ++tape) {
      ++surely[std::min(magnitude(tape << 48 | all_ones >> 16, all_ones), truth.size())];
      ++maybe[std::min(magnitude(tape << 48, 1), truth.size())];
    }
    double at_least = 0;
    double at_most = 0;
    for (std::size_t j = truth.size(); j >= 1; --j) {
      at_least += surely[j];
      at_most += maybe[j];
      EXPECT_LE(at_least / tapes, truth[j - 1].rounded_up()) << j;
      EXPECT_GE(at_most / tapes, truth[j - 1].rounded_down()) << j;
      EXPECT_LE(at_most - at_least, 1) << j;
    }
  }
}

// ---- The envelope of binomial and Skellam laws ----

// The hypotheses of rejection, from the definition of the law.
TEST(IsochronousSampler, TheEnvelopeIsAboveTheLaw) {
  for (const auto& law : wide_laws()) {
    if (!law.is_integer()) continue;
    SCOPED_TRACE(law.name);
    const auto heights = law.sampler.heights();
    ASSERT_GE(std::ldexp(static_cast<double>(law.last_block()), law.sampler.log2_block_width()), 12.5 * law.scale());
    for (std::size_t i = 0; i < heights.size(); ++i) {
      const Real here = law.weight(i << law.sampler.log2_block_width());
      EXPECT_GE(Real{heights[i]}, here) << i;
      EXPECT_LE(Real{heights[i]}, here + here * 0x1p-50 + 0x1p-110) << i;
    }
    // From the last block on both are halved.
    for (std::uint64_t i = law.last_block(); i < law.last_block() + 3; ++i) {
      EXPECT_LE(law.weight((i + 1) << law.sampler.log2_block_width()) * 2, law.weight(i << law.sampler.log2_block_width())) << i;
    }
  }
}

/// In the tail, at the block `beyond` after the last one, U decides at the ratio of the law to the halved height.
TEST(IsochronousSampler, TheTailOfTheEnvelopeIsHalved) {
  for (const auto& law : {binomial(131'002), binomial(std::uint64_t{1} << 40), skellam(128), skellam(50'000.7)}) {
    for (const std::uint64_t beyond : {0U, 1U, 2U}) {
      SCOPED_TRACE(::testing::Message() << law.name << ", " << beyond);
      const std::uint64_t i = law.last_block() + beyond;
      const auto truth = law.thresholds(i + 1);
      const auto t = digits_of(law, (truth[i - 1] + truth[i]) / 2);
      const std::uint64_t k = (i << law.sampler.log2_block_width()) + 3;
      const Real ratio = law.weight(k) / law.sampler.heights().back() * std::ldexp(1.0, static_cast<int>(beyond));
      const auto at = [&](std::uint64_t further_of_u) {
        auto trial = trial_of_index(law, t);
        set_place(law, trial.words, std::uint64_t{3} << (64 - law.sampler.log2_block_width()));
        trial.words.back() |= testing::binary_digits(ratio, 52);
        trial.further[1] = further_of_u;
        return trial;
      };
      const std::uint64_t used =
          testing::binary_digits((truth[i - 1] + truth[i]) / 2, 48 + 64) == testing::binary_digits(truth[i], 48 + 64) ||
                  testing::binary_digits((truth[i - 1] + truth[i]) / 2, 48 + 64) == testing::binary_digits(truth[i - 1], 48 + 64)
              ? 1
              : 0;
      const std::uint64_t u = testing::binary_digits(ratio, 52 + 64);
      if (u > 0) expect(law, at(u - 1), static_cast<std::int64_t>(k), used);
      expect(law, at(u + 1), std::nullopt, used);
    }
  }
}

// ---- Decisions about U ----

/// Around the exact ratio of density to that of the block's lower end, U decides.
void expect_exact_acceptance(const Law& law, const std::vector<Real>& truth, std::uint64_t i, std::uint64_t v) {
  SCOPED_TRACE(::testing::Message() << law.name << ", block " << i << " place " << v);
  const int width = law.sampler.log2_block_width();
  const bool is_long = law.sampler.words_per_trial() == 3;
  const Real above = i == 0 ? Real{1, bits} : truth[i - 1];
  const auto t = digits_of(law, (above + truth[i]) / 2);
  // Further digits of V, of a rounded law.
  const std::uint64_t v_next = all_ones / 3;
  const std::uint64_t v_last = all_ones / 5;
  const int v_digits = is_long ? 64 : 127 - law.sampler.constants().index_digits - law.sampler.constants().acceptance_digits;
  v &= all_ones << (64 - v_digits);
  const Real exact_v = real(v) * 0x1p-64 + (real(v_next) + real(v_last) * 0x1p-64) * 0x1p-64 * std::ldexp(1.0, -v_digits);
  const Real place = law.is_rounded() ? exact_v * std::ldexp(1.0, width) : real(v >> (64 - width));
  const Real ratio = law.is_integer() ? law.weight((i << width) + (v >> (64 - width))) / law.sampler.heights()[i]
                                      : law.density(law.block_edge(i) + place) / law.density(law.block_edge(i));
  const std::uint64_t offset = law.is_rounded() ? (v >> (64 - width)) + (v >> (63 - width) & 1) : v >> (64 - width);
  const auto magnitude = static_cast<std::int64_t>((i << width) + offset);
  const int u_digits = law.sampler.constants().acceptance_digits;
  const auto expect_u = [&](std::uint64_t u, std::uint64_t u_next, std::uint64_t u_last, bool is_accepted, std::size_t used) {
    Trial trial = trial_of_index(law, t);
    trial.more.clear();
    trial.words.back() = is_long ? u << (64 - u_digits) | 0xabc : u;
    set_place(law, trial.words, v);
    trial.further = {t[1], u_next};
    if (law.is_rounded()) {
      trial.further.push_back(v_next);
      trial.more.push_back(v_last);
    }
    trial.more.push_back(u_last);
    expect(law, trial, is_accepted ? std::optional{magnitude} : std::nullopt, used);
  };
  const std::uint64_t end = std::uint64_t{1} << u_digits;
  if (!(ratio < 1)) {
    expect_u(0, 0, 0, true, 0);
    expect_u(end - 1, all_ones - (1 << 20), 0, true, 0);
    return;
  }
  const std::uint64_t u = testing::binary_digits(ratio, u_digits) & (end - 1);
  const std::uint64_t u_next = testing::binary_digits(ratio, u_digits + 64);
  const std::uint64_t u_last = testing::binary_digits(ratio, u_digits + 128);
  constexpr std::uint64_t margin = 8;
  if (u_next <= margin || u_next >= all_ones - margin || u_last <= margin || u_last >= all_ones - margin) return;
  // Also beside what doubles leave in doubt. Digits of V that are not known yet move the ratio by less than 64 of U's.
  for (const std::uint64_t distance : {law.is_rounded() ? 64U : 1U, 65U, 512U, 1024U}) {
    if (u >= distance) expect_u(u - distance, all_ones / 7, 0, true, 0);
    if (u + distance < end) expect_u(u + distance, all_ones / 7, 0, false, 0);
  }
  const std::uint64_t step = law.is_rounded() ? 64 : 1;
  for (const std::uint64_t distance : {step, std::uint64_t{1} << 13, std::uint64_t{1} << 30}) {
    if (u_next < distance || u_next > all_ones - distance) continue;
    expect_u(u, u_next - distance, 0, true, 0);
    expect_u(u, u_next + distance, 0, false, 0);
  }
  const std::size_t used = law.is_rounded() ? 2 : 1;
  expect_u(u, u_next, u_last - margin, true, used);
  expect_u(u, u_next, u_last + margin, false, used);
}

TEST(IsochronousSampler, AcceptsExactlyBelowTheRatioOfDensityToThatOfTheBlock) {
  for (const auto& law : wide_laws()) {
    // Definitions of binomial and Skellam laws take 10 milliseconds: small and large scales are enough.
    if (law.is_integer() && law.scale() > 17 && law.scale() < 300) continue;
    const std::uint64_t last = law.is_integer() ? law.last_block() - 1 : law.is_gaussian() ? 5 : 60;
    const auto truth = law.thresholds(last + 1);
    for (const std::uint64_t i : {std::uint64_t{0}, std::uint64_t{1}, last / 2, last}) {
      for (const std::uint64_t v : {all_ones, std::uint64_t{0xfffe123456789abc}, all_ones / 7, std::uint64_t{1} << 63}) {
        if (law.is_integer() && (i == 1 || v < 0xfffe123456789abc)) continue;
        if (i << law.sampler.log2_block_width() >> law.sampler.log2_block_width() != i) continue;
        if (std::ldexp(static_cast<double>(i) + 1, law.sampler.log2_block_width()) >= 0x1p63) continue;
        expect_exact_acceptance(law, truth, i, v);
      }
    }
  }
}

TEST(IsochronousSampler, AWideDiscreteLawHasOneZero) {
  for (const auto& law : wide_laws()) {
    if (law.is_rounded()) continue;
    SCOPED_TRACE(law.name);
    expect(law, trial_of_index(law, {top(law), 0, 0}, false), 0);
    expect(law, trial_of_index(law, {top(law), 0, 0}, true), law.is_two_sided() ? std::nullopt : std::optional<std::int64_t>{0});
    // One step beside it both signs are kept.
    auto beside = trial_of_index(law, {top(law), 0, 0}, true);
    set_place(law, beside.words, std::uint64_t{1} << (64 - law.sampler.log2_block_width()));
    expect(law, beside, law.is_two_sided() ? -1 : 1);
  }
}

TEST(IsochronousSampler, SaturatesAtTheEndsOfInt64) {
  for (const auto& law :
       {rounded_gaussian(0x1p60), rounded_laplace(0x1p58), discrete(Kind::discrete_laplace, {std::uint64_t{1} << 58, 1})}) {
    SCOPED_TRACE(law.name);
    // Eight standard deviations are 2^63, and T = 2^-51.5 is beyond; 32 scales are 2^63, and T = 2^-48 is beyond.
    const std::array<std::uint64_t, 3> beyond{law.is_gaussian() ? 0U : 16U, law.is_gaussian() ? all_ones >> 4 : 0, 0};
    expect(law, trial_of_index(law, beyond), IsochronousSampler::saturation);
    expect(law, trial_of_index(law, beyond, true), -IsochronousSampler::saturation);
    // The last integer of the last block that is below 2^63, rounded up.
    auto last = trial_of_index(law, digits_of(law, law.density(Real{0x1p63, bits} - Real{0x1p40, bits})));
    if (law.is_gaussian()) last = trial_of_index(law, digits_of(law, (law.thresholds(8)[6] + law.thresholds(8)[7]) / 2));
    last.words[1] = all_ones;
    expect(law, last, IsochronousSampler::saturation);
  }
}

// ---- How rarely doubles leave a trial in doubt ----

/// At least the probability, from the constants that the loops compare with.
double doubt(const Law& law) {
  const TrialConstants& loops = law.sampler.constants();
  const double digit = std::ldexp(1.0, -loops.index_digits);
  double of_index = 0;
  double of_place = 0;
  double before = 1;
  const auto height_of = [&](std::size_t i) { return loops.heights.empty() ? 1 : loops.heights[i]; };
  const auto count = law.has_thresholds() ? loops.thresholds.size() + 1 : static_cast<std::size_t>(40 / loops.index_rate) + 1;
  for (std::size_t j = 1; j <= count; ++j) {
    const double reached = law.has_thresholds() ? (j > loops.thresholds.size() ? 0 : loops.thresholds[j - 1] - 1)
                                                : std::min(1.0, std::exp(loops.log_factor - static_cast<double>(j) * loops.index_rate));
    of_index += law.has_thresholds() ? digit : 2 * (reached * index_margin + index_digits_margin) + digit;
    of_place += (before - reached) * (2 * (loops.acceptance_margin + static_cast<double>(j) * loops.margin_per_index) / height_of(j - 1) +
                                      loops.acceptance_unit);
    before = reached;
  }
  return of_index + (law.has_thresholds() ? 0 : smallest_index_real) + (loops.is_wide ? of_place : 0);
}

TEST(IsochronousSampler, DoubtIsAsRareAsProved) {
  double largest = 0;
  for (const auto& law : all_laws()) {
    EXPECT_LE(doubt(law), 0x1p-38) << law.name;
    largest = std::max(largest, doubt(law));
  }
  EXPECT_GT(largest, 0x1p-39);
}

// ---- Blocks ----

TEST(IsochronousSampler, TwoTrialsInDoubtAreDecidedByDefinition) {
  for (const auto& law : all_laws()) {
    SCOPED_TRACE(law.name);
    const auto truth = law.thresholds(2);
    const auto digits = digits_of(law, truth[0]);
    if (digits[0] == 0 || digits[1] == 0) continue;
    // Without the further words: T continues with `more`.
    auto trial = trial_of_index(law, {digits[0], 0, digits[1] - 1});
    const auto reached = law.sampler.is_wide() ? std::int64_t{1} << law.sampler.log2_block_width() : 1;
    const std::vector<std::int64_t> zeros(14);
    for (const auto path : available_paths()) {
      auto expected = zeros;
      expected.insert(expected.begin() + 5, reached);
      expected.insert(expected.begin() + 8, reached);
      EXPECT_EQ(of_block(law, trial, path, 2), expected) << name_of(path);
      trial.more = {digits[1] + 1};
      EXPECT_EQ(of_block(law, trial, path, 2), std::vector<std::int64_t>(16)) << name_of(path);
      trial.more = {digits[1] - 1};
    }
  }
}

TEST(IsochronousSampler, AllInstructionsGiveTheSameSamples) {
  for (const auto& law : all_laws()) {
    SCOPED_TRACE(law.name);
    for (const std::size_t count : {1, 7, 100, 1000}) {
      std::vector<std::vector<std::int64_t>> all;
      std::vector<std::uint64_t> next;
      for (const auto path : available_paths()) {
        ReplayBits source{11};
        law.sampler.fill(all.emplace_back(count), source, path);
        next.push_back(draw_word(source));
      }
      for (std::size_t path = 1; path < all.size(); ++path) {
        EXPECT_EQ(all[path], all[0]);
        EXPECT_EQ(next[path], next[0]);
      }
    }
  }
}

TEST(IsochronousSampler, ABlockGivesWhatItsTrialsGive) {
  for (const auto& law : all_laws()) {
    SCOPED_TRACE(law.name);
    constexpr std::size_t count = 64;
    const std::size_t own = law.sampler.words_per_trial();
    ReplayBits source{12};
    std::vector<std::uint64_t> words(own * count + law.sampler.further_words());
    draw_words(source, words);
    const auto further = std::span<const std::uint64_t>{words}.last(law.sampler.further_words());
    std::vector<std::int64_t> expected;
    for (std::size_t k = 0; k < count; ++k) {
      Trial trial{{}, {further.begin(), further.end()}};
      for (std::size_t w = 0; w < own; ++w) trial.words.push_back(words[w * count + k]);
      if (const auto sample = of_script([&](ScriptedBits& script) { return law.sampler.by_definition(script); }, trial, 0))
        expected.push_back(*sample);
    }
    for (const auto path : available_paths()) {
      std::array<std::int64_t, IsochronousSampler::block + trial_lanes> samples;
      const StandardFloatingPoint environment;
      const auto accepted = law.sampler.decide_block(
          count, words.data(), further, [] { return std::uint64_t{0}; }, path, samples.data());
      EXPECT_EQ((std::vector<std::int64_t>{samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(accepted)}), expected)
          << name_of(path);
    }
  }
}

TEST(IsochronousSampler, ForeignFloatingPointChangesNothing) {
  for (const auto& law : all_laws()) {
    const auto draw = [&law] {
      ReplayBits source{14};
      std::vector<std::int64_t> samples(300);
      law.sampler.fill(samples, source);
      for (int i = 0; i < 300; ++i) samples.push_back(law.sampler(source));
      return samples;
    };
    const auto expected = draw();
    for (const auto& environment : reference::foreign_environments()) {
      EXPECT_EQ(reference::in(environment, draw), expected) << law.name << " " << environment.name;
    }
  }
}

TEST(IsochronousSampler, PartsAreThoseOfFill) {
  for (const auto& law : {rounded_gaussian(2.7), rounded_gaussian(0x1.23p20), discrete(Kind::geometric, {1000, 7})}) {
    ReplayBits one{3};
    ReplayBits other{3};
    std::vector<std::int64_t> filled(1000);
    law.sampler.fill(filled, one);
    std::vector<std::int64_t> parts;
    law.sampler.for_each_block(1000, other, [&](std::size_t first, std::span<const std::int64_t> part) {
      ASSERT_EQ(first, parts.size());
      ASSERT_LE(part.size(), IsochronousSampler::block);
      parts.insert(parts.end(), part.begin(), part.end());
    });
    EXPECT_EQ(parts, filled);
    EXPECT_EQ(draw_word(one), draw_word(other));
  }
}

RC_GTEST_PROP(IsochronousSampler, AgreesWithItsDefinitionOnEveryWord, ()) {
  const double scale = std::exp2(*rc::gen::inRange(-40, 580) / 10.0);
  const auto any_word = rc::gen::oneOf(rc::gen::arbitrary<std::uint64_t>(),
                                       rc::gen::element<std::uint64_t>(0, 1, 2, 3, 1023, all_ones, all_ones - 1, all_ones / 2));
  auto script = *rc::gen::container<std::vector<std::uint64_t>>(12, any_word);
  // Until a trial is accepted.
  ReplayBits further{1};
  for (int i = 0; i < 300; ++i) script.push_back(draw_word(further));
  const auto sampler =
      *rc::gen::arbitrary<bool>() ? IsochronousSampler::rounded_gaussian(scale) : IsochronousSampler::rounded_laplace(scale);
  ScriptedBits fast{script};
  ScriptedBits slow{script};
  RC_ASSERT(sampler(fast) == sampler.by_definition(slow));
  RC_ASSERT(fast.used() == slow.used());
}

// ---- Statistics, as a second line ----

TEST(IsochronousSampler, RoundedGaussianSamplesFitTheirLaw) {
  for (const double sigma : {3.0, 8.0, 200.0, 0x1p20 + 0.3}) {
    std::vector<std::int64_t> samples(std::size_t{1} << 22);
    ReplayBits source{20261121};
    IsochronousSampler::rounded_gaussian(sigma).fill(samples, source);
    EXPECT_TRUE(statistical::fits(statistical::judge(statistical::rounded_gaussian(sigma), samples))) << sigma;
    EXPECT_TRUE(statistical::judge(statistical::rounded_gaussian(sigma * 1.005), samples).alarms()) << sigma;
  }
}

/// -ln of a bound on the probability that samples of the law diverge as much from it, over bins of |k| and the sign: Agrawal's, as in
/// suite.h.
double surprise(const std::vector<std::int64_t>& samples, const Law& law, double scale_error) {
  constexpr std::size_t wanted = 24;
  const auto reach = static_cast<std::uint64_t>(20 * law.scale()) + 2;
  const auto survivals = law.magnitude_survivals(reach);
  // Bins [edges[i], edges[i + 1]) of magnitudes of about equal probability, the last one endless; magnitude 0 is alone.
  std::vector<std::int64_t> edges{0, 1};
  std::vector<double> probability{1 - survivals[1].nearest_double()};
  const double start = survivals[1].nearest_double();
  for (std::size_t i = 1; i < wanted; ++i) {
    const double level = start * (1 - static_cast<double>(i) / wanted);
    auto j = static_cast<std::size_t>(edges.back());
    while (j + 1 < reach && survivals[j].nearest_double() > level) ++j;
    if (j == static_cast<std::size_t>(edges.back())) continue;
    probability.push_back(survivals[static_cast<std::size_t>(edges.back())].nearest_double() - survivals[j].nearest_double());
    edges.push_back(static_cast<std::int64_t>(j));
  }
  probability.push_back(survivals[static_cast<std::size_t>(edges.back())].nearest_double());
  std::vector<double> counts(2 * probability.size());
  for (const auto sample : samples) {
    const auto magnitude = static_cast<std::int64_t>(static_cast<double>(std::abs(sample)) * (1 + scale_error));
    const auto bin = static_cast<std::size_t>(std::upper_bound(edges.begin(), edges.end(), magnitude) - edges.begin()) - 1;
    ++counts[2 * bin + (sample < 0 ? 1 : 0)];
  }
  const double sides = law.is_two_sided() ? 2 : 1;
  const auto n = static_cast<double>(samples.size());
  double divergence = 0;
  double freedom = -1;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = i < 2 ? (i == 0 ? probability[0] : 0) : (i % 2 == 0 || sides == 2 ? probability[i / 2] / sides : 0);
    if (expected > 0) ++freedom;
    if (counts[i] > 0 && expected == 0) return std::numeric_limits<double>::infinity();
    if (counts[i] > 0) divergence += counts[i] * std::log(counts[i] / n / expected);
  }
  if (divergence <= freedom) return 0;
  return divergence - freedom - freedom * std::log(divergence / freedom);
}

TEST(IsochronousSampler, SamplesOfEveryLawFitIt) {
  const double limit = std::log(1e9);
  for (const auto& law :
       {rounded_laplace(5.5), rounded_laplace(300), rounded_gaussian(3.9), rounded_gaussian(5.3), discrete(Kind::discrete_gaussian, {1, 1}),
        discrete(Kind::discrete_gaussian, {701, 7}), discrete(Kind::discrete_gaussian, {50'001, 3}),
        discrete(Kind::discrete_laplace, {3, 2}), discrete(Kind::discrete_laplace, {1000, 7}), discrete(Kind::geometric, {37, 3}),
        discrete(Kind::geometric, {1000, 7}), half_gaussian(5), binomial(100), binomial(1000), binomial(2'000), skellam(0.7), skellam(40.5),
        skellam(300.5)}) {
    std::vector<std::int64_t> samples(1 << 21);
    ReplayBits source{20261121};
    law.sampler.fill(samples, source);
    EXPECT_LE(surprise(samples, law, 0), limit) << law.name;
    if (law.scale() > 100) {
      EXPECT_GT(surprise(samples, law, 0.01), limit) << law.name;
    }
    for (std::size_t i = 0; i < samples.size(); i += 64) samples[i] = -std::abs(samples[i]);
    EXPECT_GT(surprise(samples, law, 0), limit) << law.name;
  }
}

// ---- Refusals ----

std::string refusal(const std::function<IsochronousSampler()>& make) {
  try {
    (void)make();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "";
}

TEST(IsochronousSampler, RefusesParametersThatNameNoLaw) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -0.0, -1.0, std::nextafter(0x1p60, infinity), infinity, std::nan("")}) {
    EXPECT_NE(refusal([&] { return IsochronousSampler::rounded_gaussian(bad); }), "") << bad;
    EXPECT_NE(refusal([&] { return IsochronousSampler::rounded_laplace(bad); }), "") << bad;
  }
  for (const Rational bad : {Rational{0, 1}, Rational{1, 0}, Rational{0, 0}}) {
    EXPECT_NE(refusal([&] { return IsochronousSampler::discrete_gaussian(bad); }), "");
    EXPECT_NE(refusal([&] { return IsochronousSampler::discrete_laplace(bad); }), "");
    EXPECT_NE(refusal([&] { return IsochronousSampler::geometric(bad); }), "");
  }
  EXPECT_EQ(refusal([] { return IsochronousSampler::rounded_laplace(0x1p59); }),
            "scale in grid steps is 5.764607523034235e+17, must be greater than 0 and at most 2^58");
  EXPECT_EQ(refusal([] {
              return IsochronousSampler::discrete_laplace({(1ULL << 58) + 1, 1});
            }),
            "scale is 288230376151711745/1, must be greater than 0 and at most 2^58");
  EXPECT_EQ(refusal([] { return IsochronousSampler::discrete_gaussian({7, 0}); }), "variance is 7/0, must be greater than 0");
  EXPECT_EQ(refusal([] { return IsochronousSampler::geometric({all_ones, 64}); }), "");
  EXPECT_EQ(refusal([] { return IsochronousSampler::half_gaussian(3); }), "sigma is 3, must be from 4 to 2^60");
  EXPECT_NE(refusal([] { return IsochronousSampler::half_gaussian((std::uint64_t{1} << 60) + 1); }), "");
  for (const std::uint64_t bad :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{7}, (std::uint64_t{1} << 52) + 2, all_ones, all_ones - 1}) {
    EXPECT_EQ(refusal([&] { return IsochronousSampler::binomial(bad); }),
              "flips is " + std::to_string(bad) + ", must be even, from 2 to 2^52");
  }
  for (const double bad : {0.0, -0.0, -1.0, 1e300, infinity, std::nan(""), std::nextafter(0x1p50, infinity)}) {
    EXPECT_NE(refusal([&] { return IsochronousSampler::skellam(bad); }).find("must be greater than 0 and at most 2^50"), std::string::npos)
        << bad;
  }
}

}  // namespace
}  // namespace surety::mechanisms::isochronous_sampler_test
