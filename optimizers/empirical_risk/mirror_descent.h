// Private accelerated mirror descent on a bounded domain: [WYX17] Algorithm 3 (DP-AccMD) with one noisy gradient in both of its steps,
//
//     x_k = (1 - r_k) y_(k-1) + r_k z_(k-1),      g_k = sum_i clip_C(grad loss(x_k, z_i)) / n + lambda x_k + N(0, (z s / n)^2 I),
//     y_k = argmin_y  <g_k, y> + (M / 2) ||y - x_k||^2,
//     z_k = argmin_z  omega(z) + sum_(j <= k) a_j <g_j, z>,
//
// for k = 1 .. T over y and z in the domain, from y_0 = z_0 = argmin omega. The norm and omega, 1-strongly convex in that norm, are those
// of a `Geometry`; a_k = (k + 1) / (2 M), r_k = a_k / (a_1 + .. + a_k) = 2 (k + 1) / (k (k + 3)). The result is y_T. Each step is one
// release of gaussian(z), so the run is repeat(T, gaussian(z)), as gradient descent.
//
// Differences from the paper:
//   y-step       it prints the exact gradient there, beside a noisy one in the z-step, and returns y_T: a function of the data that no
//                noise covers (T = 1: y_1 is a deterministic function). Here both steps read the one noisy gradient
//   M            printed: L of the loss. The noise of the y-step needs M > L: the default M = L + S (T + 3) sqrt(T / (24 Theta)), with
//                S^2 >= E ||noise||_*^2 and Theta >= the range of omega, is that which makes the bound below least
//   z-step       from the sum of all gradients, without a divergence from z_(k-1): the same where omega is an entropy
//   r_k          exact for a_k; printed 2 / (k + 1)
//
// Proved where nothing is clipped and up to the rounding to the grid: E F(y_T) - min F <= 4 M Theta / (T (T + 3)) + (T + 3) S^2 / (6 (M -
// L)), for the default M 4 L Theta / (T (T + 3)) + 2 S sqrt(2 Theta / (3 T)), where S / sqrt(T) does not depend on T at a fixed budget.
//
// [WYX17] Wang, Ye, Xu: Differentially Private Empirical Risk Minimization Revisited: Faster and More General.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/units.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/run.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/geometry.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/problem/units.h>

namespace surety::optimizers {

struct SmoothnessConstantRule : Positive {
  static constexpr std::string_view name = "smoothness of the steps";
};
/// M above.
using StepSmoothness = Quantity<SmoothnessConstantRule>;

/// All public. The defaults were fixed once, for rows of unit norm, and do not look at the data at hand.
struct MirrorDescentOptions {
  NoiseMultiplier noise_multiplier;  ///< z
  Adjacency adjacency = Adjacency::replace_one;
  Count steps = Count{100};                          ///< T
  Regularization regularization{0};                  ///< lambda of (lambda / 2) ||w||_2^2
  std::optional<StepSmoothness> smoothness = {};     ///< M; default above, with the loss's smoothness at row norm 1
  std::optional<ClippingNorm> clip = {};             ///< C; default the loss's gradient bound at row norm 1
  std::optional<Count> public_count = {};            ///< n; default the number of records, which add-or-remove-one keeps private
  std::size_t threads = 1;                           ///< results do not depend on it
  UnitEnds unit_ends = {};                           ///< where neighbours differ in units of several rows, each clipped as one
  std::function<void(std::uint64_t)> progress = {};  ///< called with the number of steps done, which is public, after each
};

struct MirrorDescentResult {
  std::vector<double> weights;  ///< y_T, one per feature
};

/// What a run releases: repeat(T, gaussian(z)).
/// \source [DRS19] Corollary 3.3 (adaptive composition), docs/proofs/empirical-risk.md#mirror-descent.
[[nodiscard]] Event plan(const MirrorDescentOptions& options);

/// What the theorem above knows of a run: public.
struct MirrorDescentTerms {
  double loss_smoothness;  ///< L = smoothness at row norm 1, and lambda
  double range;            ///< Theta
  double noise;            ///< S
  double steps;            ///< T

  [[nodiscard]] double best_smoothness() const { return loss_smoothness + noise * (steps + 3) * std::sqrt(steps / (24 * range)); }
  /// The bound on E F(y_T) - min F for M > L; for M = L where there is no noise.
  [[nodiscard]] double gap_bound(double smoothness) const {
    const double of_noise = noise == 0 ? 0 : (steps + 3) * noise * noise / (6 * (smoothness - loss_smoothness));
    return 4 * smoothness * range / (steps * (steps + 3)) + of_noise;
  }
};

/// For noise of standard deviation `noise` in each coordinate of the mean gradient.
/// \throws Error{unsupported} when the loss is not smooth.
[[nodiscard]] MirrorDescentTerms mirror_descent_terms(ObjectiveRef objective, const Geometry& geometry, const MirrorDescentOptions& options,
                                                      std::size_t features, double noise);

/// Minimises F over the domain of `geometry` by the algorithm above. `plan(options)` is what `releaser` will be asked for, in T equal
/// parts.
///
/// The guarantee needs nothing of the data or the geometry. Every x_k, y_k and z_k is in the domain, to within rounding.
///
/// \pre   labels are as the objective wants them (`encode_labels`).
/// \throws Error{invalid_argument}, before the first release, when the data have no labels, when there is no record and n is not given, or
///         when n is not given under add-or-remove-one; Error{unsupported} when M is not given and the loss is not smooth; and what the
///         releaser throws.
/// \complexity O(T (stored values + features log features)) time, O(features) memory.
/// \source [WYX17] Algorithm 3 in part; docs/proofs/empirical-risk.md#mirror-descent.
[[nodiscard]] MirrorDescentResult mirror_descent(const Dataset& data, ObjectiveRef objective, const Geometry& geometry,
                                                 const MirrorDescentOptions& options, Releaser& releaser);

}  // namespace surety::optimizers
