// A Gaussian release that costs at least as much as a game of choices (choice_game.h).
#pragma once

#include <optional>

#include <surety/accounting/laws/choices/choice_game.h>

namespace surety::accounting {

/// A noise multiplier whose Gaussian release dominates all of these choices, each made with knowledge of the earlier results and in any order, at every
/// real epsilon; nothing where a range is too large for the proof, about 2.
/// \pre there is a choice. \complexity O(kinds x log(count)).
/// \source docs/proofs/choices.md#smooth
[[nodiscard]] std::optional<double> gaussian_above_choices(const ChoiceCounts& counts);

}  // namespace surety::accounting
