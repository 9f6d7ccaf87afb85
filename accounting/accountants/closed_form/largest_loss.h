// What noise shaped like a norm and shuffled reports cost at delta = 0.
#pragma once

#include <optional>

#include <surety/accounting/events/event.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::accounting {

/// epsilon at delta = 0 of Laplace noise, noise shaped like a norm in any dimension and shuffled reports, repeated and composed: the sum of their largest losses,
/// within a rounding. Nothing where there is another kind. \pre the plainest form of an event. \complexity O(different releases).
/// \source docs/proofs/closed-form.md#largest-loss.
[[nodiscard]] std::optional<Enclosure> sum_of_largest_losses(const Event& plain);

}  // namespace surety::accounting
