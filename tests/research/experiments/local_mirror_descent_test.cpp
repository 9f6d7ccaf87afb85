#include "local_mirror_descent.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include <surety/mechanisms/bits/random_bits.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/testing/sampling_releaser.h>

#include <support/sampled_taint.h>

namespace surety::experiments::local_mirror_descent_test {
namespace {

constexpr std::size_t dimension = 3;

LocalMirrorDescentOptions options(std::uint64_t d = dimension, double clip = 0.5, double scale = 1) {
  return {.domain = LpBall{LpExponent{1.5}, Radius{2}},
          .dimension = Count{d},
          .lipschitz = 3.15,
          .clip = ClippingNorm{clip},
          .epsilon = 1,
          .delta = 5e-4,
          .step_scale = scale};
}

SquaredLoss loss() { return {.label_bound = LabelBound{1.15}, .weight_radius = Radius{2}}; }

Dataset random_data(std::size_t records, unsigned seed) {
  std::mt19937_64 random{seed};
  std::normal_distribution<double> normal;
  std::vector<double> values;
  std::vector<double> labels;
  for (std::size_t i = 0; i < records; ++i) {
    std::vector<double> row(dimension);
    for (double& x : row) x = normal(random);
    const double norm = lp_norm(row, LpExponent{3});
    for (double& x : row) x /= norm;
    labels.push_back(0.4 * row[0] - 0.3 * row[1] + 0.1 * normal(random));
    values.insert(values.end(), row.begin(), row.end());
  }
  return Dataset::dense(dimension, std::move(values), std::move(labels));
}

/// The same data with another record at `place`.
Dataset with_another_record(const Dataset& data, std::size_t place, double feature, double label) {
  std::vector<double> values;
  std::vector<double> labels;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto row = data.row(i).values;
    values.insert(values.end(), row.begin(), row.end());
    labels.push_back(i == place ? label : data.label(i));
  }
  std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(place * dimension), dimension, feature);
  return Dataset::dense(dimension, std::move(values), std::move(labels));
}

// Numbers by hand: sqrt(1000 / log 10) = 20.8, (1000 / 21)^2 = 2267.6, and so on.
TEST(LocalMirrorDescent, HasDisjointPhasesOfHalfTheRecords) {
  const auto phases = local_phases(options(10), 2000);
  ASSERT_EQ(phases.size(), 8);  // log 2000 = 7.6
  constexpr std::array<std::array<std::uint64_t, 3>, 3> expected{{{1000, 21, 2268}, {500, 15, 1111}, {250, 11, 517}}};
  std::size_t next = 0;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    EXPECT_EQ(phases[i].first, next);
    next += phases[i].batches.records().value();
    if (i >= expected.size()) continue;
    EXPECT_EQ(phases[i].batches.records().value(), expected[i][0]);
    EXPECT_EQ(phases[i].batches.size().value(), expected[i][1]);
    EXPECT_EQ(phases[i].steps.value(), expected[i][2]);
  }
  EXPECT_LE(next, 2000);
  // sqrt(d / epsilon) = 3.2.
  EXPECT_EQ(phases.back().batches.records().value(), 7);
  EXPECT_EQ(phases.back().batches.size().value(), 4);
  // eta = 4 / 3.15 sqrt(log 10 / 2000) = 0.043087, eta_1 n_1 = 2.6930.
  EXPECT_NEAR(phases[0].regularization, 1 / 2.6930, 1e-4);
  EXPECT_NEAR(phases[0].radius, 2 * 3.15 * 2.6930 * 0.5, 1e-3);
  EXPECT_NEAR(phases[1].radius, phases[0].radius / 32, 1e-4);
}

TEST(LocalMirrorDescent, StepsToTheLeastOfLinearAndMirrorMap) {
  const LpExponent p{1.5};
  std::mt19937_64 random{1};
  std::normal_distribution<double> normal;
  for (const double radius : {0.3, 100.0}) {
    std::vector<double> costs(dimension);
    for (double& c : costs) c = normal(random);
    const auto value = [&](std::span<const double> u) {
      const double norm = lp_norm(u, p);
      double sum = norm * norm / 0.5;
      for (std::size_t j = 0; j < u.size(); ++j) sum += costs[j] * u[j];
      return sum;
    };
    const auto best = mirror_step(costs, p, radius);
    EXPECT_LE(lp_norm(best, p), radius * (1 + 1e-12));
    for (int k = 0; k < 2000; ++k) {
      std::vector<double> other = best;
      for (double& x : other) x += std::pow(10.0, -(k % 4)) * normal(random);
      if (lp_norm(other, p) > radius) continue;
      EXPECT_GE(value(other), value(best) - 1e-12);
    }
    if (radius < 1) continue;
    const auto gradient = mirror_gradient(best, p);
    for (std::size_t j = 0; j < dimension; ++j) EXPECT_NEAR(gradient[j], -costs[j], 1e-12);
  }
  EXPECT_EQ(mirror_step(std::vector<double>(dimension), p, 1), std::vector<double>(dimension));
}

// With scripted noise and batches, of two data sets that differ in one record.
TEST(LocalMirrorDescent, ReadsTheRecordsOfItsOwnPhaseThroughTheReleaser) {
  const Dataset data = random_data(64, 2);
  const auto settings = options();
  const auto phases = local_phases(settings, data.size());
  std::mt19937_64 random{3};
  std::normal_distribution<double> normal;
  double largest = 0;
  for (const std::size_t which : {0, 1}) {
    const LocalPhase& phase = phases[which];
    mechanisms::ReplayBits bits{4};
    const mechanisms::FixedSizeBatches sampler{phase.batches};
    Places batches;
    Script released;
    for (std::uint64_t t = 0; t < phase.steps.value(); ++t) {
      batches.push_back(sampler.draw(phase.batches.records().value(), bits));
      released.emplace_back();
      for (std::size_t j = 0; j < dimension; ++j) released.back().push_back(normal(random));
    }
    const std::vector<double> start{0.1, -0.2, 0.05};
    const auto algorithm = [&](const Dataset& records, SamplingReleaser& releaser) {
      return local_mirror_descent_phase(records, loss(), settings, phase, NoiseMultiplier{2}, start, releaser);
    };
    for (std::size_t place = 0; place < data.size(); ++place) {
      const bool inside = place >= phase.first && place < phase.first + phase.batches.records().value();
      const auto neighbour = with_another_record(data, place, place % 2 == 0 ? 1e6 : -1e6, -1.15);
      // Where the record is not of this phase, no batch holds it, and no query may differ.
      const auto found =
          sampled_difference(algorithm, data, neighbour, inside ? place - phase.first : data.size(), false, batches, released);
      EXPECT_TRUE(found.untainted) << place;
      largest = std::max(largest, found.ratio);
    }
  }
  EXPECT_LE(largest, 1);
  EXPECT_GE(largest, 0.5);
}

// For p = 2, where h = ||x||^2 and x' = x - (eta / 2) (g + lambda 2 x), with scripted releases.
TEST(LocalMirrorDescent, TakesTheStepsAndTheMeanOfTheTheorem) {
  auto settings = options();
  settings.domain = LpBall{LpExponent{2}, Radius{2}};
  const double lambda = 4;
  const LocalPhase phase{.first = 0, .batches = Batches{Count{4}, Count{2}}, .steps = Count{3}, .regularization = lambda, .radius = 1};
  const Script released{{2, -1, 0.5}, {1, 1, -3}, {5, 5, 5}};
  testing::ScriptedSamplingReleaser releaser{{{0, 1}, {1, 3}, {0, 2}}, released};
  const auto found =
      local_mirror_descent_phase(random_data(4, 7), loss(), settings, phase, NoiseMultiplier{1}, std::vector<double>(3), releaser);
  for (std::size_t j = 0; j < dimension; ++j) {
    const double second = -released[0][j] / 2 / (2 * lambda);
    const double third = second - (released[1][j] / 2 + 2 * lambda * second) / (3 * lambda);
    EXPECT_NEAR(found[j], (2 * second + 3 * third) / 6, 1e-15);
  }
}

// The objective of a phase, with exact gradients.
TEST(LocalMirrorDescent, MinimizesTheRegularizedLossOfItsPhase) {
  const Dataset data = random_data(300, 5);
  const auto settings = options(dimension, 3.15 * std::pow(dimension, 1 / 1.5 - 0.5), 8);
  const LocalPhase phase{
      .first = 0, .batches = Batches{Count{300}, Count{300}}, .steps = Count{4000}, .regularization = 0.05, .radius = 100};
  mechanisms::ReplayBits bits{6};
  testing::ExactSamplingReleaser releaser{bits, mechanisms::FixedSizeBatches{phase.batches}};
  const std::vector<double> start(dimension);
  const auto found = local_mirror_descent_phase(data, loss(), settings, phase, NoiseMultiplier{1}, start, releaser);
  const auto value = [&](std::span<const double> w) {
    const double norm = lp_norm(w, LpExponent{1.5});
    double sum = 0.05 * norm * norm / 0.5;
    for (std::size_t i = 0; i < data.size(); ++i) sum += loss().value(data.row(i).dot(w), data.label(i)) / static_cast<double>(data.size());
    return sum;
  };
  // Coordinate by coordinate, ever finer.
  std::vector<double> best = found;
  for (double width = 0.1; width > 1e-9; width /= 2) {
    for (int pass = 0; pass < 10; ++pass) {
      for (std::size_t j = 0; j < dimension; ++j) {
        for (const double move : {-width, width}) {
          auto other = best;
          other[j] += move;
          if (value(other) < value(best)) best = other;
        }
      }
    }
  }
  EXPECT_GT(value(start) - value(best), 0.02);
  // G <= L + lambda ||grad h||_q <= 3.15 + 0.05 * 4 * 2; the bound is loose, and what is seen is much less.
  EXPECT_LE(value(found) - value(best), 3.55 * 3.55 / (0.05 * 4001));
  EXPECT_LE(value(found) - value(best), 1e-4);
}

}  // namespace
}  // namespace surety::experiments::local_mirror_descent_test
