// n = 262,144 runs, seed 20261121; exact binomial tails, false alarm 1e-10 (exact_counts.h).
#include <surety/mechanisms/choices/sparse_vector.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <support/exact_counts.h>
#include <support/random.h>
#include <support/real.h>
#include <support/refusal.h>
#include <support/scripted_bits.h>

namespace surety::mechanisms::sparse_vector_test {
namespace {

using reference::Real;
using reference::refusal_of;
using testing::ScriptedBits;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::uint64_t seed = 20261121;

AboveThreshold run(double epsilon, double sensitivity, ScoreChange change, std::uint64_t answers) {
  return AboveThreshold{{.epsilon = Epsilon{epsilon},
                         .sensitivity = ScoreSensitivity{sensitivity},
                         .change = change,
                         .answers = Count{answers},
                         .adjacency = Adjacency::replace_one}};
}

// ---- Probabilities of whole transcripts, by integration over the noise of the threshold ----------------------------------------

/// A version of the technique, right or wrong. Thresholds are 0.
struct Version {
  double threshold_scale;
  double query_scale;  ///< 0: no noise
  bool renews_threshold;
};

/// b_T and b_Q as `DecidesEveryTieByMoreBits` finds them.
Version ours(double epsilon, double sensitivity, ScoreChange change, double answers) {
  const double scale = 2 * answers * sensitivity / epsilon;
  return {scale, change == ScoreChange::either_way ? 2 * scale : scale, true};
}

/// Queries of equal value, as one: `count` of them are answered alike.
struct Block {
  double query;
  bool above;
  double count = 1;
};

double laplace_tail(double x, double scale) {  // P(scale N >= x)
  if (scale == 0) return x <= 0 ? 1 : 0;
  return x > 0 ? std::exp(-x / scale) / 2 : 1 - std::exp(x / scale) / 2;
}

/// P(these answers), up to a relative 1e-9, for blocks between two renewals of the threshold.
double probability_of_stretch(const std::vector<Block>& blocks, const Version& version) {
  std::vector<double> ends{0};
  double lowest = 0;
  double highest = 0;
  for (const auto& block : blocks) {
    ends.push_back(block.query);
    lowest = std::min(lowest, block.query);
    highest = std::max(highest, block.query);
  }
  const double reach = 40 * (version.threshold_scale + version.query_scale);
  for (int i = 0; i <= 80; ++i) ends.push_back(lowest - reach + (highest - lowest + 2 * reach) * i / 80);
  std::sort(ends.begin(), ends.end());
  const auto integrand = [&](double z) {
    double value = std::exp(-std::abs(z) / version.threshold_scale) / (2 * version.threshold_scale);
    for (const auto& block : blocks) {
      const double above = laplace_tail(z - block.query, version.query_scale);
      value *= block.above ? std::pow(above, block.count) : std::exp(block.count * std::log1p(-above));
    }
    return value;
  };
  double sum = 0;
  for (std::size_t i = 1; i < ends.size(); ++i) {
    if (ends[i] > ends[i - 1])
      sum += boost::math::quadrature::gauss_kronrod<double, 31>::integrate(integrand, ends[i - 1], ends[i], 4, 1e-11);
  }
  return sum;
}

double probability(const std::vector<Block>& blocks, const Version& version) {
  if (!version.renews_threshold) return probability_of_stretch(blocks, version);
  double product = 1;
  std::vector<Block> stretch;
  for (const auto& block : blocks) {
    stretch.push_back(block);
    if (block.above) {
      product *= probability_of_stretch(stretch, version);
      stretch.clear();
    }
  }
  return stretch.empty() ? product : product * probability_of_stretch(stretch, version);
}

/// log P(answers | changed queries) - log P(answers | queries).
double loss(const std::vector<Block>& blocks, const std::vector<double>& changes, const Version& version) {
  std::vector<Block> moved = blocks;
  for (std::size_t i = 0; i < blocks.size(); ++i) moved[i].query += changes[i];
  return std::log(probability(moved, version) / probability(blocks, version));
}

TEST(AboveThreshold, NeverLosesMoreThanItsEventSays) {
  std::mt19937_64 words{seed};
  const auto uniform = [&words](double low, double high) { return low + (high - low) * static_cast<double>(words() >> 11) * 0x1p-53; };
  for (const auto change : {ScoreChange::either_way, ScoreChange::one_way}) {
    for (int i = 0; i < 60; ++i) {
      const double epsilon = reference::log_uniform(words, 0.1, 5);
      const double answers = static_cast<double>(1 + words() % 3);
      const auto version = ours(epsilon, 1, change, answers);
      std::vector<Block> blocks;
      std::vector<double> changes;
      for (double said = 0; said < answers; ++said) {
        blocks.push_back({uniform(-3, 3) * version.query_scale, false, std::floor(reference::log_uniform(words, 1, 1e4))});
        blocks.push_back({uniform(-3, 3) * version.query_scale, true});
      }
      for (std::size_t j = 0; j < blocks.size(); ++j) {
        const double lowest = change == ScoreChange::one_way ? 0 : -1;
        changes.push_back(words() % 2 == 0 ? (words() % 2 == 0 ? lowest : 1) : uniform(lowest, 1));
      }
      EXPECT_LE(std::abs(loss(blocks, changes, version)), epsilon * (1 + 1e-7));
    }
  }
}

/// The worst neighbours: many queries that a record raises say "below", and rare ones that it lowers (or leaves) say "above".
double worst_loss(const Version& version, double answers, double below, ScoreChange change) {
  std::vector<Block> blocks;
  std::vector<double> changes;
  const double low = -20 * version.query_scale;
  const auto rise = [&](double count) {
    blocks.push_back({0, false, count});
    changes.push_back(1);
  };
  const auto fall = [&](double count) {
    blocks.push_back({low, true, count});
    changes.push_back(change == ScoreChange::either_way ? -1 : 0);
  };
  if (version.renews_threshold) {
    for (double said = 0; said < answers; ++said) rise(below), fall(1);
  } else {
    rise(below), fall(answers);
  }
  return -loss(blocks, changes, version);
}

TEST(AboveThreshold, LosesNearlyWhatItsEventSays) {
  for (const double epsilon : {0.5, 2.0}) {
    for (const double answers : {1.0, 3.0}) {
      for (const auto change : {ScoreChange::either_way, ScoreChange::one_way}) {
        const auto version = ours(epsilon, 1, change, answers);
        const double loss = worst_loss(version, answers, 1e12, change);
        EXPECT_LE(loss, epsilon * (1 + 1e-7));
        EXPECT_GE(loss * 1.01, epsilon);
      }
    }
  }
}

// The known broken versions [Lyu, Su, Li 2017, Figure 1], and what an error in our constants would be.
TEST(AboveThreshold, BrokenVersionsLoseMore) {
  const double epsilon = 1;
  const double c = 4;
  const auto either = ScoreChange::either_way;
  const auto right = ours(epsilon, 1, either, c);
  const auto loss_of = [&](const Version& version) { return worst_loss(version, c, 1e12, either); };
  EXPECT_LE(loss_of(right), epsilon * (1 + 1e-7));
  // The threshold's noise, or the query's, without the factor 2 or without c.
  EXPECT_GT(loss_of({right.threshold_scale, right.query_scale / 2, true}), 1.4 * epsilon);
  EXPECT_GT(loss_of({right.threshold_scale / 2, right.query_scale, true}), 1.4 * epsilon);
  EXPECT_GT(loss_of({right.threshold_scale / c, right.query_scale / c, true}), 3 * epsilon);
  // Lee and Clifton 2014: epsilon/4 for the threshold, 3 epsilon/4 for queries whose noise ignores c. (1 + 6 c) / 4 epsilon.
  EXPECT_GT(loss_of({4 / epsilon, 4 / (3 * epsilon), false}), (1 + 6 * c) / 4 * epsilon * 0.95);
  // Chen et al. 2015: the same without a limit on c; the loss grows without bound.
  const Version unlimited{2 / epsilon, 2 / epsilon, false};
  EXPECT_GT(-loss({{0, false, 50}, {0, true, 50}}, {1, -1}, unlimited), 20 * epsilon);
  // Stoddard et al. 2014: no noise on queries. One query goes up and is below, one goes down and is above: 0 under one neighbour.
  const Version silent{2 / epsilon, 0, false};
  const std::vector<Block> blocks{{0, false}, {1, true}};
  EXPECT_GT(probability(blocks, silent), 0.05);
  EXPECT_EQ(probability({{1, false}, {0, true}}, silent), 0);
  // Roth 2011: the noisy value itself is said with "above". Given the value 0, z <= 0, and m queries below it cost m Delta / b_Q.
  const auto density_of_value = [&](double query, double m) {
    const double b_q = 2 * c / epsilon;
    const auto integrand = [&](double z) { return std::exp(z * epsilon / 2) * std::exp(m * std::log1p(-laplace_tail(z - query, b_q))); };
    return boost::math::quadrature::gauss_kronrod<double, 61>::integrate(integrand, -60, 0, 10, 1e-10);
  };
  EXPECT_GT(std::log(density_of_value(0, 100) / density_of_value(1, 100)), 5 * epsilon);
}

// ---- The code, against these scales ---------------------------------------------------------------------------------------------

Real unit_at(std::uint64_t first, std::uint64_t second) {
  const auto word = [](std::uint64_t w) { return Real{static_cast<double>(w >> 32)} * 0x1p32 + static_cast<double>(w & 0xffffffff); };
  return (word(first) * 0x1p64 + word(second)) * 0x1p-64 * 0x1p-64;
}

// The second word placed at the tie f + b_Q N = T + b_T M: beside it, at 2^-50, two words decide; in its cell, further words do.
TEST(AboveThreshold, DecidesEveryTieByMoreBits) {
  const double epsilon = 0.7;
  const double sensitivity = 1.5;
  const std::uint64_t half = 0x8000000000000000;
  const std::uint64_t apart = std::uint64_t{1} << 14;
  for (const auto change : {ScoreChange::either_way, ScoreChange::one_way}) {
    for (const double query : {0.0, 3.0, -7.0}) {
      for (const std::uint64_t word : {0x6123456789abcdefU, 0x9edcba9876543210U}) {
        const auto version = ours(epsilon, sensitivity, change, 3);
        const Real b_t = Real{2 * 3 * sensitivity} / epsilon;
        const Real u = unit_at(word, half);
        const Real m = u < 0.5 ? log(u * 2) : -log((1 - u) * 2);
        const Real n = (m + (Real{0.25} - query) / b_t) / (version.query_scale / version.threshold_scale);
        const Real tie = (n < 0 ? exp(n) / 2 : 1 - exp(-n) / 2) * 0x1p64;
        const std::uint64_t at = mpfr_get_ui(tie.get(), MPFR_RNDD);
        const Real rest = (tie - unit_at(at, 0) * 0x1p64) * 0x1p64;
        const std::uint64_t at_rest = mpfr_get_ui(rest.get(), MPFR_RNDD);
        ASSERT_GT(at_rest, apart);
        for (const bool above : {false, true}) {
          auto one = run(epsilon, sensitivity, change, 3);
          ScriptedBits bits{{word, above ? at + apart : at - apart}};
          EXPECT_EQ(one.release(query, 0.25, bits), above);
          auto other = run(epsilon, sensitivity, change, 3);
          ScriptedBits more{{word, at, above ? at_rest + apart : at_rest - apart, half}};
          EXPECT_EQ(other.release(query, 0.25, more), above);
          EXPECT_EQ(more.used(), 4U);
        }
      }
    }
  }
}

TEST(AboveThreshold, HasItsLaw) {
  // Three queries, two answers: seven transcripts, since the third query is refused after two.
  const double epsilon = 2;
  const std::vector<double> queries{-1, 2, 1};
  const auto transcript_law = [&](const Version& version) {
    std::vector<double> law;
    for (unsigned pattern = 0; pattern < 8; ++pattern) {
      std::vector<Block> blocks;
      for (unsigned i = 0; i < 3; ++i) blocks.push_back({queries[i], (pattern >> i & 1) != 0});
      if ((pattern & 3) == 3) blocks.pop_back();
      law.push_back(pattern == 7 ? 0 : probability(blocks, version));
    }
    return law;
  };
  auto bits = ReplayBits{seed}.substream("above threshold");
  std::vector<std::int64_t> counts(8);
  for (int i = 0; i < 1 << 18; ++i) {
    auto mechanism = run(epsilon, 1, ScoreChange::one_way, 2);
    unsigned pattern = 0;
    for (unsigned j = 0; j < 3 && mechanism.answers_left() > 0; ++j) pattern |= mechanism.release(queries[j], 0, bits) ? 1U << j : 0U;
    ++counts[pattern];
  }
  const auto version = ours(epsilon, 1, ScoreChange::one_way, 2);
  EXPECT_TRUE(testing::counts_fit(counts, transcript_law(version)));
  EXPECT_FALSE(testing::counts_fit(counts, transcript_law({version.threshold_scale, version.query_scale * 1.1, true})));
  EXPECT_FALSE(testing::counts_fit(counts, transcript_law({version.threshold_scale * 1.2, version.query_scale, true})));
  EXPECT_FALSE(testing::counts_fit(counts, transcript_law({version.threshold_scale, version.query_scale, false})));
}

TEST(AboveThreshold, StopsAfterItsAnswers) {
  ReplayBits bits{1};
  auto mechanism = run(1000, 1, ScoreChange::either_way, 2);
  EXPECT_EQ(mechanism.event(), pure(Epsilon{1000}, Adjacency::replace_one));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(mechanism.release(0, 100, bits));
  EXPECT_TRUE(mechanism.release(200, 100, bits));
  EXPECT_EQ(mechanism.answers_left(), 1U);
  EXPECT_TRUE(mechanism.release(1e300, 100, bits));
  EXPECT_EQ(mechanism.answers_left(), 0U);
  EXPECT_TRUE(refusal_of([&] { return mechanism.release(0, 100, bits); }).says(ErrorCode::budget_exceeded, "all 2 answers"));
}

TEST(AboveThreshold, CopesWithEveryQuery) {
  ReplayBits bits{2};
  auto mechanism = run(1, 1, ScoreChange::either_way, 1000);
  for (const double high : {infinity, 1e308, 1e9}) EXPECT_TRUE(mechanism.release(high, -1e3, bits)) << high;
  for (const double low : {std::nan(""), -infinity, -1e308}) EXPECT_FALSE(mechanism.release(low, 1e308, bits)) << low;
  auto tiny = run(5, 5e-324, ScoreChange::either_way, 10);
  EXPECT_TRUE(tiny.release(1e-300, 0, bits));
  EXPECT_FALSE(tiny.release(-1e-300, 0, bits));
  auto blind = run(0, 1, ScoreChange::either_way, 1 << 20);
  int above = 0;
  for (int i = 0; i < 1000; ++i) above += blind.release(1e9, 0, bits) ? 1 : 0;
  EXPECT_GT(above, 100);
  EXPECT_LT(above, 900);
}

TEST(AboveThreshold, RefusesWhatHasNoMeaning) {
  ReplayBits bits{3};
  auto mechanism = run(1, 1, ScoreChange::either_way, 1);
  for (const double bad : {infinity, std::nan("")}) {
    EXPECT_TRUE(refusal_of([&] { return mechanism.release(0, bad, bits); }).says(ErrorCode::invalid_argument, "must be finite"));
  }
  EXPECT_TRUE(refusal_of([] { return run(1, 1, ScoreChange::range, 1); }).says(ErrorCode::invalid_argument, "score change is range"));
  static_assert(!std::is_copy_constructible_v<AboveThreshold> && !std::is_move_constructible_v<AboveThreshold>);
}

}  // namespace
}  // namespace surety::mechanisms::sparse_vector_test
