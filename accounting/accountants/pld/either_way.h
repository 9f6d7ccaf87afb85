// Rounds of which each may be seen from the side of either neighbour, as its queries are chosen given the earlier ones' results: what they cost at least.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <surety/accounting/laws/choices/mirrored_values.h>
#include <surety/accounting/laws/given/curves.h>

namespace surety::accounting::pld {

/// What the proof is made of. A test leaves one out and sees the bound pass the truth.
struct EitherWayTerms {
  bool merged = true;  ///< what is raised to a row's loss takes what lies above it along
};

/// Atoms as those of FiniteLaw::below, by falling loss.
struct EitherWayLaws {
  std::vector<WeighedAtom> block;  ///< of a block of rounds in one direction
  std::vector<WeighedAtom> last;   ///< of what is shown after all blocks; empty: nothing
};

/// At most delta(epsilon) of so many blocks and what is shown after them, at multiples of a step. \param tilt s of e^(s loss), by which losses count for the
/// answer. Any step, number of points and tilt is sound.
/// \pre step > 0, points >= 2, and all that the laws are of may be shown with the roles of the neighbours changed.
/// \complexity O(blocks x points x places that the block's atoms are merged to). \source docs/proofs/choices.md#either-way
[[nodiscard]] CurveAtSteps either_way(const EitherWayLaws& laws, std::uint64_t blocks, double step, std::size_t points, double tilt,
                                      const EitherWayTerms& terms = {});

}  // namespace surety::accounting::pld
