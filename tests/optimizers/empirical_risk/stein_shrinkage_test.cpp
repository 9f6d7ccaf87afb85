#include <surety/optimizers/empirical_risk/stein_shrinkage.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <Eigen/Dense>

namespace surety::optimizers {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

Eigen::Map<const VectorXd> as_vector(const std::vector<double>& numbers) {
  return {numbers.data(), static_cast<Eigen::Index>(numbers.size())};
}

/// Curves: one row, or none.
MatrixXd map_of(const SteinTerms& terms, double ridge, double penalty) {
  const VectorXd h = as_vector(terms.curvature);
  MatrixXd inner = (h.array() + ridge).matrix().asDiagonal();
  const VectorXd row = terms.curves.empty() ? VectorXd::Zero(h.size()) : VectorXd{as_vector(terms.curves)};
  inner += penalty * row * row.transpose();
  return inner.inverse() * MatrixXd{(h.array() + terms.ridge).matrix().asDiagonal()};
}

/// The estimate of the risk up to its constant, as the proof has it.
double estimate(const SteinTerms& terms, const MatrixXd& u, const MatrixXd& map) {
  const VectorXd h = as_vector(terms.curvature);
  const VectorXd reach = as_vector(terms.reach);
  const VectorXd variance = as_vector(terms.variance);
  const MatrixXd moved = map * u - MatrixXd{reach.cwiseInverse().asDiagonal() * u};
  double sum = 0;
  for (Eigen::Index j = 0; j < h.size(); ++j) {
    sum += h[j] * moved.row(j).squaredNorm() + 2 * static_cast<double>(u.cols()) * h[j] * map(j, j) * variance[j] / reach[j];
  }
  return sum;
}

SteinTerms terms_of(bool has_curves) {
  return {.curvature = {0.3, 0.1, 0.02},
          .variance = {0.05, 0.2, 0.9},
          .reach = {1, 0.8, 0.4},
          .ridge = 0.03,
          .curves = has_curves ? std::vector<double>{0.2, -0.5, 1.5} : std::vector<double>{}};
}

TEST(SteinShrinkage, TakesTheCandidateOfLeastEstimatedRisk) {
  std::mt19937_64 random{4};
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 40; ++trial) {
    const SteinTerms terms = terms_of(trial % 2 == 1);
    MatrixXd u{3, 2};
    const double size = std::pow(10, trial % 5 - 2);
    for (Eigen::Index j = 0; j < u.size(); ++j) u(j) = size * normal(random);
    MatrixXd best = u;
    double least = std::numeric_limits<double>::infinity();
    for (int k = 0; k < 10; ++k) {
      const double ridge = terms.ridge * std::pow(1.5, k);
      std::vector<double> penalties{0};
      if (!terms.curves.empty() && k % 3 == 0) {
        double eigenvalue = 0;
        for (std::size_t j = 0; j < 3; ++j) eigenvalue += terms.curves[j] * terms.curves[j] / (terms.curvature[j] + ridge);
        for (int i = 0; i < 8; ++i) penalties.push_back(std::pow(4.0, i - 2) / eigenvalue);
      }
      for (const double penalty : penalties) {
        const MatrixXd map = map_of(terms, ridge, penalty);
        const double risk = estimate(terms, u, map);
        if (!(risk < least)) continue;
        least = risk;
        best = map * u;
      }
    }
    const auto found = shrunk_by_stein({u.data(), static_cast<std::size_t>(u.size())}, terms);
    for (Eigen::Index j = 0; j < u.size(); ++j) EXPECT_NEAR(found[static_cast<std::size_t>(j)], best(j), 1e-12 * size) << trial << " " << j;
  }
}

TEST(SteinShrinkage, EstimatesTheRisk) {
  const SteinTerms terms = terms_of(true);
  const MatrixXd map = map_of(terms, 0.1, 0.4);
  const Eigen::Vector3d truth{0.5, -1, 0.7};
  std::mt19937_64 random{5};
  std::normal_distribution<double> normal;
  double estimated = 0;
  double risk = 0;
  double squares = 0;
  constexpr int draws = 20000;
  for (int i = 0; i < draws; ++i) {
    MatrixXd u{3, 1};
    double constant = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      const auto at = static_cast<Eigen::Index>(j);
      u(at) = terms.reach[j] * truth[at] + std::sqrt(terms.variance[j]) * normal(random);
      constant += terms.curvature[j] * terms.variance[j] / (terms.reach[j] * terms.reach[j]);
    }
    const double one = estimate(terms, u, map) - constant;
    const double real = VectorXd{map * u - truth}.cwiseAbs2().dot(as_vector(terms.curvature));
    estimated += one / draws;
    risk += real / draws;
    squares += (one - real) * (one - real) / draws;
  }
  EXPECT_NEAR(estimated, risk, 5 * std::sqrt(squares / draws));
  EXPECT_GT(risk, 20 * std::sqrt(squares / draws)) << "an estimate so uncertain shows nothing";
}

// The second coordinate is a curve, of noise alone or of a strong signal.
TEST(SteinShrinkage, TakesAwayACurveOfNoiseAlone) {
  const SteinTerms terms{.curvature = {1, 1}, .variance = {0.01, 0.01}, .reach = {1, 1}, .ridge = 1e-3, .curves = {0, 1}};
  std::vector<double> u;
  for (int k = 0; k < 10; ++k) {
    u.push_back(2);
    u.push_back(k % 2 == 0 ? 0.1 : -0.1);
  }
  const auto found = shrunk_by_stein(u, terms);
  EXPECT_GT(found[0], 1.9);
  EXPECT_LT(std::abs(found[1]), 0.02);
  for (std::size_t k = 1; k < u.size(); k += 2) u[k] = 1;
  EXPECT_GT(shrunk_by_stein(u, terms)[1], 0.9);
}

}  // namespace
}  // namespace surety::optimizers
