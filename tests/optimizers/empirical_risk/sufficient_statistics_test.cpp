#include <surety/optimizers/empirical_risk/sufficient_statistics.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include <surety/mechanisms/queries/second_moment_sum.h>
#include <surety/optimizers/problem/second_moment.h>
#include <surety/testing/releaser.h>

#include <support/full_gradient_checks.h>

namespace surety::optimizers::sufficient_statistics_test {

using namespace data;

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

SufficientStatisticsOptions options_of(Adjacency adjacency) {
  return {.noise_multiplier = NoiseMultiplier{3}, .label_bound = LabelBound{2}, .adjacency = adjacency, .label_weight = LabelWeight{0.7}};
}

double distance(const GridVector& a, const GridVector& b) {
  double squared = 0;
  for (std::size_t k = 0; k < a.steps.size(); ++k) {
    const double difference = static_cast<double>(a.steps[k] - b.steps[k]) * a.grid.step();
    squared += difference * difference;
  }
  return std::sqrt(squared);
}

testing::ScriptedReleaser::Request asked(const Dataset& data, const SufficientStatisticsOptions& options) {
  const std::size_t size = data.features() + 1;
  testing::ScriptedReleaser releaser{{std::vector<double>(size * size, 0.0)}};
  static_cast<void>(release_moments(data, options, releaser));
  return releaser.log().at(0);
}

/// One record of two features, or none.
Dataset one(std::array<double, 2> row, double label) { return Dataset::dense(2, {row[0], row[1]}, {label}); }

TEST(SufficientStatistics, OneRecordMovesNothingButItsQuery) {
  std::mt19937_64 random{1};
  for (int k = 0; k < 3000; ++k) {
    const Adjacency adjacency = every_adjacency[static_cast<std::size_t>(k) % 3];
    const std::size_t d = 1 + random() % 4;
    const auto [data, neighbour] = neighbours_under(adjacency, 1 + random() % 6, d, random);
    std::vector<double> released((d + 1) * (d + 1));
    for (double& value : released) value = std::uniform_real_distribution<double>{-20, 20}(random);
    const auto run = [&](const Dataset& records, const auto&, auto& releaser) {
      const auto moments = release_moments(records, options_of(adjacency), releaser);
      auto result = ridge_weights(moments);
      result.insert(result.end(), {moments.sigma, moments.step, moments.label_scale, moments.ridge});
      if (const auto intervals = coefficient_intervals(moments, Confidence{0.5})) {
        result.insert(result.end(), intervals->centre.begin(), intervals->centre.end());
      }
      return result;
    };
    const auto difference = full_gradient_difference(run, data, neighbour, {released});
    EXPECT_TRUE(difference.untainted);
    EXPECT_LE(difference.ratio, 1);
  }
}

TEST(SufficientStatistics, OneUnitMovesNothingButItsQuery) {
  std::mt19937_64 random{2};
  double largest = 0;
  for (int k = 0; k < 3000; ++k) {
    const Adjacency adjacency = every_adjacency[static_cast<std::size_t>(k) % 3];
    const std::size_t d = 1 + random() % 3;
    const auto pair = unit_neighbours_under(adjacency, 1 + random() % 4, d, random);
    std::vector<double> released((d + 1) * (d + 1));
    for (double& value : released) value = std::uniform_real_distribution<double>{-20, 20}(random);
    auto options = options_of(adjacency);
    options.public_count = Count{5};
    const auto run = [&](const Dataset& records, const auto&, auto& releaser) {
      options.unit_ends = pair.ends_of(records);
      return ridge_weights(release_moments(records, options, releaser));
    };
    const auto found = full_gradient_difference(run, pair.data[0], pair.data[1], {released});
    ASSERT_TRUE(found.untainted);
    largest = std::max(largest, found.ratio);
  }
  EXPECT_LE(largest, 1);
  EXPECT_GT(largest, 0.95);
}

TEST(SufficientStatistics, UnitsAddTheMeanOfTheirRows) {
  const Dataset rows = Dataset::dense(2, {0.6, 0.1, -0.3, 0.4, 0.2, -0.5}, {1, -1, 0.5});
  const std::vector<std::size_t> ends{2, 3};
  auto options = options_of(Adjacency::replace_one);
  options.unit_ends = ends;
  const auto units = asked(rows, options).query;
  const auto alone = [&](std::size_t i) {
    const auto row = rows.row(i).values;
    const auto query = asked(Dataset::dense(2, {row[0], row[1]}, {rows.label(i)}), options_of(Adjacency::replace_one)).query;
    std::vector<double> reals;
    for (const auto steps : query.steps) reals.push_back(static_cast<double>(steps) * query.grid.step());
    return reals;
  };
  for (std::size_t k = 0; k < 9; ++k) {
    EXPECT_NEAR(static_cast<double>(units.steps[k]) * units.grid.step(), (alone(0)[k] + alone(1)[k]) / 2 + alone(2)[k], 1e-5);
  }
}

// By all pairs of a grid that goes beyond the clip, in features and in the label: nothing moves more, and the bound is reached.
TEST(SufficientStatistics, SensitivityIsThatOfTheWorstPair) {
  const double b = 0.7;
  for (const Adjacency adjacency : {Adjacency::zero_out, Adjacency::replace_one}) {
    const auto options = options_of(adjacency);
    std::vector<testing::ScriptedReleaser::Request> each{asked(one({0, 0}, 0), options)};
    for (int k = 0; k < 24; ++k) {
      const double angle = 2 * std::acos(-1.0) * k / 24;
      for (const double length : {0.5, 1.0, 3.0}) {
        for (const double label : {-9.0, -2.0, -1.0, 0.0, 2.0, 5.0}) {
          each.push_back(asked(one({length * std::cos(angle), length * std::sin(angle)}, label), options));
        }
      }
    }
    each.push_back(asked(one({1e308, -1e308}, 1e308), options));
    each.push_back(asked(one({1e-320, 0}, -1e308), options));
    double largest = 0;
    for (std::size_t i = 0; i < each.size(); ++i) {
      const std::size_t last = adjacency == Adjacency::zero_out ? 1 : i;
      for (std::size_t j = 0; j < last; ++j) largest = std::max(largest, distance(each[i].query, each[j].query));
    }
    const double claimed = each[0].sensitivity.value();
    EXPECT_NEAR(claimed, (adjacency == Adjacency::zero_out ? 1 : std::sqrt(2.0)) * (1 + b * b), 1e-14);
    EXPECT_LE(largest, claimed);
    EXPECT_GE(largest, 0.99 * claimed) << "a smaller one would be wrong";
  }
}

TEST(SufficientStatistics, ClampsLabelsAndCountsRecordsOfZerosAsNone) {
  const auto options = options_of(Adjacency::replace_one);
  EXPECT_EQ(asked(one({0.6, 0}, 7), options).query.steps, asked(one({0.6, 0}, 2), options).query.steps);
  EXPECT_EQ(asked(one({0, 0}, 2), options).query.steps, std::vector<std::int64_t>(9, 0));
  const auto query = asked(one({0.6, -0.8}, -1), options).query;
  const std::array z{0.6, -0.8, -0.35};  // which is shorter than the clip
  for (std::size_t j = 0; j < 3; ++j) {
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_NEAR(static_cast<double>(query.steps[3 * j + k]) * query.grid.step(), z[j] * z[k], 1e-5);
    }
  }
}

TEST(SufficientStatistics, DoesNotDependOnThreadsOrOnHowRowsAreStored) {
  std::mt19937_64 random{2};
  std::normal_distribution<double> normal;
  std::vector<double> rows;
  std::vector<double> labels;
  for (int i = 0; i < 9000; ++i) {
    for (int k = 0; k < 3; ++k) rows.push_back(normal(random) / 2);
    labels.push_back(normal(random));
  }
  const auto data = Dataset::dense(3, rows, labels);
  auto options = options_of(Adjacency::add_or_remove_one);  // which needs no number of records: nothing is divided by it
  const auto single = asked(data, options).query;
  options.threads = 3;
  EXPECT_EQ(asked(data, options).query.steps, single.steps);
  EXPECT_NE(single.steps.front(), 0);
  std::vector<std::size_t> ends;
  std::vector<std::uint32_t> indices;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    ends.push_back(3 * (i + 1));
    indices.insert(indices.end(), {0, 1, 2});
  }
  EXPECT_EQ(asked(Dataset::sparse(3, ends, indices, rows, labels), options).query.steps, single.steps);
}

TEST(SufficientStatistics, SolvesWhatItReleased) {
  ReleasedMoments moments{.features = 2, .matrix = {3, 1, 4, 1, 2, -1, 4, -1, 9}, .sigma = 1, .step = 1e-9, .label_scale = 5, .ridge = 0.5};
  // [3.5 1; 1 2.5] w = 5 (4, -1)
  const double determinant = 3.5 * 2.5 - 1;
  const auto weights = ridge_weights(moments);
  EXPECT_NEAR(weights.at(0), 5 * (2.5 * 4 + 1) / determinant, 1e-12);
  EXPECT_NEAR(weights.at(1), 5 * (-1 * 4 - 3.5) / determinant, 1e-12);
  // A direction that noise made negative counts as 0: (diag(0, 2) + .5)^-1.
  moments.matrix = {-0.5, 0, 4, 0, 2, -1, 4, -1, 9};
  EXPECT_NEAR(ridge_weights(moments).at(0), 5 * 4 / 0.5, 1e-12);
  EXPECT_NEAR(ridge_weights(moments).at(1), 5 * -1 / 2.5, 1e-12);
}

TEST(SufficientStatistics, SaysHowItWasReleased) {
  testing::ScriptedReleaser releaser{{std::vector<double>(9, 0.0)}};
  const auto options = options_of(Adjacency::replace_one);
  const auto moments = release_moments(one({1, 0}, 1), options, releaser);
  EXPECT_EQ(releaser.log().at(0).event, plan(options));
  EXPECT_EQ(plan(options), gaussian(NoiseMultiplier{3}, Adjacency::replace_one));
  const double sigma = 3 * std::sqrt(2.0) * 1.49;
  EXPECT_NEAR(moments.sigma, sigma, 1e-12);
  EXPECT_NEAR(moments.ridge, 0.3 * sigma * std::sqrt(6.0), 1e-12);
  EXPECT_NEAR(moments.label_scale, 2 / 0.7, 1e-12);
  EXPECT_EQ(moments.step, releaser.log().at(0).query.grid.step());
}

TEST(SufficientStatistics, ARidgeMayFillUpTheLeastEigenvalue) {
  auto options = options_of(Adjacency::replace_one);
  options.ridge_rule = RidgeRule::least_eigenvalue;
  const auto released = [&](double first, double second) {
    testing::ScriptedReleaser releaser{{{first, 0, 1, 0, second, 1, 1, 1, 9}}};
    return release_moments(one({1, 0}, 1), options, releaser);
  };
  options.ridge_rule = RidgeRule::fixed;
  const auto fixed = released(90, 80);
  ASSERT_GT(fixed.ridge, 1);
  EXPECT_TRUE(coefficient_intervals(fixed, Confidence{0.9}).has_value());
  options.ridge_rule = RidgeRule::least_eigenvalue;
  EXPECT_NEAR(released(90, 1).ridge, fixed.ridge - 1, 1e-12);
  EXPECT_NEAR(released(0.5, 90).ridge, fixed.ridge - 0.5, 1e-12);
  EXPECT_EQ(released(90, 80).ridge, 0);
  EXPECT_EQ(released(90, -3).ridge, fixed.ridge);
  // What the intervals would be about depends on the noise.
  EXPECT_FALSE(coefficient_intervals(released(90, 80), Confidence{0.9}).has_value());
}

TEST(SufficientStatistics, RefusesWhatItCannotSolve) {
  testing::ExactReleaser releaser;
  const auto refused = [&](const Dataset& data, std::string_view words) {
    return refuses([&] { static_cast<void>(release_moments(data, options_of(Adjacency::replace_one), releaser)); },
                   ErrorCode::invalid_argument, {words});
  };
  EXPECT_TRUE(refused(Dataset::dense(1, {1}, {}), "labels"));
  EXPECT_TRUE(refused(Dataset::dense(1024, std::vector<double>(1024, 1.0), {1}), "must be at most 1023"));
}

// Releases of one matrix S, with noise of the stated sigma and steps. How many intervals hold all coefficients, and the mean half width.
struct Covered {
  double share;
  double half_width;
};
Covered covered(std::size_t d, double sigma, double stated_sigma, int releases, bool is_sum_of_others = false) {
  std::mt19937_64 random{d};
  std::normal_distribution<double> normal;
  ReleasedMoments moments{.features = d, .matrix = {}, .sigma = stated_sigma, .step = 0x1p-20, .label_scale = 3, .ridge = 2};
  if (is_sum_of_others) {
    // Of the last feature.
    moments.relations = {std::vector<double>(d, 1.0)};
    moments.relations[0].back() = -1;
  }
  // S = Z^T Z of 400 records with a strong label.
  const std::size_t size = d + 1;
  std::vector<double> exact(size * size, 0.0);
  for (int i = 0; i < 400; ++i) {
    std::vector<double> z(size);
    for (std::size_t k = 0; k < d; ++k) z[k] = normal(random) / std::sqrt(static_cast<double>(d)) + (k == 0 ? 0.3 : 0);
    if (is_sum_of_others) z[d - 1] = std::accumulate(z.begin(), z.begin() + static_cast<std::ptrdiff_t>(d - 1), 0.0);
    for (std::size_t k = 0; k < d; ++k) z[d] += (k % 2 == 0 ? 1.5 : -1.0) * z[k];
    z[d] += 0.1 * normal(random);
    for (std::size_t j = 0; j < size; ++j) {
      for (std::size_t k = 0; k < size; ++k) exact[j * size + k] += z[j] * z[k];
    }
  }
  moments.matrix = exact;
  const auto truth = ridge_weights(moments);  // S is positive semidefinite
  int held = 0;
  double width = 0;
  for (int r = 0; r < releases; ++r) {
    moments.matrix = exact;
    for (double& value : moments.matrix) value += std::nearbyint(sigma * normal(random) / moments.step) * moments.step;
    symmetrize(size, moments.matrix);
    const auto intervals = coefficient_intervals(moments, Confidence{0.9});
    if (!intervals) return {nan, nan};
    bool all = true;
    for (std::size_t k = 0; k < d; ++k) {
      all = all && std::abs(truth[k] - intervals->centre[k]) <= intervals->half_width[k];
      width += intervals->half_width[k] / static_cast<double>(d) / releases;
    }
    held += all ? 1 : 0;
  }
  return {static_cast<double>(held) / releases, width};
}

// n = 4000: a share of .9 is seen as less than .88 with probability 2e-5, and one of .85 as more than .88 likewise.
TEST(CoefficientIntervals, HoldTheFitWithoutNoise) {
  // With one coefficient the set is exact, so its probability is the one that is asked for.
  EXPECT_NEAR(covered(1, 2, 2, 4000).share, 0.9, 0.02);
  for (const std::size_t d : {2U, 5U}) {
    const auto found = covered(d, 1, 1, 4000);
    EXPECT_GE(found.share, 0.88) << d;
    EXPECT_LT(found.half_width, 3) << d << ": of coefficients around 4, so they say something";
  }
  // One direction of three is known to be none, which leaves the noise of the others.
  EXPECT_GE(covered(3, 1, 1, 4000, true).share, 0.88);
  EXPECT_LT(covered(3, 1, 0.6, 4000, true).share, 0.88);
  // Planted: noise of which a fifth is not owned up to.
  EXPECT_LT(covered(1, 2, 1.6, 4000).share, 0.88);
}

// By hand: along (1, 1) / sqrt 2 the moments are 7 / 2 and 3 / sqrt 2.
TEST(RidgeWeights, LieWhereTheRelationsLeaveThem) {
  const ReleasedMoments moments{.features = 2,
                                .matrix = {3, 1, 4, 1, 2, -1, 4, -1, 9},
                                .sigma = 1,
                                .step = 1e-9,
                                .label_scale = 5,
                                .ridge = 0.5,
                                .relations = {{2, -2}}};
  for (const double weight : ridge_weights(moments)) EXPECT_NEAR(weight, 5 * 1.5 / 4, 1e-12);
  auto options = options_of(Adjacency::replace_one);
  testing::ScriptedReleaser releaser{{std::vector<double>(9, 1.0), std::vector<double>(9, 1.0)}};
  const auto records = one({0.6, 0.6}, 1);
  const auto free = release_moments(records, options, releaser);
  options.relations = {{1, -1}};
  const auto tied = release_moments(records, options, releaser);
  EXPECT_EQ(tied.matrix, free.matrix) << "the release is the same";
  EXPECT_NEAR(tied.ridge, free.ridge * std::sqrt(2.0 / 3), 1e-12);
  options.relations = {{1, -1}, {1, 1}};
  EXPECT_TRUE(refuses([&] { static_cast<void>(release_moments(records, options, releaser)); }, ErrorCode::invalid_argument,
                      {"2 relations of 2 features"}));
  options.relations = {{1, -1, 0}};
  EXPECT_TRUE(refuses([&] { static_cast<void>(release_moments(records, options, releaser)); }, ErrorCode::invalid_argument,
                      {"a relation has 3 numbers for 2 features"}));
}

TEST(CoefficientIntervals, AreNotGivenWhereTheyHaveNoEnd) {
  const ReleasedMoments moments{.features = 1, .matrix = {5, 1, 1, 5}, .sigma = 3, .step = 1e-9, .label_scale = 1, .ridge = 0.1};
  EXPECT_FALSE(coefficient_intervals(moments, Confidence{0.95}).has_value()) << "5.1 < 1.96 x 3";
  EXPECT_TRUE(coefficient_intervals(moments, Confidence{0.9}).has_value()) << "5.1 > 1.645 x 3";
}

}  // namespace
}  // namespace surety::optimizers::sufficient_statistics_test
