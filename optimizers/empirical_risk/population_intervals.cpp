#include <surety/optimizers/empirical_risk/population_intervals.h>

#include <algorithm>
#include <cmath>

#include <Eigen/Core>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>

#include <surety/optimizers/empirical_risk/released_directions.h>

namespace surety::optimizers {
namespace {

/// What each of the four bounds may be wrong by: of the normal vector, of the
/// noise's operator norm, of the errors' sum of squares, of the noise in it.
struct Quantiles {
  double vector;
  double norm;
  double squares;
  double noise;

  Quantiles(double features, double records, double exceeded) {
    using boost::math::complement;
    const double each = exceeded / 20;
    vector = quantile(complement(boost::math::chi_squared{features}, exceeded - 3 * each));
    norm = std::sqrt(2 * features) + std::sqrt(-2 * std::log(each));
    squares = quantile(boost::math::chi_squared{records}, each);
    noise = quantile(complement(boost::math::normal{}, each));
  }
};

/// a + b g of a number g that is not yet known.
struct Affine {
  double a;
  double b;
  [[nodiscard]] double at(double g) const { return a + b * g; }
};

}  // namespace

std::optional<PopulationIntervals> population_intervals(const ReleasedMoments& moments, Count records, Confidence confidence) {
  const detail::ReleasedDirections parts{moments.features, moments.matrix, moments.relations};
  const Eigen::ArrayXd lambda = parts.eigenvalues.array();
  const double least = lambda.minCoeff();
  const Quantiles q{static_cast<double>(moments.directions()), static_cast<double>(records.value()), 1 - confidence.value()};
  const double sigma = moments.sigma;
  const double kappa = q.norm * sigma;
  const double left = q.squares - q.vector * (1 + kappa / least);
  if (!(least > 0 && left > 0)) return std::nullopt;
  const Eigen::VectorXd solved = (parts.along.array() / lambda).matrix();
  const double residual = moments.matrix.back() - parts.along.dot(solved);
  // tau^2, and the squared distance of gamma, by g = |gamma|^2.
  const Affine tau{(residual + q.vector * sigma * sigma / (2 * least) + q.noise * sigma) / left,
                   (q.vector * sigma * sigma / least + q.noise * sigma) / left};
  const Affine radius{q.vector * (sigma * sigma / 2 + tau.a * (kappa + least)) / (least * least),
                      q.vector * (sigma * sigma + tau.b * (kappa + least)) / (least * least)};
  if (!(tau.a > 0 && radius.b < 1)) return std::nullopt;
  const double length = solved.norm();
  const double root = (length + std::sqrt(length * length - (1 - radius.b) * (length * length - radius.a))) / (1 - radius.b);
  const double g = root * root;
  const double variance = tau.at(g);
  const Eigen::ArrayXd spread = (sigma * sigma * (g + 0.5) + variance * kappa + variance * lambda) / lambda.square();
  const Eigen::VectorXd squares = parts.vectors.array().square().matrix() * spread.matrix();
  const Eigen::VectorXd centre = moments.label_scale * (parts.vectors * solved);
  const Eigen::VectorXd half = moments.label_scale * (q.vector * squares.array()).sqrt().matrix();
  return PopulationIntervals{.centre = {centre.begin(), centre.end()},
                             .half_width = {half.begin(), half.end()},
                             .deviation = moments.label_scale * std::sqrt(variance)};
}

std::optional<std::vector<double>> standard_errors(const ReleasedMoments& moments, Count records,
                                                   std::span<const LinearFunction> functions) {
  const detail::ReleasedDirections parts{moments.features, moments.matrix, moments.relations};
  const Eigen::ArrayXd lambda = parts.eigenvalues.array();
  const double sigma = moments.sigma;
  const double left = static_cast<double>(records.value()) - static_cast<double>(moments.directions());
  // Beyond what the noise reaches in the mean the release says how rows vary, which an inverse needs.
  if (!(lambda.minCoeff() > sigma * std::sqrt(2 * static_cast<double>(moments.directions())) && left > 0)) return std::nullopt;
  // Proved: docs/proofs/sufficient-statistics.md#errors
  const Eigen::ArrayXd gamma = parts.along.array() / lambda;
  const double g = gamma.square().sum();
  const double residual = moments.matrix.back() - (parts.along.array() * gamma).sum();
  const double of_noise = sigma * sigma / 2 * ((g + 1) * lambda.inverse().sum() + (gamma.square() / lambda).sum());
  const double tau_squared = std::max(0.0, (residual + of_noise) / left);
  const Eigen::ArrayXd ridged = lambda + moments.ridge;
  const Eigen::ArrayXd spread = (tau_squared * lambda + sigma * sigma / 2 * (g + 1)) / ridged.square();
  const Eigen::ArrayXd shift = gamma / ridged;
  const double shift_squared = sigma * sigma / 2 + moments.ridge * moments.ridge;
  std::vector<double> errors;
  errors.reserve(functions.size());
  for (const auto& function : functions) {
    Eigen::ArrayXd at = Eigen::ArrayXd::Zero(lambda.size());
    for (const auto& [feature, factor] : function) at += factor * parts.vectors.row(static_cast<Eigen::Index>(feature)).transpose().array();
    const double shifted = (at * shift).sum();
    errors.push_back(moments.label_scale * std::sqrt((at.square() * spread).sum() + shift_squared * shifted * shifted));
  }
  // Proved so far.
  return errors;
}

}  // namespace surety::optimizers
