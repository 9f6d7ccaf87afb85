// A judgement: whether what is claimed of an event, epsilon at a delta, is proved. It tries as hard as the calibration that made the claim.
#pragma once

#include <string_view>

#include <surety/accounting/answers/best.h>

namespace surety::accounting {

struct Judgement {
  Enclosure epsilon;            ///< cost at the claim's delta
  Enclosure delta;              ///< cost at the claim's epsilon
  std::string_view accountant;  ///< whose upper end of epsilon it was before the judgement looked closer
  bool kept;                    ///< an upper end of one of the two meets the claim, and then both are within it
  bool refuted;                 ///< a lower end exceeds it, and then both do
};

/// What all accountants say of both numbers; where that leaves open whether the claim holds, what a search for it would say, and then at
/// finer widths, as long as that narrows anything. What `calibrate` returns for a target is kept,
/// and where the claim is kept by its delta alone, epsilon is as a search for the claim knows it.
///
/// Either number proves both: delta(epsilon) falls and is continuous, so delta at the claim's epsilon is at most its delta if and only if
/// epsilon at its delta is at most its epsilon.
/// \pre the event's adjacency is the claim's. \throws as best_epsilon.
/// \complexity as best_epsilon and best_delta where these decide; some times as much where the claim is met to within their widths.
[[nodiscard]] Judgement judge(const Event& event, const Target& claim, const Effort& effort = {});

/// epsilon(delta) as it is to be told beside `promise`: `known`, and where its ends leave open whether the promise is kept, what `judge` says. So a cost that
/// is told twice, by the calibration and by whoever looks at it later, lies on the same side of the promise both times.
/// \pre `known` is an enclosure of the event's epsilon at the promise's delta; without it quick_epsilon is asked. \throws, \complexity as judge.
[[nodiscard]] Enclosure epsilon_beside(const Event& event, const Target& promise, const Enclosure& known);
[[nodiscard]] Enclosure epsilon_beside(const Event& event, const Target& promise);

}  // namespace surety::accounting
