// Private variance-reduced Frank-Wolfe with batches: [BGN21] Algorithm 3 (NoisySFW), a baseline. One pass over disjoint batches: the
// first has half of the records, the other K - 1 share the rest.
//
//     d_0 = mean over the first batch of clip_C(grad f(w_0, z)) + noise
//     d_k = (1 - e_k) d_{k-1} + mean over batch k of clip_{e_k C}(grad f(w_k, z) - (1 - e_k) grad f(w_{k-1}, z)) + noise
//     v_k = argmin over v in the domain of <d_k, v>,   w_{k+1} = w_k + e_k (v_k - w_k),   e_k = s / (k + 1)
//
// A record's vector in batch k is e_k grad f(w_k, z) + (1 - e_k) (grad f(w_k, z) - grad f(w_{k-1}, z)), and w_k - w_{k-1} is of the
// order of e_k: hence the clip e_k C. Replacing a record moves the sum of one batch by at most twice its clip, so the pass costs what one
// Gaussian release costs. Noise and mean are released as one sum, on the grid, and divided by the public size of the batch.
//
// Differences from the paper: clipping in place of assumptions, exact calibration, Gaussian noise in place of generalized Gaussian noise.
//
// [BGN21] Bassily, Guzman, Nandi: Non-Euclidean Differentially Private Stochastic Convex Optimization, 2021.
#pragma once

#include <cstddef>
#include <cstdint>
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
struct NoisyFrankWolfeOptions {
  NoiseMultiplier noise_multiplier;  ///< z
  Count iterations;                  ///< K, the number of batches
  Adjacency adjacency = Adjacency::replace_one;
  ClippingNorm clip{1};           ///< C
  StepScaleFactor step_scale{1};  ///< s; at most 1, so that e_0 is
};

/// K releases of gaussian(z) that together are one, since a record is in one batch.
/// \throws Error{unsupported} under add-or-remove-one: which record is in which batch is public.
[[nodiscard]] BatchPass pass(const NoisyFrankWolfeOptions& options);

/// What a run releases. \throws as `pass`. \source docs/proofs/frank-wolfe.md#batches.
[[nodiscard]] Event plan(const NoisyFrankWolfeOptions& options);

/// The first record of batch k = 0 .. K of `records`; that of batch K is `records`.
[[nodiscard]] std::size_t first_of_batch(std::size_t records, std::uint64_t batches, std::uint64_t k);

/// Runs the algorithm above from w_0 = 0, which must be in the domain; returns w_K, one weight per feature. `pass(options)` is what
/// `releaser` will be asked for, once. The guarantee needs nothing of the data: what is too long is clipped.
///
/// \pre labels are as the objective wants them.
/// \throws Error{invalid_argument}, before the first release, when the data have no labels, a batch would be empty (K - 1 is more than half
///         of the records) or s is more than 1; and what the releaser throws.
/// \complexity O(stored values + K features) time, O(features) memory.
/// \source [BGN21] Algorithm 3; docs/proofs/frank-wolfe.md#batches.
[[nodiscard]] std::vector<double> noisy_frank_wolfe(const Dataset& data, ObjectiveRef objective, const LinearlyMinimizable& domain,
                                                    const NoisyFrankWolfeOptions& options, Releaser& releaser);

}  // namespace surety::optimizers
