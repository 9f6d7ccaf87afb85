// The noise of a training.
#pragma once

#include <optional>

#include <surety/accounting/calibration/calibrate.h>
#include <surety/accounting/events/event.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::jobs {

/// The noise of a run, and what an accountant says of it.
struct CalibratedNoise {
  Event event;                       ///< all that will be released
  Enclosure epsilon;                 ///< its cost at the target's delta
  double value;                      ///< the noise multiplier, or the scale
  std::optional<double> sigma = {};  ///< on each coordinate of a summed gradient
};

/// What a run with these options releases, where its noise multiplier is `noise`.
template <class Options>
[[nodiscard]] Event plan_at(Options settings, NoiseMultiplier noise) {
  settings.noise_multiplier = noise;
  return plan(settings);
}

/// The least noise at which `event_at(noise)` keeps the promise. \param cost as for `calibrate`
template <class EventAt, class... Cost>
[[nodiscard]] CalibratedNoise calibrated(EventAt event_at, const Target& target, const Cost&... cost) {
  const auto found = calibrate(event_at, target, cost...);
  return {.event = found.event, .epsilon = found.epsilon, .value = found.value.value()};
}

}  // namespace surety::jobs
