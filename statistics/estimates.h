// What a released vector says about the numbers asked for: values, and intervals over the noise.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <surety/statistics/integer_sum.h>
#include <surety/statistics/noise.h>
#include <surety/statistics/variance.h>

namespace surety::statistics {

/// A released number and the interval that holds the exact one, in data units.
struct Estimate {
  double value;
  double lower;
  double upper;
};

/// How far noise reaches: what is public of intervals of one confidence.
struct NoiseReach {
  double distance;  ///< the noise on one coordinate is farther from 0 with probability at most 1 - confidence
  NoiseLaw law;
  double scale;                       ///< of the ideal noise, in data units
  std::optional<NoiseTest> of_ratio;  ///< of a mean of a private count
  std::optional<VarianceTest> of_variance;
};

/// \pre 0 < confidence < 1.
[[nodiscard]] NoiseReach reach_of(const StatisticSum& sum, const StatisticNoise& noise, double confidence);

/// What the released vector says about each number asked for: one, or one per cell, for each group. Each interval alone holds the exact statistic of the
/// clamped and rounded records with at least the probability `confidence`, for the reach of that confidence. `records` is the number of records where
/// it is public, and is not read elsewhere. Means and variances keep within what is possible; an end of another interval is infinite where a sum may
/// have saturated. \throws Error{invalid_argument} unless `released` is as long as `sum.sum()`.
[[nodiscard]] std::vector<Estimate> estimates_of(const StatisticSum& sum, const std::vector<double>& released, const NoiseReach& reach,
                                                 std::uint64_t records);

/// The number of records that a mean or a variance uses, for each group, where it was released with the sum: its noise is that of the count's coordinate.
/// Empty where no count was released. Whole numbers from 0 on; each interval alone holds the exact number with at least the probability `confidence`.
/// \throws as `estimates_of`
[[nodiscard]] std::vector<Estimate> used_records_of(const StatisticSum& sum, const std::vector<double>& released, const NoiseReach& reach);

}  // namespace surety::statistics
