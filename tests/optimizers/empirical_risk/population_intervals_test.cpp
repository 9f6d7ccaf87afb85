// Intervals for a population: how often they hold it, on fresh samples.
#include <surety/optimizers/empirical_risk/population_intervals.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include <surety/data/features/features.h>
#include <surety/optimizers/models/shapes.h>

namespace surety::optimizers::population_intervals_test {
namespace {

constexpr std::size_t features = 3;
const std::vector<double> truth{0.4, -0.2, 0.1};  // gamma
constexpr double label_scale = 6;

/// Rows of norm 1 whose last feature is the constant, and labels by `error`; each `copies` times.
ReleasedMoments drawn(int records, int copies, double sigma, const std::function<double(std::mt19937_64&)>& error,
                      std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  constexpr std::size_t side = features + 1;
  std::vector<double> matrix(side * side);
  for (int i = 0; i < records; ++i) {
    std::vector<double> z{normal(random), normal(random), 1, 0};
    const double norm = std::sqrt(z[0] * z[0] + z[1] * z[1] + 1);
    for (std::size_t j = 0; j < features; ++j) z[j] /= norm;
    z[features] = error(random);
    for (std::size_t j = 0; j < features; ++j) z[features] += truth[j] * z[j];
    for (std::size_t j = 0; j < side; ++j) {
      for (std::size_t k = 0; k < side; ++k) matrix[j * side + k] += copies * z[j] * z[k];
    }
  }
  for (std::size_t j = 0; j < side; ++j) {
    for (std::size_t k = 0; k <= j; ++k) {
      const double noise = sigma * (j == k ? 1 : std::sqrt(0.5)) * normal(random);
      matrix[j * side + k] += noise;
      if (j != k) matrix[k * side + j] += noise;
    }
  }
  return {.features = features, .matrix = std::move(matrix), .sigma = sigma, .step = 0, .label_scale = label_scale, .ridge = 0.3 * sigma};
}

bool holds(const std::vector<double>& centre, const std::vector<double>& half_width) {
  for (std::size_t j = 0; j < features; ++j) {
    if (!(std::abs(centre[j] - label_scale * truth[j]) <= half_width[j])) return false;
  }
  return true;
}

constexpr int runs = 2000;
double normal_error(std::mt19937_64& random) { return std::normal_distribution<double>{0, 0.2}(random); }
double uniform_error(std::mt19937_64& random) { return std::uniform_real_distribution<double>{-0.3, 0.3}(random); }

TEST(PopulationIntervals, HoldTheTruthOfFreshSamples) {
  for (const auto& error : {normal_error, uniform_error}) {
    for (const auto& [records, sigma] : {std::pair{120, 0.01}, {300, 1.0}, {300, 4.0}}) {
      std::mt19937_64 random{11};
      int held = 0;
      int given = 0;
      for (int run = 0; run < runs; ++run) {
        const auto found =
            population_intervals(drawn(records, 1, sigma, error, random), Count{static_cast<std::uint64_t>(records)}, Confidence{0.95});
        given += found ? 1 : 0;
        held += found && holds(found->centre, found->half_width) ? 1 : 0;
      }
      EXPECT_GE(held, 0.935 * runs) << records << ' ' << sigma;
      EXPECT_GE(given, 0.95 * runs) << records << ' ' << sigma;
      std::printf("population intervals, %d records, sigma %g: %.4f held\n", records, sigma, static_cast<double>(held) / runs);
    }
  }
}

TEST(PopulationIntervals, OthersMissIt) {
  std::mt19937_64 random{11};
  int of_the_noise = 0;
  int of_copies = 0;
  for (int run = 0; run < runs; ++run) {
    const auto moments = drawn(300, 1, 1, normal_error, random);
    const auto noise = coefficient_intervals(moments, Confidence{0.95});
    of_the_noise += noise && holds(noise->centre, noise->half_width) ? 1 : 0;
    const auto found = population_intervals(drawn(100, 4, 0.01, normal_error, random), Count{400}, Confidence{0.95});
    of_copies += found && holds(found->centre, found->half_width) ? 1 : 0;
  }
  EXPECT_LT(of_the_noise, 0.9 * runs);
  EXPECT_LT(of_copies, 0.7 * runs);
}

TEST(PopulationIntervals, AreNoneWhereTheNoiseHidesADirection) {
  std::mt19937_64 random{11};
  EXPECT_FALSE(population_intervals(drawn(60, 1, 30, normal_error, random), Count{60}, Confidence{0.95}));
}

/// Two columns of additive terms, whose rows have 7 free directions of 11.
const data::FeatureMap additive{
    .inputs = data::NamedColumns{{"a", data::Bounds{0, 1}, std::nullopt, 4}, {"b", data::Bounds{0, 1}, std::nullopt, 4}},
    .unit_norm = false,
    .row_scale = 1 / std::sqrt(5.0)};

std::vector<double> additive_row(std::mt19937_64& random) {
  std::uniform_real_distribution<double> any{-1, 1};
  std::vector<double> row;
  for (int column = 0; column < 2; ++column) {
    const double number = any(random);
    row.push_back(number);
    data::append_hats(number, 4, row);
  }
  row.push_back(1);
  data::scale_row(additive, row);
  return row;
}

/// What is drawn, and how often.
struct Law {
  int records;
  double sigma;
  double error;        ///< deviation of labels
  double size;         ///< of the curves
  double ridge = 0.3;  ///< over the size of the noise
};

ReleasedMoments drawn(const Law& law, const std::vector<double>& gamma, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  const std::size_t side = gamma.size() + 1;
  ReleasedMoments moments{.features = gamma.size(),
                          .matrix = std::vector<double>(side * side),
                          .sigma = law.sigma,
                          .step = 0,
                          .label_scale = label_scale,
                          .ridge = law.ridge * law.sigma * std::sqrt(16.0),
                          .relations = data::linear_relations(additive)};
  for (int i = 0; i < law.records; ++i) {
    auto z = additive_row(random);
    z.push_back(std::inner_product(z.begin(), z.end(), gamma.begin(), law.error * normal(random)));
    for (std::size_t j = 0; j < side; ++j) {
      if (z[j] == 0) continue;  // as most hat functions are
      for (std::size_t k = 0; k <= j; ++k) moments.matrix[j * side + k] += z[j] * z[k];
    }
  }
  for (std::size_t j = 0; j < side; ++j) {
    for (std::size_t k = 0; k <= j; ++k) {
      moments.matrix[j * side + k] += law.sigma * (j == k ? 1 : std::sqrt(0.5)) * normal(random);
      moments.matrix[k * side + j] = moments.matrix[j * side + k];
    }
  }
  return moments;
}

/// Of the same function of rows the coefficients that are orthogonal to all relations, by their projections one after another.
std::vector<double> least_norm(std::vector<double> gamma) {
  std::vector<std::vector<double>> basis;
  const auto take_away = [](std::vector<double>& from, const std::vector<double>& along) {
    const double share = std::inner_product(from.begin(), from.end(), along.begin(), 0.0) /
                         std::inner_product(along.begin(), along.end(), along.begin(), 0.0);
    for (std::size_t k = 0; k < from.size(); ++k) from[k] -= share * along[k];
  };
  for (auto relation : data::linear_relations(additive)) {
    for (const auto& one : basis) take_away(relation, one);
    take_away(gamma, relation);
    basis.push_back(std::move(relation));
  }
  return gamma;
}

// 200 samples, 8 points of curves each: the shares of all points spread by .008 or less, those of one by .016.
TEST(StandardErrors, BandsHoldCurvesOfFreshSamples) {
  const auto values = value_functions(additive);
  ASSERT_EQ(values.size(), 8U);
  const auto at = [](const LinearFunction& function, const std::vector<double>& weights) {
    double sum = 0;
    for (const auto& [place, factor] : function) sum += factor * weights[place];
    return sum;
  };
  constexpr int samples = 200;
  // Mostly noise; mostly sampling; noise in all proportions; a ridge that shifts more than the noise does.
  for (const Law& law : {Law{1000, 1.5, 0.05, 0.3}, Law{400, 0.05, 0.3, 0.3}, Law{1000, 0.6, 0.3, 1}, Law{1000, 1, 0.1, 1, 2}}) {
    std::vector<double> gamma(additive.features(), 0.0);
    for (const std::size_t k : {1U, 3U, 6U}) gamma[k] = law.size;
    gamma[8] = -law.size;
    const auto truth_of_terms = least_norm(gamma);
    std::mt19937_64 random{5};
    std::vector<int> held(values.size());
    int held_by_half = 0;
    int by_intervals = 0;
    for (int sample = 0; sample < samples; ++sample) {
      const auto moments = drawn(law, gamma, random);
      const Count records{static_cast<std::uint64_t>(law.records)};
      const auto errors = standard_errors(moments, records, values);
      ASSERT_TRUE(errors.has_value()) << law.sigma;
      const auto weights = ridge_weights(moments);
      for (std::size_t k = 0; k < values.size(); ++k) {
        const double off = std::abs(at(values[k], weights) - label_scale * at(values[k], truth_of_terms));
        held[k] += off <= 1.96 * (*errors)[k] ? 1 : 0;
        held_by_half += off <= 1.96 * std::sqrt(0.5) * (*errors)[k] ? 1 : 0;
      }
      const auto intervals = population_intervals(moments, records, Confidence{0.95});
      ASSERT_TRUE(intervals.has_value()) << law.sigma;
      bool all = true;
      for (std::size_t k = 0; k < truth_of_terms.size(); ++k) {
        all = all && std::abs(intervals->centre[k] - label_scale * truth_of_terms[k]) <= intervals->half_width[k];
      }
      by_intervals += all ? 1 : 0;
    }
    const double all_points = samples * static_cast<double>(values.size());
    const double share = std::accumulate(held.begin(), held.end(), 0) / all_points;
    std::printf("bands, sigma %g, errors %g, ridge %g: %.4f held, %.4f by half the variance\n", law.sigma, law.error, law.ridge, share,
                held_by_half / all_points);
    EXPECT_GE(share, 0.925) << law.sigma;
    EXPECT_LE(law.ridge < 1 ? share : 0, 0.98) << law.sigma;
    EXPECT_GE(*std::min_element(held.begin(), held.end()), 0.88 * samples) << law.sigma;
    EXPECT_GE(by_intervals, 0.9 * samples) << law.sigma;
    // Planted: half the covariance.
    EXPECT_LT(law.ridge < 1 ? held_by_half : 0, 0.9 * all_points) << law.sigma;
  }
}

TEST(StandardErrors, AreNoneWhereTheNoiseHidesADirection) {
  std::mt19937_64 random{11};
  const std::vector<double> gamma(additive.features(), 0.1);
  const auto values = value_functions(additive);
  EXPECT_FALSE(standard_errors(drawn(Law{300, 3, 0.1, 1}, gamma, random), Count{300}, values));
  auto untied = drawn(Law{2000, 3, 0.1, 1}, gamma, random);
  untied.relations.clear();
  EXPECT_FALSE(standard_errors(untied, Count{2000}, values)) << "hat functions add up to the constant";
  EXPECT_FALSE(population_intervals(untied, Count{2000}, Confidence{0.95}));
}

}  // namespace
}  // namespace surety::optimizers::population_intervals_test
