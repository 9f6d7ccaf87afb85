// The pointwise largest of several privacy curves, as a law on a grid.
#pragma once

#include <functional>
#include <vector>

#include <surety/accounting/laws/losses/loss_law.h>

namespace surety::accounting {

/// The cells of one law: `cells` of dominating_pair.h.
using CellsOf = std::function<LossCells(const LossLaw& law, double step, const Cut& cut)>;

/// Atoms on grid points whose curve lies on or above that of each of `laws`: connect the dots of the largest curve, which is convex in
/// e^epsilon. The mass at infinity, also that of the laws themselves, is in `cut_above`.
/// \pre laws is not empty; step and cut as for `cells`.
/// \complexity O(range / step) for each law.
/// \source docs/proofs/pld.md#parallel.
[[nodiscard]] LossCells maximum_cells(const std::vector<LossLaw>& laws, double step, const Cut& cut, const CellsOf& cells_of);

}  // namespace surety::accounting
