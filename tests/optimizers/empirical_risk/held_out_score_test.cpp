// A score of what was held out: its losses, what a unit moves, and how often its intervals hold what they are about.
#include <surety/optimizers/empirical_risk/held_out_score.h>
#include <surety/testing/releaser.h>

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include <support/refusal.h>

namespace surety::optimizers::held_out_score_test {
namespace {

const NoiseMultiplier noise{2.5};

double loss(ScoreKind kind, std::vector<double> scores, double label, ClassesBy by = ClassesBy::softmax) {
  const ScoreOptions options{
      .kind = kind, .noise_multiplier = noise, .classes = scores.size(), .classes_by = by, .label_bound = LabelBound{3}};
  return score_loss(options, scores, label);
}

TEST(ScoreLoss, IsWhatItSays) {
  const double p = 1 / (1 + std::exp(-0.7));
  EXPECT_NEAR(loss(ScoreKind::brier, {0.7}, 1), (1 - p) * (1 - p), 1e-15);
  EXPECT_NEAR(loss(ScoreKind::brier, {0.7}, -1), p * p, 1e-15);
  EXPECT_NEAR(loss(ScoreKind::log_loss, {0.7}, 1), -std::log(p), 1e-15);
  EXPECT_NEAR(loss(ScoreKind::log_loss, {50}, -1), std::log(100), 1e-15);
  EXPECT_EQ(loss(ScoreKind::error_rate, {0}, 1), 0);
  EXPECT_EQ(loss(ScoreKind::error_rate, {-0.1}, 1), 1);
  EXPECT_EQ(loss(ScoreKind::squared_error, {100}, 2.5), 0.25);  // 3 less 2.5
  EXPECT_EQ(loss(ScoreKind::squared_error, {-3}, 3), 9);
  // p = (.2, .3, .5).
  const std::vector<double> logs{std::log(0.2), std::log(0.3), std::log(0.5)};
  EXPECT_NEAR(loss(ScoreKind::brier, logs, 0), 0.64 + 0.09 + 0.25, 1e-15);
  EXPECT_NEAR(loss(ScoreKind::log_loss, logs, 1), -std::log(0.3), 1e-15);
  EXPECT_EQ(loss(ScoreKind::error_rate, logs, 2), 0);
  // One against the rest: (.2, .6) of .8.
  EXPECT_NEAR(loss(ScoreKind::brier, {std::log(0.25), std::log(1.5)}, 1, ClassesBy::one_against_the_rest), 2 * 0.0625, 1e-15);
}

/// What rows of one unit add.
std::vector<double> query_of(const std::vector<std::vector<double>>& rows, const std::vector<double>& labels, const ScoreOptions& options,
                             double weight, double* sensitivity = nullptr) {
  std::vector<double> values;
  for (const auto& row : rows) values.insert(values.end(), row.begin(), row.end());
  const auto data = Dataset::dense(2, values, labels);
  testing::ScriptedReleaser script{{{0, 0}}};
  auto its = options;
  const std::vector<std::size_t> ends{rows.size()};
  if (!rows.empty()) its.unit_ends = ends;
  static_cast<void>(release_score(data, std::vector<double>{weight, 0.3}, its, script));
  if (sensitivity != nullptr) *sensitivity = script.log()[0].sensitivity.value();
  return mechanisms::to_reals(script.log()[0].query);
}

TEST(HeldOutScore, MovesByNoMoreThanItsSensitivityAndReachesIt) {
  struct Unit {
    std::vector<std::vector<double>> rows;
    std::vector<double> labels;
  };
  const std::vector<Unit> units{{{}, {}},
                                {{{0, 0}}, {1}},
                                {{{1, 1}}, {1}},
                                {{{1, 1}}, {-1}},
                                {{{1e308, 1}}, {-1}},
                                {{{1e308, -1e308}}, {1}},
                                {{{1, 1}, {1, 1}, {0, 0}}, {-1, -1, 1}},
                                {{{-1, 1}, {3, 1}}, {-1, 1}}};
  for (const auto kind : {ScoreKind::brier, ScoreKind::log_loss, ScoreKind::error_rate, ScoreKind::squared_error}) {
    for (const auto adjacency : {Adjacency::replace_one, Adjacency::add_or_remove_one, Adjacency::zero_out}) {
      const ScoreOptions options{.kind = kind, .noise_multiplier = noise, .adjacency = adjacency};
      double largest = 0;
      double sensitivity = 0;
      for (const double weight : {0.4, 60.0, 1e300}) {
        for (const auto& a : units) {
          for (const auto& b : units) {
            // Others than of replace-one: one of both adds nothing.
            if (adjacency != Adjacency::replace_one && !b.rows.empty()) continue;
            const auto x = query_of(a.rows, a.labels, options, weight, &sensitivity);
            const auto y = query_of(b.rows, b.labels, options, weight);
            largest = std::max(largest, std::hypot(x[0] - y[0], x[1] - y[1]));
          }
        }
      }
      const double half = largest_loss(options) / 2;
      EXPECT_NEAR(sensitivity, adjacency == Adjacency::replace_one ? 2 * half : std::sqrt(2.0) * half, 1e-7 * half);
      EXPECT_LE(largest, sensitivity);
      EXPECT_GE(largest, 0.99 * sensitivity) << name(kind);
    }
  }
}

// A unit says the mean of its rows, as one of them said twice.
TEST(HeldOutScore, IsTheMeanOverUnitsOfTheMeansOverTheirRows) {
  const ScoreOptions options{.kind = ScoreKind::brier, .noise_multiplier = noise};
  const auto once = query_of({{1, 1}, {-2, 1}}, {1, -1}, options, 0.4);
  const auto twice = query_of({{1, 1}, {-2, 1}, {1, 1}, {-2, 1}, {0, 0}}, {1, -1, 1, -1, 1}, options, 0.4);
  EXPECT_EQ(once, twice);
  EXPECT_NEAR(once[1], 0.5, 1e-9);
}

TEST(HeldOutScore, RefusesWhatDoesNotFit) {
  testing::ScriptedReleaser script{{}};
  const auto data = Dataset::dense(1, std::vector<double>{1}, {1.0});
  const ScoreOptions options{.kind = ScoreKind::squared_error, .noise_multiplier = noise, .label_bound = LabelBound{1e200}};
  EXPECT_TRUE(refuses([&] { static_cast<void>(release_score(data, std::vector<double>{1}, options, script)); }, ErrorCode::invalid_argument,
                      {"the bound on squared errors is inf"}));
  EXPECT_TRUE(refuses(
      [&] {
        static_cast<void>(release_score(data, std::vector<double>{1, 2}, {.kind = ScoreKind::brier, .noise_multiplier = noise}, script));
      },
      ErrorCode::invalid_argument, {"2 weights for 1 features"}));
}

/// How often both intervals hold what they are about, where losses are draws of a law on [0, 1] of mean .3.
struct Coverage {
  double of_these = 0;
  double of_the_source = 0;
  double given = 0;
};
Coverage coverage(int units, double sigma, double owned_up, std::uint64_t seed) {
  constexpr int runs = 2000;
  std::mt19937_64 random{seed};
  std::normal_distribution<double> normal{0, sigma};
  std::binomial_distribution<int> losses{units, 0.3};  // coins are the widest law of this mean
  Coverage found;
  for (int run = 0; run < runs; ++run) {
    const double sum = losses(random);
    const ReleasedScore released{.below = units * 0.5 - sum + normal(random),
                                 .usable = (units * 0.5 + normal(random)) / 0.5,
                                 .bound = 1,
                                 .half_bound = 0.5,
                                 .sigma = owned_up * sigma,
                                 .step = sigma * 0x1p-30};
    const auto of = found_score(released, Confidence{0.95});
    if (!of) continue;
    found.given += 1.0 / runs;
    if (of->of_these.contains(sum / units)) found.of_these += 1.0 / runs;
    if (of->of_the_source && of->of_the_source->contains(0.3)) found.of_the_source += 1.0 / runs;
  }
  return found;
}

TEST(FoundScore, HoldsWhatItIsAboutAsOftenAsItSays) {
  // sigma over the number of units from little to much; below it there is no interval.
  for (const auto& [units, sigma] : {std::pair{4000, 3.0}, {300, 4.0}, {60, 6.0}}) {
    const auto found = coverage(units, sigma, 1, 7);
    EXPECT_GE(found.given, 0.999);
    EXPECT_GE(found.of_these, 0.935) << units;
    EXPECT_LE(found.of_these, 0.965) << units;
    EXPECT_GE(found.of_the_source, 0.935) << units;
  }
  EXPECT_LT(coverage(300, 4, 0.5, 7).of_these, 0.8);  // half of the noise
  EXPECT_LT(coverage(10, 40, 1, 7).given, 0.2);       // more noise than units
}

TEST(FoundScore, IsNarrowWhereThereIsMuch) {
  const auto found =
      found_score({.below = 1200, .usable = 4000, .bound = 1, .half_bound = 0.5, .sigma = 3.7, .step = 1e-9}, Confidence{0.95});
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->value, 0.2, 1e-12);
  EXPECT_NEAR(found->of_these.width(), 2 * 1.96 * 3.7 / 4000 * std::sqrt(1 + 0.36), 1e-5);
  ASSERT_TRUE(found->of_the_source);
  EXPECT_LT(found->of_the_source->width(), 0.045);
  EXPECT_TRUE(found->of_the_source->contains(found->of_these.lower) && found->of_the_source->contains(found->of_these.upper));
}

}  // namespace
}  // namespace surety::optimizers::held_out_score_test
