// What noise shaped like the square of a norm shows of a query that moves along many coordinates at once.
#pragma once

#include <surety/accounting/laws/losses/loss_law.h>
#include <surety/accounting/laws/vectors/vector_cells.h>

namespace surety::accounting::laws {

/// What the proof of `spread_vector` is made of. A test leaves one out and sees the bound pass the truth.
struct SpreadTerms {
  bool bent = true;        ///< the norm of what has moved is more than its tangent
  bool mass_below = true;  ///< a cell has no more mass than the noise has there
};

/// A law whose curve lies at every real epsilon below that of the noise around v against the noise around 0, which equals its own reverse: v is of unit
/// length, and alike in each of its first hundred coordinates. Not to be reversed itself: its losses are too small. Empty where nothing is left of it.
/// \pre noise.is_squared, 2 < r <= most_spread_exponent, dimension >= 2. \complexity coordinates that move x 200,000 cells and a million: some .3 s.
/// \source docs/proofs/vector-noise.md#spread.
[[nodiscard]] AtomsBase spread_vector(const VectorNoise& noise, const SpreadTerms& terms = {});

inline constexpr double most_spread_exponent = 64;

}  // namespace surety::accounting::laws
