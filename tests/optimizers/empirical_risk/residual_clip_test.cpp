#include <surety/optimizers/empirical_risk/residual_clip.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include <surety/base/text/error.h>
#include <surety/optimizers/empirical_risk/shaped_descent.h>
#include <surety/optimizers/problem/loss.h>

#include <support/full_gradient_checks.h>
#include <surety/testing/releaser.h>

namespace surety::optimizers::residual_clip_test {
namespace {

constexpr double bound = 3;

ResidualOptions options_of(std::size_t count) {
  return {.label_bound = LabelBound{bound}, .adjacency = Adjacency::zero_out, .count = static_cast<double>(count)};
}

TEST(ResidualCounts, AreThoseOfTheBinsOfResiduals) {
  // Residuals against a score of 1: 6 is 2B, 2.9 and -2.9 are in the second bin, 0.01 in the bin of 2^-10 < 0.01 / 6, and 0 in the last one.
  const Dataset data = Dataset::dense(1, {1, 1, 1, 1, 1, 0}, {7, 3.9, -1.9, 1.01, 1, 5});
  const std::vector<double> one{1};
  testing::ExactReleaser exact;
  const auto counts = release_residual_counts(data, one, options_of(10), NoiseMultiplier{1}, exact);
  std::array<double, ResidualCounts::bins> expected{};
  expected[0] = 0.1;
  expected[1] = 0.2;
  expected[9] = 0.1;
  expected[15] = 0.1;
  for (std::size_t k = 0; k < expected.size(); ++k) EXPECT_NEAR(counts.shares[k], expected[k], 1e-9) << k;
  EXPECT_DOUBLE_EQ(counts.noise, 0.1);
}

TEST(ResidualCounts, MeanResidualIsOfClampedNumbers) {
  const Dataset data = Dataset::dense(2, {1, 0.5, 2, -0.25, 0, 3, 0, 0}, {2, -5, 1, 9});
  const std::vector<double> score{1, 0};
  const std::vector<double> intercept{0, 1};
  testing::ExactReleaser exact;
  const double mean =
      release_mean_residual(data, {.score = score, .intercept = intercept}, ClippingNorm{0.75}, options_of(4), NoiseMultiplier{1}, exact);
  EXPECT_NEAR(mean, (0.75 * 0.5 + -0.75 * -0.25 + 0.75 * 1 + 0) / 4, 1e-9);
  // A unit of several rows adds their mean.
  const std::vector<std::size_t> ends{2, 4};
  auto of_units = options_of(2);
  of_units.unit_ends = ends;
  const double mean_of_units =
      release_mean_residual(data, {.score = score, .intercept = intercept}, ClippingNorm{0.75}, of_units, NoiseMultiplier{1}, exact);
  EXPECT_NEAR(mean_of_units, (0.28125 + 0.375) / 2, 1e-9);
}

// With a ridge that holds it there the model is the one at which the descent begins: the share of a class of which one record in a hundred is.
TEST(ClassShare, IsWhereTheDescentBegins) {
  std::vector<double> labels(100, -1.0);
  labels[17] = 1;
  const Dataset data = Dataset::dense(1, std::vector<double>(labels.size(), 1.0), labels);
  ShapedDescentOptions options{.noise_multiplier = NoiseMultiplier{1e-3}, .adjacency = Adjacency::zero_out, .steps = Count{2}};
  options.ridge = NoiseFactor{1e12};
  const LogisticLoss loss;
  testing::ExactReleaser exact;
  EXPECT_NEAR(shaped_descent(data, loss, options, exact).weights.front(), 0, 1e-3);
  options.starts_at_class_share = true;
  // The mean label -.98 less the hundredth that is never trusted.
  EXPECT_NEAR(shaped_descent(data, loss, options, exact).weights.front(), std::log(0.03 / 1.97), 1e-3);
}

// A last feature whose mean square is released as less than 0 does not lengthen the start: it is at most c over the root of two standard deviations.
TEST(ClassShare, IsNoLongStartWhereTheSecondMomentIsNoise) {
  const Dataset data = Dataset::dense(2, {1, 0.03, 1, 0.03, 1, 0.03, 1, 0.03}, {1, 1, 1, -1});
  ShapedDescentOptions options{.noise_multiplier = NoiseMultiplier{3}, .adjacency = Adjacency::zero_out, .steps = Count{1}};
  options.public_count = Count{1000};
  options.starts_at_class_share = true;
  options.ridge = NoiseFactor{1e12};
  const std::vector<double> negative{900, 0, 0, -50};
  testing::ScriptedReleaser script{{negative, {900}, {0, 0}}};
  const auto weights = shaped_descent(data, LogisticLoss{}, options, script).weights;
  const double deviation = 3 * std::sqrt(0.97 * 0.9 / 0.1);  // of the second moment, which has a tenth of mu^2
  EXPECT_LT(std::abs(weights.back()), std::log(1.9 / 0.1) / std::sqrt(2 * deviation / 1000));
  EXPECT_GT(weights.back(), 0);
}

TEST(ClassShare, IsOfTwoClassesAndNoResiduals) {
  const Dataset data = Dataset::dense(1, {1, 1}, {1, -1});
  ShapedDescentOptions options{.noise_multiplier = NoiseMultiplier{1}, .adjacency = Adjacency::zero_out};
  options.starts_at_class_share = true;
  testing::ExactReleaser exact;
  options.residual_clip = ResidualClip{.label_bound = LabelBound{1}};
  EXPECT_THROW(static_cast<void>(shaped_descent(data, LogisticLoss{}, options, exact)), Error);
  options.residual_clip.reset();
  options.class_weights = {1, 1, 1};
  EXPECT_THROW(static_cast<void>(shaped_descent(data, LogisticLoss{}, options, exact)), Error);
}

ResidualCounts counts_with(std::initializer_list<std::pair<std::size_t, double>> shares, double noise) {
  ResidualCounts counts{.shares = {}, .noise = noise, .label_bound = LabelBound{bound}};
  for (const auto& [bin, share] : shares) counts.shares[bin] = share;
  return counts;
}

TEST(ClipOfResiduals, BalancesNoiseAndBias) {
  // Without noise no residual is clipped; where all are small, the clip is small.
  EXPECT_GE(clip_of_residuals(counts_with({{0, 0.01}, {8, 0.99}}, 1e-4), 1e-6, 0.5).value(), 0.75 * 2 * bound);
  const double small = clip_of_residuals(counts_with({{8, 1}}, 1e-3), 0.01, 0.5).value();
  EXPECT_GE(small, 0.5 * 0.75 * 2 * bound / 256);
  EXPECT_LE(small, 2 * bound / 256);
  // A share within two standard deviations of noise is noise.
  EXPECT_LE(clip_of_residuals(counts_with({{0, 0.019}, {8, 0.98}}, 0.01), 0.1, 0.5).value(), 2 * bound / 256);
  EXPECT_GT(clip_of_residuals(counts_with({{0, 0.021}, {8, 0.98}}, 0.01), 0.001, 0.5).value(), bound);
  // Counts that noise hides leave a public choice.
  EXPECT_DOUBLE_EQ(clip_of_residuals(counts_with({{0, 0.3}, {8, 0.49}}, 0.2), 0.1, 0.5).value(), bound / 5);
  // It is in the unit of labels, and falls as noise grows.
  auto twice = counts_with({{2, 0.2}, {5, 0.8}}, 1e-3);
  const double clip = clip_of_residuals(twice, 0.05, 0.5).value();
  twice.label_bound = LabelBound{2 * bound};
  EXPECT_DOUBLE_EQ(clip_of_residuals(twice, 0.05, 0.5).value(), 2 * clip);
  double last = 2 * bound;
  for (const double noise : {1e-6, 1e-3, 0.01, 0.1, 1.0, 100.0}) {
    const double next = clip_of_residuals(counts_with({{0, 0.01}, {2, 0.2}, {5, 0.79}}, 1e-3), noise, 1).value();
    EXPECT_LE(next, last) << noise;
    last = next;
  }
}

ShapedDescentOptions with_residual_clip(Adjacency adjacency, bool has_intercept) {
  ShapedDescentOptions options{
      .noise_multiplier = NoiseMultiplier{3}, .adjacency = adjacency, .steps = Count{3}, .public_count = Count{11}};
  options.residual_clip = ResidualClip{.label_bound = LabelBound{1}};
  if (has_intercept) options.residual_clip->intercept = 0.5;
  options.label_unit = 1;
  return options;
}

const SquaredLoss squares{.label_bound = LabelBound{1}, .weight_radius = Radius{1}};

/// One release after the other, with values of about the size that they have.
std::vector<std::vector<double>> script_of(std::size_t d, const ShapedDescentOptions& options, std::mt19937_64& random) {
  std::vector<std::size_t> sizes{d * d};
  const bool has_intercept = options.residual_clip->intercept.has_value();
  if (has_intercept) sizes.push_back(1);
  sizes.push_back(ResidualCounts::bins);
  if (has_intercept) {
    sizes.insert(sizes.end(), steps_of(options), d);
  } else {
    const std::uint64_t accelerated = steps_of(options) * 8 / 15;
    sizes.insert(sizes.end(), accelerated, d);
    sizes.push_back(ResidualCounts::bins);
    sizes.insert(sizes.end(), steps_of(options) - accelerated, d);
  }
  if (has_intercept) sizes.push_back(1);
  std::vector<std::vector<double>> script;
  for (const std::size_t size : sizes) {
    script.emplace_back(size);
    for (double& value : script.back()) value = std::uniform_real_distribution<double>{-10, 10}(random);
  }
  return script;
}

TEST(ResidualClip, OneRecordMovesNothingButItsQueries) {
  std::mt19937_64 random{11};
  Checked worst;
  for (int k = 0; k < (optimized ? 6000 : 600) && worst.untainted; ++k) {
    const Adjacency adjacency = every_adjacency[static_cast<std::size_t>(k) % 3];
    const std::size_t features = 1 + random() % 3;
    const auto [data, neighbour] = neighbours_under(adjacency, 1 + random() % 6, features, random);
    const auto options = with_residual_clip(adjacency, k % 2 > 0);
    const auto run = [&](const Dataset& records, const auto&, auto& releaser) {
      return shaped_descent(records, squares, options, releaser).weights;
    };
    const auto found = full_gradient_difference(run, data, neighbour, script_of(features, options, random));
    worst.untainted = found.untainted;
    worst.largest_ratio = std::max(worst.largest_ratio, found.ratio);
  }
  expect_nothing_but_queries_moved(worst, "largest_ratio");
}

TEST(ResidualClip, OneUnitMovesNothingButItsQueries) {
  std::mt19937_64 random{12};
  double largest = 0;
  for (int k = 0; k < (optimized ? 3000 : 300); ++k) {
    const Adjacency adjacency = every_adjacency[static_cast<std::size_t>(k) % 3];
    const std::size_t d = 1 + random() % 3;
    const auto pair = unit_neighbours_under(adjacency, 1 + random() % 4, d, random);
    auto options = with_residual_clip(adjacency, k % 2 > 0);
    const auto run = [&](const Dataset& records, const auto&, auto& releaser) {
      options.unit_ends = pair.ends_of(records);
      return shaped_descent(records, squares, options, releaser).weights;
    };
    const auto found = full_gradient_difference(run, pair.data[0], pair.data[1], script_of(d, options, random));
    ASSERT_TRUE(found.untainted) << k;
    largest = std::max(largest, found.ratio);
  }
  EXPECT_LE(largest, 1);
  EXPECT_GT(largest, 0.9);
}

// Extreme records move each release by exactly its sensitivity, so no smaller sensitivity is right.
TEST(ResidualClip, SensitivitiesAreReached) {
  const auto ratio_of = [](const auto& release, std::vector<double> labels, std::vector<double> changed) {
    const std::vector<double> one{1};
    std::array<std::vector<double>, 2> values;
    double sensitivity = 0;
    for (int side = 0; side < 2; ++side) {
      const auto& of_side = side == 0 ? labels : changed;
      struct Kept final : Releaser {
        testing::ExactReleaser exact;
        std::vector<double> values;
        double sensitivity = 0;
        std::vector<double> release(const GridVector& query, L2Sensitivity of_query, const Event& event) override {
          sensitivity = of_query.value();
          values = exact.release(query, of_query, event);
          return values;
        }
      } releaser;
      release(Dataset::dense(1, std::vector<double>(of_side.size(), 1.0), of_side), RowFunctions{.score = one, .intercept = one}, releaser);
      values[static_cast<std::size_t>(side)] = releaser.values;
      sensitivity = releaser.sensitivity;
    }
    double squares_of_change = 0;
    for (std::size_t k = 0; k < values[0].size(); ++k) squares_of_change += std::pow(values[0][k] - values[1][k], 2);
    return std::sqrt(squares_of_change) / sensitivity;
  };
  ResidualOptions options = options_of(2);
  options.adjacency = Adjacency::replace_one;
  const auto mean = [&](const Dataset& data, const RowFunctions& functions, Releaser& releaser) {
    static_cast<void>(release_mean_residual(data, functions, ClippingNorm{0.5}, options, NoiseMultiplier{1}, releaser));
  };
  const auto counts = [&](const Dataset& data, const RowFunctions& functions, Releaser& releaser) {
    static_cast<void>(release_residual_counts(data, functions.score, options, NoiseMultiplier{1}, releaser));
  };
  EXPECT_NEAR(ratio_of(mean, {0, 3}, {0, -3}), 1, 1e-9);
  EXPECT_NEAR(ratio_of(counts, {0, 3}, {0, 1.001}), 1, 1e-9);
}

TEST(ResidualClip, PlansAndSpendsWhatItAsksFor) {
  for (const bool has_intercept : {false, true}) {
    const TemporaryFolder folder;
    auto ledger = accounting::Ledger::create(folder / "run.db", Adjacency::zero_out);
    const auto options = with_residual_clip(Adjacency::zero_out, has_intercept);
    auto reservation = ledger.reserve({.event = plan(options), .not_private = true});
    mechanisms::ReplayBits bits{5};
    NoisyReleaser releaser{reservation, bits};
    static_cast<void>(shaped_descent(logistic_problem(11, 3, 1), squares, options, releaser));
    EXPECT_TRUE(reservation.released() == accounting::Releases::of(plan(options)));
    // Gradients have .9 (1 - .07) of mu^2 = T / z^2, or .9 (1 - .135).
    const double share = 0.9 * (has_intercept ? 0.865 : 0.93);
    const Event one = gaussian(NoiseMultiplier{std::sqrt(share * 9 / 3)}, Adjacency::zero_out);
    const auto epsilon = [](const Event& event) { return accounting::best_epsilon(event, Delta{1e-5}).value.upper; };
    EXPECT_NEAR(epsilon(plan(options)), epsilon(one), 1e-8);
  }
}

/// Rows (x, 1) / 2 with x uniform in [-1, 1], and labels of -1 or 1 of which a share of (1 + x) / 10 is 1.
Dataset rare_ones(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  std::uniform_real_distribution<double> uniform{-1, 1};
  std::vector<double> values;
  std::vector<double> labels;
  for (std::size_t i = 0; i < size; ++i) {
    const double x = uniform(random);
    values.insert(values.end(), {x / 2, 0.5});
    labels.push_back((1 + uniform(random)) / 2 < (1 + x) / 10 ? 1 : -1);
  }
  return Dataset::dense(2, std::move(values), std::move(labels));
}

// The planted mistake is the rule of before, a clip of a tenth of the label's bound: it fits the median.
TEST(ResidualClip, FitsTheMeanOfSkewedLabels) {
  const Dataset data = rare_ones(20'000, 3);
  testing::ExactReleaser exact;
  const auto mean_prediction = [&](const ShapedDescentOptions& options) {
    const auto weights = shaped_descent(data, squares, options, exact).weights;
    double sum = 0;
    for (std::size_t i = 0; i < data.size(); ++i) sum += data.row(i).dot(weights);
    return sum / static_cast<double>(data.size());
  };
  double mean = 0;
  for (const double label : data.labels()) mean += label / static_cast<double>(data.size());
  ShapedDescentOptions options{.noise_multiplier = NoiseMultiplier{3}};
  options.residual_clip = ResidualClip{.label_bound = LabelBound{1}, .intercept = 0.5};
  EXPECT_NEAR(mean_prediction(options), mean, 0.002);
  // Rows that stay where they are, and are mapped at each step, are the same.
  std::vector<std::size_t> places;
  std::vector<std::uint32_t> indices;
  std::vector<double> values;
  for (std::size_t i = 0; i < data.size(); ++i) {
    indices.insert(indices.end(), {0, 1});
    values.insert(values.end(), data.row(i).values.begin(), data.row(i).values.end());
    places.push_back(values.size());
  }
  const Dataset sparse = Dataset::sparse(2, places, indices, values, {data.labels().begin(), data.labels().end()});
  const auto of_dense = shaped_descent(data, squares, options, exact).weights;
  const auto of_sparse = shaped_descent(sparse, squares, options, exact).weights;
  for (std::size_t j = 0; j < 2; ++j) EXPECT_NEAR(of_dense[j], of_sparse[j], 1e-9);
  options.threads = 4;
  EXPECT_EQ(shaped_descent(data, squares, options, exact).weights, of_dense);

  options.threads = 1;
  options.residual_clip = std::nullopt;
  options.derivative_bound = 0.1;
  options.clip_share = 1;
  EXPECT_LT(mean_prediction(options), mean - 0.1);
}

TEST(ResidualClip, RefusesWhatItCannotChoose) {
  const Dataset data = rare_ones(10, 1);
  testing::ExactReleaser exact;
  const auto refused = [&](const ShapedDescentOptions& options, std::string_view words) {
    return refuses([&] { static_cast<void>(shaped_descent(data, squares, options, exact)); }, ErrorCode::invalid_argument, {words});
  };
  auto options = with_residual_clip(Adjacency::zero_out, true);
  options.derivative_bound = 1;
  EXPECT_TRUE(refused(options, "derivative bound"));
  options = with_residual_clip(Adjacency::zero_out, true);
  options.class_weights = {1, 1, 1};
  EXPECT_TRUE(refused(options, "several classes"));
  for (const double largest : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    options = with_residual_clip(Adjacency::zero_out, true);
    options.residual_clip->intercept = largest;
    EXPECT_TRUE(refused(options, "intercept of a residual clip"));
  }
}

}  // namespace
}  // namespace surety::optimizers::residual_clip_test
