// Private gradient descent: [WYX17] Algorithm 4 with a proximal map or a projection, regularization and per-record clipping,
//
//     w_t = proximal_(eta h)(w_{t-1} - eta (g_t / n + lambda w_{t-1})),   g_t = sum_i clip_C(grad loss(w_{t-1}, z_i)) + N(0, (z s)^2 I),
//
// from w_0 = 0 for t = 1 .. T; the map is a projection where h is the indicator of a domain. One record moves the sum by at most s = 2C
// under replace-one and s = C under add-or-remove-one and zero-out, whatever the data are, so the run is repeat(T, gaussian(z)) and costs
// mu = sqrt(T) / z. Solved for the noise in the mean gradient, sigma = z s / n = 2 C sqrt(T) / (n mu) under replace-one; the printed
// "c G^2 T ln(1/delta) / (n^2 epsilon^2) for some constant c" is not needed (and is no guarantee at c = 1).
//
// [WYX17] Wang, Ye, Xu: Differentially Private Empirical Risk Minimization Revisited: Faster and More General.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/units.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/run.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/domain.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/problem/regularizer.h>
#include <surety/optimizers/problem/returned_iterate.h>
#include <surety/optimizers/problem/units.h>

namespace surety::optimizers {

/// All public. The defaults were fixed once, for rows of unit norm, and do not look at the data at hand: choosing options by
/// the results of private runs is a release of its own.
struct GradientDescentOptions {
  NoiseMultiplier noise_multiplier;  ///< z
  Adjacency adjacency = Adjacency::replace_one;
  Count steps = Count{100};                          ///< T
  Regularization regularization{1e-4};               ///< lambda
  std::optional<StepSize> step_size = {};            ///< eta; default 1 / (beta + lambda), beta the loss's smoothness at row norm 1
  std::optional<ClippingNorm> clip = {};             ///< C; default the loss's gradient bound at row norm 1
  std::optional<Count> public_count = {};            ///< n; default the number of records, which add-or-remove-one keeps private
  ReturnedIterate returned = LastIterate{};          ///< which w_t
  std::size_t threads = 1;                           ///< results do not depend on it
  UnitEnds unit_ends = {};                           ///< where neighbours differ in units of several rows, each clipped as one
  std::function<void(std::uint64_t)> progress = {};  ///< called with the number of steps done, which is public, after each
};

struct GradientDescentResult {
  std::vector<double> weights;  ///< one per feature
};

/// What a run releases: repeat(T, gaussian(z)).
/// \source [DRS19] Corollary 3.3 (adaptive composition), docs/proofs/gradient-descent.md#gradient-descent.
[[nodiscard]] Event plan(const GradientDescentOptions& options);

namespace detail {

/// `map(eta, weights)` is the proximal map or the projection.
[[nodiscard]] GradientDescentResult gradient_descent(const Dataset& data, ObjectiveRef objective,
                                                     const std::function<void(double step, std::span<double> weights)>& map,
                                                     const GradientDescentOptions& options, Releaser& releaser);

}  // namespace detail

/// Minimises F(w) + h(w), F with lambda of the options, by the algorithm above. `plan(options)` is what `releaser` will be asked for, in T
/// equal parts.
///
/// The guarantee needs nothing of the data: rows longer than expected, labels out of range and overflowing scores are clipped
/// or count as zero. The defaults of C and eta suit rows of norm at most 1. Which iterate is returned costs nothing: all are released.
///
/// \pre   labels are as the objective wants them (`encode_labels`).
/// \throws Error{invalid_argument}, before the first release, when the data have no labels, when there is no record and n is not
///         given, when n is not given under add-or-remove-one, or when T steps do not make the iterate to return; Error{unsupported} when
///         eta is not given and the loss is not smooth; and what the releaser throws.
/// \complexity O(T (stored values + features)) time, O(features) memory.
/// \source [WYX17] Algorithm 4, Theorems 6.1 to 6.3; docs/proofs/gradient-descent.md#gradient-descent.
[[nodiscard]] GradientDescentResult gradient_descent(const Dataset& data, ObjectiveRef objective, const Regularizer& regularizer,
                                                     const GradientDescentOptions& options, Releaser& releaser);

/// The same on a domain: h is its indicator.
[[nodiscard]] GradientDescentResult gradient_descent(const Dataset& data, ObjectiveRef objective, const Projectable& domain,
                                                     const GradientDescentOptions& options, Releaser& releaser);

}  // namespace surety::optimizers
