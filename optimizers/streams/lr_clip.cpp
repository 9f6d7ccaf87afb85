#include <surety/optimizers/streams/lr_clip.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include <surety/base/text/error.h>

namespace surety::optimizers {

GridVector clipped_contribution(double factor, const RowView& row, const LrClip& clip, Grid grid, std::size_t dimension) {
  const double bound = clip.norm.value();
  const double ratio = bound * grid.steps_per_unit();
  if (!(ratio >= 1 && ratio <= 0x1p52) || dimension > std::size_t{1} << 32) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("clipping norm is {} grid steps in dimension {}, must be from 1 to 2^52 and at most 2^32", ratio, dimension)};
  }
  if (!row.is_sparse() && !row.values.empty()) require_dimension("the row", row.values.size(), dimension);
  GridVector contribution{.grid = grid, .steps = std::vector<std::int64_t>(dimension)};
  const double norm = lp_norm(row.values, LpExponent{clip.r.value()});
  const double length = std::abs(factor) * norm;
  if (!(norm >= 0x1p-1000) || !std::isfinite(length)) return contribution;
  // Room for the rounding errors of the norm, relative (size / r + 6) 2^-53, and of what follows.
  const double target = bound * (1 - (static_cast<double>(row.values.size()) + 32) * 0x1p-52);
  const bool clipped = length > target;
  const double signed_target = factor < 0 ? -target : target;
  std::size_t next = 0;  // as in RecordSum: a coordinate that a row names twice counts once
  for (std::size_t k = 0; k < row.values.size(); ++k) {
    const std::size_t j = row.is_sparse() ? row.indices[k] : k;
    if (j < next || j >= dimension) continue;
    // value / norm is at most 1: no step of this leaves the normal doubles, but for coordinates too small to matter.
    const double value = clipped ? signed_target * (row.values[k] / norm) : factor * row.values[k];
    contribution.steps[j] = static_cast<std::int64_t>(value * grid.steps_per_unit());
    next = j + 1;
  }
  return contribution;
}

LrSensitivity lr_sensitivity(const LrClip& clip, Adjacency adjacency) {
  return LrSensitivity{mechanisms::sensitivity_of_clipped_sum(clip.norm, adjacency).value()};
}

double kappa(NormExponent r, LpExponent q, Count dimension) {
  return (r.value() - 1) * std::pow(static_cast<double>(dimension.value()), 2 / r.value() - 2 / q.value());
}

NormExponent best_exponent(LpExponent q, Count dimension) {
  if (!(q.value() >= 2)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("q is {}, must be at least 2 for generalized Gaussian noise", q.value())};
  }
  const double log_dimension = std::log(static_cast<double>(dimension.value()));
  NormExponent best{2};
  const auto consider = [&](double r) {
    if (r >= 2 && r <= q.value() && std::isfinite(r) && kappa(NormExponent{r}, q, dimension) < kappa(best, q, dimension)) {
      best = NormExponent{r};
    }
  };
  consider(q.value());
  if (log_dimension >= 2) consider(log_dimension + std::sqrt(log_dimension * (log_dimension - 2)));
  return best;
}

}  // namespace surety::optimizers
