// What a given accuracy costs: the noise of a given standard deviation.
#pragma once

#include <optional>

#include <surety/accounting/calibration/parameter.h>
#include <surety/accounting/events/event_text.h>

namespace surety {

/// The accuracy that is requested of a release.
struct Accuracy {
  NoiseScale
      standard_deviation;  ///< an upper bound for the noise on one number, in units of the data (noise on integers: in whole numbers)
  /// The sensitivity of the query under the event's adjacency, in the norm of the event. For record_sum and laplace_record_sum, the bound on one record.
  /// 1 if it is not given. Noise on integers has its sensitivity in the event, and none may be given.
  std::optional<NoiseScale> sensitivity;
};

struct NoiseOfAccuracy {
  double value;               ///< the largest value of the name within the bound
  Event event;                ///< with that value
  double standard_deviation;  ///< of its noise, rounded
};

/// Returns the event with the most noise whose standard deviation is at most the requested one. The name must stand for the noise of one kind of release, which
/// may occur several times: the multiplier of gaussian and record_sum, the scale of laplace, laplace_record_sum and discrete_laplace, the sigma of
/// discrete_gaussian, the flips of binomial, the mean of skellam. For discrete_gaussian the standard deviation is taken as sigma, an upper bound. The other
/// standard deviations are exact except for rounding.
/// \throws Error{invalid_argument} when the name stands for another number or for two kinds of release, when a sensitivity is given for noise on integers,
///         and when no noise of the kind is that small. \complexity O(length of the text)
/// \source docs/proofs/calibration.md#accuracy
[[nodiscard]] NoiseOfAccuracy noise_of(const EventOfNumber& event, const Accuracy& accuracy);

}  // namespace surety
