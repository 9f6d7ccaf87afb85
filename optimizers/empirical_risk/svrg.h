// Stochastic gradient descent with variance reduction, private: [WYX17] Algorithms 1 (DP-SVRG) and 2 (DP-SVRG++), with two noises.
//
// Epoch s = 1 .. T has an anchor x~ and releases the gradient of all records there,
//
//     g~ = (1/n) (sum_i clip_G(grad loss(x~, z_i)) + N(0, (z_F s_F)^2 I)).
//
// Each of its m_s inner steps draws a fresh secret batch of (expected) size b and releases how its gradients have changed since,
//
//     r_t = (1/b) (sum over the batch of clip_{C_t}(grad loss(x_{t-1}, z) - grad loss(x~, z)) + N(0, (z s_t)^2 I)),
//     x_t = proximal_(eta h)(x_{t-1} - eta (g~ + r_t)),   C_t = max(floor, min(D, L ||x_{t-1} - x~||_2)),
//
// where one record moves a sum of vectors of norm at most C by s = 2C under replace-one and by C otherwise, and D and L are the loss's
// bounds on how far a record's gradient moves between two weight vectors. C_t is a function of released values, so the noise of an inner
// step shrinks as x nears its anchor. The next anchor is the mean of x_1 .. x_{m_s}, or x_{m_s}, and so is the result.
//
//     SVRG     m_s = m        x_0 is the anchor
//     SVRG++   m_s = 2^s m    x_0 is the last x of the epoch before: (2^(T+1) - 2) m steps in all
//
// A run costs compose(repeat(T, gaussian(z_F)), repeat(N, sampled(gaussian(z)))) with N = m_1 + .. + m_T.
//
// Differences from the paper. There the gradient of all records enters every inner step without noise of its own, and one noise of
// sigma^2 = c G^2 N log(1/delta) / (n epsilon)^2 on batches of one record is to cover everything, with 2^T m steps counted for SVRG++: that
// is no guarantee at any c that was used (printed_erm_noise.h), and is refused. Barzilai-Borwein steps are made from released gradients.
//
// [WYX17] Wang, Ye, Xu: Differentially Private Empirical Risk Minimization Revisited: Faster and More General.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/numbers/error.h>
#include <surety/accounting/events/event.h>
#include <surety/accounting/events/units.h>
#include <surety/mechanisms/choices/batch_sampler.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/data/dataset.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/problem/regularizer.h>
#include <surety/optimizers/doors/sampled_releaser.h>

namespace surety::optimizers {

enum class SvrgVariant { svrg, svrg_plus_plus };
enum class SvrgAnchor { average, last };

/// eta in epoch s = 1, 2, ...: any public function.
using SvrgSchedule = std::function<StepSize(std::uint64_t epoch)>;

/// From the second epoch on eta = multiple x ||x~ - x~'||^2 / <x~ - x~', g~ - g~'>, where x~' and g~' are those of the epoch before,
/// clamped to [lowest, highest]; `first` in the first epoch and where the quotient is not positive. All of it released.
struct BarzilaiBorwein {
  StepSize first;
  StepSize lowest;
  StepSize highest;
  double multiple = 0.2;  ///< greater than 0; as the default step, a fifth of what the curvature allows
};

struct DifferenceFloorRule : Positive {
  static constexpr std::string_view name = "floor of the clip of gradient differences";
};
/// The least C_t. It cannot be 0: at x = x~ noise of scale 0 would be none.
using DifferenceFloor = Quantity<DifferenceFloorRule>;

/// All public. The defaults were fixed once, for rows of unit norm, and do not look at the data at hand: choosing options by the results of
/// private runs is a release of its own.
struct SvrgOptions {
  NoiseMultiplier anchor_multiplier;  ///< z_F
  NoiseMultiplier noise_multiplier;   ///< z, over the sensitivity under every adjacency
  std::variant<mechanisms::PoissonBatches, mechanisms::FixedSizeBatches> sampler;
  Adjacency adjacency = Adjacency::replace_one;
  SvrgVariant variant = SvrgVariant::svrg;
  Count epochs{10};                                                                      ///< T
  Count inner_steps{50};                                                                 ///< m
  SvrgAnchor anchor = SvrgAnchor::average;                                               ///< what the next anchor and the result are
  std::variant<std::monostate, StepSize, SvrgSchedule, BarzilaiBorwein> step_size = {};  ///< default 1 / (5 L)
  std::optional<ClippingNorm> clip = {};             ///< G; default the loss's gradient bound at row norm 1
  std::optional<ClippingNorm> difference_clip = {};  ///< D; default the loss's gradient difference bound at row norm 1
  std::optional<DifferenceFloor> floor = {};         ///< default 2^-20 D; at most D
  std::optional<Count> public_count = {};            ///< n; default the number of records, which add-or-remove-one keeps private
  std::size_t threads = 1;                           ///< for gradients of all records
  std::function<void(std::uint64_t)> progress = {};  ///< called with the number of epochs done, which is public, after each
};

/// m_s for s = 1 .. T. \throws Error{invalid_argument} when it is more than 2^53.
[[nodiscard]] inline Count inner_steps(const SvrgOptions& options, std::uint64_t epoch) {
  if (options.variant == SvrgVariant::svrg) return options.inner_steps;
  if (epoch > 53) throw Error{ErrorCode::invalid_argument, fmt::format("epochs of SVRG++ are {}, must be at most 53", epoch)};
  if (options.inner_steps.value() > std::uint64_t{1} << (53 - epoch)) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("inner steps are 2^{} x {}, must be at most 2^53", epoch, options.inner_steps.value())};
  }
  return Count{options.inner_steps.value() << epoch};
}

/// N = m_1 + .. + m_T. \throws Error{invalid_argument} when it is more than 2^53.
[[nodiscard]] inline Count all_inner_steps(const SvrgOptions& options) {
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

/// The release of the gradient of all records.
[[nodiscard]] inline Event anchor_release(const SvrgOptions& options) { return gaussian(options.anchor_multiplier, options.adjacency); }

/// The release of one batch, of the sampler. Poisson sampling under replace-one hides a record on both sides, and what it costs is known
/// for sums of records: record_sum(2 z), which has the same noise.
[[nodiscard]] inline Event batch_release(const SvrgOptions& options) {
  if (options.adjacency == Adjacency::replace_one && std::holds_alternative<mechanisms::PoissonBatches>(options.sampler)) {
    return release(Event::RecordSum{NoiseMultiplier{2 * options.noise_multiplier.value()}}, options.adjacency);
  }
  return gaussian(options.noise_multiplier, options.adjacency);
}

/// What a run releases: T gradients of all records and N batches.
/// \throws Error{invalid_argument} for a sampler without a theorem for the adjacency, and when N is more than 2^53.
/// \source docs/proofs/svrg.md#two-noises
[[nodiscard]] inline Event plan(const SvrgOptions& options) {
  const Event batch = batch_release(options);
  const Event sampled = std::visit([&](const auto& sampler) { return sampler.event(batch); }, options.sampler);
  return compose({repeat(options.epochs, anchor_release(options)), repeat(all_inner_steps(options), sampled)});
}

/// Gradients of one record that a run evaluates, where a batch has its expected size: T n + 2 N b. Public.
[[nodiscard]] inline double gradient_evaluations(const SvrgOptions& options, Count records) {
  const auto n = static_cast<double>(records.value());
  const auto* const poisson = std::get_if<mechanisms::PoissonBatches>(&options.sampler);
  const double batch = poisson != nullptr
                           ? poisson->rate().value() * n
                           : static_cast<double>(std::get<mechanisms::FixedSizeBatches>(options.sampler).batches().size().value());
  return static_cast<double>(options.epochs.value()) * n + 2 * static_cast<double>(all_inner_steps(options).value()) * batch;
}

namespace detail {

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

[[nodiscard]] inline double euclidean_distance(std::span<const double> a, std::span<const double> b) {
  double squares = 0;
  for (std::size_t j = 0; j < a.size(); ++j) squares += (a[j] - b[j]) * (a[j] - b[j]);
  return std::sqrt(squares);
}

/// C_t. Rounding, overflow and weights out of range cost accuracy, never privacy: gradients are clipped to what is said here.
[[nodiscard]] inline ClippingNorm difference_clip(const SvrgSetting& setting, double distance) {
  const double moved = setting.smoothness * distance;
  // Not a number counts as too much.
  return ClippingNorm{std::max(setting.floor, moved < setting.largest_clip.value() ? moved : setting.largest_clip.value())};
}

template <Objective O>
[[nodiscard]] SvrgSetting svrg_setting(const Dataset& data, const O& objective, const SvrgOptions& options) {
  if (!data.has_labels()) throw Error{ErrorCode::invalid_argument, "SVRG needs labels, the data set has none"};
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

/// The anchor of an epoch and the gradient released there.
struct SvrgAnchorPoint {
  std::vector<double> weights;
  std::vector<double> gradient;
};

/// A Barzilai-Borwein step: a function of two released gradients and their anchors.
[[nodiscard]] inline StepSize barzilai_borwein(const BarzilaiBorwein& rule, const SvrgAnchorPoint& now, const SvrgAnchorPoint& before) {
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

/// Runs the algorithm above from 0 on loss + h; returns the last anchor, one weight per feature. `plan(options)` is what `releaser` will be
/// asked for: T times a release of all records followed by m_s batches.
///
/// The guarantee needs nothing of the data: rows longer than expected, labels out of range and overflowing scores are clipped or count as
/// zero. The defaults of G, D and eta, and L, suit rows of norm at most 1.
///
/// \pre   labels are as the objective wants them (`encode_labels`); the releaser's sampler is that of the options.
/// \throws Error{unsupported} for a loss that is not smooth; Error{invalid_argument}, before the first release, when options break their
///         constraints, the data have no labels, are not as many records as the batches are for, or there is no n to divide by; and what
///         the releaser throws.
/// \complexity O(T stored values + 2 N b nonzeros + N features) time, O(features + b) memory.
/// \source [WYX17] Algorithms 1 and 2; docs/proofs/svrg.md.
template <Objective O, Regularizer H, SamplingReleaser R>
[[nodiscard]] std::vector<double> svrg(const Dataset& data, const O& objective, const H& regularizer, const SvrgOptions& options,
                                       R& releaser) {
  const detail::SvrgSetting setting = detail::svrg_setting(data, objective, options);
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
      const ClippingNorm clip = detail::difference_clip(setting, detail::euclidean_distance(x, anchor.weights));
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
