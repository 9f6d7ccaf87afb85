// The event of several records that change at once: what answers/group.h says of it. A law asks the same of a record that is in several places.
#pragma once

#include <surety/accounting/events/event.h>

namespace surety::accounting {

/// As `group`.
[[nodiscard]] Event event_of_group(const Event& event, Count records);

/// delta (e^(k epsilon) - 1) / (e^epsilon - 1), the sum of delta e^(i epsilon) over the k steps of a chain, rounded up; at most 1.
[[nodiscard]] double chain_delta(double epsilon, double delta, double steps);

}  // namespace surety::accounting
