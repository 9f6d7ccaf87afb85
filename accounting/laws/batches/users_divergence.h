// The Renyi divergences of a user's records in a Poisson batch, from the cells of their pair. docs/proofs/renyi.md#users.
#pragma once

#include <surety/accounting/events/event.h>

namespace surety::accounting::laws {

/// Whether the event is a user's records in a Poisson batch of a Gaussian release; not under replace-one, where a user's records oppose
/// another one's.
[[nodiscard]] bool has_users_divergence(const Event& leaf);

/// At least D_order of such an event, in both directions. What is done with all of the records, beyond order 500 and where there is too little
/// noise for cells. \pre has_users_divergence(leaf), order > 1. \complexity some 10^4 cells of 50 ns.
[[nodiscard]] double users_divergence(const Event& leaf, RenyiOrder order);

}  // namespace surety::accounting::laws
