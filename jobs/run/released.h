// What a run released of what it planned.
#pragma once

#include <string>

#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::jobs {

/// Events as a ledger writes them, so that one release is one text everywhere: gaussian(2), not repeat(1, gaussian(2)).
[[nodiscard]] std::string as_charged(const Event& event);

struct Released {
  std::string planned;
  std::string event;  ///< "nothing", or as charged
  Enclosure epsilon;  ///< at the promise's delta
};
/// \param plan, epsilon what was planned, and its cost. \throws as `accounting::quick_epsilon` where something else was released
[[nodiscard]] Released released_by(const accounting::Reservation& reservation, const Event& plan, const Enclosure& epsilon, Delta delta);

}  // namespace surety::jobs
