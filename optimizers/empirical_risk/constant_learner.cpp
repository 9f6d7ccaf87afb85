#include <surety/optimizers/empirical_risk/constant_learner.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <surety/base/text/error.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/doors/pure_noise.h>
#include <surety/optimizers/empirical_risk/snapped.h>
#include <surety/optimizers/problem/counts.h>

namespace surety::optimizers {

namespace {

PureRelease pure_release(const ConstantLearnerOptions& options, std::size_t numbers) {
  return {.scale = NoiseScale{options.noise_multiplier.value()}, .numbers = numbers};
}

/// The multiplier of Gaussian noise, or of such noise with the same mean squared length as the pure noise of so many numbers.
NoiseMultiplier multiplier_of(const ConstantLearnerOptions& options, std::size_t numbers) {
  return options.is_pure ? pure_release(options, numbers).multiplier() : options.noise_multiplier;
}

/// n. \throws Error{invalid_argument} as both learners.
double count_of(const Dataset& data, const ConstantLearnerOptions& options) {
  if (!data.has_labels()) invalid("a share of classes needs labels, the data set has none");
  if (!options.public_count && options.adjacency == Adjacency::add_or_remove_one) {
    invalid("under add-or-remove-one the number of records is private: give a public count to divide by");
  }
  return static_cast<double>((options.public_count ? *options.public_count : Count{units_in(data, options.unit_ends)}).value());
}

/// The shares of classes, to whose counts `add(label, weight, counts)` adds at most the weight, and nothing negative.
template <class Add>
std::vector<double> released_shares(const Dataset& data, std::size_t classes, const ConstantLearnerOptions& options, Releaser& releaser,
                                    const Add& add) {
  const double count = count_of(data, options);
  const L2Sensitivity sensitivity = sensitivity_of_counts(options.adjacency);
  const NoiseMultiplier multiplier = multiplier_of(options, classes);
  mechanisms::RecordSum sum{{.clip = ClippingNorm{1}, .grid = mechanisms::grid_for(sensitivity, multiplier), .dimension = classes}};
  std::vector<double> mean(classes);
  for (std::size_t unit = 0; unit < units_in(data, options.unit_ends); ++unit) {
    const RecordRange rows = rows_of_unit(options.unit_ends, unit);
    std::fill(mean.begin(), mean.end(), 0.0);
    for (std::size_t i = rows.first; i < rows.end; ++i) {
      if (data.norm(i) > 0) add(data.label(i), data.weight(i) / static_cast<double>(rows.end - rows.first), mean);
    }
    sum.add(mean);
  }
  const auto of_classes = static_cast<double>(classes);
  const double variance = (of_classes - 1) / (of_classes * of_classes * (of_classes + 1));
  const auto released = releaser.release(sum.sum(), sensitivity, plan(options));
  const double deviation = multiplier.value() * sensitivity.value();
  // The shares are of all weights, of which the counts are the sum.
  const double divisor =
      data.has_weights()
          ? std::clamp(std::max(std::accumulate(released.begin(), released.end(), 0.0), deviation * std::sqrt(of_classes)), 1.0, count)
          : count;
  const double noise = deviation / divisor;
  const double kept = variance / (variance + noise * noise);
  std::vector<double> shares;
  double total = 0;
  for (std::size_t k = 0; k < classes; ++k) {
    shares.push_back(
        std::clamp(1 / of_classes + kept * (released[k] / divisor - 1 / of_classes), std::min(1 / count, 1 / of_classes), 1.0));
    total += shares.back();
  }
  for (double& share : shares) share /= total;
  return shares;
}

}  // namespace

Event plan(const ConstantLearnerOptions& options) {
  if (options.is_pure) return pure_release(options, 1).event(options.adjacency);
  return gaussian(options.noise_multiplier, options.adjacency);
}

double constant_learner(const Dataset& data, const ConstantLearnerOptions& options, Releaser& releaser) {
  if (data.has_weights()) {
    // A label is a share t of the upper class and 1 - t of the lower one.
    const double bound = options.label_bound ? options.label_bound->value() : 1;
    const auto shares = released_shares(data, 2, options, releaser, [bound](double label, double weight, std::vector<double>& counts) {
      const double middle = detail::snapped(std::clamp(label / bound, -1.0, 1.0), 1);
      counts[0] += weight * (1 - middle) / 2;
      counts[1] += weight * (1 + middle) / 2;
    });
    return options.label_bound ? bound * (shares[1] - shares[0]) : std::log(shares[1] / shares[0]);
  }
  const double count = count_of(data, options);
  const ClippingNorm clip{options.label_bound ? options.label_bound->value() : 0.5};
  const L2Sensitivity sensitivity = mechanisms::sensitivity_of_clipped_sum(clip, options.adjacency);
  const NoiseMultiplier multiplier = multiplier_of(options, 1);
  mechanisms::RecordSum sum{{.clip = clip, .grid = mechanisms::grid_for(sensitivity, multiplier), .dimension = 1}};
  for (std::size_t unit = 0; unit < units_in(data, options.unit_ends); ++unit) {
    const RecordRange rows = rows_of_unit(options.unit_ends, unit);
    std::array<double, 1> mean{};
    for (std::size_t i = rows.first; i < rows.end; ++i) {
      const double label = options.label_bound ? data.label(i) : data.label(i) / 2;
      if (data.norm(i) > 0) mean[0] += detail::snapped(std::clamp(label, -clip.value(), clip.value()), clip.value());
    }
    mean[0] /= static_cast<double>(rows.end - rows.first);
    sum.add(mean);
  }
  // Uniform in [-clip, clip]: shares less a half, or means.
  const double variance = clip.value() * clip.value() / 3;
  const double noise = multiplier.value() * sensitivity.value() / count;
  const double kept = variance / (variance + noise * noise);
  const double mean = kept * (releaser.release(sum.sum(), sensitivity, plan(options)).front() / count);
  if (options.label_bound) return std::clamp(mean, -options.label_bound->value(), options.label_bound->value());
  const double least = std::min(1 / count, 0.5);
  const double share = std::clamp(0.5 + mean, least, 1 - least);
  return std::log(share / (1 - share));
}

std::vector<double> constant_class_shares(const Dataset& data, std::size_t classes, const ConstantLearnerOptions& options,
                                          Releaser& releaser) {
  return released_shares(data, classes, options, releaser, [&](double label, double weight, std::vector<double>& counts) {
    if (label >= 0 && label < static_cast<double>(classes)) counts[static_cast<std::size_t>(label)] += weight;
  });
}

}  // namespace surety::optimizers
