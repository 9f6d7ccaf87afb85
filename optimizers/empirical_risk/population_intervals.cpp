#include <surety/optimizers/empirical_risk/population_intervals.h>

#include <cmath>

#include <Eigen/Eigenvalues>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>

namespace surety::optimizers {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

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
  const auto d = static_cast<Eigen::Index>(moments.features);
  const Eigen::Map<const Matrix> all{moments.matrix.data(), d + 1, d + 1};
  const Eigen::SelfAdjointEigenSolver<Matrix> solver{all.topLeftCorner(d, d)};
  const Eigen::ArrayXd lambda = solver.eigenvalues().array();
  const double least = lambda.minCoeff();
  const Quantiles q{static_cast<double>(d), static_cast<double>(records.value()), 1 - confidence.value()};
  const double sigma = moments.sigma;
  const double kappa = q.norm * sigma;
  const double left = q.squares - q.vector * (1 + kappa / least);
  if (!(least > 0 && left > 0)) return std::nullopt;
  const Eigen::VectorXd along = solver.eigenvectors().transpose() * all.col(d).head(d);
  const Eigen::VectorXd solved = (along.array() / lambda).matrix();
  const double residual = all(d, d) - along.dot(solved);
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
  const Eigen::VectorXd squares = solver.eigenvectors().array().square().matrix() * spread.matrix();
  const Eigen::VectorXd centre = moments.label_scale * (solver.eigenvectors() * solved);
  const Eigen::VectorXd half = moments.label_scale * (q.vector * squares.array()).sqrt().matrix();
  return PopulationIntervals{.centre = {centre.begin(), centre.end()},
                             .half_width = {half.begin(), half.end()},
                             .deviation = moments.label_scale * std::sqrt(variance)};
}

}  // namespace surety::optimizers
