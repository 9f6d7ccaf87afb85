#include <surety/optimizers/doors/last_iterate_releaser.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/format.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/text/error.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/problem/certified_gradients.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/problem.h>

namespace surety::optimizers {
namespace {

/// Exact rows are at most R, and the smoothness of a loss is a product of a few doubles.
constexpr double slack_of_smoothness = 1 + 0x1p-20;

using UpperNumber = UpperOf<double>;
using LowerNumber = LowerOf<double>;
using Number = ExactOf<double>;

double round_up(double value) { return std::nextafter(value, std::numeric_limits<double>::infinity()); }

double smoothness(const LastIterateDescent& descent, ConvexObjectiveRef objective) {
  return require_smoothness(objective, descent.row_norm.value() * slack_of_smoothness, "the last iterate");
}

/// One batch size, and what its steps need.
class Step {
 public:
  /// \throws Error{invalid_argument} where rounding errors are too large.
  Step(const LastIterateDescent& descent, ConvexObjectiveRef objective, std::size_t features, double batch, double factor)
      : per_step_{batch / descent.step_size.value()},
        keep_{per_step_ - batch * descent.regularization.value()},
        radius_{descent.radius.value()},
        noise_{{.multiplier = NoiseMultiplier{multiplier(descent, factor)},
                .sensitivity = covered(descent),
                .grid = grid_of(descent, features),
                .adjacency = descent.adjacency}},
        sum_{{.clip = descent.clip, .grid = gradient_grid(descent.clip), .dimension = features}} {
    require_small_errors(descent, objective, features, batch);
  }

  /// The step from `weights` on the records of the range.
  void take(const Dataset& data, ConvexObjectiveRef objective, RecordRange range, std::size_t threads, std::vector<double>& weights,
            mechanisms::BitsRef bits) {
    sum_.clear();
    add_gradients(data, objective, weights, range, sum_, threads);
    std::vector<double> query = sum_.reals();
    for (std::size_t j = 0; j < weights.size(); ++j) query[j] = keep_ * weights[j] - query[j];
    weights = noise_.release(mechanisms::round_to_nearest(query, noise_.options().grid), bits);
    for (double& weight : weights) weight /= per_step_;
    const double length = mechanisms::l2_norm(weights);
    if (length > radius_) {
      for (double& weight : weights) weight *= radius_ / length;
    }
  }

 private:
  static double multiplier(const LastIterateDescent& descent, double factor) {
    const double z = descent.noise_multiplier.value();
    return factor == 1 ? z : round_up(z * factor);
  }
  static double sensitivity(const LastIterateDescent& descent) {
    return mechanisms::sensitivity_of_clipped_sum(descent.clip, descent.adjacency).value();
  }
  /// s (1 + 2^-10), rounded up.
  static L2Sensitivity covered(const LastIterateDescent& descent) {
    return L2Sensitivity{round_up(sensitivity(descent) * (1 + rounding_share_of_noise))};
  }
  /// g sqrt(d) is at most 2^-13 s.
  static Grid grid_of(const LastIterateDescent& descent, std::size_t features) {
    return {.log2_step = std::ilogb(sensitivity(descent) / std::sqrt(static_cast<double>(features))) - 13};
  }

  /// docs/proofs/last-iterate.md#releaser, in units of the sum.
  void require_small_errors(const LastIterateDescent& descent, ConvexObjectiveRef objective, std::size_t features, double batch) const {
    constexpr double unit = 0x1p-53;
    const auto d = static_cast<double>(features);
    const double state = per_step_ * radius_;
    const double largest_sum = batch * descent.clip.value();
    const double norm = radius_ * slack_of_smoothness;
    const double row_norm = descent.row_norm.value();
    const GradientShape shape{.features = features,
                              .clip = descent.clip,
                              .row_norm = descent.row_norm,
                              .slope = require_smoothness(objective, 1, "the last iterate") * slack_of_smoothness,
                              .derivative_error = objective.monotone_derivative_error(row_norm * norm)};
    const Grid grid = noise_.options().grid;
    const double error = 1.01 * (grid.step() * std::sqrt(d) + 16 * unit * (state + largest_sum) +
                                 batch * record_gradient_error(shape, norm) + (d + 32) * unit * state);
    const double most = rounding_share_of_noise / 2 * sensitivity(descent);
    if (!(error <= most)) {
      throw Error{
          ErrorCode::invalid_argument,
          fmt::format(
              "the rounding errors of a step on {} records in a ball of radius {} may be {:.2g} of a clipped gradient, must be at most "
              "{:.2g}: use a smaller radius, a larger step size or smaller batches",
              batch, descent.radius, error / descent.clip.value(), most / descent.clip.value())};
    }
    if (!((2 * state + largest_sum) * grid.steps_per_unit() <= 0x1p61)) {
      throw Error{ErrorCode::invalid_argument,
                  fmt::format("the radius {} is too large for steps on {} records: use a smaller radius or a larger step size",
                              descent.radius, batch)};
    }
  }

  double per_step_;  ///< b / eta
  double keep_;      ///< b / eta - b lambda
  double radius_;
  mechanisms::Gaussian noise_;
  mechanisms::RecordSum sum_;
};

[[noreturn]] void refuse_records(std::size_t found, std::string_view bound, std::uint64_t needed) {
  throw Error{ErrorCode::invalid_argument,
              fmt::format("the data set has {} records, must have {}{}, for which the batches were made", found, bound, needed)};
}

/// The batches of a run: their sizes, by which sums are divided, and over what multiplier their noise is that of a batch of one record.
struct BatchKind {
  double size;
  double factor;
  double steps;
};

/// \throws Error{invalid_argument} for a number of records that the batches are not for.
std::vector<BatchKind> batches_of(const LastIterateDescent& how, std::size_t records) {
  if (const auto* all = std::get_if<AllRecords>(&how.batches)) {
    return {{.size = static_cast<double>(records), .factor = 1, .steps = static_cast<double>(all->steps.value())}};
  }
  if (const auto* some = std::get_if<PublicBatches>(&how.batches)) {
    if (records != some->records.value()) refuse_records(records, "", some->records.value());
    return {{.size = static_cast<double>(std::min(some->size.value(), some->records.value())), .factor = 1, .steps = 0}};
  }
  std::vector<BatchKind> kinds;
  double used = 0;
  for (const auto& [steps, size] : std::get<GrowingBatches>(how.batches).sizes.all()) {
    kinds.push_back({.size = size, .factor = size, .steps = steps});
    used += steps * size;
  }
  if (!(used <= static_cast<double>(records))) refuse_records(records, "at least ", static_cast<std::uint64_t>(used));
  return kinds;
}

/// The steps of a run over its data, inside.
class Descent {
 public:
  Descent(const Dataset& data, ConvexObjectiveRef objective, const LastIterateDescent& how)
      : objective_{objective}, how_{how}, clipped_{with_clipped_rows(data, how.row_norm, objective)}, weights_(data.features(), 0.0) {}

  std::vector<double> run(mechanisms::BitsRef bits) {
    std::size_t first = 0;
    for (const auto& kind : batches_of(how_, clipped_.size())) {
      Step step{how_, objective_, clipped_.features(), kind.size, kind.factor};
      const auto size = static_cast<std::size_t>(kind.size);
      if (const auto* some = std::get_if<PublicBatches>(&how_.batches)) {
        for (std::uint64_t pass = 0; pass < some->passes.value(); ++pass) {
          for (first = 0; first < clipped_.size(); first += size) take(step, first, std::min(first + size, clipped_.size()), bits);
        }
        continue;
      }
      const bool uses_all = std::holds_alternative<AllRecords>(how_.batches);
      for (double done = 0; done < kind.steps; ++done) {
        take(step, first, first + size, bits);
        if (!uses_all) first += size;
      }
    }
    return std::move(weights_);
  }

 private:
  void take(Step& step, std::size_t first, std::size_t end, mechanisms::BitsRef bits) {
    step.take(clipped_, objective_, {.first = first, .end = end}, how_.threads, weights_, bits);
    if (how_.progress) how_.progress(++done_);
  }

  ConvexObjectiveRef objective_;
  const LastIterateDescent& how_;
  Dataset clipped_;
  std::vector<double> weights_;
  std::uint64_t done_ = 0;
};

}  // namespace

LipschitzConstant step_constant(const LastIterateDescent& descent, ConvexObjectiveRef objective) {
  const Number eta{descent.step_size.value()};
  const double lambda = descent.regularization.value();
  const UpperNumber slope = UpperNumber{Number{smoothness(descent, objective)}} + Number{lambda};
  const UpperNumber turned = slope * eta - Number{1.0};
  // 1 - eta lambda is at most 1, and below -c it is above -(eta (beta + lambda) - 1).
  const UpperNumber shrunk = lambda == 0 ? UpperNumber{Number{1.0}} : Number{1.0} - LowerNumber{Number{lambda}} * eta;
  const double constant = std::max({turned.value(), std::min(shrunk.value(), 1.0), 0.0});
  if (!(constant <= 1)) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("step size is {}, must be at most {} for the last iterate: 2 over the sum of smoothness and regularization",
                            descent.step_size, 2 / slope.value())};
  }
  return LipschitzConstant{constant};
}

Event plan(const LastIterateDescent& descent, ConvexObjectiveRef objective) {
  const LipschitzConstant constant = step_constant(descent, objective);
  const Event step = gaussian(descent.noise_multiplier, descent.adjacency);
  if (const auto* all = std::get_if<AllRecords>(&descent.batches)) return last_iterate(all->steps, constant, step);
  if (const auto* some = std::get_if<PublicBatches>(&descent.batches)) {
    return last_iterate_of_passes(some->passes, Count{(some->records.value() - 1) / some->size.value() + 1}, constant, step);
  }
  return last_iterate_of_batches(std::get<GrowingBatches>(descent.batches).sizes, step);
}

void require_last_iterate(std::size_t records, std::size_t features, ConvexObjectiveRef objective, const LastIterateDescent& descent) {
  if (records == 0) throw Error{ErrorCode::invalid_argument, "the data set has no record, must have at least one"};
  // Errors and noise grow with the batch.
  const auto kinds = batches_of(descent, records);
  const auto& largest = *std::max_element(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) { return a.size < b.size; });
  static_cast<void>(Step{descent, objective, features, largest.size, largest.factor});
}

std::vector<double> NoisyLastIterateReleaser::release(const Dataset& data, ConvexObjectiveRef objective,
                                                      const LastIterateDescent& descent) {
  if (!data.has_labels()) throw Error{ErrorCode::invalid_argument, "descent needs labels, the data set has none"};
  require_no_weights(data, "the last iterate");
  const StandardFloatingPoint environment;
  const Event event = plan(descent, objective);
  require_last_iterate(data.size(), data.features(), objective, descent);
  Descent inside{data, objective, descent};
  reservation_.spend(event);
  return inside.run(bits_);
}

}  // namespace surety::optimizers
