// What is tested, for every law and for narrow and wide scales:
//   the tables      every threshold and acceptance against plain MPFR, which shares no code with the library's interval arithmetic
//   the decisions   on both sides of a threshold, 2^-63 and 2^-127 away, and where one word does not decide
//   the law         from the tapes at which the sampler changes its mind, without knowing its tables
//   the two ways    the tables and the definition give the same samples and use the same words
#include <surety/mechanisms/samplers/lattice_sampler.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <surety/base/text/error.h>

#include <support/discrete_laws.h>
#include <support/lattice.h>
#include <support/real.h>
#include <support/scripted_bits.h>

namespace surety::mechanisms::lattice_sampler_test {
namespace {

/// Words of a test's own first, then those of another source.
class SplicedBits {
 public:
  SplicedBits(std::vector<std::uint64_t> first, ReplayBits& then) : first_{first.begin(), first.end()}, then_{then} {}

  void fill(std::span<std::byte> bytes) {
    for (std::size_t i = 0; i < bytes.size(); i += 8) {
      std::uint64_t word = 0;
      if (first_.empty()) {
        word = draw_word(then_);
      } else {
        word = first_.front();
        first_.pop_front();
      }
      for (std::size_t j = 0; j < 8; ++j) bytes[i + j] = static_cast<std::byte>(word >> (8 * j) & 0xff);
    }
  }

 private:
  std::deque<std::uint64_t> first_;
  ReplayBits& then_;
};

}  // namespace
}  // namespace surety::mechanisms::lattice_sampler_test

template <>
inline constexpr bool surety::is_cryptographic<surety::mechanisms::lattice_sampler_test::SplicedBits> = true;

namespace surety::mechanisms::lattice_sampler_test {
namespace {

using reference::Real;
using testing::Outcome;
using testing::ScriptedBits;

constexpr mpfr_prec_t bits = 320;
constexpr std::uint64_t all_ones = ~std::uint64_t{0};

enum class Kind { rounded_gaussian, rounded_laplace, discrete_gaussian, discrete_laplace, geometric };

/// A law as its formula says, and the sampler of it.
struct Law {
  std::string name;
  Kind kind;
  Real parameter;  ///< sigma^2 or b
  LatticeSampler sampler;

  [[nodiscard]] bool is_gaussian() const { return kind == Kind::rounded_gaussian || kind == Kind::discrete_gaussian; }
  [[nodiscard]] bool is_rounded() const { return kind == Kind::rounded_gaussian || kind == Kind::rounded_laplace; }
  [[nodiscard]] bool is_two_sided() const { return kind != Kind::geometric; }
  [[nodiscard]] double scale() const {
    const double value = parameter.nearest_double();
    return is_gaussian() ? std::sqrt(value) : value;
  }
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
    const double reach = is_gaussian() ? std::sqrt(1.5 * bits) : 0.75 * bits;
    const auto terms = count + 2 + static_cast<std::uint64_t>(reach * scale());
    std::vector<Real> sums(terms + 1, Real{0, bits});
    for (std::uint64_t j = terms; j-- > 0;) {
      const Real weight = density(Real{static_cast<double>(j), bits});
      sums[j] = sums[j + 1] + (j == 0 && is_two_sided() ? weight / 2 : weight);
    }
    for (std::uint64_t j = 0; j <= count; ++j) result.push_back(sums[j] / sums[0]);
    return result;
  }

  [[nodiscard]] Real block_edge(std::uint64_t i) const {
    return Real{static_cast<double>(i), bits} * std::ldexp(1.0, sampler.log2_block_width());
  }

  /// S(1), ..., S(count): of magnitudes (narrow), or of the envelope's blocks as the header describes them (wide).
  [[nodiscard]] std::vector<Real> thresholds(std::uint64_t count) const {
    std::vector<Real> result;
    if (!sampler.is_wide()) {
      result = magnitude_survivals(count);
      result.erase(result.begin());
      return result;
    }
    Real sum = std::ldexp(2.0, sampler.log2_tail_piece()) * density(block_edge(count));
    for (std::uint64_t i = count; i-- > 0;) {
      result.push_back(sum);
      sum = sum + density(block_edge(i));
    }
    std::reverse(result.begin(), result.end());
    for (auto& survival : result) survival = survival / sum;
    return result;
  }
};

Law rounded_gaussian(double sigma) {
  return {"rounded Gaussian " + std::to_string(sigma), Kind::rounded_gaussian, Real{sigma, bits} * Real{sigma, bits},
          LatticeSampler::rounded_gaussian(sigma)};
}
Law rounded_laplace(double scale) {
  return {"rounded Laplace " + std::to_string(scale), Kind::rounded_laplace, Real{scale, bits}, LatticeSampler::rounded_laplace(scale)};
}
Real real(std::uint64_t value) { return Real{static_cast<double>(value >> 32), bits} * 0x1p32 + static_cast<double>(value & 0xffffffff); }

Law discrete(Kind kind, Rational value) {
  const Real parameter = real(value.num) / real(value.den);
  const std::string text = std::to_string(value.num) + "/" + std::to_string(value.den);
  if (kind == Kind::discrete_gaussian) return {"discrete Gaussian " + text, kind, parameter, LatticeSampler::discrete_gaussian(value)};
  if (kind == Kind::discrete_laplace) return {"discrete Laplace " + text, kind, parameter, LatticeSampler::discrete_laplace(value)};
  return {"geometric " + text, kind, parameter, LatticeSampler::geometric(value)};
}

std::vector<Law> narrow_laws() {
  return {rounded_gaussian(0.3),
          rounded_gaussian(2.7),
          rounded_gaussian(32),
          rounded_laplace(0.2),
          rounded_laplace(5.5),
          rounded_laplace(128),
          discrete(Kind::discrete_gaussian, {1, 4}),
          discrete(Kind::discrete_gaussian, {1, 1}),
          discrete(Kind::discrete_gaussian, {701, 7}),
          discrete(Kind::discrete_laplace, {1, 3}),
          discrete(Kind::discrete_laplace, {3, 2}),
          discrete(Kind::discrete_laplace, {100, 1}),
          discrete(Kind::geometric, {1, 2}),
          discrete(Kind::geometric, {37, 3})};
}

std::vector<Law> wide_laws() {
  return {rounded_gaussian(32.5),
          rounded_gaussian(129.5),
          rounded_gaussian(0x1.23p20),
          rounded_gaussian(0x1.fffp41),
          rounded_gaussian(0x1p60),
          rounded_laplace(130),
          rounded_laplace(0x1.8p24),
          rounded_laplace(0x1.1p25),
          rounded_laplace(0x1p58),
          discrete(Kind::discrete_gaussian, {50'001, 3}),
          discrete(Kind::discrete_gaussian, {all_ones >> 11, 3}),
          discrete(Kind::discrete_laplace, {1000, 7}),
          discrete(Kind::discrete_laplace, {0x40000000000003, 5}),
          discrete(Kind::geometric, {1000, 7}),
          discrete(Kind::geometric, {1'000'001, 2})};
}

std::vector<Law> all_laws() {
  auto laws = narrow_laws();
  for (auto& law : wide_laws()) laws.push_back(law);
  return laws;
}

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
void expect_by_tables(const Law& law, std::vector<std::uint64_t> script, Outcome expected, std::size_t padding) {
  script.resize(script.size() + padding);
  EXPECT_EQ(by_tables(law.sampler, script), expected) << "by tables";
}
void expect_both(const Law& law, std::vector<std::uint64_t> script, Outcome expected, std::size_t padding) {
  expect_by_tables(law, script, expected, padding);
  script.resize(script.size() + padding);
  EXPECT_EQ(by_definition(law.sampler, script), expected) << "by definition";
}

// ---- Tables ----

TEST(LatticeSampler, EveryThresholdIsThatOfTheLaw) {
  for (const auto& law : all_laws()) {
    SCOPED_TRACE(law.name);
    const auto table = law.sampler.thresholds();
    ASSERT_GE(table.size(), 1U);
    const auto truth = law.thresholds(table.size());
    for (std::size_t j = 0; j < table.size(); ++j) ASSERT_EQ(table[j], testing::binary_digits(truth[j], 63)) << "threshold " << j + 1;
  }
}

TEST(LatticeSampler, EveryAcceptanceAndTheTailAreUnderTheEnvelope) {
  for (const auto& law : wide_laws()) {
    SCOPED_TRACE(law.name);
    const auto acceptances = law.sampler.acceptances();
    const std::size_t tail = law.sampler.thresholds().size();
    ASSERT_EQ(acceptances.size(), tail);
    for (std::size_t i = 0; i < tail; ++i) {
      const Real least = law.density(law.block_edge(i + 1)) / law.density(law.block_edge(i));
      ASSERT_EQ(acceptances[i], testing::binary_digits(least, 16)) << "block " << i;
    }
    const std::uint64_t next_piece = tail + (std::uint64_t{1} << law.sampler.log2_tail_piece());
    EXPECT_LE(law.density(law.block_edge(next_piece)) / law.density(law.block_edge(tail)), 0.5);
  }
}

// ---- Decisions about T ----

constexpr int wide_digits = 28;        // of T in the first word of a wide law,
constexpr int place_digits = 19;       // of V,
constexpr int acceptance_digits = 16;  // and of U

/// The words of a sample whose T starts with `digits`; of a wide law also those of V, as far as the words have them, and of U.
std::vector<std::uint64_t> words_of(const Law& law, std::uint64_t digits, bool negative, std::uint64_t v = 0, std::uint64_t u = 0) {
  if (!law.sampler.is_wide()) return {digits << 1 | (negative ? 1U : 0U)};
  const std::uint64_t sign = negative ? 1 : 0;
  std::vector<std::uint64_t> words{digits << 36 | sign << 35 | v >> (64 - place_digits) << acceptance_digits | u};
  if (law.sampler.words_per_sample() == 2) words.push_back(v << place_digits);
  return words;
}

// T < S(j) chooses an index of at least j: on both sides of S(j), at a distance of a first word's last digit and of a second's.
void expect_exact_threshold(const Law& law, std::uint64_t j, const std::vector<Real>& truth) {
  SCOPED_TRACE(::testing::Message() << law.name << ", threshold " << j);
  const bool is_wide = law.sampler.is_wide();
  const int count = is_wide ? wide_digits : 63;
  const Real& survival = truth[j - 1];
  const std::uint64_t first = testing::binary_digits(survival, count);
  const std::uint64_t second = testing::binary_digits(survival, count + 64);
  ASSERT_LT(first, (std::uint64_t{1} << count) - 1);
  const std::uint64_t tail = law.sampler.thresholds().size();
  const auto expect = [&](std::uint64_t digits, std::vector<std::uint64_t> more, std::uint64_t index) {
    for (const bool negative : {false, true}) {
      if (negative && index == 0 && is_wide && law.is_two_sided() && !law.is_rounded()) continue;  // is rejected, tested below
      const auto magnitude = static_cast<std::int64_t>(index << (is_wide ? law.sampler.log2_block_width() : 0));
      auto script = words_of(law, digits, negative);
      script.insert(script.end(), more.begin(), more.end());
      // In a wide law's tail a word names the piece, and before that one continues V where the first ones are few.
      const std::size_t words = script.size() + (is_wide && index == tail ? 3 - law.sampler.words_per_sample() : 0);
      const Outcome expected{negative && law.is_two_sided() ? -magnitude : magnitude, words};
      negative ? expect_by_tables(law, script, expected, 4) : expect_both(law, script, expected, 4);
    }
  };
  // Where the next threshold has other digits yet. A T below all of a narrow law is undecided.
  if (first > 0 && (j == truth.size() || testing::binary_digits(truth[j], count) < first - 1)) expect(first - 1, {}, j);
  if ((j < tail || is_wide) && (j == 1 || testing::binary_digits(truth[j - 2], count) > first + 1)) expect(first + 1, {}, j - 1);
  if (second > 0) expect(first, {second - 1}, j);
  if (second < all_ones) expect(first, {second + 1}, j - 1);
}

TEST(LatticeSampler, DecidesOnBothSidesOfAThreshold) {
  for (const auto& law : all_laws()) {
    const std::size_t tail = law.sampler.thresholds().size();
    const auto truth = law.thresholds(tail);
    for (std::size_t j = 1; j <= tail; j += 1 + tail / 3) expect_exact_threshold(law, j, truth);
    expect_exact_threshold(law, tail, truth);
  }
}

TEST(LatticeSampler, ANarrowTailGoesOnBeyondItsTable) {
  for (const auto& law : narrow_laws()) {
    const std::size_t tail = law.sampler.thresholds().size();
    const auto truth = law.thresholds(2 * tail);
    for (const std::size_t j : {tail + 1, tail + 2, tail + tail / 3 + 1}) {
      if (truth[j - 1] < 0x1p-60) continue;
      expect_exact_threshold(law, j, truth);
    }
    // T = 2^-100: the first word says nothing, the second decides.
    const auto deep = by_definition(law.sampler, {0, std::uint64_t{1} << 27, 1, 1, 1});
    EXPECT_EQ(by_tables(law.sampler, {0, std::uint64_t{1} << 27, 1, 1, 1}), deep) << law.name;
    EXPECT_GE(deep.sample, static_cast<std::int64_t>(tail)) << law.name;
  }
}

TEST(LatticeSampler, IsZeroWhereTheScaleIsTiny) {
  for (const auto& law :
       {rounded_gaussian(0x1p-40), rounded_gaussian(5e-324), rounded_laplace(1e-300), discrete(Kind::discrete_gaussian, {1, all_ones}),
        discrete(Kind::discrete_laplace, {1, all_ones}), discrete(Kind::geometric, {1, 1'000'000})}) {
    SCOPED_TRACE(law.name);
    expect_both(law, {2}, {0, 1}, 3);
    expect_both(law, {all_ones}, {0, 1}, 3);
    expect_both(law, {0, 1}, {0, 2}, 3);  // T below 2^-63 is known better before it is decided
  }
}

// ---- Decisions about U ----

/// Words that lead to block `i`: of a sample, and a further one where its digits of T do not tell.
std::vector<std::uint64_t> words_in_block(const Law& law, const std::vector<Real>& truth, std::uint64_t i, bool negative, std::uint64_t v,
                                          std::uint64_t u) {
  const Real above = i == 0 ? Real{1, bits} : truth[i - 1];
  const Real below = i == truth.size() ? Real{0, bits} : truth[i];
  const Real middle = (above + below) / 2;
  const std::uint64_t digits = testing::binary_digits(middle, wide_digits);
  auto words = words_of(law, digits, negative, v, u);
  const bool tells =
      std::none_of(truth.begin(), truth.end(), [&](const Real& s) { return testing::binary_digits(s, wide_digits) == digits; });
  if (!tells) words.push_back(testing::binary_digits(middle, wide_digits + 64));
  return words;
}

/// Around the exact ratio of density to envelope, U decides: at once, after one more word, and after two.
void expect_exact_acceptance(const Law& law, const std::vector<Real>& truth, std::uint64_t i, std::uint64_t piece, std::uint64_t v,
                             bool by_definition_too) {
  const bool is_tail = i == truth.size();
  const bool is_short = law.sampler.words_per_sample() == 1;
  const int known_digits = is_tail || !is_short ? 64 : place_digits;
  v &= all_ones << (64 - known_digits);
  SCOPED_TRACE(::testing::Message() << law.name << ", block " << i << " piece " << piece << " place " << v);
  const int width = law.sampler.log2_block_width();
  const int log2_size = width + (is_tail ? law.sampler.log2_tail_piece() : 0);
  const std::uint64_t start = i + (is_tail ? piece << law.sampler.log2_tail_piece() : 0);
  // The place as a real number in steps, by the digits of V in the sample's words and in two further ones: V itself, or the integer below.
  const auto place_of = [&](const Real& further) {
    const Real exact_v = real(v) * 0x1p-64 + further * std::ldexp(1.0, -known_digits);
    return law.is_rounded() ? exact_v * std::ldexp(1.0, log2_size) : real(log2_size == 0 ? 0 : v >> (64 - log2_size));
  };
  const auto ratio_of = [&](const Real& place) {
    return law.density(law.block_edge(start) + place) / law.density(law.block_edge(i)) * std::ldexp(1.0, static_cast<int>(piece));
  };
  const std::uint64_t offset = ((v >> (63 - log2_size)) + (law.is_rounded() ? 1 : 0)) >> 1;
  const auto magnitude = static_cast<std::int64_t>((start << width) + offset);

  std::vector<std::uint64_t> before;
  if (is_tail) {
    if (is_short) before.push_back(v << place_digits);
    before.insert(before.end(), piece / 64, all_ones);
    before.push_back(piece % 64 == 0 ? 0 : ~(all_ones >> (piece % 64)));
  }
  // A rejected sample is followed by this one, of another block: U = 0 accepts it.
  const std::uint64_t other = i == 3 ? 5 : 3;
  const auto fresh = words_in_block(law, truth, other, false, 0, 0);
  const auto other_sample = static_cast<std::int64_t>(other << width);

  const auto expect = [&](std::uint64_t u, std::vector<std::uint64_t> more, bool accepted) {
    auto script = words_in_block(law, truth, i, false, v, u);
    script.insert(script.end(), before.begin(), before.end());
    script.insert(script.end(), more.begin(), more.end());
    const std::size_t words = script.size();
    script.insert(script.end(), fresh.begin(), fresh.end());
    const Outcome expected = accepted ? Outcome{magnitude, words} : Outcome{other_sample, words + fresh.size()};
    by_definition_too ? expect_both(law, script, expected, 4) : expect_by_tables(law, script, expected, 4);
  };

  const Real largest = ratio_of(place_of(Real{0, bits}));
  const Real least = ratio_of(place_of(Real{1, bits}));
  constexpr std::uint64_t end = std::uint64_t{1} << acceptance_digits;
  // At once.
  const std::uint64_t below = least < 1 ? testing::binary_digits(least, acceptance_digits) & (end - 1) : end - 1;
  if (below > 0) expect(below - 1, {}, true);
  if (!(largest < 1)) return;  // all of U accepts
  const std::uint64_t above = (testing::binary_digits(largest, acceptance_digits) & (end - 1)) + 1;
  if (above < end) expect(above, {}, false);
  // In doubt: a rounded law asks for more of V first. What is not known of V then moves the ratio by less than U's digit does.
  const std::uint64_t third = all_ones / 3;
  const Real known = ratio_of(place_of((real(third) + real(third) * 0x1p-64) * 0x1p-64));
  const std::uint64_t u16 = testing::binary_digits(known, acceptance_digits) & (end - 1);
  const std::uint64_t u80 = testing::binary_digits(known, acceptance_digits + 64);
  const std::uint64_t u144 = testing::binary_digits(known, acceptance_digits + 128);
  constexpr std::uint64_t margin = 2;
  if (u80 <= margin || u80 >= all_ones - margin || u144 <= margin || u144 >= all_ones - margin) return;
  std::vector<std::uint64_t> more;
  const auto extend = [&](std::uint64_t digits) {
    if (law.is_rounded()) more.push_back(third);
    more.push_back(digits);
  };
  extend(u80 - margin);
  expect(u16, more, true);
  more.back() = u80 + margin;
  expect(u16, more, false);
  more.back() = u80;
  extend(u144 - margin);
  expect(u16, more, true);
  more.back() = u144 + margin;
  expect(u16, more, false);
}

TEST(LatticeSampler, AcceptsExactlyBelowTheRatioOfDensityToEnvelope) {
  for (const auto& law : wide_laws()) {
    const std::size_t tail = law.sampler.thresholds().size();
    const auto truth = law.thresholds(tail);
    for (const std::uint64_t i : {std::size_t{0}, std::size_t{1}, tail / 3, tail - 1}) {
      for (const std::uint64_t v : {all_ones, std::uint64_t{0xfffe123456789abc}})
        expect_exact_acceptance(law, truth, i, 0, v, i == 1 && v != all_ones);
    }
    for (const std::uint64_t piece : {0U, 1U, 9U}) {
      for (const std::uint64_t v : {std::uint64_t{1} << 40, all_ones / 7, std::uint64_t{0xc000000000000000}, all_ones}) {
        expect_exact_acceptance(law, truth, tail, piece, v, piece == 1 && v == all_ones / 7);
      }
    }
  }
}

// A slot of the table may mean two blocks: next to every threshold, what is accepted at once is what the block itself allows. At the end of
// the block the next digit of U leaves it in doubt.
TEST(LatticeSampler, AcceptsAtOnceByTheBlockItself) {
  for (const auto& law : wide_laws()) {
    const auto acceptances = law.sampler.acceptances();
    const auto thresholds = law.sampler.thresholds();
    const auto digits = [&](std::size_t j) { return thresholds[j] >> (63 - wide_digits); };
    const int width = law.sampler.log2_block_width();
    std::size_t tried = 0;
    for (std::size_t i = 1; i < acceptances.size(); ++i) {
      for (const std::size_t block : {i - 1, i}) {
        const std::uint64_t t = digits(i - 1) + (block == i ? -1ULL : 1);
        if (digits(i) >= t || (i > 1 && digits(i - 2) <= t)) continue;  // another threshold is as near
        const std::uint64_t last = law.is_rounded() ? all_ones : all_ones << (64 - width);
        const auto magnitude = static_cast<std::int64_t>((block << width) + (std::uint64_t{1} << width) - (law.is_rounded() ? 0 : 1));
        const std::uint64_t refused = acceptances[block];
        const Real end = law.block_edge(block + 1) - (law.is_rounded() ? 0 : 1);
        auto script = words_of(law, t, false, last, refused - 1);
        const std::size_t words = script.size();
        script.insert(script.end(), {0, 0, 0});
        ASSERT_EQ(by_tables(law.sampler, script), (Outcome{magnitude, words})) << law.name << " " << block;
        if (testing::binary_digits(law.density(end) / law.density(law.block_edge(block)), 16) != refused) continue;
        ++script.front();
        const std::size_t more = law.is_rounded() ? 2 : 1;
        ASSERT_EQ(by_tables(law.sampler, script), (Outcome{magnitude, words + more})) << law.name << " " << block;
        ++tried;
      }
    }
    EXPECT_GE(tried, law.is_rounded() || width > 9 ? acceptances.size() : 0) << law.name;
  }
}

TEST(LatticeSampler, AWideDiscreteLawHasOneZero) {
  for (const auto& law : wide_laws()) {
    if (law.is_rounded()) continue;
    SCOPED_TRACE(law.name);
    const auto truth = law.thresholds(law.sampler.thresholds().size());
    const auto zero = [&](bool negative, std::uint64_t v) { return words_in_block(law, truth, 0, negative, v, 0); };
    const std::size_t words = law.sampler.words_per_sample();
    expect_both(law, zero(false, 0), {0, words}, 6);
    const std::int64_t second = std::int64_t{2} << law.sampler.log2_block_width();
    auto twice = zero(true, 0);
    for (const auto word : words_in_block(law, truth, 2, false, 0, 0)) twice.push_back(word);
    if (law.is_two_sided()) expect_both(law, twice, {second, 2 * words}, 6);
    // One step beside it both signs are kept.
    const std::uint64_t one = std::uint64_t{1} << (64 - law.sampler.log2_block_width());
    expect_both(law, zero(true, one), {law.is_two_sided() ? -1 : 1, words}, 6);
  }
}

// ---- The law, from the sampler alone ----

struct Exhausted {};

/// The sample that these words give, or nothing where they do not suffice or the first try is rejected.
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

// All tapes of 16 digits of T: the share of those that surely reach j, and of those that may, enclose P(|k| >= j).
TEST(LatticeSampler, AllShortTapesEncloseTheNarrowLaws) {
  for (const auto& law : narrow_laws()) {
    SCOPED_TRACE(law.name);
    constexpr std::uint64_t tapes = 1U << 16;
    const std::size_t tail = law.sampler.thresholds().size();
    std::vector<double> surely(tail + 1);
    std::vector<double> maybe(tail + 1);
    for (std::uint64_t tape = 0; tape < tapes; ++tape) {
      // Of the completions that of all ones gives the smallest magnitude, that of zeros (and then a one) the largest.
      const auto smallest = *decided(law.sampler, {(tape << 48 | all_ones >> 16) - 1, all_ones - 1, all_ones - 1});
      const auto largest = *decided(law.sampler, {tape << 48, 1, 1, 1});
      ++surely[static_cast<std::size_t>(std::min(smallest, static_cast<std::int64_t>(tail)))];
      ++maybe[static_cast<std::size_t>(std::min(largest, static_cast<std::int64_t>(tail)))];
    }
    const auto truth = law.thresholds(tail);
    double at_least = 0;
    double at_most = 0;
    for (std::size_t j = tail; j >= 1; --j) {
      at_least += surely[j];
      at_most += maybe[j];
      EXPECT_LE(at_least / tapes, truth[j - 1].rounded_up()) << j;
      EXPECT_GE(at_most / tapes, truth[j - 1].rounded_down()) << j;
      EXPECT_LE(at_most - at_least, 1) << j;
    }
  }
}

/// The probability that a real number given by its digits is below the point where `holds` changes from true to false.
template <class Holds>
double bisect(Holds holds) {
  double low = 0;
  double step = 0.5;
  for (int i = 0; i < 48; ++i, step /= 2) {
    if (holds(low + step)) low += step;
  }
  return low + step;
}

// For a discrete law P(k) is proportional to P(block of k) P(place) P(U accepts). Each factor is found by bisection on the tape.
TEST(LatticeSampler, TheTapesOfAWideDiscreteLawHaveItsProbabilities) {
  for (const auto& law : {discrete(Kind::discrete_gaussian, {50'001, 3}), discrete(Kind::discrete_laplace, {1000, 7}),
                          discrete(Kind::geometric, {1000, 7})}) {
    SCOPED_TRACE(law.name);
    const auto& sampler = law.sampler;
    const int width = sampler.log2_block_width();
    const auto tail = static_cast<std::int64_t>(sampler.thresholds().size());
    // The digits of a number beyond those in a word.
    const auto digits_beyond = [](double x, int digits) {
      const double scaled = std::ldexp(x, digits);
      return static_cast<std::uint64_t>(std::ldexp(scaled - std::floor(scaled), 60)) << 4;
    };
    const auto word_of = [&](double t, double u, std::uint64_t v) {
      return words_of(law, static_cast<std::uint64_t>(std::ldexp(t, wide_digits)), false, v,
                      static_cast<std::uint64_t>(std::ldexp(u, acceptance_digits)))
          .front();
    };
    const auto reaches = [&](std::int64_t i) {
      if (i == 0) return 1.0;
      // Where T asks for no further word, the same word may continue V in the tail.
      return bisect([&](double t) { return *decided(sampler, {word_of(t, 0, 0), digits_beyond(t, wide_digits), 0, 0, 0}) >> width >= i; });
    };
    // From a T inside the block.
    const auto accepted = [&](double inside, std::uint64_t v, std::optional<std::uint64_t> piece) {
      const auto first = word_of(inside, 0, 0) >> (64 - wide_digits);
      const auto thresholds = sampler.thresholds();
      const bool tells = std::none_of(thresholds.begin(), thresholds.end(), [&](auto s) { return s >> (63 - wide_digits) == first; });
      return bisect([&](double u) {
        std::vector<std::uint64_t> script{word_of(inside, u, v)};
        if (!tells) script.push_back(digits_beyond(inside, wide_digits));
        if (piece) script.insert(script.end(), {0, *piece == 0 ? 0 : ~(all_ones >> *piece)});
        if (decided(sampler, script)) return true;
        // In doubt or rejected; a sample that is rejected starts again with the next word, which as zero leads to the tail and asks for
        // more.
        script.push_back(0);
        if (!decided(sampler, script)) return false;
        script.back() = digits_beyond(u, acceptance_digits);
        return decided(sampler, script).has_value();
      });
    };
    // Relative to P(0), whose one sign is accepted always.
    const double zero = (1 - reaches(1)) / std::ldexp(1.0, width);
    const auto expect = [&](std::int64_t k, double probability, double block) {
      const double truth = law.density(Real{static_cast<double>(k), bits}).nearest_double();
      EXPECT_NEAR(probability / zero / truth, 1, 1e-9 + 0x1p-46 / block) << k;
    };
    for (std::int64_t i = 0; i < tail; i += 1 + tail / 11) {
      const double above = reaches(i);
      const double below = reaches(i + 1);
      const double block = above - below;
      for (std::int64_t place = 0; place < 1 << width; ++place) {
        const double share = accepted((above + below) / 2, static_cast<std::uint64_t>(place) << (64 - width), std::nullopt);
        expect((i << width) + place, block * share / std::ldexp(1.0, width), block);
      }
    }
    const int size = width + sampler.log2_tail_piece();
    const double beyond = reaches(tail);
    for (const std::uint64_t piece : {0U, 1U, 2U, 5U}) {
      for (std::int64_t place = 0; place < 1 << size; place += 7) {
        const double share = accepted(beyond / 2, static_cast<std::uint64_t>(place) << (64 - size), piece);
        const double probability = beyond * std::ldexp(1.0, -static_cast<int>(piece) - 1) * share / std::ldexp(1.0, size);
        expect((tail << width) + static_cast<std::int64_t>(piece << size) + place, probability, beyond);
      }
    }
  }
}

// ---- The two ways ----

TEST(LatticeSampler, AgreesWithItsDefinitionOnAStream) {
  for (const auto& law : all_laws()) {
    SCOPED_TRACE(law.name);
    ReplayBits fast{11};
    ReplayBits slow{11};
    for (int i = 0; i < 25; ++i) ASSERT_EQ(law.sampler(fast), law.sampler.by_definition(slow)) << i;
    ASSERT_EQ(draw_word(fast), draw_word(slow));
  }
}

TEST(LatticeSampler, ABlockDrawsItsWordsFirstAndThenWhatTheUndecidedNeed) {
  for (const auto& law : {rounded_gaussian(2.7), rounded_gaussian(0x1.23p20), discrete(Kind::discrete_gaussian, {50'001, 3})}) {
    SCOPED_TRACE(law.name);
    constexpr std::size_t count = LatticeSampler::block + 31;
    ReplayBits fast{12};
    ReplayBits slow{12};
    std::vector<std::int64_t> samples(count);
    law.sampler.fill(samples, fast);
    const std::size_t per_sample = law.sampler.words_per_sample();
    for (std::size_t first = 0; first < count; first += LatticeSampler::block) {
      const std::size_t size = std::min(LatticeSampler::block, count - first);
      std::vector<std::uint64_t> words(size * per_sample);
      draw_words(slow, words);
      for (std::size_t k = 0; k < size; ++k) {
        const auto own = words.begin() + static_cast<std::ptrdiff_t>(k * per_sample);
        SplicedBits spliced{{own, own + static_cast<std::ptrdiff_t>(per_sample)}, slow};
        ASSERT_EQ(samples[first + k], law.sampler.by_definition(spliced)) << first + k;
      }
    }
    ASSERT_EQ(draw_word(fast), draw_word(slow));
  }
}

RC_GTEST_PROP(LatticeSampler, AgreesWithItsDefinitionOnEveryWord, ()) {
  const double scale = std::exp2(*rc::gen::inRange(-40, 580) / 10.0);
  const auto any_word = rc::gen::oneOf(rc::gen::arbitrary<std::uint64_t>(),
                                       rc::gen::element<std::uint64_t>(0, 1, 2, 3, 1023, all_ones, all_ones - 1, all_ones / 2));
  auto script = *rc::gen::container<std::vector<std::uint64_t>>(6, any_word);
  script.insert(script.end(), 12, 0x123456789abcdef);
  const auto sampler = *rc::gen::arbitrary<bool>() ? LatticeSampler::rounded_gaussian(scale) : LatticeSampler::rounded_laplace(scale);
  RC_ASSERT(by_tables(sampler, script) == by_definition(sampler, script));
}

TEST(LatticeSampler, SaturatesAtTheEndsOfInt64) {
  const auto sampler = LatticeSampler::rounded_gaussian(0x1p60);
  // Piece 3 of the tail begins beyond 8 sigma.
  const std::uint64_t piece = ~(all_ones >> 40);
  EXPECT_EQ(by_tables(sampler, {0, 0, piece, 0, 0}).sample, LatticeSampler::saturation);
  EXPECT_EQ(by_tables(sampler, {std::uint64_t{1} << 35, 0, piece, 0, 0}).sample, -LatticeSampler::saturation);
}

// ---- Statistics, as a second line ----

TEST(LatticeSampler, RoundedGaussianSamplesFitTheirLaw) {
  for (const double sigma : {8.0, 200.0, 0x1p20 + 0.3}) {
    std::vector<std::int64_t> samples(std::size_t{1} << 22);
    ReplayBits source{20261121};
    LatticeSampler::rounded_gaussian(sigma).fill(samples, source);
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

TEST(LatticeSampler, SamplesOfEveryLawFitIt) {
  const double limit = std::log(1e9);
  for (const auto& law :
       {rounded_laplace(5.5), rounded_laplace(300), discrete(Kind::discrete_gaussian, {1, 1}), discrete(Kind::discrete_gaussian, {701, 7}),
        discrete(Kind::discrete_gaussian, {50'001, 3}), discrete(Kind::discrete_laplace, {3, 2}),
        discrete(Kind::discrete_laplace, {1000, 7}), discrete(Kind::geometric, {37, 3}), discrete(Kind::geometric, {1000, 7})}) {
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

std::string refusal(const std::function<LatticeSampler()>& make) {
  try {
    (void)make();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "";
}

TEST(LatticeSampler, RefusesParametersThatNameNoLaw) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -0.0, -1.0, std::nextafter(0x1p60, infinity), infinity, std::nan("")}) {
    EXPECT_NE(refusal([&] { return LatticeSampler::rounded_gaussian(bad); }), "") << bad;
    EXPECT_NE(refusal([&] { return LatticeSampler::rounded_laplace(bad); }), "") << bad;
  }
  for (const Rational bad : {Rational{0, 1}, Rational{1, 0}, Rational{0, 0}}) {
    EXPECT_NE(refusal([&] { return LatticeSampler::discrete_gaussian(bad); }), "");
    EXPECT_NE(refusal([&] { return LatticeSampler::discrete_laplace(bad); }), "");
    EXPECT_NE(refusal([&] { return LatticeSampler::geometric(bad); }), "");
  }
  EXPECT_EQ(refusal([] { return LatticeSampler::rounded_laplace(0x1p59); }),
            "scale in grid steps is 5.764607523034235e+17, must be greater than 0 and at most 2^58");
  EXPECT_EQ(refusal([] {
              return LatticeSampler::discrete_laplace({(1ULL << 58) + 1, 1});
            }),
            "scale is 288230376151711745/1, must be greater than 0 and at most 2^58");
  EXPECT_EQ(refusal([] { return LatticeSampler::discrete_gaussian({7, 0}); }), "variance is 7/0, must be greater than 0");
  EXPECT_EQ(refusal([] { return LatticeSampler::geometric({all_ones, 64}); }), "");
}

}  // namespace
}  // namespace surety::mechanisms::lattice_sampler_test
