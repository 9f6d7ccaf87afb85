// Choices made in one order whatever their results: what they cost is no more than the game (choice_game.h) is worth, and takes no states.
#pragma once

#include <cstddef>

#include <surety/accounting/laws/choices/choice_game.h>
#include <surety/accounting/laws/choices/mirrored_values.h>

namespace surety::accounting {

/// Bounds from below on the value of the game at multiples of a step, by choices of which those of the smallest range come first.
class ChoicesInOrder {
 public:
  /// \param reach up to which losses are looked at, roughly. \param points so many multiples, roughly. Any are sound.
  /// \pre there is a choice of a range above 0; reach > 0, points > 0.
  /// \complexity O(choices x points), some 20 ns each; memory O(points + the largest range over the step).
  /// \source docs/proofs/choices.md#in-order
  ChoicesInOrder(const ChoiceCounts& counts, double reach, std::size_t points);

  /// At most delta(epsilon) of the choices. \pre epsilon >= 0
  [[nodiscard]] double delta(double epsilon) const { return curve_.delta(epsilon); }
  /// At most the smallest epsilon >= 0 at which delta(epsilon) is no more than this.
  [[nodiscard]] double epsilon(double delta) const { return curve_.epsilon(delta); }

 private:
  CurveAtSteps curve_;
};

}  // namespace surety::accounting
