// Private stochastic gradient descent from secret batches, "DP-SGD" [ACG16],
//
//     g_t = (1/b) (sum over a fresh batch of clip_C(grad loss(w_{t-1}, z)) + N(0, (z C)^2 I)),
//     v_t = mu v_{t-1} + (1 - mu) g_t,   w_t = proximal_(eta_t h)(w_{t-1} - eta_t v_t)   for t = 1 .. T, from w_0 = v_0 = 0.
//
// Each record joins each batch with probability q, or a batch is m records drawn without replacement; b is the expected size q n, or m:
// public, and never the size of the batch at hand. With microbatches of k records, record i belongs to microbatch floor(i / k) for good;
// batches are of microbatches, and what is clipped is the mean gradient of one.
//
// Differences from the paper: the batch that is drawn is the one that is charged, to the last bit of q; the accounting is tight and works
// for replace-one too, where a record that is replaced moves the sum of a batch by 2C and Poisson sampling hides it from both sides;
// microbatches have public places (docs/proofs/sampling.md#sgd).
//
// [ACG16] Abadi, Chu, Goodfellow, McMahan, Mironov, Talwar, Zhang: Deep Learning with Differential Privacy, 2016.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/numbers/error.h>
#include <surety/accounting/events/event.h>
#include <surety/mechanisms/choices/batch_sampler.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/data/dataset.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/problem/regularizer.h>
#include <surety/optimizers/problem/returned_iterate.h>
#include <surety/optimizers/doors/sampled_releaser.h>

namespace surety::optimizers {

struct MomentumFactorRule {
  static constexpr std::string_view name = "momentum";
  static constexpr std::string_view constraint = "at least 0 and less than 1";
  static bool holds(double x) { return x >= 0 && x < 1; }
};
using MomentumFactor = Quantity<MomentumFactorRule>;

/// eta_t for t = 1, 2, ...:
///   constant             eta
///   inverse_square_root  eta / sqrt(t)
///   inverse              eta / (1 + eta m t), m the strong convexity of the regularizer
enum class StepSchedule { constant, inverse_square_root, inverse };

/// Of the batches, all secret. Under add-or-remove-one and zero-out: Poisson; under replace-one either.
using AnySampler = std::variant<mechanisms::PoissonBatches, mechanisms::FixedSizeBatches>;

/// All public.
struct SampledSgdOptions {
  NoiseMultiplier noise_multiplier;  ///< z: the noise over C, under every adjacency
  AnySampler sampler;                ///< of records, or of microbatches where these hold several records
  Count steps{1000};                 ///< T
  Adjacency adjacency = Adjacency::add_or_remove_one;
  Count microbatch{1};                               ///< k, records; the last one may be smaller
  std::optional<StepSize> step_size = {};            ///< eta; default 1 / (beta + m), beta the loss's smoothness at row norm 1
  StepSchedule schedule = StepSchedule::inverse;     ///< of eta_t
  MomentumFactor momentum{0};                        ///< mu
  std::optional<ClippingNorm> clip = {};             ///< C; default the loss's gradient bound at row norm 1
  std::optional<Count> public_count = {};            ///< n; default the number of records, which add-or-remove-one keeps private
  std::optional<ReturnedIterate> returned = {};      ///< which w_t; default the mean of the last half
  std::function<void(std::uint64_t)> progress = {};  ///< called with the number of steps done, which is public, after each
};

/// What one batch releases: gaussian(z) where a record appears or vanishes, record_sum(z) where it is replaced.
/// \throws Error{unsupported} for microbatches of several records under any adjacency but replace-one.
[[nodiscard]] inline Event batch_release(const SampledSgdOptions& options) {
  if (options.microbatch.value() > 1 && options.adjacency != Adjacency::replace_one) {
    throw Error{ErrorCode::unsupported, fmt::format("adjacency is {}, must be replace-one for microbatches of {} records: one record "
                                                    "changes the whole contribution of a microbatch",
                                                    name(options.adjacency), options.microbatch.value())};
  }
  if (options.adjacency == Adjacency::replace_one) {
    return release(Event::RecordSum{options.noise_multiplier}, options.adjacency);
  }
  return gaussian(options.noise_multiplier, options.adjacency);
}

/// What a run releases: T batches of the sampler.
/// \throws as `batch_release`; Error{invalid_argument} for a sampler that has no theorem for the adjacency.
/// \source docs/proofs/sampling.md#sgd
[[nodiscard]] inline Event plan(const SampledSgdOptions& options) {
  const Event release = batch_release(options);
  return repeat(options.steps, std::visit([&release](const auto& sampler) { return sampler.event(release); }, options.sampler));
}

namespace detail {

/// Of `records` records in microbatches of `size`.
[[nodiscard]] inline std::uint64_t microbatches_of(std::uint64_t records, Count size) {
  return records == 0 ? 0 : (records - 1) / size.value() + 1;
}

/// b: how many of the sampled units a batch holds, or is expected to hold. Public.
[[nodiscard]] inline double expected_size(const Dataset& data, const SampledSgdOptions& options) {
  if (const auto* const fixed = std::get_if<mechanisms::FixedSizeBatches>(&options.sampler); fixed != nullptr) {
    const std::uint64_t units = microbatches_of(data.size(), options.microbatch);
    if (units != fixed->batches().records().value()) {
      throw Error{ErrorCode::invalid_argument,
                  fmt::format("the data set has {} {}, must have {}, for which the batches were made", units,
                              options.microbatch.value() > 1 ? "microbatches" : "records", fixed->batches().records().value())};
    }
    return static_cast<double>(fixed->batches().size().value());
  }
  if (!options.public_count && options.adjacency == Adjacency::add_or_remove_one) {
    throw Error{ErrorCode::invalid_argument, "under add-or-remove-one the number of records is private: give a public count to divide by"};
  }
  const std::uint64_t count = options.public_count ? options.public_count->value() : Count{data.size()}.value();
  return std::get<mechanisms::PoissonBatches>(options.sampler).rate().value() *
         static_cast<double>(microbatches_of(count, options.microbatch));
}

/// Adds the mean gradient of the records of one microbatch, clipped. It depends on these records and on the weights alone.
template <Objective O>
void add_mean_gradient(const Dataset& data, const O& objective, std::span<const double> weights, std::size_t microbatch, std::size_t size,
                       mechanisms::RecordSum& sum, std::vector<double>& mean) {
  const std::size_t first = microbatch * size;
  const std::size_t end = std::min(first + size, data.size());
  mean.assign(data.features(), 0.0);
  for (std::size_t i = first; i < end; ++i) add_gradient(objective, data.row(i), data.label(i), weights, mean);
  for (double& value : mean) value /= static_cast<double>(end - first);
  sum.add(mean);
}

}  // namespace detail

/// Runs the algorithm above on loss + h; returns one weight per feature. `plan(options)` is what `releaser` will be asked for, in T equal
/// parts; its sampler has to be that of the options, or it refuses. The guarantee needs nothing of the data: what is too long is clipped.
///
/// \pre labels are as the objective wants them (`encode_labels`).
/// \throws Error{invalid_argument}, before the first release, when the data have no labels, when they are not as many as batches of fixed
///         size are for, when n is not given under add-or-remove-one, and as `IterateKeeper`; Error{unsupported} as `batch_release`, and
///         when eta is not given and the loss is not smooth; and what the releaser throws.
/// \complexity O(T (stored values of a batch + features)) time and the sampler's, O(features) memory and the sampler's.
/// \source [ACG16] Algorithm 1; docs/proofs/sampling.md#sgd.
template <Objective O, Regularizer H, SamplingReleaser R>
[[nodiscard]] std::vector<double> sampled_sgd(const Dataset& data, const O& objective, const H& regularizer,
                                              const SampledSgdOptions& options, R& releaser) {
  if (!data.has_labels()) throw Error{ErrorCode::invalid_argument, "stochastic gradient descent needs labels, the data set has none"};
  const Event event = batch_release(options);
  const double divisor = detail::expected_size(data, options);
  const ClippingNorm clip = options.clip ? *options.clip : ClippingNorm{objective.gradient_bound(1)};
  const L2Sensitivity sensitivity = mechanisms::sensitivity_of_clipped_sum(clip, options.adjacency);
  mechanisms::RecordSum sum{
      {.clip = clip, .grid = mechanisms::grid_for(sensitivity, *pairwise_multiplier(event)), .dimension = data.features()}};
  const double convexity = regularizer.strong_convexity();
  const double eta =
      options.step_size ? options.step_size->value() : 1 / (require_smoothness(objective, 1, "the default step size") + convexity);
  const auto step_size = [&](std::uint64_t t) {
    const auto step = static_cast<double>(t);
    switch (options.schedule) {
      case StepSchedule::inverse_square_root: return eta / std::sqrt(step);
      case StepSchedule::inverse: return eta / (1 + eta * convexity * step);
      case StepSchedule::constant: break;
    }
    return eta;
  };
  const auto microbatch = static_cast<std::size_t>(options.microbatch.value());
  const auto units = static_cast<std::size_t>(detail::microbatches_of(data.size(), options.microbatch));
  const double momentum = options.momentum.value();
  IterateKeeper keeper{options.returned.value_or(AverageIterate{Count{(options.steps.value() + 1) / 2}}), options.steps};

  std::vector<double> weights(data.features(), 0.0);
  std::vector<double> direction(data.features(), 0.0);  // v_t
  std::vector<double> mean;
  keeper.see(weights);
  for (std::uint64_t t = 1; t <= options.steps.value(); ++t) {
    sum.clear();
    const std::span<const std::size_t> batch = releaser.draw_batch(units);
    if (microbatch == 1) {
      add_gradients(data, objective, weights, batch, sum);
    } else {
      for (const std::size_t unit : batch) detail::add_mean_gradient(data, objective, weights, unit, microbatch, sum, mean);
    }
    const std::vector<double> released = releaser.release_sampled(sum.sum(), sensitivity, event);
    const double step = step_size(t);
    for (std::size_t j = 0; j < weights.size(); ++j) {
      direction[j] = momentum * direction[j] + (1 - momentum) * (released[j] / divisor);
      weights[j] -= step * direction[j];
    }
    regularizer.proximal(step, weights);
    keeper.see(weights);
    if (options.progress) options.progress(t);
  }
  return std::move(keeper).result();
}

}  // namespace surety::optimizers
