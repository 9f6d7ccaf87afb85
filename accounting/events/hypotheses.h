// Hypotheses: what the theorems behind the accountants ask of an event, as code. A rule that holds for some events only asks here,
// where it is applied, so that no accountant reads the meaning of an adjacency on its own; docs/proofs/hypotheses.md lists
// every rule of every accountant with its hypothesis and where it is checked.
#pragma once

#include <surety/accounting/events/event.h>

namespace surety::accounting {

/// Whether a record that is zeroed does in `event` what an absent one does. So it is for noise added to a sum over records (gaussian,
/// record_sum, laplace, discrete_gaussian, discrete_laplace, generalized_gaussian, k_norm), repeated, composed and in parallel. The
/// other kinds say what a record can change among those that are there, and nothing of one that is not: randomized_response,
/// exponential, pure, approx, zcdp, curve, law, renyi, and any batch.
/// \complexity O(size of the event).
[[nodiscard]] bool zeroed_acts_as_absent(const Event& event);

/// What two neighbours differ by in a Poisson batch, by the meaning of their adjacency; (P, Q) dominates the event inside.
enum class PoissonPair {
  /// The record is in the batch, or the batch is what it is without it: (1 - q) Q + q P against Q, and reversed. Under
  /// add-or-remove-one always, under zero-out of what a zeroed record is absent from. \source [ZDW22] Theorem 11.
  with_or_without,
  /// With probability q the record is in the batch as one or the other, and else both batches are the same one, which may show that it
  /// lacks the record: with probability q the pair (P, Q), else one outcome. Under zero-out of everything else.
  /// \source joint convexity of the curve in the pair, docs/proofs/batches.md#revealed.
  revealed,
  /// Two bounded vectors, either in the batch or not: under replace-one, where event_kinds.cpp lets in sums of such vectors alone.
  opposite,
};
/// Which of them a Poisson batch of `inner` has. A parallel event is asked part by part: a record is in one of them.
[[nodiscard]] PoissonPair poisson_pair(const Event& inner);

/// Whether `inner` shares its batch out among parallel parts. A batch of fixed size then tells parts of each other, since what is left
/// of its size is not in them: no theorem that makes such a batch cheaper than what is done with it holds.
[[nodiscard]] bool splits_its_batch(const Event& inner);

}  // namespace surety::accounting
