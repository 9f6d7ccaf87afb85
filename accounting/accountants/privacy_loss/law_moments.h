// Renyi divergences of pairs that are known by their cells, for kinds of batches without a formula. docs/proofs/renyi.md#cells.
#pragma once

#include <surety/accounting/events/event.h>

namespace surety::accounting::privacy_loss {

/// Whether the event is a user's records in a Poisson batch of a Gaussian release, or one epoch of random allocation of one; not under
/// replace-one, for which no cells are at hand here.
[[nodiscard]] bool has_divergence_of_batch(const Event& leaf);

/// At least D_order of such an event, in both directions. What is done with the batch, beyond order 500 and where there is too little noise
/// for cells. \pre has_divergence_of_batch(leaf), order > 1.
/// \complexity some 10^4 cells of 50 ns, and for an epoch O(order^2) and once its table.
[[nodiscard]] double divergence_of_batch(const Event& leaf, RenyiOrder order);

}  // namespace surety::accounting::privacy_loss
