// What noise shaped like a norm costs at delta = 0.
#pragma once

#include <optional>

#include <surety/accounting/events/event.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::accounting {

/// epsilon at delta = 0 of Laplace noise and noise shaped like a norm in any dimension, repeated and composed: the sum of their largest losses, 1 / scale each,
/// within a rounding. Nothing where there is another kind. \pre the plainest form of an event. \complexity O(different releases).
/// \source docs/proofs/closed-form.md#largest-loss.
[[nodiscard]] std::optional<Enclosure> sum_of_largest_losses(const Event& plain);

}  // namespace surety::accounting
