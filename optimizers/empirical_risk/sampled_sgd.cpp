#include <surety/optimizers/empirical_risk/sampled_sgd.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/data/features/row_reader.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/problem.h>

namespace surety::optimizers {

namespace {

/// Of `records` records in microbatches of `size`.
std::uint64_t microbatches_of(std::uint64_t records, Count size) { return records == 0 ? 0 : (records - 1) / size.value() + 1; }

/// How many of what is sampled there are: private where the adjacency keeps it so.
std::uint64_t sampled_units(const Dataset& data, const SampledSgdOptions& options) {
  if (options.unit_ends.empty()) return microbatches_of(data.size(), options.microbatch);
  if (options.microbatch.value() > 1) throw Error{ErrorCode::invalid_argument, "units of several rows have no microbatches"};
  return options.unit_ends.size();
}

/// n, which divides what a batch releases where its size is an expected one.
std::uint64_t public_units(const Dataset& data, const SampledSgdOptions& options) {
  if (!options.public_count && options.adjacency == Adjacency::add_or_remove_one) {
    throw Error{ErrorCode::invalid_argument, "under add-or-remove-one the number of records is private: give a public count to divide by"};
  }
  if (!options.public_count) return Count{sampled_units(data, options)}.value();
  return microbatches_of(options.public_count->value(), options.microbatch);
}

/// \throws Error{invalid_argument} unless the data have as many sampled units as the batches are for.
void require_units(const Dataset& data, const SampledSgdOptions& options, Count wanted) {
  const std::uint64_t units = sampled_units(data, options);
  if (units == wanted.value()) return;
  throw Error{ErrorCode::invalid_argument, fmt::format("the data set has {} {}, must have {}, for which the batches were made", units,
                                                       options.microbatch.value() > 1 ? "microbatches" : "records", wanted.value())};
}

/// b: how many of the sampled units a batch holds, or is expected to hold. Public.
struct ExpectedSize {
  const Dataset& data;
  const SampledSgdOptions& options;

  double operator()(const mechanisms::PoissonBatches& batches) const {
    return batches.rate().value() * static_cast<double>(public_units(data, options));
  }
  double operator()(const mechanisms::PoissonBatchesOfUnits& batches) const {
    return batches.rate().value() * static_cast<double>(public_units(data, options));
  }
  double operator()(const mechanisms::FixedSizeBatches& fixed) const {
    require_units(data, options, fixed.batches().records());
    return static_cast<double>(fixed.batches().size().value());
  }
  /// Also where some records stay out: of the batches that the size does not cut the rate is known.
  double operator()(const mechanisms::TruncatedBatches& batches) const {
    if (batches.adjacency() != Adjacency::add_or_remove_one) require_units(data, options, batches.batches().records());
    return batches.rate().value() * static_cast<double>(public_units(data, options));
  }
  double operator()(const mechanisms::Allocation& allocation) const {
    return static_cast<double>(public_units(data, options)) / static_cast<double>(allocation.rounds().value());
  }
};

/// Adds the mean gradient of the records of one microbatch, clipped. It depends on these records and on the weights alone.
void add_mean_gradient(const Dataset& data, ObjectiveRef objective, std::span<const double> weights, std::size_t microbatch,
                       std::size_t size, mechanisms::RecordSum& sum, std::vector<double>& mean) {
  const std::size_t first = microbatch * size;
  const std::size_t end = std::min(first + size, data.size());
  mean.assign(data.features(), 0.0);
  data::RowReader reader{data};
  for (std::size_t i = first; i < end; ++i) add_gradient(objective, reader.row(i), data.label(i), weights, mean, data.weight(i));
  for (double& value : mean) value /= static_cast<double>(end - first);
  sum.add(mean);
}

}  // namespace

Event batch_release(const SampledSgdOptions& options) {
  if (options.microbatch.value() > 1 && options.adjacency != Adjacency::replace_one) {
    throw Error{
        ErrorCode::unsupported,
        fmt::format(
            "adjacency is {}, must be replace-one for microbatches of {} records: one record changes the whole contribution of a microbatch",
            name(options.adjacency), options.microbatch.value())};
  }
  if (options.adjacency == Adjacency::replace_one) {
    return record_sum(options.noise_multiplier, options.adjacency);
  }
  return gaussian(options.noise_multiplier, options.adjacency);
}

Event plan(const SampledSgdOptions& options) {
  const Event release = batch_release(options);
  if (const auto* const allocation = std::get_if<mechanisms::Allocation>(&options.sampler); allocation != nullptr) {
    // The event has an account there; the loop and its attacks are held to the other two.
    if (options.adjacency == Adjacency::replace_one) {
      throw Error{ErrorCode::invalid_argument, "adjacency is replace-one, must be add-or-remove-one or zero-out for allocated batches"};
    }
    const std::uint64_t rounds = allocation->rounds().value();
    return repeat(Count{(options.steps.value() - 1) / rounds + 1}, allocation->event(release));
  }
  return repeat(options.steps, std::visit([&release](const auto& sampler) { return sampler.event(release); }, options.sampler));
}

std::vector<double> sampled_sgd(const Dataset& data, ObjectiveRef objective, const Regularizer& regularizer,
                                const SampledSgdOptions& options, SamplingReleaser& releaser) {
  if (!data.has_labels()) throw Error{ErrorCode::invalid_argument, "stochastic gradient descent needs labels, the data set has none"};
  const Event event = batch_release(options);
  const double divisor = std::visit(ExpectedSize{data, options}, options.sampler);
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
  const auto units = static_cast<std::size_t>(sampled_units(data, options));
  const double momentum = options.momentum.value();
  IterateKeeper keeper{options.returned.value_or(AverageIterate{Count{(options.steps.value() + 1) / 2}}), options.steps};

  std::vector<double> weights(data.features(), 0.0);
  std::vector<double> direction(data.features(), 0.0);  // v_t
  std::vector<double> mean;
  keeper.see(weights);
  for (std::uint64_t t = 1; t <= options.steps.value(); ++t) {
    sum.clear();
    const std::span<const std::size_t> batch = releaser.draw_batch(units);
    if (!options.unit_ends.empty()) {
      add_unit_gradients(data, objective, weights, options.unit_ends, batch, sum);
    } else if (microbatch == 1) {
      add_gradients(data, objective, weights, batch, sum);
    } else {
      for (const std::size_t unit : batch) add_mean_gradient(data, objective, weights, unit, microbatch, sum, mean);
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
