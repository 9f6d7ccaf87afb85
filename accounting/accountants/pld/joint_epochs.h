// Epochs of which a record takes part in several rounds, bounded from above by all rounds together where that is sharper than by blocks.
#pragma once

#include <optional>

#include <surety/accounting/events/event.h>
#include <surety/accounting/laws/given/curves.h>
#include <surety/accounting/laws/pairs/pairs.h>

namespace surety::accounting::pld {

/// Laws from above of an event that holds such epochs, made for where its delta is about `delta`: where a record is removed their curves by
/// joint_round.h, else as `both_directions` has them. Nothing where it holds none, or delta is too small for the grid that they are composed on.
/// \complexity a composition for each epoch; the last few are kept. \source docs/proofs/allocated.md#k-of-t-from-above
[[nodiscard]] std::optional<laws::BothDirections> joint_directions(const Event& event, double delta, const LeafCurves& others,
                                                                   laws::Reach reach);

}  // namespace surety::accounting::pld
