// Enclosures of binomial and Skellam probabilities against plain MPFR; and the samplers of both laws, from tables to tapes.
#include <surety/mechanisms/samplers/integer_law.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <surety/base/text/error.h>
#include <surety/mechanisms/samplers/lattice_noise.h>
#include <surety/mechanisms/samplers/lattice_sampler.h>

#include <support/discrete_laws.h>
#include <support/foreign_floating_point.h>
#include <support/integer_laws.h>
#include <support/refusal.h>
#include <support/scripted_bits.h>

namespace surety::mechanisms::integer_law_test {
namespace {

using reference::Real;
using testing::Outcome;
using testing::ScriptedBits;

constexpr std::uint64_t all_ones = ~std::uint64_t{0};
/// Of the reference, which has some 60 less after the decimal point.
constexpr mpfr_prec_t bits = 224;
constexpr auto most_flips = std::uint64_t{1} << 52;

/// A law from its definition and what is under test.
struct Law {
  std::string name;
  IntegerLaw law;
  LatticeSampler sampler;
  std::function<Real(std::uint64_t)> probability;

  [[nodiscard]] double sigma() const { return std::sqrt(law.variance()); }
  /// As `IntegerWeight` scales it.
  [[nodiscard]] Real weight(std::uint64_t k) const { return probability(k) * std::ldexp(1.0, std::ilogb(sigma())); }
};

Law binomial(std::uint64_t n) {
  return {"binomial " + std::to_string(n), IntegerLaw::binomial(n), LatticeSampler::binomial(n),
          [n](std::uint64_t k) { return testing::binomial_probability(n, k, bits); }};
}
Law skellam(double mean) {
  return {"Skellam " + std::to_string(mean), IntegerLaw::skellam(mean), LatticeSampler::skellam(mean),
          [mean](std::uint64_t k) { return testing::skellam_probability(mean, k, bits); }};
}

const std::vector<Law>& narrow_laws() {
  static const std::vector<Law> laws{binomial(2),   binomial(4),    binomial(6),     binomial(62),  binomial(64),
                                     binomial(100), binomial(1000), binomial(65536), skellam(1e-5), skellam(0.3),
                                     skellam(1),    skellam(40.7),  skellam(2000)};
  return laws;
}
const std::vector<Law>& wide_laws() {
  static const std::vector<Law> laws{binomial(65538),          binomial(131002), binomial(1'000'002), binomial(std::uint64_t{1} << 40),
                                     binomial(most_flips - 2), skellam(8192.1),  skellam(50'000.7)};
  return laws;
}

/// `enclosure` contains `truth`, which is known to 2^-150.
bool contains(const Interval& enclosure, const Real& truth) {
  const Real slack{0x1p-150};
  return truth - slack <= Real{enclosure.upper()} && truth + slack >= Real{enclosure.lower()};
}
double width(const Interval& enclosure) { return (Real{enclosure.upper()} - Real{enclosure.lower()}).rounded_up(); }

// ---- Probabilities ----

TEST(IntegerLaw, ProbabilitiesAreEnclosedNarrowly) {
  for (const auto& law : wide_laws()) {
    SCOPED_TRACE(law.name);
    for (const double at : {0.0, 0.01, 1.0, 3.7, 6.0, 9.0}) {
      const auto k = static_cast<std::uint64_t>(at * law.sigma());
      const Real truth = law.probability(k);
      for (const mpfr_prec_t precision : {64, 128, 140}) {
        const Interval found = law.law.probability(k, precision);
        EXPECT_TRUE(contains(found, truth)) << k << " at " << precision;
        EXPECT_LE(width(found), std::ldexp(1.0, 3 - static_cast<int>(precision))) << k << " at " << precision;
      }
      EXPECT_FALSE(contains(law.law.probability(k, 140), law.probability(k + 1))) << k;
    }
  }
}

// Where the error terms are what there is to see: too small a period, whose other members count; too few values, by a period where nothing else errs.
TEST(IntegerLaw, SumsOfFewValuesEncloseWhatTheyLeaveOut) {
  for (const auto& law : {binomial(131002), skellam(50'000.7)}) {
    SCOPED_TRACE(law.name);
    for (const double at : {0.0, 1.0, 2.0, 3.0}) {
      const auto k = static_cast<std::uint64_t>(at * law.sigma());
      const Real truth = law.probability(k);
      for (const double deviations : {5.0, 8.0, 60.0}) {
        const auto period = static_cast<std::uint64_t>(deviations * law.sigma()) / 4 * 4;
        for (const mpfr_prec_t precision : {8, 10, 12, 14, 16, 64}) {
          const Interval found = law.law.probability_by_sum(k, period, precision);
          EXPECT_TRUE(contains(found, truth)) << k << " of " << period << " at " << precision;
          if (deviations == 60) {
            EXPECT_LE(width(found), std::ldexp(2.1, -static_cast<int>(precision)));
          }
        }
      }
    }
  }
}

TEST(IntegerLaw, ProbabilitiesFarOutAndBeyondTheEndAreEnclosed) {
  const auto law = binomial(65538);
  for (const std::uint64_t k : {20'000U, 32'768U, 32'769U}) EXPECT_TRUE(contains(law.law.probability(k, 128), law.probability(k))) << k;
  EXPECT_EQ(law.law.probability(32'770, 128).enclosure().upper, 0);
  EXPECT_TRUE(contains(IntegerLaw::skellam(8192.1).probability(40'000, 128), testing::skellam_probability(8192.1, 40'000)));
}

/// Larger than the definition can be summed: I_(k+1) / I_k of x lies within Amos' bounds (Amos 1974).
TEST(IntegerLaw, NeighboursOfTheWidestSkellamLawHaveTheRatioOfBesselFunctions) {
  const double x = 0x1p51;
  const auto law = IntegerLaw::skellam(0x1p50);
  for (const double at : {0.5, 4.0}) {
    const auto k = static_cast<std::uint64_t>(at * 0x1.6ap25);
    const Real ratio = Real{law.probability(k + 1, 300).upper()} / Real{law.probability(k, 300).lower()};
    const Real order{static_cast<double>(k), bits};
    const Real x_here{x, bits};
    const auto bound = [&](double shift) { return x_here / (order + 0.5 + sqrt((order + shift) * (order + shift) + x_here * x_here)); };
    EXPECT_LE(ratio, bound(0.5));
    EXPECT_GE(ratio, bound(1.5));
    EXPECT_LT((bound(0.5) / bound(1.5) - 1).nearest_double(), 1e-15);
  }
}

TEST(IntegerLaw, WeightsAreThoseOfTheLaw) {
  for (const auto& law : narrow_laws()) {
    SCOPED_TRACE(law.name);
    const auto weights = law.law.weights(256, 0);
    Interval sum{0, 256};
    for (const auto& weight : weights) sum = sum + weight + weight;
    for (std::uint64_t k = 0; k + 1 < weights.size(); k += 1 + weights.size() / 17) {
      const Real truth = law.probability(k);
      const Interval found = weights[k] * Interval{k == 0 ? 2.0 : 1.0, 256} / sum;
      EXPECT_TRUE(contains(found, truth)) << k;
      EXPECT_LE(width(found), 0x1p-200) << k;
    }
    // The last one encloses the rest.
    Real rest{0, bits};
    for (std::uint64_t k = weights.size() - 1; k < weights.size() + 200; ++k) rest = rest + law.probability(k);
    EXPECT_TRUE(contains(weights.back() / sum, rest));
    EXPECT_GE(Real{(weights.back() / sum).upper()} * 1.0000001, rest);
  }
}

TEST(IntegerLaw, WeightsOfFewFlipsAreExact) {
  const auto weights = IntegerLaw::binomial(6).weights(128, 0);
  ASSERT_EQ(weights.size(), 4U);
  const std::vector<double> expected{10, 15, 6, 1};
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_EQ(weights[k].enclosure().lower, expected[k]);
    EXPECT_EQ(width(weights[k]), 0);
  }
  // Of 400 flips, once the precision holds C(400, 200).
  for (const auto& weight : IntegerLaw::binomial(400).weights(464, 400)) EXPECT_EQ(width(weight), 0);
}

TEST(IntegerWeight, IsWithinItsMargin) {
  for (const auto& law : wide_laws()) {
    SCOPED_TRACE(law.name);
    const IntegerWeight weight{law.law};
    EXPECT_EQ(weight.log2_scale(), std::ilogb(law.sigma()));
    double worst = 0;
    for (double at = 0; at < 6.9; at += 0.173) {
      const auto k = static_cast<std::uint64_t>(at * law.sigma());
      const Real truth = law.weight(k);
      for (const double found : {weight.near(k), weight.near_everywhere(k)}) {
        worst = std::max(worst, std::abs((found - truth).nearest_double()));
      }
    }
    EXPECT_LT(worst, IntegerWeight::margin / 16);  // measured: at most 2^-44.5
    EXPECT_GT(worst, 0x1p-56);
    EXPECT_GT(law.weight(0), 0.19);
    EXPECT_LT(law.weight(0), 0.41);
  }
}

// ---- Tables ----

std::vector<Real> survivals_by_sums(const Law& law) {
  const auto count = law.sampler.thresholds().size();
  std::vector<Real> result;
  Real sum{0, bits};
  if (law.sampler.is_wide()) {
    const auto heights = law.sampler.heights();
    sum = Real{heights[count], bits} * std::ldexp(2.0, law.sampler.log2_tail_piece());
    for (std::size_t i = count; i-- > 0;) {
      result.push_back(sum);
      sum = sum + heights[i];
    }
    std::reverse(result.begin(), result.end());
    for (auto& survival : result) survival = survival / sum;
    return result;
  }
  const auto far = std::min<std::uint64_t>(law.law.largest(), count + static_cast<std::uint64_t>(60 + 12 * law.sigma()));
  for (std::uint64_t k = far; k >= 1; --k) {
    sum = sum + 2 * law.probability(k);
    if (k <= count) result.push_back(sum);
  }
  std::reverse(result.begin(), result.end());
  return result;
}

/// S(1), S(2), ... up to the number of thresholds of a sampler.
const std::vector<Real>& survivals(const Law& law) {
  static std::map<std::string, std::vector<Real>> known;
  auto& result = known[law.name];
  if (result.empty()) result = survivals_by_sums(law);
  return result;
}

TEST(IntegerSampler, EveryThresholdIsThatOfTheLaw) {
  for (const auto& law : narrow_laws()) {
    SCOPED_TRACE(law.name);
    ASSERT_FALSE(law.sampler.is_wide());
    const auto& truth = survivals(law);
    const auto table = law.sampler.thresholds();
    // Of few flips they are numbers of few digits, which the reference has up to 2^-150.
    for (std::size_t j = 0; j < table.size(); ++j) ASSERT_EQ(table[j], testing::binary_digits(truth[j] + 0x1p-150, 63)) << j + 1;
    const bool ends = table.size() == law.law.largest();
    EXPECT_TRUE(ends || truth.back() < std::exp(-17.0));
    if (table.size() > 1) {
      EXPECT_GE(truth[truth.size() - 2], std::exp(-17.0));
    }
  }
  for (const auto& law : wide_laws()) {
    SCOPED_TRACE(law.name);
    ASSERT_TRUE(law.sampler.is_wide());
    const auto& truth = survivals(law);
    const auto table = law.sampler.thresholds();
    for (std::size_t j = 0; j < table.size(); ++j) ASSERT_EQ(table[j], testing::binary_digits(truth[j], 63)) << j + 1;
  }
}

// The hypotheses of rejection, from the definition of the law: it is below the envelope, and what is accepted at once is below the law.
TEST(IntegerSampler, TheEnvelopeIsAboveTheLawAndWhatIsAcceptedAtOnceBelow) {
  for (const auto& law : wide_laws()) {
    SCOPED_TRACE(law.name);
    const auto heights = law.sampler.heights();
    const auto acceptances = law.sampler.acceptances();
    const std::size_t tail = acceptances.size();
    ASSERT_EQ(heights.size(), tail + 1);
    const int width = law.sampler.log2_block_width();
    const std::size_t stride = 13;
    double wasted = 0;
    for (std::size_t i = 0; i < tail; i += stride) {
      const Real here = law.weight(i << width);
      const Real next = law.weight((i + 1) << width);
      ASSERT_GT(Real{heights[i]}, here) << i;
      ASSERT_LT(heights[i] - here, 2 * IntegerWeight::margin) << i;
      ASSERT_LT(Real{acceptances[i] * 0x1p-16 * heights[i]}, next) << i;
      wasted = std::max(wasted, (next / heights[i]).nearest_double() - acceptances[i] * 0x1p-16);
    }
    EXPECT_LT(wasted, 0.02);
    const Real at_tail = law.weight(tail << width);
    EXPECT_GT(Real{heights[tail]}, at_tail);
    EXPECT_LE(law.weight((tail + (std::uint64_t{1} << law.sampler.log2_tail_piece())) << width), at_tail / 2);
  }
}

// ---- Decisions ----

Outcome by_tables(const LatticeSampler& sampler, const std::vector<std::uint64_t>& script) {
  ScriptedBits source{script};
  const auto sample = sampler(source);
  return {sample, source.used()};
}
Outcome by_definition(const LatticeSampler& sampler, const std::vector<std::uint64_t>& script) {
  ScriptedBits source{script};
  const auto sample = sampler.by_definition(source);
  return {sample, source.used()};
}
void expect_both(const Law& law, std::vector<std::uint64_t> script, Outcome expected) {
  script.resize(script.size() + 8, all_ones / 3);
  EXPECT_EQ(by_tables(law.sampler, script), expected) << "by tables";
  EXPECT_EQ(by_definition(law.sampler, script), expected) << "by definition";
}

TEST(IntegerSampler, TwoFlipsAreTwoBits) {
  const auto law = binomial(2);
  const std::uint64_t half = std::uint64_t{1} << 63;
  // T = 1/2 exactly is not below S(1) = 1/2: no further word.
  expect_both(law, {half}, {0, 1});
  expect_both(law, {half | 1}, {0, 1});
  expect_both(law, {half - 2}, {1, 1});
  expect_both(law, {half - 1}, {-1, 1});
  expect_both(law, {2}, {1, 1});
  expect_both(law, {all_ones}, {0, 1});
}

TEST(IntegerSampler, DecidesOnBothSidesOfANarrowThreshold) {
  for (const auto& law : narrow_laws()) {
    const auto& truth = survivals(law);
    for (std::size_t j = 1; j <= truth.size(); j += 1 + truth.size() / 3) {
      SCOPED_TRACE(law.name + ", threshold " + std::to_string(j));
      const std::uint64_t first = testing::binary_digits(truth[j - 1] + 0x1p-150, 63);
      const std::uint64_t second = testing::binary_digits(truth[j - 1] + 0x1p-150, 127);
      const auto up = static_cast<std::int64_t>(j);
      if (j < truth.size()) expect_both(law, {(first - 1) << 1}, {up, 1});
      expect_both(law, {(first + 1) << 1 | 1}, {1 - up, 1});
      if (second == 0) continue;  // of few digits
      expect_both(law, {first << 1, second - 1}, {up, 2});
      expect_both(law, {first << 1 | 1, second + 1}, {1 - up, 2});
    }
  }
}

TEST(IntegerSampler, ANarrowTailGoesOnBeyondItsTable) {
  for (const auto& law : {binomial(1000), skellam(1e-8), skellam(1e-5), skellam(1), skellam(2000)}) {
    const auto j = law.sampler.thresholds().size() + 2;
    SCOPED_TRACE(law.name);
    Real survival{0, bits};
    for (std::uint64_t k = j + 60 + static_cast<std::uint64_t>(12 * law.sigma()); k >= j; --k) survival = survival + 2 * law.probability(k);
    // T just below S(j), and above.
    for (const bool above : {false, true}) {
      const Real t = survival * (above ? 1.0001 : 0.9999);
      const std::uint64_t first = testing::binary_digits(t, 63);
      std::vector<std::uint64_t> script{first << 1};
      const std::uint64_t at_threshold = testing::binary_digits(survival, 63);
      if (first == at_threshold || first < 4) script.push_back(testing::binary_digits(t, 127));
      expect_both(law, script, {static_cast<std::int64_t>(above ? j - 1 : j), script.size()});
    }
  }
}

TEST(IntegerSampler, NothingIsBeyondTheFlips) {
  for (const std::uint64_t n : {2U, 6U, 20U}) {
    const auto law = binomial(n);
    for (const std::uint64_t word : {std::uint64_t{0}, std::uint64_t{2}}) {
      EXPECT_EQ(by_tables(law.sampler, {word, 0, 0, 1}).sample, static_cast<std::int64_t>(n / 2)) << n;
      EXPECT_EQ(by_definition(law.sampler, {word, 0, 0, 1}).sample, static_cast<std::int64_t>(n / 2)) << n;
    }
  }
}

/// The words of a sample of a wide law whose T lies in block `i`, whose place is `offset` of 2^log2_size and whose U starts with `u`.
std::vector<std::uint64_t> words_in_block(const Law& law, const std::vector<Real>& truth, std::size_t i, std::uint64_t offset,
                                          int log2_size, std::uint64_t u) {
  const Real above = i == 0 ? Real{1, bits} : truth[i - 1];
  const Real below = i == truth.size() ? Real{0, bits} : truth[i];
  const Real middle = (above + below) / 2;
  const std::uint64_t digits = testing::binary_digits(middle, 28);
  const std::uint64_t v = log2_size == 0 ? 0 : offset << (64 - log2_size);
  std::vector<std::uint64_t> words{digits << 36 | v >> 45 << 16 | u};
  if (law.sampler.words_per_sample() == 2) words.push_back(v << 19);
  const bool tells = std::none_of(truth.begin(), truth.end(), [&](const Real& s) { return testing::binary_digits(s, 28) == digits; });
  if (!tells) words.push_back(testing::binary_digits(middle, 28 + 64));
  if (i == truth.size() && law.sampler.words_per_sample() == 1) words.push_back(v << 19);
  return words;
}

// U < f(k) / envelope, at once, after one more word and after two; in a block and in the tail.
TEST(IntegerSampler, AcceptsExactlyBelowTheRatioOfTheLawToItsEnvelope) {
  for (const auto& law : wide_laws()) {
    const auto& truth = survivals(law);
    const std::size_t tail = truth.size();
    const int width = law.sampler.log2_block_width();
    const auto try_place = [&](std::size_t i, std::uint64_t piece, std::uint64_t offset) {
      const bool in_tail = i == tail;
      const int log2_size = width + (in_tail ? law.sampler.log2_tail_piece() : 0);
      const std::uint64_t start = i + (in_tail ? piece << law.sampler.log2_tail_piece() : 0);
      const std::uint64_t k = (start << width) + offset;
      SCOPED_TRACE(law.name + ", block " + std::to_string(i) + ", k " + std::to_string(k));
      const Real ratio = law.weight(k) / law.sampler.heights()[i] * std::ldexp(1.0, static_cast<int>(piece));
      ASSERT_LT(ratio, 1);
      const auto fresh = words_in_block(law, truth, 3, 0, width, 0);
      const auto expect = [&](std::uint64_t u, const std::vector<std::uint64_t>& more, bool accepted) {
        auto script = words_in_block(law, truth, i, offset, log2_size, u);
        if (in_tail) script.push_back(piece == 0 ? 0 : ~(all_ones >> piece));
        script.insert(script.end(), more.begin(), more.end());
        const std::size_t words = script.size();
        script.insert(script.end(), fresh.begin(), fresh.end());
        expect_both(law, script,
                    accepted ? Outcome{static_cast<std::int64_t>(k), words} : Outcome{std::int64_t{3} << width, words + fresh.size()});
      };
      const std::uint64_t u16 = testing::binary_digits(ratio, 16);
      const std::uint64_t u80 = testing::binary_digits(ratio, 80);
      const std::uint64_t u144 = testing::binary_digits(ratio, 144);
      if (u16 > 0) expect(u16 - 1, {}, true);
      if (u16 < 0xffff) expect(u16 + 1, {}, false);
      expect(u16, {u80 - 1}, true);
      expect(u16, {u80 + 1}, false);
      expect(u16, {u80, u144 - 1}, true);
      expect(u16, {u80, u144 + 1}, false);
    };
    const std::uint64_t last = (std::uint64_t{1} << width) - 1;
    try_place(tail / 3, 0, last);
    try_place(tail - 1, 0, last / 2 + 1);
    try_place(tail, 0, 5);
    try_place(tail, 2, last);
  }
}

/// A ratio with so few digits that it ends where U's known digits do: more are drawn, and the sampler goes on.
TEST(IntegerSampler, EndsWhereARatioHasFewDigits) {
  // P(35) / P(34) = (m - 34) / (m + 35) = 65467 / 65536 for m = 65501. Heights are no such numbers, so the words are tried around it.
  const auto law = binomial(131'002);
  const auto& truth = survivals(law);
  ASSERT_EQ(law.sampler.log2_block_width(), 1);
  for (std::uint64_t u = 65460; u < 65475; ++u) {
    auto script = words_in_block(law, truth, 17, 1, 1, u);
    script.insert(script.end(), 12, all_ones / 5);
    EXPECT_EQ(by_tables(law.sampler, script), by_definition(law.sampler, script)) << u;
  }
}

struct Exhausted {};

std::optional<std::int64_t> decided(const LatticeSampler& sampler, const std::vector<std::uint64_t>& script) {
  std::size_t used = sampler.words_per_sample();
  std::int64_t sample = 0;
  try {
    sampler.decode(script.data(), {&sample, 1}, [&] {
      if (used == script.size()) throw Exhausted{};
      return script[used++];
    });
  } catch (const Exhausted&) {
    return std::nullopt;
  }
  return sample;
}

// All tapes of 16 digits of T: the shares of those that surely reach j and of those that may enclose P(|k| >= j).
TEST(IntegerSampler, AllShortTapesEncloseTheNarrowLaws) {
  for (const auto& law : {binomial(2), binomial(6), binomial(62), binomial(1000), skellam(0.3), skellam(40.7)}) {
    SCOPED_TRACE(law.name);
    constexpr std::uint64_t tapes = 1U << 16;
    const auto& truth = survivals(law);
    const std::size_t tail = truth.size();
    std::vector<double> surely(tail + 1);
    std::vector<double> maybe(tail + 1);
    for (std::uint64_t tape = 0; tape < tapes; ++tape) {
      const auto smallest = *decided(law.sampler, {(tape << 48 | all_ones >> 16) - 1, all_ones - 1, all_ones - 1});
      const auto largest = *decided(law.sampler, {tape << 48, 1, 1, 1});
      ++surely[static_cast<std::size_t>(std::min(smallest, static_cast<std::int64_t>(tail)))];
      ++maybe[static_cast<std::size_t>(std::min(largest, static_cast<std::int64_t>(tail)))];
    }
    double at_least = 0;
    double at_most = 0;
    for (std::size_t j = tail; j >= 1; --j) {
      at_least += surely[j];
      at_most += maybe[j];
      EXPECT_LE(at_least / tapes, (truth[j - 1] + 1e-60).rounded_up()) << j;
      EXPECT_GE(at_most / tapes, (truth[j - 1] - 1e-60).rounded_down()) << j;
      EXPECT_LE(at_most - at_least, 1) << j;
    }
  }
}

TEST(IntegerSampler, AgreesWithItsDefinitionOnAStream) {
  auto laws = narrow_laws();
  for (const auto& law : wide_laws()) laws.push_back(law);
  laws.push_back(skellam(0x1p50));
  for (const auto& law : laws) {
    SCOPED_TRACE(law.name);
    ReplayBits fast{11};
    ReplayBits slow{11};
    for (int i = 0; i < 6; ++i) ASSERT_EQ(law.sampler(fast), law.sampler.by_definition(slow)) << i;
    ASSERT_EQ(draw_word(fast), draw_word(slow));
  }
}

// Tries whose U does not decide at once are 2 in 100: a longer stream, whose second try is the definition's.
TEST(IntegerSampler, AgreesWithItsDefinitionWhereTheTableDoesNotDecide) {
  for (const auto& law : {binomial(1'000'002), skellam(50'000.7)}) {
    SCOPED_TRACE(law.name);
    const auto& truth = survivals(law);
    for (std::size_t i = 5; i < truth.size(); i += 29) {
      const std::uint64_t refused = law.sampler.acceptances()[i];
      auto script = words_in_block(law, truth, i, 1, law.sampler.log2_block_width(), refused + (i * 7 % 16) * (0xffff - refused) / 16);
      script.insert(script.end(), 12, 0x123456789abcdef);
      EXPECT_EQ(by_tables(law.sampler, script), by_definition(law.sampler, script)) << i;
    }
  }
}

TEST(IntegerSampler, IsTheSameInEveryFloatingPointEnvironment) {
  const auto made = [] {
    std::vector<std::int64_t> samples(600);
    std::vector<double> heights;
    const std::vector samplers{LatticeSampler::binomial(1'000'002), LatticeSampler::skellam(50'000.7), LatticeSampler::skellam(0.3),
                               LatticeSampler::skellam(5e-324)};
    for (std::size_t i = 0; i < samplers.size(); ++i) {
      ReplayBits source{17};
      samplers[i].fill(std::span{samples}.subspan(150 * i, 150), source);
      heights.insert(heights.end(), samplers[i].heights().begin(), samplers[i].heights().end());
    }
    return std::pair{samples, heights};
  };
  const auto expected = made();
  for (const auto& environment : reference::foreign_environments()) {
    EXPECT_TRUE(reference::in(environment, made) == expected) << environment.name;
  }
}

// ---- Refusals ----

TEST(IntegerSampler, RefusesWhatNamesNoLaw) {
  using reference::refusal_of;
  for (const std::uint64_t bad : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{7}, most_flips + 2, all_ones, all_ones - 1}) {
    EXPECT_TRUE(
        refusal_of([&] { return LatticeSampler::binomial(bad); }).says(ErrorCode::invalid_argument, "must be even, from 2 to 2^52"));
  }
  EXPECT_TRUE(refusal_of([&] { return BinomialNoise{7}; }).says(ErrorCode::invalid_argument, "flips is 7, must be even, from 2 to 2^52"));
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -0.0, -1.0, 1e300, infinity, std::nan(""), std::nextafter(0x1p50, infinity)}) {
    EXPECT_TRUE(refusal_of([&] { return SkellamNoise{bad}; }).says(ErrorCode::invalid_argument, "must be greater than 0 and at most 2^50"));
  }
  // The ends are laws.
  for (const auto& sampler : {LatticeSampler::binomial(most_flips), LatticeSampler::skellam(0x1p50), LatticeSampler::skellam(5e-324)}) {
    ReplayBits source{1};
    EXPECT_LT(std::abs(static_cast<double>(sampler(source))), 0x1p29);
  }
  EXPECT_EQ(BinomialNoise{64}.flips(), 64U);
  EXPECT_EQ(SkellamNoise{2.5}.mean(), 2.5);
}

}  // namespace
}  // namespace surety::mechanisms::integer_law_test
