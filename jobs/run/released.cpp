#include <surety/jobs/run/released.h>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/format.h>
#include <surety/accounting/events/releases.h>

namespace surety::jobs {

std::string as_charged(const Event& event) { return describe(accounting::Releases::of(event).event().value_or(event)); }

Released released_by(const accounting::Reservation& reservation, const Event& plan, const Enclosure& epsilon, Delta delta) {
  const auto planned = as_charged(plan);
  const auto event = reservation.released().event();
  if (!event) return {planned, "nothing", {0, 0}};
  const auto text = describe(*event);
  return {planned, text, text == planned ? epsilon : accounting::quick_epsilon(*event, delta)};
}

}  // namespace surety::jobs
