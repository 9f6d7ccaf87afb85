#include <surety/optimizers/empirical_risk/constant_learner.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <surety/base/text/error.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/empirical_risk/snapped.h>

namespace surety::optimizers {

Event plan(const ConstantLearnerOptions& options) { return gaussian(options.noise_multiplier, options.adjacency); }

namespace {

/// n. \throws Error{invalid_argument} as both learners.
double count_of(const Dataset& data, const ConstantLearnerOptions& options) {
  if (!data.has_labels()) invalid("a share of classes needs labels, the data set has none");
  if (!options.public_count && options.adjacency == Adjacency::add_or_remove_one) {
    invalid("under add-or-remove-one the number of records is private: give a public count to divide by");
  }
  return static_cast<double>((options.public_count ? *options.public_count : Count{units_in(data, options.unit_ends)}).value());
}

/// Of counts whose coordinates are not negative and whose norm is at most 1 for each unit: where one gives way to another |a - b|^2 <= |a|^2 + |b|^2 <= 2.
L2Sensitivity sensitivity_of_counts(Adjacency adjacency) {
  constexpr double root_of_two = 0x1.6a09e667f3bcdp0;  // rounded up
  return L2Sensitivity{adjacency == Adjacency::replace_one ? root_of_two : 1.0};
}

}  // namespace

double constant_learner(const Dataset& data, const ConstantLearnerOptions& options, Releaser& releaser) {
  const double count = count_of(data, options);
  const ClippingNorm clip{options.label_bound ? options.label_bound->value() : 0.5};
  const L2Sensitivity sensitivity = mechanisms::sensitivity_of_clipped_sum(clip, options.adjacency);
  mechanisms::RecordSum sum{{.clip = clip, .grid = mechanisms::grid_for(sensitivity, options.noise_multiplier), .dimension = 1}};
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
  const double noise = options.noise_multiplier.value() * sensitivity.value() / count;
  const double kept = variance / (variance + noise * noise);
  const double mean = kept * (releaser.release(sum.sum(), sensitivity, plan(options)).front() / count);
  if (options.label_bound) return std::clamp(mean, -options.label_bound->value(), options.label_bound->value());
  const double least = std::min(1 / count, 0.5);
  const double share = std::clamp(0.5 + mean, least, 1 - least);
  return std::log(share / (1 - share));
}

std::vector<double> constant_class_shares(const Dataset& data, std::size_t classes, const ConstantLearnerOptions& options,
                                          Releaser& releaser) {
  const double count = count_of(data, options);
  const L2Sensitivity sensitivity = sensitivity_of_counts(options.adjacency);
  mechanisms::RecordSum sum{
      {.clip = ClippingNorm{1}, .grid = mechanisms::grid_for(sensitivity, options.noise_multiplier), .dimension = classes}};
  std::vector<double> mean(classes);
  for (std::size_t unit = 0; unit < units_in(data, options.unit_ends); ++unit) {
    const RecordRange rows = rows_of_unit(options.unit_ends, unit);
    std::fill(mean.begin(), mean.end(), 0.0);
    for (std::size_t i = rows.first; i < rows.end; ++i) {
      const double label = data.norm(i) > 0 ? data.label(i) : -1;
      if (!(label >= 0 && label < static_cast<double>(classes))) continue;
      mean[static_cast<std::size_t>(label)] += 1 / static_cast<double>(rows.end - rows.first);
    }
    sum.add(mean);
  }
  const auto of_classes = static_cast<double>(classes);
  const double variance = (of_classes - 1) / (of_classes * of_classes * (of_classes + 1));
  const double noise = options.noise_multiplier.value() * sensitivity.value() / count;
  const double kept = variance / (variance + noise * noise);
  const auto released = releaser.release(sum.sum(), sensitivity, plan(options));
  std::vector<double> shares;
  double total = 0;
  for (std::size_t k = 0; k < classes; ++k) {
    shares.push_back(std::clamp(1 / of_classes + kept * (released[k] / count - 1 / of_classes), std::min(1 / count, 1 / of_classes), 1.0));
    total += shares.back();
  }
  for (double& share : shares) share /= total;
  return shares;
}

}  // namespace surety::optimizers
