#include <surety/mechanisms/additive/truncated_geometric.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <surety/accounting/answers/asked.h>

#include <support/discrete_laws.h>
#include <support/exact_counts.h>
#include <support/refusal.h>
#include <support/scripted_bits.h>

namespace surety::mechanisms::truncated_geometric_test {
namespace {

using reference::refusal_of;
using testing::ScriptedBits;

constexpr auto least = std::numeric_limits<std::int64_t>::min();
constexpr auto greatest = std::numeric_limits<std::int64_t>::max();

TruncatedGeometric with(double scale, double sensitivity, IntegerRange range) {
  return TruncatedGeometric{
      {.scale = NoiseScale{scale}, .sensitivity = L1Sensitivity{sensitivity}, .range = range, .adjacency = Adjacency::zero_out}};
}

/// The probabilities of lowest, ..., highest by the formula of the header.
std::vector<double> law(double scale, std::int64_t query, IntegerRange range) {
  const double y = std::exp(-1 / scale);
  std::vector<double> result;
  for (std::int64_t j = range.lowest(); j <= range.highest(); ++j) {
    const bool is_end = j == range.lowest() || j == range.highest();
    result.push_back((is_end ? 1 : 1 - y) / (1 + y) * std::pow(y, std::abs(j - range.nearest(query))));
  }
  return result;
}

TEST(TruncatedGeometric, KnowsItsEvent) {
  EXPECT_EQ(with(2.5, 3, {0, 9}).event(), discrete_laplace(NoiseScale{2.5}, Count{3}, Adjacency::zero_out));
}

TEST(TruncatedGeometric, HasItsLaw) {
  constexpr int n = 1 << 18;
  for (const double scale : {0.7, 3.0}) {
    for (const std::int64_t query : {-4, -3, 0, 5, 6, 100}) {
      const IntegerRange range{-3, 6};
      auto bits = ReplayBits{20261121}.substream(static_cast<std::uint64_t>(query + 10));
      const auto counts_of = [&](const std::vector<std::int64_t>& released) {
        std::vector<std::int64_t> counts(10);
        for (const auto value : released) ++counts.at(static_cast<std::size_t>(value + 3));
        return counts;
      };
      const auto counts = counts_of(with(scale, 1, range).release(std::vector<std::int64_t>(n, query), bits));
      EXPECT_TRUE(testing::counts_fit(counts, law(scale, query, range))) << scale << " " << query;
      // A neighbour's law, a scale that is 3 % off.
      EXPECT_FALSE(testing::counts_fit(counts, law(scale, query > 5 ? 5 : range.nearest(query) + 1, range))) << scale << " " << query;
      EXPECT_FALSE(testing::counts_fit(counts, law(1.03 * scale, query, range))) << scale << " " << query;
    }
  }
}

/// delta between the laws of two queries.
double enumerated(double scale, std::int64_t a, std::int64_t b, IntegerRange range, double epsilon) {
  const auto p = law(scale, a, range);
  const auto q = law(scale, b, range);
  double delta = 0;
  for (std::size_t i = 0; i < p.size(); ++i) delta += std::max(0.0, p[i] - std::exp(epsilon) * q[i]);
  return delta;
}

TEST(TruncatedGeometric, CostsWhatItsEventSays) {
  for (const std::int64_t s : {1, 3}) {
    const IntegerRange range{0, 4};
    const auto mechanism = with(2.0, static_cast<double>(s), range);
    for (const double epsilon : {0.0, 0.2, 0.45}) {
      double worst = 0;
      for (std::int64_t a = -2; a <= 6; ++a) {
        for (std::int64_t b = a - s; b <= a + s; ++b) worst = std::max(worst, enumerated(2.0, a, b, range, epsilon));
      }
      const double claim = accounting::delta(accounting::Pld{}, mechanism.event(), Epsilon{epsilon}).upper;
      EXPECT_GE(claim, worst) << s << " at " << epsilon;
      EXPECT_LE(claim, 1.01 * worst) << s << " at " << epsilon;
      // Conditioned on the range instead, the noise would cost more than the event.
      if (epsilon == 0.45 && s == 1) {
        double conditioned = 0;
        const double y = std::exp(-0.5);
        const auto probability = [&](std::int64_t j, std::int64_t q) {
          double total = 0;
          for (std::int64_t k = 0; k <= 4; ++k) total += std::pow(y, std::abs(k - q));
          return std::pow(y, std::abs(j - q)) / total;
        };
        for (std::int64_t j = 0; j <= 4; ++j) conditioned += std::max(0.0, probability(j, 0) - std::exp(epsilon) * probability(j, s));
        EXPECT_GT(conditioned, claim);
      }
    }
  }
}

TEST(TruncatedGeometric, ClampsTheQueryBeforeTheNoiseAndTheResultAfter) {
  const auto mechanism = with(1, 1, {-5, 20});
  const auto release = [&](std::int64_t query, bool negative) {
    ScriptedBits bits{{std::uint64_t{1} << 62 | (negative ? 1U : 0U), 0}};  // T = 1/4: 1
    return mechanism.release(query, bits);
  };
  EXPECT_EQ(release(3, false), 4);
  EXPECT_EQ(release(20, false), 20);
  EXPECT_EQ(release(greatest, false), 20);
  EXPECT_EQ(release(greatest, true), 19);
  EXPECT_EQ(release(least, false), -4);
  EXPECT_EQ(release(least, true), -5);
}

RC_GTEST_PROP(TruncatedGeometric, OneByOneInBulkAndInPlace, (std::uint64_t seed, std::vector<std::int64_t> query)) {
  static const auto mechanism = with(3, 1, {-5, 1000});
  static const DiscreteLaplace untruncated{{.scale = NoiseScale{3}, .sensitivity = L1Sensitivity{1}, .adjacency = Adjacency::zero_out}};
  ReplayBits bits{seed};
  const auto released = mechanism.release(query, bits);
  ReplayBits same{seed};
  auto in_place = query;
  mechanism.release_in_place(in_place, same);
  RC_ASSERT(in_place == released);
  ReplayBits again{seed};
  auto clamped = query;
  for (auto& value : clamped) value = std::clamp<std::int64_t>(value, -5, 1000);
  clamped = untruncated.release(clamped, again);
  for (auto& value : clamped) value = std::clamp<std::int64_t>(value, -5, 1000);
  RC_ASSERT(clamped == released);
}

TEST(TruncatedGeometric, RefusesWhatIsOutOfRange) {
  EXPECT_TRUE(refusal_of([] { return with(1, 1, {3, 3}); }).says(ErrorCode::invalid_argument, "the range is from 3 to 3, must be"));
  EXPECT_TRUE(refusal_of([] { return with(1, 1, {least, 0}); }).says(ErrorCode::invalid_argument, "must be from at least -2^61"));
  EXPECT_TRUE(refusal_of([] { return with(1, 1.5, {0, 1}); }).says(ErrorCode::invalid_argument, "must be a whole number"));
}

std::vector<std::int64_t> counts_of(const std::vector<std::int64_t>& samples, std::int64_t largest) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(largest) + 1);
  for (const auto sample : samples) ++counts.at(static_cast<std::size_t>(sample));
  return counts;
}

TEST(TruncatedGeometricNoise, HasItsLaw) {
  for (const Rational scale : {Rational{1, 2}, {3, 1}, {1000, 3}, {std::uint64_t{1} << 58, 1}}) {
    for (const std::int64_t largest : {1, 2, 7, 30}) {
      const double b = static_cast<double>(scale.num) / static_cast<double>(scale.den);
      const auto law = [&](double wrong) {
        std::vector<double> p;
        const double log_y = -1 / (b * wrong);
        for (std::int64_t k = 0; k <= largest; ++k) {
          p.push_back(std::exp(static_cast<double>(k) * log_y) * std::expm1(log_y) / std::expm1(static_cast<double>(largest + 1) * log_y));
        }
        return p;
      };
      const TruncatedGeometricNoise noise{scale, largest};
      std::vector<std::int64_t> samples(1 << 18);
      auto bits = ReplayBits{20261121}.substream(static_cast<std::uint64_t>(largest));
      noise.fill(samples, bits);
      EXPECT_TRUE(testing::counts_fit(counts_of(samples, largest), law(1))) << b << " " << largest;
      if (b < 10) {
        EXPECT_FALSE(testing::counts_fit(counts_of(samples, largest), law(1.1))) << b << " " << largest;
      }
    }
  }
}

// The largest range, 2^62 + 1 values, leaves one whole period: what lies beyond is drawn again.
TEST(TruncatedGeometricNoise, DrawsAgainWhatIsBeyondTheWholePeriods) {
  const Rational scale{std::uint64_t{1} << 58, 1};
  const std::int64_t largest = std::int64_t{1} << 62;
  const GeometricNoise geometric{scale};
  const TruncatedGeometricNoise noise{scale, largest};
  int again = 0;
  for (int exponent = 1; exponent < 30; ++exponent) {
    // Trials of T, V and U with two further words: T = 2^-exponent, beyond 16 scales from 2^-24 on, and then T = 3/8.
    std::vector<std::uint64_t> words{std::uint64_t{1} << (64 - exponent), 0, 0, 0, 0};
    words.insert(words.end(), {std::uint64_t{3} << 61, 0, 0, 0, 0});
    ScriptedBits first{words};
    const auto drawn = geometric(first);
    ScriptedBits bits{words};
    const auto sample = noise(bits);
    EXPECT_LE(sample, largest);
    if (drawn <= largest) {
      EXPECT_EQ(sample, drawn);
      EXPECT_EQ(bits.used(), first.used());
    } else {
      EXPECT_GT(bits.used(), first.used());
      ++again;
    }
  }
  EXPECT_EQ(again, 6);
}

TEST(TruncatedGeometricNoise, IsTheRemainderOfAGeometricVariable) {
  const Rational scale{std::uint64_t{1} << 57, 1};
  const GeometricNoise geometric{scale};
  for (const std::int64_t largest : {std::int64_t{1}, std::int64_t{2}, std::int64_t{9}, std::int64_t{1} << 30, (std::int64_t{1} << 40) - 1,
                                     (std::int64_t{1} << 55) + 12345, std::int64_t{3} << 58, std::int64_t{1} << 61}) {
    const TruncatedGeometricNoise noise{scale, largest};
    ReplayBits bits{4};
    ReplayBits same{4};
    std::vector<std::int64_t> samples(500);
    std::vector<std::int64_t> whole(500);
    noise.fill(samples, bits);
    geometric.fill(whole, same);
    for (auto& value : whole) value %= largest + 1;
    EXPECT_EQ(samples, whole) << largest;
    EXPECT_EQ(noise(bits), geometric(same) % (largest + 1));
  }
}

TEST(TruncatedGeometricNoise, RefusesWhatIsOutOfRange) {
  EXPECT_TRUE(refusal_of([] {
                return TruncatedGeometricNoise{{1, 1}, 0};
              }).says(ErrorCode::invalid_argument, "largest value is 0, must be from 1"));
  EXPECT_TRUE(refusal_of([] {
                return TruncatedGeometricNoise{{1, 1}, greatest};
              }).says(ErrorCode::invalid_argument, "must be from 1 to 2^62"));
  EXPECT_TRUE(refusal_of([] { return TruncatedGeometricNoise{{0, 1}, 5}; }).refused);
}

}  // namespace
}  // namespace surety::mechanisms::truncated_geometric_test
