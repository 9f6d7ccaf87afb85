// In how many slots of a batch that is drawn with replacement a record is. docs/proofs/batches.md#with-replacement.
#pragma once

#include <cstdint>
#include <vector>

#include <surety/accounting/events/units.h>
#include <surety/accounting/laws/losses/loss_law.h>
#include <surety/base/numbers/interval.h>

namespace surety::accounting::laws {

/// K, binomial of m slots and 1 / n.
struct DrawnSlots {
  struct Numbers {
    std::uint64_t least;
    std::uint64_t most;
    Interval chance;  ///< that K lies between the two
  };
  Interval none;  ///< chance of K = 0
  Interval any;   ///< and of K >= 1
  std::vector<Numbers>
      some;  ///< all of K >= 1, by rising numbers; of the last ones only a bound on the chance is known where that vanishes
};

/// Slots that a record is in on average, at most.
inline constexpr double most_slots_on_average = 1e4;
/// A chance below this is one that nobody looks at.
inline constexpr double negligible_chance = 1e-200;

/// A group of numbers that begins at k has `growth` k of them, and one at least.
/// \pre batch_size <= most_slots_on_average records. \complexity O(mean of K and some tens of its deviations), of 128 bits.
[[nodiscard]] DrawnSlots drawn_slots(Count records, Count batch_size, double growth);

/// The pair of Gaussian releases of that multiplier, from above: its curve by chords. \complexity O(3000 x numbers) normal tails.
[[nodiscard]] LossLaw gaussian_slots(double multiplier, const DrawnSlots& slots);

/// What k slots that each move a sum by 1 add up to, with each K rounded down to the first of its group.
[[nodiscard]] GaussianMixtureBase mixture_of_slots(double multiplier, const DrawnSlots& slots);

}  // namespace surety::accounting::laws
