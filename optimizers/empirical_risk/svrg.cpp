#include <surety/optimizers/empirical_risk/svrg.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <surety/accounting/events/format.h>
#include <surety/base/text/error.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/problem.h>

namespace surety::optimizers {
namespace {

/// The numbers of a run that do not change: all public.
struct SvrgSetting {
  double count;               ///< n
  double batch_size;          ///< b, expected
  double smoothness;          ///< L
  ClippingNorm clip;          ///< G
  ClippingNorm largest_clip;  ///< D
  double floor;
  StepSize first_step;
};

/// C_t. Rounding, overflow and weights out of range cost accuracy, never privacy: gradients are clipped to what is said here.
ClippingNorm difference_clip(const SvrgSetting& setting, double distance) {
  const double moved = setting.smoothness * distance;
  // Not a number counts as too much.
  return ClippingNorm{std::max(setting.floor, moved < setting.largest_clip.value() ? moved : setting.largest_clip.value())};
}

SvrgSetting svrg_setting(const Dataset& data, ObjectiveRef objective, const SvrgOptions& options) {
  if (!data.has_labels()) throw Error{ErrorCode::invalid_argument, "SVRG needs labels, the data set has none"};
  require_no_weights(data, "SVRG");
  const double smoothness = require_smoothness(objective, 1, "SVRG");
  const auto* const fixed = std::get_if<mechanisms::FixedSizeBatches>(&options.sampler);
  if (fixed != nullptr && data.size() != fixed->batches().records().value()) {
    throw Error{ErrorCode::invalid_argument, fmt::format("the data set has {} records, must have {}, for which the batches were made",
                                                         data.size(), fixed->batches().records().value())};
  }
  if (!options.public_count && options.adjacency == Adjacency::add_or_remove_one) {
    throw Error{ErrorCode::invalid_argument, "under add-or-remove-one the number of records is private: give a public count to divide by"};
  }
  const auto count = static_cast<double>((options.public_count ? *options.public_count : Count{data.size()}).value());
  const ClippingNorm largest = options.difference_clip ? *options.difference_clip : ClippingNorm{objective.gradient_difference_bound(1)};
  const DifferenceFloor floor = options.floor ? *options.floor : DifferenceFloor{0x1p-20 * largest.value()};
  if (floor.value() > largest.value()) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("{} is {}, must be at most {}, the clip itself", DifferenceFloorRule::name, floor, largest)};
  }
  StepSize first{1 / (5 * smoothness)};
  if (const auto* const rule = std::get_if<BarzilaiBorwein>(&options.step_size); rule != nullptr) {
    if (!(rule->lowest <= rule->first && rule->first <= rule->highest)) {
      throw Error{ErrorCode::invalid_argument,
                  fmt::format("step size is {} at first, must be from {} to {}", rule->first, rule->lowest, rule->highest)};
    }
    if (!(rule->multiple > 0 && std::isfinite(rule->multiple))) {
      throw Error{ErrorCode::invalid_argument,
                  fmt::format("multiple of the Barzilai-Borwein step is {}, must be finite and greater than 0", rule->multiple)};
    }
    first = rule->first;
  }
  const auto grid_exists = [&](double clip, NoiseMultiplier z) {
    static_cast<void>(mechanisms::grid_for(mechanisms::sensitivity_of_clipped_sum(ClippingNorm{clip}, options.adjacency), z));
  };
  const ClippingNorm clip = options.clip ? *options.clip : ClippingNorm{objective.gradient_bound(1)};
  grid_exists(clip.value(), options.anchor_multiplier);
  grid_exists(floor.value(), options.noise_multiplier);
  grid_exists(largest.value(), options.noise_multiplier);
  return {.count = count,
          .batch_size = fixed != nullptr ? static_cast<double>(fixed->batches().size().value())
                                         : std::get<mechanisms::PoissonBatches>(options.sampler).rate().value() * count,
          .smoothness = smoothness,
          .clip = clip,
          .largest_clip = largest,
          .floor = floor.value(),
          .first_step = first};
}

}  // namespace

Count inner_steps(const SvrgOptions& options, std::uint64_t epoch) {
  if (options.variant == SvrgVariant::svrg) return options.inner_steps;
  if (epoch > 53) throw Error{ErrorCode::invalid_argument, fmt::format("epochs of SVRG++ are {}, must be at most 53", epoch)};
  if (options.inner_steps.value() > std::uint64_t{1} << (53 - epoch)) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("inner steps are 2^{} x {}, must be at most 2^53", epoch, options.inner_steps.value())};
  }
  return Count{options.inner_steps.value() << epoch};
}

Count all_inner_steps(const SvrgOptions& options) {
  const std::uint64_t epochs = options.epochs.value();
  if (options.variant == SvrgVariant::svrg_plus_plus) {
    return Count{2 * inner_steps(options, epochs).value() - 2 * options.inner_steps.value()};
  }
  if (options.inner_steps.value() > (std::uint64_t{1} << 53) / epochs) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("inner steps are {} x {}, must be at most 2^53", epochs, options.inner_steps.value())};
  }
  return Count{epochs * options.inner_steps.value()};
}

Event anchor_release(const SvrgOptions& options) { return gaussian(options.anchor_multiplier, options.adjacency); }

Event batch_release(const SvrgOptions& options) {
  if (options.adjacency == Adjacency::replace_one && std::holds_alternative<mechanisms::PoissonBatches>(options.sampler)) {
    return record_sum(NoiseMultiplier{2 * options.noise_multiplier.value()}, options.adjacency);
  }
  return gaussian(options.noise_multiplier, options.adjacency);
}

Event plan(const SvrgOptions& options) {
  const Event batch = batch_release(options);
  const Event sampled = std::visit([&](const auto& sampler) { return sampler.event(batch); }, options.sampler);
  return compose({repeat(options.epochs, anchor_release(options)), repeat(all_inner_steps(options), sampled)});
}

double gradient_evaluations(const SvrgOptions& options, Count records) {
  const auto n = static_cast<double>(records.value());
  const auto* const poisson = std::get_if<mechanisms::PoissonBatches>(&options.sampler);
  const double batch = poisson != nullptr
                           ? poisson->rate().value() * n
                           : static_cast<double>(std::get<mechanisms::FixedSizeBatches>(options.sampler).batches().size().value());
  return static_cast<double>(options.epochs.value()) * n + 2 * static_cast<double>(all_inner_steps(options).value()) * batch;
}

namespace detail {

double euclidean_distance(std::span<const double> a, std::span<const double> b) {
  double squares = 0;
  for (std::size_t j = 0; j < a.size(); ++j) squares += (a[j] - b[j]) * (a[j] - b[j]);
  return std::sqrt(squares);
}

StepSize barzilai_borwein(const BarzilaiBorwein& rule, const SvrgAnchorPoint& now, const SvrgAnchorPoint& before) {
  double squares = 0;
  double product = 0;
  for (std::size_t j = 0; j < now.weights.size(); ++j) {
    const double moved = now.weights[j] - before.weights[j];
    squares += moved * moved;
    product += moved * (now.gradient[j] - before.gradient[j]);
  }
  const double quotient = rule.multiple * squares / product;
  if (!(quotient > 0)) return rule.first;
  return StepSize{std::clamp(quotient, rule.lowest.value(), rule.highest.value())};
}

}  // namespace detail

std::vector<double> svrg(const Dataset& data, ObjectiveRef objective, const Regularizer& regularizer, const SvrgOptions& options,
                         SamplingReleaser& releaser) {
  const SvrgSetting setting = svrg_setting(data, objective, options);
  static_cast<void>(all_inner_steps(options));
  const Event whole = anchor_release(options);
  const Event sampled = batch_release(options);
  const L2Sensitivity whole_sensitivity = mechanisms::sensitivity_of_clipped_sum(setting.clip, options.adjacency);
  mechanisms::RecordSum whole_sum{
      {.clip = setting.clip, .grid = mechanisms::grid_for(whole_sensitivity, options.anchor_multiplier), .dimension = data.features()}};

  detail::SvrgAnchorPoint anchor{.weights = std::vector<double>(data.features(), 0.0), .gradient = {}};
  detail::SvrgAnchorPoint previous = anchor;
  std::vector<double> x = anchor.weights;
  for (std::uint64_t epoch = 1; epoch <= options.epochs.value(); ++epoch) {
    whole_sum.clear();
    add_gradients(data, objective, anchor.weights, whole_sum, options.threads);
    anchor.gradient = releaser.release(whole_sum.sum(), whole_sensitivity, whole);
    for (double& value : anchor.gradient) value /= setting.count;

    double step = setting.first_step.value();
    if (const auto* const constant = std::get_if<StepSize>(&options.step_size); constant != nullptr) step = constant->value();
    if (const auto* const schedule = std::get_if<SvrgSchedule>(&options.step_size); schedule != nullptr) step = (*schedule)(epoch).value();
    if (const auto* const rule = std::get_if<BarzilaiBorwein>(&options.step_size); rule != nullptr && epoch > 1) {
      step = detail::barzilai_borwein(*rule, anchor, previous).value();
    }

    if (options.variant == SvrgVariant::svrg) x = anchor.weights;
    std::vector<double> mean(data.features(), 0.0);
    const std::uint64_t inner = inner_steps(options, epoch).value();
    for (std::uint64_t t = 1; t <= inner; ++t) {
      const ClippingNorm clip = difference_clip(setting, detail::euclidean_distance(x, anchor.weights));
      const L2Sensitivity sensitivity = mechanisms::sensitivity_of_clipped_sum(clip, options.adjacency);
      mechanisms::RecordSum sum{
          {.clip = clip, .grid = mechanisms::grid_for(sensitivity, options.noise_multiplier), .dimension = data.features()}};
      for (const std::size_t i : releaser.draw_batch(data.size())) {
        const RowView row = data.row(i);
        const double now = objective.derivative(row.dot(x), data.label(i));
        const double then = objective.derivative(row.dot(anchor.weights), data.label(i));
        add_clipped(now - then, row, sum);
      }
      const std::vector<double> released = releaser.release_sampled(sum.sum(), sensitivity, sampled);
      for (std::size_t j = 0; j < x.size(); ++j) x[j] -= step * (anchor.gradient[j] + released[j] / setting.batch_size);
      regularizer.proximal(step, x);
      for (std::size_t j = 0; j < x.size(); ++j) mean[j] += (x[j] - mean[j]) / static_cast<double>(t);
    }
    previous = std::move(anchor);
    anchor = {.weights = options.anchor == SvrgAnchor::average ? std::move(mean) : x, .gradient = {}};
    for (double& weight : anchor.weights) weight = completed(weight);
    if (options.progress) options.progress(epoch);
  }
  return std::move(anchor.weights);
}

}  // namespace surety::optimizers
