// Clipping in an l_r norm, r >= 2, for noise whose shape is that norm: the generalized Gaussian.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/units.h>
#include <surety/accounting/numbers/error.h>
#include <surety/mechanisms/additive/lp_noise.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/domain.h>

namespace surety::optimizers {

/// The largest l_r norm that one record may contribute.
struct LrClip {
  NormExponent r;
  ClippingNorm norm;
};

/// One record's vector factor x row, clipped to l_r norm `clip` and rounded toward zero to the grid; zero where its norm is not a normal
/// double. The l_r norm of the result is at most clip.norm (docs/proofs/frank-wolfe.md#lr-clip). O(dimension).
/// \throws Error{invalid_argument} when a dense row has not `dimension` coordinates, the dimension is above 2^32, or clip.norm has not from
///         1 to 2^52 grid steps.
[[nodiscard]] inline GridVector clipped_contribution(double factor, const RowView& row, const LrClip& clip, Grid grid,
                                                     std::size_t dimension) {
  const double bound = clip.norm.value();
  const double ratio = bound * grid.steps_per_unit();
  if (!(ratio >= 1 && ratio <= 0x1p52) || dimension > std::size_t{1} << 32) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("clipping norm is {} grid steps in dimension {}, must be from 1 to 2^52 and at most 2^32", ratio, dimension)};
  }
  if (!row.is_sparse() && !row.values.empty() && row.values.size() != dimension) {
    throw Error{ErrorCode::invalid_argument, fmt::format("the row has {} coordinates, must have {}", row.values.size(), dimension)};
  }
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

/// Sensitivity in l_r of a push clipped to `clip`: 2 clip under replace-one and clip under zero-out. Exact.
/// \throws Error{invalid_argument} when 2 clip is beyond the range of double.
[[nodiscard]] inline LrSensitivity lr_sensitivity(const LrClip& clip, Adjacency adjacency) {
  return LrSensitivity{mechanisms::sensitivity_of_clipped_sum(clip.norm, adjacency).value()};
}

/// kappa(r) = (r - 1) d^(2 / r - 2 / q): for vectors of l_q norm at most 1, q >= r, clipping in l_r is no loss at norm d^(1/r - 1/q), and
/// noise for that norm costs (r - 1) times as much as a Gaussian of the same multiplier. [HLL22] Lemma 3.2 with its exponent corrected.
[[nodiscard]] inline double kappa(NormExponent r, LpExponent q, Count dimension) {
  return (r.value() - 1) * std::pow(static_cast<double>(dimension.value()), 2 / r.value() - 2 / q.value());
}

/// The r in [2, q] of least kappa(r). Its logarithm has the derivative 1 / (r - 1) - 2 log d / r^2, so the least value is at 2, at q or at
/// the larger root of r^2 = 2 (r - 1) log d. \throws Error{invalid_argument} when q is below 2: then l_2 norms are at most l_q norms, and
/// plain Gaussian noise is the noise of the theorem.
[[nodiscard]] inline NormExponent best_exponent(LpExponent q, Count dimension) {
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
