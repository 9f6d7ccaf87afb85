// What noise shaped like a norm shows of a query that moves along one coordinate.
#pragma once

#include <surety/accounting/laws/losses/loss_law.h>
#include <surety/accounting/laws/vectors/vector_cells.h>

namespace surety::accounting::laws {

/// What the proof of `vector_pair` is made of. A test leaves one out and sees the bound pass the truth.
struct VectorTerms {
  bool least_loss = true;  ///< a cell has the least loss of its outcomes, not the largest
  bool mass_below = true;  ///< and no more mass than the noise has there
};

/// A law whose curve lies at every real epsilon below that of the noise around the first unit vector against the noise around 0, which equals its own
/// reverse. Not to be reversed itself: its losses are too small. Empty where nothing is left of it.
/// \pre r >= 1, dimension >= 2. \complexity a million cells: some 50 ms; four logarithms and exponentials for each where r is not 2.
/// \source docs/proofs/vector-noise.md#moved.
[[nodiscard]] AtomsBase vector_pair(const VectorNoise& noise, const VectorTerms& terms = {});

}  // namespace surety::accounting::laws
