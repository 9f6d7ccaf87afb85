#include <surety/optimizers/empirical_risk/sufficient_statistics.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>
#include <Eigen/Core>
#include <boost/math/distributions/chi_squared.hpp>

#include <surety/base/text/error.h>
#include <surety/data/features/row_reader.h>
#include <surety/mechanisms/queries/second_moment_sum.h>
#include <surety/optimizers/empirical_risk/released_directions.h>
#include <surety/optimizers/empirical_risk/snapped.h>
#include <surety/optimizers/problem/in_parts.h>
#include <surety/optimizers/problem/second_moment.h>

namespace surety::optimizers {
namespace {

constexpr std::size_t most_features = 1023;
/// As many as may be read where their number is private; more would only saturate.
constexpr std::uint64_t most_records = std::uint64_t{1} << 32;

/// z of one record at a time.
class JointRecord {
 public:
  JointRecord(std::size_t features, double bound, double label_weight) : features_{features}, bound_{bound}, label_weight_{label_weight} {}

  void add_to(mechanisms::SecondMomentSum& sum, const RowView& row, double label, double weight) {
    const double factor = std::sqrt(weight);
    values_.assign(row.values.begin(), row.values.end());
    values_.push_back(label_weight_ * detail::snapped(std::clamp(label, -bound_, bound_) / bound_, 1));
    if (!row.is_sparse()) return sum.add_scaled(factor, values_, mechanisms::l2_norm(values_));
    indices_.assign(row.indices.begin(), row.indices.end());
    indices_.push_back(static_cast<std::uint32_t>(features_));
    sum.add_scaled(factor, std::span<const std::uint32_t>{indices_}, values_, mechanisms::l2_norm(values_));
  }

 private:
  std::size_t features_;
  double bound_;
  double label_weight_;
  std::vector<double> values_;
  std::vector<std::uint32_t> indices_;
};

std::vector<double> to_vector(const Eigen::VectorXd& values) { return {values.begin(), values.end()}; }

}  // namespace

void require_joint_moments(std::size_t features) {
  if (features > most_features) {
    invalid(fmt::format("the number of features is {}, must be at most {} for their second moment", features, most_features));
  }
}

Event plan(const SufficientStatisticsOptions& options) { return gaussian(options.noise_multiplier, options.adjacency); }

ReleasedMoments release_moments(const Dataset& data, const SufficientStatisticsOptions& options, Releaser& releaser) {
  const std::size_t d = data.features();
  if (!data.has_labels()) invalid("least squares need labels, the data set has none");
  require_joint_moments(d);
  if (options.relations.size() >= d) invalid(fmt::format("{} relations of {} features, must be fewer", options.relations.size(), d));
  for (const auto& relation : options.relations) {
    if (relation.size() != d) invalid(fmt::format("a relation has {} numbers for {} features", relation.size(), d));
  }
  const bool is_count_public = options.adjacency != Adjacency::add_or_remove_one && data.size() > 0;
  const Count records =
      options.public_count ? *options.public_count : Count{is_count_public ? units_in(data, options.unit_ends) : most_records};
  const double weight = options.label_weight.value();
  const ClippingNorm clip{std::sqrt(1 + weight * weight)};
  const Grid grid = mechanisms::second_moment_grid(clip, records, options.noise_multiplier);
  mechanisms::SecondMomentSum sum{{.clip = clip, .grid = grid, .dimension = d + 1}};
  const std::size_t units = units_in(data, options.unit_ends);
  detail::in_parts(units, options.threads, sum, [&](std::size_t begin, std::size_t end, mechanisms::SecondMomentSum& part) {
    JointRecord record{d, options.label_bound.value(), weight};
    data::RowReader reader{data};
    for (std::size_t unit = begin; unit < end; ++unit) {
      const RecordRange rows = rows_of_unit(options.unit_ends, unit);
      part.begin_unit(rows.end - rows.first);
      for (std::size_t i = rows.first; i < rows.end; ++i) {
        const RowView row = reader.row(i);
        // A record of zeros is none at all, with whatever label.
        if (row.norm > 0) record.add_to(part, row, data.label(i), data.weight(i));
      }
    }
  });
  const L2Sensitivity moved = sum.sensitivity(options.adjacency);
  const GridVector query = sum.sum();
  auto matrix = releaser.release(query, moved, plan(options));
  symmetrize(d + 1, matrix);
  const double sigma = options.noise_multiplier.value() * moved.value();
  ReleasedMoments moments{.features = d,
                          .matrix = std::move(matrix),
                          .sigma = sigma,
                          .step = query.grid.step(),
                          .label_scale = options.label_bound.value() / weight,
                          .ridge = options.ridge.value() * noise_operator_norm(sigma, d - options.relations.size() + 1),
                          .ridge_rule = options.ridge_rule,
                          .relations = options.relations};
  if (options.ridge_rule == RidgeRule::least_eigenvalue) {
    moments.ridge = std::max(
        0.0, moments.ridge -
                 std::max(0.0, detail::ReleasedDirections{moments.features, moments.matrix, moments.relations}.eigenvalues.minCoeff()));
  }
  return moments;
}

std::vector<double> ridge_weights(const ReleasedMoments& moments) {
  const detail::ReleasedDirections parts{moments.features, moments.matrix, moments.relations};
  const Eigen::VectorXd solved = (parts.along.array() / (parts.eigenvalues.array().max(0.0) + moments.ridge)).matrix();
  return to_vector(moments.label_scale * (parts.vectors * solved));
}

std::optional<CoefficientIntervals> coefficient_intervals(const ReleasedMoments& moments, Confidence confidence) {
  if (moments.ridge_rule != RidgeRule::fixed) return std::nullopt;  // the proof needs a ridge that knows nothing of the noise
  const detail::ReleasedDirections parts{moments.features, moments.matrix, moments.relations};
  const boost::math::chi_squared law{static_cast<double>(moments.directions())};
  const double exceeded = 1 - confidence.value();
  const double rounding = moments.step / 2 * static_cast<double>(moments.features + 1);
  const double t = std::sqrt(boost::math::quantile(boost::math::complement(law, exceeded))) * moments.sigma + std::sqrt(2.0) * rounding;
  const Eigen::ArrayXd ridged = parts.eigenvalues.array() + moments.ridge;
  const Eigen::ArrayXd margin = ridged.square() - t * t;
  if (!(margin.minCoeff() > 0)) return std::nullopt;
  const double radius = t * t * (0.5 + (parts.along.array().square() / margin).sum());
  const Eigen::VectorXd centre = parts.vectors * (ridged * parts.along.array() / margin).matrix();
  const Eigen::VectorXd variance = parts.vectors.array().square().matrix() * margin.inverse().matrix();
  return CoefficientIntervals{.centre = to_vector(moments.label_scale * centre),
                              .half_width = to_vector(moments.label_scale * (radius * variance.array()).sqrt().matrix())};
}

}  // namespace surety::optimizers
