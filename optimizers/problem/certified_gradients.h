// Gradients whose distance from the exact ones is known for all data: what proofs about curvature rest on.
#pragma once

#include <cstddef>

#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/domain.h>
#include <surety/optimizers/problem/objective.h>

namespace surety::optimizers {

/// The records with rows longer than `radius` scaled down to it: then l2 norms are at most `radius`, exactly. A row whose norm is not a
/// finite double becomes zero. A function of each record alone. O(stored values).
/// \throws Error{invalid_argument} unless the radius is from 2^-400 to 2^400.
[[nodiscard]] Dataset with_clipped_rows(const Dataset& data, Radius radius);

/// The same, and a record whose label is none of the objective's gets a row of zeros: the promise about derivatives is for these labels alone.
[[nodiscard]] Dataset with_clipped_rows(const Dataset& data, Radius radius, ConvexObjectiveRef objective);

/// The grid of a sum of gradients: C / step is from 2^39 to 2^40.
[[nodiscard]] Grid gradient_grid(ClippingNorm clip);

/// What the error of a computed gradient depends on; all public.
struct GradientShape {
  std::size_t features;     ///< d
  ClippingNorm clip;        ///< C
  Radius row_norm;          ///< R, of rows as `with_clipped_rows` has them
  double slope;             ///< a Lipschitz constant of the derivative by the score
  double derivative_error;  ///< as ConvexObjective says, at scores of magnitude at most R x `norm`
};

/// How far in l2 the clipped gradient of one record, as `RecordSum` adds it on `gradient_grid(clip)`, is from the clipped gradient of the monotone
/// derivative that the objective promises, for weights of l2 norm at most `norm`: an upper bound
/// when it is multiplied by 1.01, which covers its own rounding and terms of second order.
/// \source docs/proofs/output-perturbation.md#minimizer, (1) to (4).
[[nodiscard]] double record_gradient_error(const GradientShape& shape, double norm);

}  // namespace surety::optimizers
