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

#include <algorithm>
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
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/doors/run.h>
#include <surety/optimizers/doors/stream.h>

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
[[nodiscard]] inline BatchPass pass(const NoisySgdOptions& options) {
  require_fixed_places(options.adjacency);
  const std::uint64_t records = options.batches.records().value();
  const std::uint64_t size = options.batches.size().value();
  const Event release = gaussian(options.noise_multiplier, options.adjacency);
  return {.batches = Count{(records - 1) / size + 1}, .release = release, .pass = deterministic(options.batches, release)};
}

/// What a run releases: E passes. \throws as `pass`. \source docs/proofs/frank-wolfe.md#batches.
[[nodiscard]] inline Event plan(const NoisySgdOptions& options) { return repeat(options.passes, pass(options).pass); }

/// Runs the algorithm above; returns the mean iterate, one weight per feature. `pass(options)` is what `releaser` will be asked for, E
/// times. The guarantee needs nothing of the data: what is too long is clipped.
///
/// \pre labels are as the objective wants them.
/// \throws Error{invalid_argument}, before the first release, when the data have no labels or are not as many records as the batches
///         are for; and what the releaser throws.
/// \complexity O(E (stored values + batches x features)) time, O(features) memory.
/// \source [BFGT20] Algorithm 2; docs/proofs/frank-wolfe.md#batches.
template <Objective O, Projectable D, Releaser R>
[[nodiscard]] std::vector<double> noisy_sgd(const Dataset& data, const O& objective, const D& domain, const NoisySgdOptions& options,
                                            R& releaser) {
  if (!data.has_labels()) throw Error{ErrorCode::invalid_argument, "stochastic gradient descent needs labels, the data set has none"};
  if (data.size() != options.batches.records().value()) {
    throw Error{ErrorCode::invalid_argument, fmt::format("the data set has {} records, must have {}, for which the batches were made",
                                                         data.size(), options.batches.records().value())};
  }
  const BatchPass planned = pass(options);
  const L2Sensitivity sensitivity = mechanisms::sensitivity_of_clipped_sum(options.clip, options.adjacency);
  const Grid grid = mechanisms::grid_for(sensitivity, options.noise_multiplier);
  mechanisms::RecordSum sum{{.clip = options.clip, .grid = grid, .dimension = data.features()}};
  const auto size = static_cast<std::size_t>(options.batches.size().value());
  const std::uint64_t steps = options.passes.value() * planned.batches.value();

  std::vector<double> weights(data.features(), 0.0);
  std::vector<double> mean(data.features(), 0.0);
  const std::uint64_t averaged = steps - steps / 2;
  for (std::uint64_t step = 0; step < steps; ++step) {
    const std::size_t first = static_cast<std::size_t>(step % planned.batches.value()) * size;
    const std::size_t end = std::min(first + size, data.size());
    sum.clear();
    add_gradients(data, objective, weights, RecordRange{.first = first, .end = end}, sum);
    const std::vector<double> released = releaser.release(sum.sum(), sensitivity, planned.release);
    for (std::size_t j = 0; j < weights.size(); ++j)
      weights[j] -= options.step_size.value() * released[j] / static_cast<double>(end - first);
    domain.project(weights);
    if (step < steps - averaged) continue;
    for (std::size_t j = 0; j < weights.size(); ++j) mean[j] += weights[j] / static_cast<double>(averaged);
  }
  return mean;
}

}  // namespace surety::optimizers
