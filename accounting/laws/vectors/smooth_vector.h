// What noise shaped like the square of a norm shows of a query at most, by how steep its density is.
#pragma once

#include <vector>

#include <surety/accounting/laws/losses/loss_law.h>
#include <surety/accounting/laws/vectors/vector_cells.h>
#include <surety/base/numbers/bound.h>

namespace surety::accounting::laws {

/// What the proof of `smooth_vector` is made of. A test leaves one out and sees the truth pass the bound.
struct SmoothTerms {
  bool all_coordinates = true;  ///< the vector moves along all of its coordinates, not along one
  bool whole_move = true;       ///< and by all of its length, not by half of it
};

/// A law that dominates x + v against x, x the noise, for every v of length 1 at most in its norm, and equals its own reverse. Never costs noticeably more than
/// a Gaussian release of multiplier scale / sqrt(r - 1).
/// \pre noise.is_squared, r > 2, dimension >= 2, and sqrt(r - 1) / scale between 1e-4 and 8. \complexity some ten million operations: 0.1 s.
/// \source docs/proofs/vector-noise.md#steepness.
[[nodiscard]] LossLaw smooth_vector(const VectorNoise& noise, const SmoothTerms& terms = {});

/// At least E(S - at)_+ of S = sum of v_i g_i, g_i the slopes of the noise's -log density along its coordinates, for every v of length 1 at most.
/// \pre as of `smooth_vector`; at[i] >= 0. \source docs/proofs/vector-noise.md#steepness.
[[nodiscard]] std::vector<Upper> steepness_beyond(const VectorNoise& noise, const std::vector<double>& at, const SmoothTerms& terms = {});

}  // namespace surety::accounting::laws
