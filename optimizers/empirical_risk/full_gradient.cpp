#include <surety/optimizers/empirical_risk/full_gradient.h>

#include <algorithm>

#include <surety/base/text/error.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/optimizers/problem/gradient_sum.h>

namespace surety::optimizers {
namespace {

double divisor(const Dataset& data, const FullGradientOptions& options) {
  if (!data.has_labels()) invalid("a gradient needs labels, the data set has none");
  if (!options.public_count && options.adjacency == Adjacency::add_or_remove_one) {
    invalid("under add-or-remove-one the number of records is private: give a public count to divide by");
  }
  const Count count = options.public_count ? *options.public_count : Count{units_in(data, options.unit_ends)};
  return static_cast<double>(count.value());
}

mechanisms::RecordSum::Options sum_options(const Dataset& data, ObjectiveRef objective, const FullGradientOptions& options) {
  const ClippingNorm clip = options.clip ? *options.clip : ClippingNorm{objective.gradient_bound(1)};
  const L2Sensitivity sensitivity = mechanisms::sensitivity_of_clipped_sum(clip, options.adjacency);
  return {.clip = clip,
          .grid = mechanisms::grid_for(sensitivity, options.noise_multiplier),
          .dimension = data.features() * std::max<std::size_t>(1, options.class_weights.size())};
}

}  // namespace

NoisyFullGradient::NoisyFullGradient(const Dataset& data, ObjectiveRef objective, const FullGradientOptions& options, Releaser& releaser)
    : data_{data},
      objective_{objective},
      releaser_{releaser},
      count_{divisor(data, options)},
      threads_{options.threads},
      unit_ends_{options.unit_ends},
      class_weights_{options.class_weights},
      classes_by_{options.classes_by},
      row_map_{options.row_map},
      multiplier_{options.noise_multiplier},
      event_{gaussian(options.noise_multiplier, options.adjacency)},
      sum_{sum_options(data, objective, options)},
      sensitivity_{sum_.sensitivity(options.adjacency)} {}

std::vector<double> NoisyFullGradient::operator()(std::span<const double> weights) {
  sum_.clear();
  if (!class_weights_.empty()) {
    add_class_gradients(data_, objective_, weights, class_weights_, sum_, threads_, row_map_, classes_by_, unit_ends_);
  } else if (unit_ends_.empty()) {
    add_gradients(data_, objective_, weights, sum_, threads_, row_map_);
  } else {
    add_unit_gradients(data_, objective_, weights, unit_ends_, sum_, threads_, row_map_);
  }
  std::vector<double> gradient = releaser_.release(sum_.sum(), sensitivity_, event_);
  for (double& g : gradient) g /= count_;
  return gradient;
}

}  // namespace surety::optimizers
