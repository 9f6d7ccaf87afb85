// The pair that a user gives by the atoms of its privacy loss.
#pragma once

#include <optional>

#include <surety/accounting/events/points.h>
#include <surety/accounting/laws/losses/loss_law.h>

namespace surety::accounting::laws {

/// The pair of the atoms, or its reverse; with what has no digits, and what of a mass is rounded, at infinite loss or left out as `direction` is +1 or -1.
/// Equal losses are one atom. \complexity O(n log n) for n atoms. \source docs/proofs/given.md#law.
[[nodiscard]] LossLaw finite_law(const LawAtoms& atoms, bool reversed, int direction);

/// The pair whose curve is at every real epsilon the larger one of those of the pair and of its reverse, which equals its own reverse: what dominates a
/// release of either order. Bounded from above or from below as `direction` is +1 or -1. \complexity O(n log n). \source docs/proofs/given.md#orders.
[[nodiscard]] LossLaw larger_of_orders(const LawAtoms& atoms, int direction);

/// A pair from below that equals its own reverse and that both orders dominate: its curve is the convex hull of the smaller one. \complexity O(n log n).
/// \source docs/proofs/given.md#orders.
[[nodiscard]] LossLaw smaller_of_orders(const LawAtoms& atoms);

/// Whether the pair and its reverse are one, but for rounding: a share of 1e-9 of each loss and mass.
[[nodiscard]] bool equals_its_reverse(const LawAtoms& atoms);

/// The bound from above of either order where 0 is the only finite loss: that of the order with more mass at infinite loss, whose curve is that mass.
/// Nothing where there is another finite loss.
[[nodiscard]] std::optional<LossLaw> either_without_finite_losses(const LawAtoms& atoms);

/// Whether each outcome has mass on both sides, so that no loss is infinite.
[[nodiscard]] bool has_finite_losses(const LawAtoms& atoms);

}  // namespace surety::accounting::laws
