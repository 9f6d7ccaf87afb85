// The best of several runs as a pair for compositions: atoms whose curve lies above the bound on its curve. docs/proofs/best-of.md#pair.
#pragma once

#include <optional>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/laws/given/curves.h>
#include <surety/accounting/laws/losses/loss_law.h>

namespace surety::accounting::laws {

/// A law whose curve lies above chords between these points of a convex curve, of which the first is 1 at odds 0.
/// \pre rising odds, falling deltas, at least two points. \source docs/proofs/best-of.md#pair.
[[nodiscard]] LossLaw pair_above(const std::vector<CurvePoint>& points);

/// A law that dominates one best_of in either direction, whose curve `others` know. The last few are kept. \throws as they do.
[[nodiscard]] LossLaw search_pair(const Event& search, const LeafCurves& others);

/// Laws that some score attains, of those that are known the one that grows fastest at `tilt` of e^(tilt loss), in each direction; nothing where none
/// is known. Any choice is sound. \throws as `others` do.
struct SearchLaws {
  std::optional<LossLaw> remove;
  std::optional<LossLaw> add;
  bool symmetric = true;
};
[[nodiscard]] SearchLaws attained_search(const Event& search, double tilt, const LeafCurves& others);

}  // namespace surety::accounting::laws
