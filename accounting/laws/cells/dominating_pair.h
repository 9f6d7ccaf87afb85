// Dominating pairs, cut into cells of a grid of privacy losses: the raw material of the PLD accountant.
//
// Everything here is a number with a proved bound on its error; docs/proofs/pld.md derives the bounds.
#pragma once

#include <optional>

#include <surety/accounting/laws/losses/loss_law.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::accounting {

/// The least and largest loss of what `cut` leaves, roughly.
[[nodiscard]] LossRange range(const LossLaw& law, const Cut& cut);

/// \pre step > 0, and range / step is a number of cells that fits into memory.
/// \complexity O(range / step), about 50 ns per cell; memory O(cells), however many integers the outcomes are.
/// \throws Error{unsupported} where there is too little noise for digits, or a lattice has more than 2^52 points within the cut.
[[nodiscard]] LossCells cells(const LossLaw& law, double step, const Cut& cut);

/// The law of OppositeLaplaceBase. Nothing where its losses are too large for its rate to have digits. \pre 0 < batch_rate < 1
/// \source docs/proofs/batches.md#opposite-laplace
[[nodiscard]] std::optional<LossLaw> opposite_laplace(double scale, double batch_rate);

/// The supremum of the loss; nothing where that is infinite.
[[nodiscard]] std::optional<Enclosure> largest_loss(const LossLaw& law);

/// The distance that a grid step should divide so that isolated atoms fall on grid points; nothing when there are none.
[[nodiscard]] std::optional<double> atom_distance(const LossLaw& law);

/// Whether the two laws are one and the same when P and Q change places.
[[nodiscard]] bool is_symmetric(const LossLaw& law);

}  // namespace surety::accounting
