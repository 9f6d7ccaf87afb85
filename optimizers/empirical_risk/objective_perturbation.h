// Objective perturbation: [CMS11] Algorithm 2, [KST12], in the form of [INST19] that needs no exact minimiser. With secret noise b,
//
//     w* = argmin_v  (1/n) sum_i loss_C(<v, x_i>, y_i) + (lambda/2) ||v||^2 + <b, v> / n,      b ~ N(0, (z C)^2 I),     ||x_i|| <= R,
//
// an approximation of w* to within a distance that is known before the data are is released with a little Gaussian noise of its own.
// For a loss of a score the law of w* has a privacy loss of at most log(1 + slope R^2 / (n lambda)) plus that of a Gaussian release;
// derived here for gradients whose sign is known (logistic, smoothed hinge) and, dearer, for others. What is charged is
//
//     compose(approx(epsilon, delta), gaussian(z')),
//
// with delta(epsilon) as `objective_perturbation_delta` computes it. Differences from the papers: the curve of a Gaussian in place of the
// tails of the chi-squared law, a bound under replace-one, rows and gradients are clipped so that nothing need be true of the data, and
// rounding errors are part of the distance. Add-or-remove-one is refused: the distance would depend on the private number of records.
//
// [KST12] Kifer, Smith, Thakurta: Private Convex Empirical Risk Minimization and High-dimensional Regression, COLT 2012.
// [INST19] Iyengar, Near, Song, Thakkar, Thakurta, Wang: Towards Practical Differentially Private Convex Optimization, S&P 2019.
// [RKW23] Redberg, Koskela, Wang: Improving the Privacy and Practicality of Objective Perturbation, NeurIPS 2023.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/perturbing_releaser.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/problem/units.h>

namespace surety::optimizers {

/// All public, and so is the number of records.
struct ObjectivePerturbationOptions {
  Count records;                     ///< n
  NoiseMultiplier noise_multiplier;  ///< z: standard deviation of b over C
  Epsilon epsilon;                   ///< at which the delta of the minimiser is said
  Regularization regularization;     ///< lambda, greater than 0
  Adjacency adjacency = Adjacency::replace_one;
  ClippingNorm clip{1};                   ///< C
  Radius row_norm{1};                     ///< R: longer rows are scaled down to it
  NoiseMultiplier output_multiplier{50};  ///< z': of the noise on what is released, which is tiny
  std::size_t threads = 1;                ///< the result does not depend on them
};

/// How the privacy loss of the exact minimiser is bounded; all public.
struct ObjectivePerturbationLoss {
  double slope;       ///< a Lipschitz constant of the derivative by the score
  bool has_one_sign;  ///< as ConvexObjective says
};

/// delta(epsilon) of the exact minimiser, an upper bound with every rounding outward; at least 2^-69.
///
///     replace-one  delta_G(t, 2/z) + 2 delta_G(t, 1/z)      zero-out  delta_G(t, 1/z)            one sign
///                  4 delta_G(t, 2/z)                                  2 delta_G(t, 1/z)          otherwise
///
/// with t = epsilon - log(1 + slope R^2 / (n lambda)) and delta_G(t, mu) the curve of N(0, 1) against N(mu, 1). Infinity where t < 0.
/// \throws Error{unsupported} under add-or-remove-one; Error{invalid_argument} when lambda is 0.
/// \source docs/proofs/objective-perturbation.md#exact
[[nodiscard]] double objective_perturbation_delta(const ObjectivePerturbationOptions& options, const ObjectivePerturbationLoss& loss);

/// The least noise multiplier, within a relative 1e-6, for which that delta is at most `delta`; the options' own is not looked at.
/// \throws as above; Error{invalid_argument} when no noise is enough: the regularization is too small, or delta below 2^-68.
[[nodiscard]] NoiseMultiplier objective_perturbation_multiplier(const ObjectivePerturbationOptions& options,
                                                                const ObjectivePerturbationLoss& loss, Delta delta);

/// The epsilon at which to state the delta of a minimiser that may cost (most, delta): at most `most`, and so small that noise longer than what is provided for
/// takes a sixteenth of delta at most: a release that keeps an epsilon keeps every larger one, so a larger promise never needs more noise. `most` itself for a delta of
/// 2^-67 or less. \source docs/proofs/objective-perturbation.md#exact
[[nodiscard]] Epsilon objective_perturbation_epsilon(Epsilon most, Delta delta);

[[nodiscard]] ObjectivePerturbationLoss perturbed_loss(ConvexObjectiveRef objective);

/// The two parts of a run: the secret noise, and the release. \throws as above; Error{invalid_argument} when delta(epsilon) is 1 or more.
struct ObjectivePerturbationEvents {
  Event minimizer;  ///< approx(epsilon, delta)
  Event output;     ///< gaussian(z')
};
[[nodiscard]] ObjectivePerturbationEvents objective_perturbation_events(const ObjectivePerturbationOptions& options,
                                                                        const ObjectivePerturbationLoss& loss);

/// What a run releases: compose(approx(epsilon, delta), gaussian(z')).
[[nodiscard]] Event plan(const ObjectivePerturbationOptions& options, ConvexObjectiveRef objective);

namespace detail {

/// Norms of b up to sigma (sqrt(d) + 10) are provided for; longer noise, of probability below 2^-72, is shortened to that, which is in
/// delta.
[[nodiscard]] double largest_perturbation(double sigma, std::size_t dimension);
void shorten(std::span<double> vector, double norm);

}  // namespace detail

/// How far the released point, before its noise, may be from the exact minimiser for the unrounded noise. Rounded up.
/// \throws as `minimum_distance`. \source docs/proofs/objective-perturbation.md#approximate
[[nodiscard]] double perturbed_minimum_distance(ConvexObjectiveRef objective, const ObjectivePerturbationOptions& options,
                                                std::size_t features);

namespace detail {

/// The run whose events are known. \pre events are those of the options and the objective; data as `objective_perturbation` wants them.
[[nodiscard]] std::vector<double> perturb_and_minimize(const Dataset& data, ConvexObjectiveRef objective,
                                                       const ObjectivePerturbationOptions& options,
                                                       const ObjectivePerturbationEvents& events, PerturbingReleaser& releaser);

}  // namespace detail

/// Runs the algorithm above; returns the released weights, one per feature. `plan(options, objective)` is what `releaser` will be asked
/// for, in its two parts. The guarantee needs nothing of the data but labels that the loss knows.
///
/// \pre    labels are as the objective wants them (`encode_labels`).
/// \throws Error{unsupported} under add-or-remove-one; Error{invalid_argument}, before anything is drawn, when the data have no labels or
/// are
///         not options.records, when delta(epsilon) is 1 or more, and as `minimum_distance`; and what the releaser throws.
/// \complexity as `minimize`, with the data once more in memory.
/// \source [INST19] Algorithm 1, [RKW23]; docs/proofs/objective-perturbation.md.
[[nodiscard]] std::vector<double> objective_perturbation(const Dataset& data, ConvexObjectiveRef objective,
                                                         const ObjectivePerturbationOptions& options, PerturbingReleaser& releaser);

}  // namespace surety::optimizers
