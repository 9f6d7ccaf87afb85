// The pairs of shuffled reports: what bounds each of several shuffles.
#pragma once

#include <optional>

#include <surety/accounting/events/event.h>
#include <surety/accounting/laws/losses/loss_law.h>

namespace surety::accounting::laws {

struct ShuffledLaws {
  LossLaw upper;  ///< its own reverse
  /// The law of one pair of neighbours, and of the two in the other order; nothing where none is known.
  std::optional<LossLaw> lower;
  std::optional<LossLaw> reversed;
};

/// From above the polygon of chords over the curve's upper bounds at some 200 losses; from below a polygon under the curve of one pair, or, of binary
/// reports, that pair itself where there are at most 4096. \param from_above whether no lower laws are made
/// \pre is_shuffle(event)
/// \complexity some 400 values of the curve. \source docs/proofs/shuffled-reports.md#laws
[[nodiscard]] ShuffledLaws shuffled_laws(const Event& event, bool from_above);

}  // namespace surety::accounting::laws
