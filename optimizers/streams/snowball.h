// Growing batches of one pass (Snowball-SGD): the fewer steps follow a batch, the more records it has.
#pragma once

#include <cstdint>

#include <surety/accounting/events/points.h>
#include <surety/accounting/events/units.h>

namespace surety::optimizers {

/// So many steps at most: more batches than are worth the time to size them.
inline constexpr std::uint64_t most_snowball_steps = 1'000'000;

/// B_t = ceil(sqrt(M / (T - t + 1))) for t = 1, ..., T, with the largest M for which they are at most `records` together; about M = (records / 2)^2 / T.
/// Their last iterate costs at most what one release of a batch of sqrt(M) records costs. \pre steps <= records
/// \throws Error{invalid_argument} for more than `most_snowball_steps` steps, and for more than 10,000 different sizes.
/// \complexity 60 passes over the steps, at most a second. \source docs/proofs/last-iterate.md#closed-forms; the name is that of [FKT20].
[[nodiscard]] BatchSizes snowball_batches(Count records, Count steps);

}  // namespace surety::optimizers
