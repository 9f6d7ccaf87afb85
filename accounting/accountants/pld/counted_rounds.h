// Rare rounds from below: how many of them end beyond a threshold.
#pragma once

#include <surety/accounting/accountants/pld/task.h>
#include <surety/accounting/events/event.h>

namespace surety::accounting::pld {

/// What the proof of `by_counted_rounds` is made of. A test leaves one out and sees the bound pass the truth.
struct CountTerms {
  bool delta = true;  ///< delta is taken off the probability with the record
};

/// At least the epsilon, or the delta, that is asked of `event`: its Poisson batches of Gaussian releases, one kind of them, all else left out. 0 where
/// it has none. Under replace-one 0: two records may lie opposite each other.
/// \complexity some thousand pairs of erfc a kind of batch. \source docs/proofs/pld.md#counted.
[[nodiscard]] double by_counted_rounds(const Event& event, const Given& question, const CountTerms& terms = {});

}  // namespace surety::accounting::pld
