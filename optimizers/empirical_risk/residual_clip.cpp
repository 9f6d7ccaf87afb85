#include <surety/optimizers/empirical_risk/residual_clip.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <surety/base/numbers/hypotenuse.h>
#include <surety/data/features/row_reader.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/empirical_risk/snapped.h>
#include <surety/optimizers/problem/counts.h>
#include <surety/optimizers/problem/in_parts.h>

namespace surety::optimizers {
namespace {

/// Adds for each unit the mean over its rows of what `entry(residual, intercept, weight, vector)` adds to a vector of zeros. Damaged records, which are
/// rows of zeros, and rows whose numbers are not finite add nothing.
template <class Entry>
void add_means_of_rows(const Dataset& data, const RowFunctions& functions, const ResidualOptions& options, mechanisms::RecordSum& sum,
                       const Entry& entry) {
  detail::in_parts(units_in(data, options.unit_ends), options.threads, sum,
                   [&](std::size_t begin, std::size_t end, mechanisms::RecordSum& part) {
                     data::RowReader reader{data};
                     std::vector<double> mean(sum.options().dimension);
                     for (std::size_t unit = begin; unit < end; ++unit) {
                       const RecordRange rows = rows_of_unit(options.unit_ends, unit);
                       std::fill(mean.begin(), mean.end(), 0.0);
                       for (std::size_t i = rows.first; i < rows.end; ++i) {
                         if (!(data.norm(i) > 0)) continue;
                         const RowView row = reader.row(i);
                         const double residual = data.label(i) - row.dot(functions.score);
                         const double intercept = row.dot(functions.intercept);
                         if (std::isfinite(residual) && std::isfinite(intercept)) entry(residual, intercept, data.weight(i), mean);
                       }
                       for (double& value : mean) value /= static_cast<double>(rows.end - rows.first);
                       part.add(mean);
                     }
                   });
}

/// 2^-(bin + 1) < |residual| / 2B <= 2^-bin, up to the sides of bins; the last bin holds all that is smaller.
std::size_t bin_of(double residual, LabelBound bound) {
  const double share = std::abs(residual) / 2 / bound.value();
  if (!(share > 0)) return ResidualCounts::bins - 1;
  const int exponent = -1 - std::ilogb(share);
  return static_cast<std::size_t>(std::clamp(exponent, 0, static_cast<int>(ResidualCounts::bins) - 1));
}

}  // namespace

double release_mean_residual(const Dataset& data, const RowFunctions& functions, ClippingNorm clip, const ResidualOptions& options,
                             NoiseMultiplier noise, Releaser& releaser) {
  const L2Sensitivity sensitivity = mechanisms::sensitivity_of_clipped_sum(clip, options.adjacency);
  mechanisms::RecordSum sum{{.clip = clip, .grid = mechanisms::grid_for(sensitivity, noise), .dimension = 1}};
  const double most = clip.value();
  add_means_of_rows(data, functions, options, sum, [most](double residual, double intercept, double weight, std::vector<double>& mean) {
    const double clamped = std::clamp(residual, -most, most) * std::clamp(intercept, -1.0, 1.0) * weight;
    mean[0] += detail::snapped(clamped, most);
  });
  return releaser.release(sum.sum(), sensitivity, gaussian(noise, options.adjacency)).front() / options.count;
}

ResidualCounts release_residual_counts(const Dataset& data, std::span<const double> score, const ResidualOptions& options,
                                       NoiseMultiplier noise, Releaser& releaser) {
  const L2Sensitivity sensitivity = sensitivity_of_counts(options.adjacency);
  mechanisms::RecordSum sum{{.clip = ClippingNorm{1}, .grid = mechanisms::grid_for(sensitivity, noise), .dimension = ResidualCounts::bins}};
  const LabelBound bound = options.label_bound;
  add_means_of_rows(data, {.score = score, .intercept = score}, options, sum,
                    [bound](double residual, double /*intercept*/, double weight, std::vector<double>& mean) {
                      mean[bin_of(residual, bound)] += weight;
                    });
  const auto released = releaser.release(sum.sum(), sensitivity, gaussian(noise, options.adjacency));
  ResidualCounts counts{.shares = {}, .noise = noise.value() * sensitivity.value() / options.count, .label_bound = bound};
  for (std::size_t k = 0; k < counts.shares.size(); ++k) counts.shares[k] = released[k] / options.count;
  return counts;
}

ClippingNorm clip_of_residuals(const ResidualCounts& counts, double noise_per_clip, double bias_weight) {
  constexpr double certain = 2;  // standard deviations of the noise
  constexpr double middle_of_bin = 0.75;
  constexpr int half_steps = 2 * static_cast<int>(ResidualCounts::bins) - 4;
  const double most = 2 * counts.label_bound.value();
  double counted = 0;
  for (const double share : counts.shares) counted += share >= certain * counts.noise ? share : 0;
  constexpr double enough = 0.5;
  constexpr double of_bound_where_unknown = 0.2;
  if (counted < enough) return ClippingNorm{of_bound_where_unknown * counts.label_bound.value()};
  double best = most;
  double least = std::numeric_limits<double>::infinity();
  for (int j = 0; j < half_steps; ++j) {
    const double clip = most * std::exp2(-0.5 * j);
    double bias = 0;
    for (std::size_t k = 0; k < counts.shares.size(); ++k) {
      const double size = middle_of_bin * std::ldexp(most, -static_cast<int>(k));
      if (counts.shares[k] >= certain * counts.noise) bias += counts.shares[k] * std::max(size - clip, 0.0);
    }
    const double cost = hypotenuse(clip * noise_per_clip, bias_weight * bias);
    if (cost < least) {
      least = cost;
      best = clip;
    }
  }
  return ClippingNorm{best};
}

}  // namespace surety::optimizers
