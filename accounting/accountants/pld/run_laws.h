// One law of an event from above and one from below, in each direction, for those who ask more of it than its curve at a point.
#pragma once

#include <optional>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/units.h>
#include <surety/accounting/laws/cells/parts.h>
#include <surety/accounting/laws/given/curves.h>

namespace surety::accounting {

/// Laws on a grid that suits losses at which the delta of `event` is about this one: from above its curve at the grid's losses, and from below
/// the atoms of what is merged, whose masses are rounded inward. Nothing where a part has no pair, where a loss is out of range, and
/// of several releases of which one alone meets the record. \param upper_only there are no atoms, and the curve from above is the same
/// \complexity one composition for each direction, of at most 2^16 points. \source docs/proofs/best-of.md#law.
[[nodiscard]] std::optional<FiniteLaws> finite_laws(const Event& event, Delta delta, const LeafCurves& others, bool upper_only = false);

namespace pld {
/// From above the curve of parts in one direction at the grid's losses, with digits where it is about `delta`. \throws Error{unsupported}, Error{memory}
/// where there is none. \complexity one composition of at most 2^16 points.
[[nodiscard]] std::vector<CurvePoint> curve_above(laws::Parts parts, Delta delta);
/// From below the atoms of what the lower laws of parts in one direction are merged to, at steps of about this length, with digits where the curve is about
/// `delta`; a part without a lower law is left out. \throws Error{unsupported}, Error{memory} where there are none. \complexity as `curve_above`.
[[nodiscard]] std::vector<WeighedAtom> atoms_below(laws::Parts parts, Delta delta, double step);
}  // namespace pld

}  // namespace surety::accounting
