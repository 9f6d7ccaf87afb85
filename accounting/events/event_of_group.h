// The event of several records that change at once: what answers/group.h says of it. A law asks the same of a record that is in several places.
#pragma once

#include <optional>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/refusal.h>

namespace surety::accounting {

/// As `group`.
[[nodiscard]] Event event_of_group(const Event& event, Count records);

/// What one release costs `records` records of a user: at most what `upper` costs one record, and at least what `lower` does.
struct GroupBounds {
  Event upper;
  std::optional<Event> lower;  ///< nothing: no lower bound is known but that of one record

  /// Whether the release costs exactly what `upper` costs.
  [[nodiscard]] bool is_exact() const { return lower && *lower == upper; }
};

/// Bounds for a single release. Exact for noise on a query and randomized response, but for a division that rounds; tight for pure and
/// approx, whose worst chain of neighbours is known; from above alone for the other kinds.
/// The refusal names the release, where k records keep no guarantee. \complexity microseconds; approx and curve some milliseconds.
/// \source docs/proofs/users.md#releases.
[[nodiscard]] OrRefusal<GroupBounds> group_bounds(const Event& release, Count records);

/// delta (e^(k epsilon) - 1) / (e^epsilon - 1), the sum of delta e^(i epsilon) over the k steps of a chain, rounded up; at most 1.
[[nodiscard]] double chain_delta(double epsilon, double delta, double steps);

}  // namespace surety::accounting
