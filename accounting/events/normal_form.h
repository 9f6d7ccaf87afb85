// Which parts of a parallel event can cost most, and which events are one Gaussian release in all but their spelling.
#pragma once

#include <optional>
#include <vector>

#include <surety/accounting/numbers/enclosure.h>
#include <surety/accounting/events/event.h>

namespace surety::accounting {

/// The noise multiplier of the one Gaussian release that `event` costs; nothing when it is not that. Gaussian releases compose to
/// one of 1 / z^2 = sum of 1 / z_i^2, of parallel parts the one of least noise counts, and of a deterministic epoch one batch.
/// \complexity O(size of the event) at 128 bits.
[[nodiscard]] std::optional<Enclosure> gaussian_multiplier(const Event& event);

/// The parts that remain when every part is dropped that provably costs at most as another one: an equal one, the same kind with
/// parameters of at least the noise, a batch of such, a part of its releases, Gaussian releases beside noisier ones. Parallel parts
/// within parts are taken apart. Never empty.
/// \throws Error{unsupported} when more than 256 different parts remain.
/// \source docs/guarantees-privacy-loss.md#parallel.
[[nodiscard]] std::vector<Event> undominated(const Event::Parallel& parallel);

}  // namespace surety::accounting
