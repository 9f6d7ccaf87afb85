// The exact minimiser of a strongly convex function, to within a distance that is known before the data are:
//
//     J(w) = weight sum_i loss_C(<w, x_i>, y_i) + (lambda/2) ||w||^2 + <c, w>,     ||x_i|| <= R .
//
// loss_C is the loss whose gradient is the gradient clipped to l2 norm C: the derivative by the score is clamped to +-C / ||x_i||, which
// keeps a convex loss of a score convex. So each record's gradient has norm at most C, whatever the data are.
//
// The distance covers what the solver leaves and every rounding error of the machine; nothing about the data can make it fail. Proofs:
// docs/proofs/output-perturbation.md#minimizer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <surety/accounting/events/units.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/problem/certified_gradients.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/problem/units.h>

namespace surety::optimizers {

/// What is known of J before the data are; all public.
struct MinimumShape {
  double total_weight;      ///< T, at least weight x records
  ClippingNorm clip;        ///< C
  Radius row_norm;          ///< R
  Regularization lambda;    ///< greater than 0
  double linear_norm;       ///< at least ||c||
  std::size_t features;     ///< d
  double slope;             ///< a Lipschitz constant of the derivative by the score
  double derivative_error;  ///< as ConvexObjective says, at scores of magnitude at most `score_bound()`
  [[nodiscard]] double score_bound() const;
};

/// \throws Error{invalid_argument} when lambda is 0.
[[nodiscard]] MinimumShape minimum_shape(ConvexObjectiveRef objective, double total_weight, ClippingNorm clip, Radius row_norm,
                                         Regularization lambda, double linear_norm, std::size_t features);

/// How far `minimize` may end from the exact minimiser, for all data of this shape.
/// \throws Error{invalid_argument} when lambda is 0, or so small that rounding errors are not far below what one could minimise.
[[nodiscard]] double minimum_distance(const MinimumShape& shape);

struct MinimizeOptions {
  std::size_t threads = 1;
  /// Of the accelerated method, before the slow one whose end is certain. Default 1000 + 100 sqrt(kappa), far more than it needs.
  std::optional<std::uint64_t> fast_steps = {};
};

namespace detail {

/// gradient(w, target): the gradient of J as computed. The point that it returns is within minimum_distance(shape) of the minimiser.
[[nodiscard]] std::vector<double> minimize(const MinimumShape& shape,
                                           const std::function<void(std::span<const double> weights, std::span<double> gradient)>& gradient,
                                           std::optional<std::uint64_t> fast_steps);

}  // namespace detail

/// A point within minimum_distance(shape) of the minimiser of J. `linear` is c, or empty for 0.
/// \pre rows as `with_clipped_rows(data, shape.row_norm)` has them; labels as the objective wants them; weight x data.size() <=
///      shape.total_weight; ||c|| <= shape.linear_norm; the shape is that of `objective`.
/// \complexity some sqrt(kappa) log(1 / distance) gradients, kappa = 1 + T slope R^2 / lambda; kappa log(1 / distance) at worst.
[[nodiscard]] std::vector<double> minimize(const Dataset& data, ConvexObjectiveRef objective, double weight, std::span<const double> linear,
                                           const MinimumShape& shape, const MinimizeOptions& options = {});

}  // namespace surety::optimizers
