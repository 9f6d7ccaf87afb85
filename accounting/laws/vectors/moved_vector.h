// What noise shaped like the l2 norm shows of a query, from above: as much as where the query moves as far as it may.
#pragma once

#include <surety/accounting/laws/losses/loss_law.h>

namespace surety::accounting::laws {

/// What the proof of `moved_vector` is made of. A test leaves one out and sees the truth pass the bound.
struct MovedTerms {
  bool largest_loss = true;  ///< a cell has the largest loss of its outcomes, not the least
  bool mass_above = true;    ///< and no less mass than the noise has there
};

/// A law that dominates x + v against x, x of density proportional to e^(-||x|| / scale) in the l2 norm of so many coordinates, ||v|| <= 1.
/// It equals its own reverse, and no loss exceeds 1 / scale.
/// \pre dimension >= 3, scale > 0. \complexity a million cells: some 0.1 s. \source docs/proofs/vector-noise.md#moved-from-above.
[[nodiscard]] LossLaw moved_vector(double dimension, double scale, const MovedTerms& terms = {});

}  // namespace surety::accounting::laws
