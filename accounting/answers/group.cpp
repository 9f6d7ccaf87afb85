#include <surety/accounting/answers/group.h>

#include <surety/accounting/events/event_of_group.h>
#include <surety/base/numbers/floating_point.h>

namespace surety::accounting {

Event group(const Event& event, Count records) { return event_of_group(event, records); }

Enclosure group_delta(Epsilon epsilon, double delta_of_one, Count records) {
  const StandardFloatingPoint environment;
  return at_most(chain_delta(epsilon.value(), delta_of_one, static_cast<double>(records.value())));
}

}  // namespace surety::accounting
