// The interval of a mean of a private count: the ratio of a sum and a count that were released with noise.
//
// With the released s = S + X and n = N + Y and the mean theta = S / N, s - theta n = X - theta Y is noise alone. So theta is judged by the
// exact law of X - theta Y, at the full error probability; halving that for the sum and the count costs a fifth to four fifths of width.
#pragma once

#include <surety/base/numbers/enclosure.h>
#include <surety/data/features/features.h>
#include <surety/statistics/confidence_set.h>

namespace surety::statistics {

/// What was added to a sum and to the count beside it, independently. In the units of the sum, and in records.
struct RatioNoise {
  double sum_scale;    ///< sigma or b of the ideal noise
  double count_scale;  ///< 0 where the count is public
  /// How far a released number may lie from its exact value plus ideal noise: half a grid step, and what a number beyond 2^53 steps lost.
  double sum_rounding;
  double count_rounding;
};

/// The mean itself: sum / count, of at least one record, within `possible`.
[[nodiscard]] double ratio_value(double sum, double count, const data::Bounds& possible) noexcept;

/// Holds S / N, of at least one record, with probability at least 1 - test.exceeded() over noise of the law test.law(), and holds `ratio_value`. It is the hull of
/// the values in `possible` that the noise does not exclude, rounded outward: all of `possible` where the count is lost in noise. Where the
/// released numbers fit no value, it is `ratio_value` alone, or all of `possible` where the count is below 1.
/// \pre S / N is in `possible`, neither sum is saturated. Half a millisecond.
[[nodiscard]] Enclosure ratio_interval(double sum, double count, const data::Bounds& possible, const RatioNoise& noise,
                                       const NoiseTest& test);

}  // namespace surety::statistics
