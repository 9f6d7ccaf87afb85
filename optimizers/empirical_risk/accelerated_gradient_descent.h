// Private accelerated gradient descent: proximal gradient steps with Nesterov's momentum on noisy gradients,
//
//     w_t     = proximal_(eta h)(v_t - eta (g_t / n + lambda v_t)),   g_t = sum_i clip_C(grad loss(v_t, z_i)) + N(0, (z s)^2 I),
//     v_(t+1) = w_t + beta_t (w_t - w_(t-1)),
//
// from w_0 = v_1 = 0 for t = 1 .. T. The momentum beta_t is a function of t, eta, lambda and the strong convexity m of h: with
// m' = lambda + m and q = eta m' / (1 + eta m), for k_(t+1) = ((1 - q k_t^2) + sqrt((1 - q k_t^2)^2 + 4 k_t^2)) / 2,
//
//     beta_t = (k_t - 1) / k_(t+1) x (1 + eta m - k_(t+1) eta m') / (1 - eta lambda),
//
// where k_1 = 1 (`Momentum::growing`: t / (t + 3) or so where q = 0, and toward the next line where it is not) or k_1 = 1 / sqrt(q)
// (`Momentum::constant`: (1 - sqrt q) / (1 + sqrt q) throughout where m = 0, needs q > 0). [CP16] Algorithm 5.
//
// A release is that of gradient descent (gradient_descent.h), at another point: the run is repeat(T, gaussian(z)) again. What is gained is
// that fewer steps do, each with less noise; what is lost is that momentum adds the noise of earlier steps up.
//
// [CP16] Chambolle, Pock: An introduction to continuous optimization for imaging, Acta Numerica 2016.
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
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/problem/regularizer.h>
#include <surety/optimizers/problem/returned_iterate.h>
#include <surety/optimizers/problem/units.h>

namespace surety::optimizers {

enum class Momentum { growing, constant };

/// beta_1, beta_2, .. above: public.
class MomentumSchedule {
 public:
  /// lambda and m above. \throws Error{invalid_argument} unless eta lambda < 1, and for constant momentum unless lambda + m > 0.
  MomentumSchedule(Momentum momentum, StepSize step, Regularization lambda, double strong_convexity);

  /// The next beta.
  [[nodiscard]] double next() noexcept;

 private:
  double smooth_;    ///< eta lambda
  double proximal_;  ///< eta m
  double q_;
  double k_;
};

/// All public. The defaults were fixed once, for rows of unit norm, and do not look at the data at hand.
struct AcceleratedGradientDescentOptions {
  NoiseMultiplier noise_multiplier;  ///< z
  Adjacency adjacency = Adjacency::replace_one;
  Count steps = Count{30};                           ///< T
  Regularization regularization{1e-4};               ///< lambda
  Momentum momentum = Momentum::growing;             ///< how beta_t starts
  std::optional<StepSize> step_size = {};            ///< eta; default 1 / (beta + lambda), beta the loss's smoothness at row norm 1
  std::optional<ClippingNorm> clip = {};             ///< C; default the loss's gradient bound at row norm 1
  std::optional<Count> public_count = {};            ///< n; default the number of records, which add-or-remove-one keeps private
  ReturnedIterate returned = LastIterate{};          ///< which w_t
  std::size_t threads = 1;                           ///< results do not depend on it
  UnitEnds unit_ends = {};                           ///< where neighbours differ in units of several rows, each clipped as one
  std::function<void(std::uint64_t)> progress = {};  ///< called with the number of steps done, which is public, after each
};

struct AcceleratedGradientDescentResult {
  std::vector<double> weights;  ///< one per feature
};

/// What a run releases: repeat(T, gaussian(z)).
/// \source [DRS19] Corollary 3.3 (adaptive composition), docs/proofs/empirical-risk.md#full-gradient.
[[nodiscard]] Event plan(const AcceleratedGradientDescentOptions& options);

/// Minimises F(w) + h(w), F with lambda of the options, by the algorithm above. `plan(options)` is what `releaser` will be asked for, in T
/// equal parts. v_t may lie outside the domain of h; every w_t lies in it.
///
/// The guarantee needs nothing of the data, the momentum or h. The defaults of C and eta suit rows of norm at most 1.
///
/// \pre   labels are as the objective wants them (`encode_labels`).
/// \throws Error{invalid_argument}, before the first release, as `gradient_descent` and `MomentumSchedule`; Error{unsupported} when eta is
///         not given and the loss is not smooth; and what the releaser throws.
/// \complexity O(T (stored values + features)) time, O(features) memory.
/// \source [CP16] Algorithm 5; docs/proofs/empirical-risk.md#accelerated.
[[nodiscard]] AcceleratedGradientDescentResult accelerated_gradient_descent(const Dataset& data, ObjectiveRef objective,
                                                                            const Regularizer& regularizer,
                                                                            const AcceleratedGradientDescentOptions& options,
                                                                            Releaser& releaser);

}  // namespace surety::optimizers
