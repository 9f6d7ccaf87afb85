// Private stochastic gradient descent with several passes: [BFGT20] Algorithm 2, a baseline,
//
//     w_{k+1} = project(w_k - eta g_k),   g_k = (1/b) (sum over a batch of clip_C(grad loss(w_k, z)) + N(0, (z s)^2 I))
//
// from w_0 = 0, where s = 2C under replace-one and C under zero-out. The result is the mean of the iterates of the last half of the steps.
//
// Difference from the paper: there each batch is drawn anew, with noise for the amplification that this gives; here the batches of a pass
// are records 1 .. b, b+1 .. 2b, ... of a public order, and each record is in one of them. So no randomness needs to stay secret, and
// the accounting is exact: a run costs as much as E Gaussian releases for E passes.
//
// [BFGT20] Bassily, Feldman, Guzman, Talwar: Stability of Stochastic Gradient Descent on Nonsmooth Convex Losses, 2020.
#pragma once

#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/batch_releaser.h>
#include <surety/optimizers/doors/run.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/domain.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/problem/units.h>

namespace surety::optimizers {

/// All public, and so is the number of records.
struct NoisySgdOptions {
  NoiseMultiplier noise_multiplier;  ///< z
  Batches batches;                   ///< of a pass: all records, and how many to a batch; the last batch may be smaller
  Count passes = Count{10};          ///< E
  Adjacency adjacency = Adjacency::replace_one;
  StepSize step_size{0.5};  ///< eta
  ClippingNorm clip{1};     ///< C
};

/// \throws Error{unsupported} under add-or-remove-one: which record is in which batch is public.
[[nodiscard]] BatchPass pass(const NoisySgdOptions& options);

/// What a run releases: E passes. \throws as `pass`. \source docs/proofs/frank-wolfe.md#batches.
[[nodiscard]] Event plan(const NoisySgdOptions& options);

/// Runs the algorithm above; returns the mean iterate, one weight per feature. `pass(options)` is what `releaser` will be asked for, E
/// times. The guarantee needs nothing of the data: what is too long is clipped.
///
/// \pre labels are as the objective wants them.
/// \throws Error{invalid_argument}, before the first release, when the data have no labels or are not as many records as the batches
///         are for; and what the releaser throws.
/// \complexity O(E (stored values + batches x features)) time, O(features) memory.
/// \source [BFGT20] Algorithm 2; docs/proofs/frank-wolfe.md#batches.
[[nodiscard]] std::vector<double> noisy_sgd(const Dataset& data, ObjectiveRef objective, const Projectable& domain,
                                            const NoisySgdOptions& options, Releaser& releaser);

}  // namespace surety::optimizers
