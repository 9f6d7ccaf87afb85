// Batches, bit by bit: for what they are made of all bit strings are counted, or the last digit of a threshold is found. What holds of
// many batches is judged in statistical/batch_test.
#include <surety/mechanisms/choices/batch_sampler.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include <surety/base/text/error.h>

#include <support/real.h>
#include <support/refusal.h>
#include <support/scripted_bits.h>

namespace surety::mechanisms::batch_sampler_test {
namespace {

using reference::Real;
using reference::refusal_of;
using testing::ScriptedBits;

constexpr std::uint64_t all_ones = ~std::uint64_t{0};

std::vector<std::size_t> places_of(std::uint64_t set) {
  std::vector<std::size_t> places;
  append_places(set, 0, 64, places);
  return places;
}

// ---- Poisson batches: digits ------------------------------------------------------------------------------------------------------------

using Join = std::function<std::uint64_t(const NextWord&)>;
using JoinOf = std::function<Join(double)>;

Join join_of(double q) {
  return [exact = ExactRate{SamplingRate{q}}](const NextWord& next) { return exact.join_64(next); };
}

/// The binary digits of q after the point, by doubling, which is exact.
std::vector<int> digits_of(double q) {
  std::vector<int> digits;
  for (double rest = q; rest != 0;) {
    rest *= 2;
    digits.push_back(rest >= 1 ? 1 : 0);
    rest -= digits.back();
  }
  return digits;
}

// All strings of four digits for each of three records: the number of strings that give a set is that of (16 q)^|set| (16 - 16 q)^(3 -
// |set|).
TEST(PoissonBatches, OfAllBitStringsJoinAsOftenAsQSays) {
  for (std::uint64_t sixteenths = 1; sixteenths <= 16; ++sixteenths) {
    const Join join = join_of(static_cast<double>(sixteenths) / 16);
    std::array<std::uint64_t, 8> count{};
    for (std::uint64_t string = 0; string < 4096; ++string) {
      std::uint64_t rest = string;
      const std::uint64_t joined = join([&rest] {
        const std::uint64_t digits = rest & 7;
        rest >>= 3;
        return digits;
      });
      ++count[joined & 7];
    }
    for (std::size_t set = 0; set < 8; ++set) {
      std::uint64_t expected = 1;
      for (std::size_t i = 0; i < 3; ++i) expected *= (set >> i & 1) != 0 ? sixteenths : 16 - sixteenths;
      EXPECT_EQ(count[set], expected) << "q = " << sixteenths << "/16, set " << set;
    }
  }
}

/// Whether the threshold of `join` is q: 64 uniform numbers that agree with q up to one digit, which decides, and one that agrees with all
/// digits and is therefore not below q.
bool is_exactly(double q, const Join& join) {
  const std::vector<int> digits = digits_of(q);
  for (std::size_t last = 0; last <= digits.size(); last += 64) {
    std::uint64_t expected = 0;
    for (std::size_t lane = 0; lane < 64 && last + lane < digits.size(); ++lane) {
      expected |= static_cast<std::uint64_t>(digits[last + lane]) << lane;
    }
    std::size_t place = 0;
    const std::uint64_t joined = join([&] {
      if (place >= digits.size()) {  // where nothing is left to decide
        ++place;
        return all_ones;
      }
      std::uint64_t word = 0;
      for (std::size_t lane = 0; lane < 64; ++lane) {
        const bool same = digits[place] != 0;
        // The first different digit; after it only digits that would decide the other way.
        const bool joins = (expected >> lane & 1) != 0;
        const bool digit = place < last + lane ? same : place == last + lane ? !same : joins;
        word |= static_cast<std::uint64_t>(digit) << lane;
      }
      ++place;
      return word;
    });
    if (joined != expected) return false;
  }
  return true;
}

RC_GTEST_PROP(PoissonBatches, JoinWithProbabilityExactlyTheDoubleQ, ()) {
  const double fraction = static_cast<double>(*rc::gen::inRange<std::uint64_t>(1, std::uint64_t{1} << 53)) * 0x1p-53;
  const double q = std::ldexp(fraction, -*rc::gen::element(0, 1, 7, 40, 200, 1000, 1021));
  RC_PRE(q > 0);
  RC_ASSERT(is_exactly(q, join_of(q)));
}

TEST(PoissonBatches, JoinWithProbabilityExactlyQAtTheEnds) {
  for (const double q : {0.1, 0.005, 1.0 / 3, 0.5, 0x1p-64, 0x1p-1074, 1 - 0x1p-53}) EXPECT_TRUE(is_exactly(q, join_of(q))) << q;
  EXPECT_EQ(ExactRate{SamplingRate{1}}.join_64([]() -> std::uint64_t { throw std::logic_error{"no digit is needed"}; }), all_ones);
}

// Rounded rates are what statistics cannot see: a relative 1e-8 needs 1e17 records.
TEST(PoissonBatches, OfARoundedRateAreFound) {
  const auto rounded = [](double unit) { return [unit](double q) { return join_of(std::round(q / unit) * unit); }; };
  EXPECT_FALSE(is_exactly(0.1, rounded(0x1p-8)(0.1)));
  EXPECT_FALSE(is_exactly(0.1, rounded(0x1p-32)(0.1)));
  EXPECT_FALSE(is_exactly(0.1, rounded(0x1p-53)(std::nextafter(0.1, 1))));
  EXPECT_FALSE(is_exactly(0.1, join_of(static_cast<double>(0.1F))));
  EXPECT_FALSE(is_exactly(0.1, [](const NextWord& next) { return ~join_of(0.9)(next); })) << "1 - q is rounded";
  const Join up_to_half = [](const NextWord& next) {  // what agrees with all digits joins too
    const std::uint64_t first = next();
    return ~first | first;
  };
  EXPECT_FALSE(is_exactly(0.5, up_to_half));
}

// ---- Poisson batches: gaps --------------------------------------------------------------------------------------------------------------

/// The first two words of the binary digits of `p`.
std::array<std::uint64_t, 2> words_of(const Real& p) {
  Real scaled = p * 0x1p64;
  const std::uint64_t first = mpfr_get_ui(scaled.get(), MPFR_RNDD);
  scaled = (scaled - Real{static_cast<double>(first >> 32)} * 0x1p32 - static_cast<double>(first & 0xffffffff)) * 0x1p64;
  return {first, mpfr_get_ui(scaled.get(), MPFR_RNDD)};
}

using GapAtLeast = std::function<bool(double q, std::size_t k, std::vector<std::uint64_t> words)>;

bool gap_at_least(double q, std::size_t k, std::vector<std::uint64_t> words) {
  ScriptedBits bits{std::move(words)};
  return ExactRate{SamplingRate{q}}.gap(k, [&bits] { return draw_word(bits); }) == k;
}

/// The gap is at least k where U < (1 - q)^k: the end of that interval, at distance 2^-64 and 2^-128.
bool is_exactly(double q, std::size_t k, const GapAtLeast& at_least) {
  const auto at = words_of(exp(log1p(-Real{q}) * static_cast<double>(k)));
  return at_least(q, k, {at[0] - 1}) && !at_least(q, k, {at[0] + 1}) && at_least(q, k, {at[0], at[1] - 1}) &&
         !at_least(q, k, {at[0], at[1] + 1});
}

TEST(PoissonBatches, GapsEndExactlyWhereTheirLawSays) {
  for (const double q : {0.015, 0.005, 1.0 / 300, 1e-4, 3.07e-5, 1e-7}) {
    for (const double expected : {0.01, 0.3, 1.0, 4.0, 20.0}) {
      // (1 - q)^2 has no digits beyond two words.
      const auto k = std::max<std::size_t>(3, static_cast<std::size_t>(std::ceil(expected / q)));
      EXPECT_TRUE(is_exactly(q, k, gap_at_least)) << q << ' ' << k;
    }
  }
  // Gaps of hundreds of bits, where a double has no digit to offer.
  EXPECT_TRUE(is_exactly(0x1p-50, std::size_t{1} << 50, gap_at_least));
}

TEST(PoissonBatches, GapsInDoublesAreFound) {
  const GapAtLeast usual = [](double q, std::size_t k, const std::vector<std::uint64_t>& words) {
    const double u = (static_cast<double>(words[0] >> 11) + 0.5) * 0x1p-53;
    return std::floor(std::log(u) / std::log1p(-q)) >= static_cast<double>(k);
  };
  EXPECT_FALSE(is_exactly(0.005, 200, usual));
  const GapAtLeast other_rate = [](double q, std::size_t k, const std::vector<std::uint64_t>& words) {
    return gap_at_least(std::nextafter(q, 1), k, words);
  };
  EXPECT_FALSE(is_exactly(0.005, 200, other_rate));
  const GapAtLeast one_short = [](double q, std::size_t k, const std::vector<std::uint64_t>& words) {
    return gap_at_least(q, k + 1, words);
  };
  EXPECT_FALSE(is_exactly(0.005, 200, one_short));
}

TEST(PoissonBatches, OfGapsAreWhatTheGapsSay) {
  // -log U / -log(1 - q) for q = 0.005: about 138.3 for U = 1/2, 0.0 for U near 1, and far beyond for U near 0.
  ScriptedBits bits{{std::uint64_t{1} << 63, all_ones - 5, std::uint64_t{1} << 63, 7}};
  EXPECT_EQ((PoissonBatches{SamplingRate{0.005}}.draw(500, bits)), (std::vector<std::size_t>{138, 139, 278}));
  EXPECT_EQ(bits.used(), 4U);
}

TEST(PoissonBatches, HoldEveryRecordAtRateOneAndNoneOfNone) {
  ReplayBits bits{1};
  for (const std::size_t records : {0U, 1U, 63U, 64U, 65U, 1000U}) {
    std::vector<std::size_t> all(records);
    std::iota(all.begin(), all.end(), std::size_t{0});
    EXPECT_EQ(PoissonBatches{SamplingRate{1}}.draw(records, bits), all);
  }
  EXPECT_TRUE(PoissonBatches{SamplingRate{0.3}}.draw(0, bits).empty());
  EXPECT_TRUE(PoissonBatches{SamplingRate{0.001}}.draw(0, bits).empty());
}

TEST(PoissonBatches, AreTheEventOfTheirRate) {
  const Event release = gaussian(NoiseMultiplier{1.25}, Adjacency::add_or_remove_one);
  EXPECT_EQ(PoissonBatches{SamplingRate{0.03}}.event(release), poisson(SamplingRate{0.03}, release));
  const Event sum = surety::record_sum(NoiseMultiplier{2.5}, Adjacency::replace_one);
  EXPECT_EQ(PoissonBatches{SamplingRate{0.03}}.event(sum), poisson(SamplingRate{0.03}, sum));
  // No theorem: a Gaussian release does not say what one record contributes.
  EXPECT_EQ(refusal_of([&] { return PoissonBatches{SamplingRate{0.03}}.event(gaussian(NoiseMultiplier{1}, Adjacency::replace_one)); }).code,
            ErrorCode::invalid_argument);
}

// ---- Batches of fixed size --------------------------------------------------------------------------------------------------------------

using Uniform = std::function<std::uint64_t(std::uint64_t n, const NextWord&)>;

/// Whether every result has the same number of words: of those that make it, only the first one may be rejected.
bool is_exactly_uniform(std::uint64_t n, const Uniform& uniform) {
  __extension__ using Wide = unsigned __int128;
  const Wide all = Wide{1} << 64;
  // What follows a rejected word is another result than every one asked for.
  const auto is_accepted = [&](std::uint64_t word, std::uint64_t value) {
    int calls = 0;
    const std::uint64_t result = uniform(n, [&] { return calls++ == 0 ? word : value == 0 ? all_ones : all_ones / 2 / n; });
    return calls == 1 && result == value;
  };
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, n / 3, n / 2, n - 2, n - 1}) {
    if (value >= n) continue;
    const auto first = static_cast<std::uint64_t>((value * all + n - 1) / n);
    const auto end = (Wide{value} + 1) * all / n + (((Wide{value} + 1) * all) % n != 0 ? 1 : 0);
    const Wide words = end - first;
    const Wide accepted = words - (is_accepted(first, value) ? 0 : 1);
    if (accepted != all / n) return false;
    if (words > 1 && !(is_accepted(first + 1, value) && is_accepted(static_cast<std::uint64_t>(end - 1), value))) return false;
  }
  return true;
}

TEST(UniformBelow, GivesEachResultForTheSameNumberOfWords) {
  const Uniform exact = [](std::uint64_t n, const NextWord& next) { return UniformBelow{n}(next); };
  for (const std::uint64_t n : {std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{5}, std::uint64_t{6}, std::uint64_t{64},
                                std::uint64_t{1000}, std::uint64_t{32561}, std::uint64_t{581012}, (std::uint64_t{1} << 53) - 1}) {
    EXPECT_TRUE(is_exactly_uniform(n, exact)) << n;
  }
  EXPECT_EQ(UniformBelow{1}([] { return all_ones; }), 0U);
}

// Also what statistics cannot see: 2^-64 n is the relative error of the last one.
TEST(UniformBelow, WithABiasIsFound) {
  const Uniform no_rejection = [](std::uint64_t n, const NextWord& next) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((Wide{next()} * n) >> 64);
  };
  EXPECT_TRUE(is_exactly_uniform(64, no_rejection));
  EXPECT_FALSE(is_exactly_uniform(32561, no_rejection));
  const Uniform double_precision = [](std::uint64_t n, const NextWord& next) {
    return static_cast<std::uint64_t>(static_cast<double>(next() >> 11) * 0x1p-53 * static_cast<double>(n));
  };
  EXPECT_FALSE(is_exactly_uniform(32561, double_precision));
  EXPECT_FALSE(is_exactly_uniform(32561, [](std::uint64_t n, const NextWord& next) { return UniformBelow{n - 1}(next); }));
}

std::vector<std::size_t> draw_fixed(std::size_t records, std::size_t size, std::vector<std::uint64_t> words) {
  ScriptedBits bits{std::move(words)};
  return FixedSizeBatches{Batches{Count{records}, Count{size}}}.draw(records, bits);
}

// Of all strings of six places of four records, those with enough different ones give each set equally often. A string that is too short
// for its set is extended by 0, 1, 2, 3 and not counted.
TEST(FixedSizeBatches, OfAllStringsGiveEachSetEquallyOften) {
  for (std::size_t size = 1; size <= 4; ++size) {
    std::map<std::vector<std::size_t>, int> count;
    for (std::uint64_t string = 0; string < 4096; ++string) {
      std::vector<std::uint64_t> words;
      std::set<std::uint64_t> different;
      for (int k = 0; k < 6; ++k) {
        words.push_back((string >> (2 * k)) << 62);
        different.insert(words.back());
      }
      if (different.size() < std::min(size, 4 - size)) continue;
      ++count[draw_fixed(4, size, words)];
    }
    EXPECT_EQ(count.size(), size == 4 ? 1U : size == 2 ? 6U : 4U);
    for (const auto& [set, times] : count) {
      EXPECT_EQ(times, count.begin()->second);
      EXPECT_EQ(set.size(), size);
    }
  }
}

/// The first m different places, whatever their order.
std::vector<std::size_t> first_different(std::size_t records, std::size_t size, ReplayBits& bits) {
  std::set<std::size_t> places;
  const UniformBelow uniform{records};
  while (places.size() < size) places.insert(uniform([&bits] { return draw_word(bits); }));
  return {places.begin(), places.end()};
}

// Sorting and marking are two ways to the same batch.
RC_GTEST_PROP(FixedSizeBatches, HoldTheFirstDifferentPlaces, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const std::size_t records = *rc::gen::inRange<std::size_t>(1, 20000);
  const auto largest = *rc::gen::element(records, (records + 1023) / 1024, (records + 63) / 64);
  const auto size = *rc::gen::inRange<std::size_t>(1, largest + 1);
  ReplayBits bits{seed};
  const auto batch = FixedSizeBatches{Batches{Count{records}, Count{size}}}.draw(records, bits);
  ReplayBits same{seed};
  if (size <= records / 2) {
    RC_ASSERT(batch == first_different(records, size, same));
  } else {
    const auto left_out = first_different(records, records - size, same);
    std::vector<std::size_t> all(records);
    std::iota(all.begin(), all.end(), std::size_t{0});
    std::vector<std::size_t> rest;
    std::set_difference(all.begin(), all.end(), left_out.begin(), left_out.end(), std::back_inserter(rest));
    RC_ASSERT(batch == rest);
  }
}

TEST(FixedSizeBatches, SkipAPlaceThatIsDrawnAgain) {
  const std::uint64_t unit = std::uint64_t{1} << 52;  // of 4096 records
  EXPECT_EQ(draw_fixed(4096, 3, {5 * unit, 5 * unit, 9 * unit, 5 * unit, 2 * unit}), (std::vector<std::size_t>{2, 5, 9}));
  EXPECT_EQ(draw_fixed(4096, 5, {5 * unit, 5 * unit, 9 * unit, 5 * unit, 2 * unit, 8 * unit, 4095 * unit}),
            (std::vector<std::size_t>{2, 5, 8, 9, 4095}));
}

TEST(FixedSizeBatches, AreTheEventOfTheirSize) {
  const Batches batches{Count{1000}, Count{17}};
  const Event release = gaussian(NoiseMultiplier{1.25}, Adjacency::replace_one);
  EXPECT_EQ(FixedSizeBatches{batches}.event(release), without_replacement(Count{1000}, Count{17}, release));
  EXPECT_EQ(refusal_of([&] { return FixedSizeBatches{batches}.event(gaussian(NoiseMultiplier{1}, Adjacency::add_or_remove_one)); }).code,
            ErrorCode::invalid_argument);
  ReplayBits bits{1};
  EXPECT_EQ(refusal_of([&] { return FixedSizeBatches{batches}.draw(999, bits); }).code, ErrorCode::invalid_argument);
}

// ---- Batches of a largest size ----------------------------------------------------------------------------------------------------------

/// q = 1/2: the lowest bits of one word decide who is drawn, `which` who of them stay. Digits come 64 words at a time.
std::vector<std::size_t> draw_truncated(std::uint64_t joined, const std::vector<std::uint64_t>& which) {
  std::vector<std::uint64_t> words(64);
  words[0] = ~joined;
  words.insert(words.end(), which.begin(), which.end());
  ScriptedBits bits{std::move(words)};
  return TruncatedBatches{SamplingRate{0.5}, Batches{Count{4}, Count{2}}, Adjacency::zero_out}.draw(4, bits);
}

// Every Poisson batch of four records, and of those of three and four every choice of two.
TEST(TruncatedBatches, LoseTheirSurplusUniformly) {
  for (std::uint64_t joined = 0; joined < 16; ++joined) {
    const auto drawn = places_of(joined);
    std::map<std::vector<std::size_t>, int> count;
    for (std::uint64_t first = 0; first < 12; ++first) {
      for (std::uint64_t second = 0; second < 12; ++second) {
        // Uniform among 3 or 4: all multiples of a twelfth, but that the second differs from the first.
        const std::uint64_t size = std::max<std::uint64_t>(drawn.size(), 1);
        if (first * size / 12 == second * size / 12) continue;
        const std::uint64_t twelfth = all_ones / 12;
        ++count[draw_truncated(joined, {first * twelfth + twelfth / 2, second * twelfth + twelfth / 2})];
      }
    }
    if (drawn.size() <= 2) {
      for (const auto& [batch, times] : count) EXPECT_EQ(batch, drawn);
      continue;
    }
    EXPECT_EQ(count.size(), drawn.size() == 3 ? 3U : 6U);
    for (const auto& [batch, times] : count) {
      EXPECT_EQ(times, count.begin()->second);
      EXPECT_TRUE(batch.size() == 2 && std::includes(drawn.begin(), drawn.end(), batch.begin(), batch.end()));
    }
  }
}

TEST(TruncatedBatches, AreThePoissonBatchesWhereThoseFit) {
  const SamplingRate rate{0.1};
  const TruncatedBatches truncated{rate, Batches{Count{1000}, Count{100}}, Adjacency::replace_one};
  int cut = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    ReplayBits bits{seed};
    ReplayBits same{seed};
    const auto batch = truncated.draw(1000, bits);
    const auto poisson = PoissonBatches{rate}.draw(1000, same);
    if (poisson.size() <= 100) {
      EXPECT_EQ(batch, poisson);
      continue;
    }
    ++cut;
    EXPECT_EQ(batch.size(), 100U);
    EXPECT_TRUE(std::includes(poisson.begin(), poisson.end(), batch.begin(), batch.end()));
  }
  EXPECT_GT(cut, 10);
}

TEST(TruncatedBatches, AreTheEventOfTheirSizeAndOfTheirRecords) {
  const SamplingRate rate{0.03};
  const Batches batches{Count{1000}, Count{40}};
  const auto of = [&](Adjacency adjacency) { return TruncatedBatches{rate, batches, adjacency}; };
  const Event release = gaussian(NoiseMultiplier{1.25}, Adjacency::add_or_remove_one);
  EXPECT_EQ(of(Adjacency::add_or_remove_one).event(release), truncated_poisson(rate, Count{40}, Count{1000}, release));
  EXPECT_EQ(refusal_of([&] { return of(Adjacency::zero_out).event(release); }).code, ErrorCode::invalid_argument);
  ReplayBits bits{1};
  // Fewer records cost more where their number is public; where it is private, up to so many are covered.
  for (const Adjacency adjacency : {Adjacency::zero_out, Adjacency::replace_one}) {
    for (const std::size_t records : {999U, 1001U}) {
      EXPECT_EQ(refusal_of([&] { return of(adjacency).draw(records, bits); }).code, ErrorCode::invalid_argument);
    }
  }
  EXPECT_LE(of(Adjacency::add_or_remove_one).draw(999, bits).size(), 40U);
  const auto refused = refusal_of([&] { return of(Adjacency::add_or_remove_one).draw(1234, bits); });
  EXPECT_EQ(refused.code, ErrorCode::invalid_argument);
  EXPECT_EQ(refused.message.find("1234"), std::string::npos) << "the number of records is private";
}

TEST(Places, OfAWordStopAtTheLastRecord) {
  EXPECT_EQ(places_of(0b1011), (std::vector<std::size_t>{0, 1, 3}));
  std::vector<std::size_t> batch;
  append_places(all_ones, 64, 67, batch);
  EXPECT_EQ(batch, (std::vector<std::size_t>{64, 65, 66}));
}

}  // namespace
}  // namespace surety::mechanisms::batch_sampler_test
