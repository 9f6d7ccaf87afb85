// The pair that a user gives by the atoms of its privacy loss.
#pragma once

#include <surety/accounting/events/points.h>
#include <surety/accounting/laws/pairs/loss_law.h>

namespace surety::accounting::privacy_loss {

/// The pair of the atoms, or its reverse; with what has no digits, and what of a mass is rounded, at infinite loss or left out as `direction` is +1 or -1.
/// Equal losses are one atom. \complexity O(n log n) for n atoms. \source docs/proofs/given.md#law.
[[nodiscard]] LossLaw finite_law(const LawAtoms& atoms, bool reversed, int direction);

/// Whether each outcome has mass on both sides, so that no loss is infinite.
[[nodiscard]] bool has_finite_losses(const LawAtoms& atoms);

}  // namespace surety::accounting::privacy_loss
