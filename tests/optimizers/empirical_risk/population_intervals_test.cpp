// Intervals for a population: how often they hold it, on fresh samples.
#include <surety/optimizers/empirical_risk/population_intervals.h>

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

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

}  // namespace
}  // namespace surety::optimizers::population_intervals_test
