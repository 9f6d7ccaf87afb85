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

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/numbers/error.h>
#include <surety/accounting/events/event.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/batch_releaser.h>
#include <surety/data/dataset.h>
#include <surety/optimizers/problem/domain.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/streams/online_frank_wolfe.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/doors/run.h>
#include <surety/optimizers/doors/stream.h>

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
[[nodiscard]] inline BatchPass pass(const NoisyFrankWolfeOptions& options) {
  require_fixed_places(options.adjacency);
  const Event release = gaussian(options.noise_multiplier, options.adjacency);
  return {.batches = options.iterations, .release = release, .pass = release};
}

/// What a run releases. \throws as `pass`. \source docs/proofs/frank-wolfe.md#batches.
[[nodiscard]] inline Event plan(const NoisyFrankWolfeOptions& options) { return pass(options).pass; }

/// The first record of batch k = 0 .. K of `records`; that of batch K is `records`.
[[nodiscard]] inline std::size_t first_of_batch(std::size_t records, std::uint64_t batches, std::uint64_t k) {
  if (k == 0) return 0;
  if (batches == 1) return records;
  const std::size_t half = records - records / 2;
  const auto parts = static_cast<std::size_t>(batches - 1);
  const std::size_t rest = records - half;
  const auto part = static_cast<std::size_t>(k - 1);
  return half + rest / parts * part + std::min(rest % parts, part);
}

/// Runs the algorithm above from w_0 = 0, which must be in the domain; returns w_K, one weight per feature. `pass(options)` is what
/// `releaser` will be asked for, once. The guarantee needs nothing of the data: what is too long is clipped.
///
/// \pre labels are as the objective wants them.
/// \throws Error{invalid_argument}, before the first release, when the data have no labels, a batch would be empty (K - 1 is more than half
///         of the records) or s is more than 1; and what the releaser throws.
/// \complexity O(stored values + K features) time, O(features) memory.
/// \source [BGN21] Algorithm 3; docs/proofs/frank-wolfe.md#batches.
template <Objective O, LinearlyMinimizable D, Releaser R>
[[nodiscard]] std::vector<double> noisy_frank_wolfe(const Dataset& data, const O& objective, const D& domain,
                                                    const NoisyFrankWolfeOptions& options, R& releaser) {
  if (!data.has_labels()) throw Error{ErrorCode::invalid_argument, "Frank-Wolfe needs labels, the data set has none"};
  const std::uint64_t iterations = options.iterations.value();
  if (data.empty() || iterations - 1 > data.size() / 2) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("iterations is {}, must be at most {}: half of the records and 1", iterations, data.size() / 2 + 1)};
  }
  if (options.step_scale.value() > 1) {
    throw Error{ErrorCode::invalid_argument, fmt::format("step scale is {}, must be at most 1", options.step_scale.value())};
  }
  const BatchPass planned = pass(options);
  const Grid grid = mechanisms::grid_for(mechanisms::sensitivity_of_clipped_sum(options.clip, options.adjacency), options.noise_multiplier);

  std::vector<double> weights(data.features(), 0.0);
  std::vector<double> previous = weights;
  std::vector<double> direction(data.features(), 0.0);
  for (std::uint64_t k = 0; k < iterations; ++k) {
    const double step = options.step_scale.value() / (static_cast<double>(k) + 1);
    const double kept = k == 0 ? 0 : 1 - step;
    const ClippingNorm clip{k == 0 ? options.clip.value() : step * options.clip.value()};
    mechanisms::RecordSum sum{{.clip = clip, .grid = grid, .dimension = data.features()}};
    const std::size_t first = first_of_batch(data.size(), iterations, k);
    const std::size_t end = first_of_batch(data.size(), iterations, k + 1);
    for (std::size_t i = first; i < end; ++i) {
      const RowView row = data.row(i);
      const double before = kept == 0 ? 0 : kept * objective.derivative(row.dot(previous), data.label(i));
      add_clipped(objective.derivative(row.dot(weights), data.label(i)) - before, row, sum);
    }
    const auto released = releaser.release(sum.sum(), mechanisms::sensitivity_of_clipped_sum(clip, options.adjacency), planned.release);
    for (std::size_t j = 0; j < direction.size(); ++j) {
      direction[j] = kept * direction[j] + released[j] / static_cast<double>(end - first);
    }
    const std::vector<double> vertex = domain.minimize_linear(direction);
    previous = weights;
    for (std::size_t j = 0; j < weights.size(); ++j) weights[j] += step * (vertex[j] - weights[j]);
  }
  return weights;
}

}  // namespace surety::optimizers
