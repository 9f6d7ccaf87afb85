// From events to pairs: the laws of the privacy loss that bound an event's releases from above, and those that concrete data attain.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/refusal.h>
#include <surety/accounting/laws/cells/parts.h>
#include <surety/accounting/laws/given/curves.h>

namespace surety::accounting::laws {

/// The releases of an event. `tilt`: s of e^(s loss), by which the best part to be in is chosen for the lower laws; any choice is sound.
/// `others` are asked of searches, and of what is concentrated in a batch. `from_above`: of laws from below those that take long are not made.
/// \throws Error{unsupported} naming a part without a pair that is known here.
[[nodiscard]] BothDirections both_directions(const Event& event, const LeafCurves& others, double tilt = 1, Reach reach = Reach::middle,
                                             bool from_above = false);

/// Which part of an event has no pair that is known here, without a law being made. What depends on numbers that only a law has, as too little
/// noise for any digits, is not looked at. \complexity microseconds for each part.
[[nodiscard]] std::optional<Refusal> why_no_pairs(const Event& event, const LeafCurves& others);

/// Checks the parts of a parallel composition that is accounted for part by part. \throws Error{unsupported} naming the first part that is one search: the accountant
/// for searches prices a search alone and no parallel composition of one.
void require_searches_stand_alone(const std::vector<Event>& parts);

/// The law of what an epoch under replace-one, in so many rounds of which a record is, shows to whoever looks at a sum (allocated_sum.h) that is best at tilt
/// s, roughly; no atoms where that has no digits. `multiplier`: the noise over the bound on one record.
[[nodiscard]] AtomsBase shown_by_replaced_epoch(double multiplier, std::uint64_t rounds, std::uint64_t participations, double s);

/// Tells who shares a round of a user's epoch as is best at tilt s, from above. Says whether there is such an epoch.
bool choose_what_is_told(Parts& parts, double s);

/// Each release by its other law from above, where it has one; nothing where none has.
[[nodiscard]] std::optional<BothDirections> by_other_uppers(BothDirections directions);

/// Gives each bounded range the concrete pair that is best at tilt s; at s = 0 it keeps the symmetric one.
void choose_two_points(Parts& parts, double s);

}  // namespace surety::accounting::laws
