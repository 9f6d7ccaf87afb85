// What the draw of batches alone proves: where no batch holds the record, neighbours give the same results.
#pragma once

#include <optional>

#include <surety/accounting/answers/opinion.h>
#include <surety/accounting/events/event.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::accounting {

/// At least the probability that some batch of the event holds the record, rounded up once; 1 where a part of the event is no batch that is drawn at
/// random for itself, as a release on all records, an epoch, or an event of users.
/// \complexity some microseconds a different part. \source docs/proofs/composition.md#rare-batches.
[[nodiscard]] double most_joined(const Event& event);

/// An upper bound on delta(epsilon), or on epsilon(delta), from that probability: delta is at most it at every epsilon. Nothing where that says no more
/// than any mechanism keeps.
[[nodiscard]] std::optional<double> by_rare_batches(const Event& event, const Question& question);

/// What is known of the answer, and that bound where it is not narrow already. \throws Error{internal} where the bound is below what is known.
[[nodiscard]] Enclosure with_rare_batches(const Event& event, const Question& question, const Enclosure& known);

}  // namespace surety::accounting
