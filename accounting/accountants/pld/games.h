// Bounds from below by what an analyst gains who chooses the next queries by the results so far.
#pragma once

#include <surety/accounting/accountants/pld/task.h>
#include <surety/accounting/events/event.h>
#include <surety/accounting/laws/given/curves.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::accounting::pld {

/// What choices cost at least if those of the smallest range come first; 0 where they are not all of `event`, or the game on their multiset has few
/// states. \complexity some 2e7 steps. \source docs/proofs/choices.md#in-order
[[nodiscard]] double by_choices_in_order(const Event& event, const Given& question);

/// What batches of fixed size under replace-one cost at least if the others are, round by round, as either record; 0 where there are fewer than two, or
/// where nothing is known of what they are among. \param found what is known, to look near. \complexity two games of at most 350 blocks on 4,000 multiples. \source docs/proofs/choices.md#either-way
[[nodiscard]] double by_batches_either_way(const Event& event, const Given& question, const Enclosure& found, const LeafCurves& others);

}  // namespace surety::accounting::pld
