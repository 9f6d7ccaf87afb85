// The other question: what a given accuracy costs.
#pragma once

#include <optional>
#include <string>

#include <surety/accounting/calibration/parameter.h>
#include <surety/accounting/events/event_text.h>

namespace surety {

/// How accurate a release is to be: the standard deviation of the noise on one number.
struct Accuracy {
  NoiseScale standard_deviation;  ///< at most, in units of the data; of noise on integers in their steps
  /// Of a release whose noise is a multiple of it: what one record moves the query by in the norm of the event, or, of record_sum and
  /// laplace_record_sum, the bound on one record. 1 where nothing is said; noise on integers names its own.
  std::optional<NoiseScale> sensitivity;
};

struct NoiseOfAccuracy {
  double value;               ///< the largest that is as accurate
  Event event;                ///< with that value
  double standard_deviation;  ///< of its noise, rounded
};

/// The event with the most noise that is as accurate as is asked. The name stands for the noise of one release, however often that occurs: the multiplier of gaussian
/// and record_sum, the scale of laplace, laplace_record_sum and discrete_laplace, the sigma of discrete_gaussian, the flips of binomial, the mean of skellam.
/// The standard deviation of discrete_gaussian is at most sigma, which is taken for it; those of the others are exact but for rounding.
/// \throws Error{invalid_argument} when it stands for another number, or for those of two kinds of release, for a sensitivity where noise is on integers, and
///         for less than the noise of one flip. \complexity O(length of the text)
/// \source docs/proofs/calibration.md#accuracy
[[nodiscard]] NoiseOfAccuracy noise_of(const EventOfNumber& event, const Accuracy& accuracy);

}  // namespace surety
