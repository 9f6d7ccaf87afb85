// The noise of a training.
#pragma once

#include <optional>

#include <surety/accounting/events/event.h>
#include <surety/accounting/numbers/enclosure.h>

namespace surety::jobs {

/// The noise of a run, and what an accountant says of it.
struct CalibratedNoise {
  Event event;                       ///< all that will be released
  Enclosure epsilon;                 ///< its cost at the target's delta
  double value;                      ///< the noise multiplier, or the scale
  std::optional<double> sigma = {};  ///< on each coordinate of a summed gradient
};

}  // namespace surety::jobs
