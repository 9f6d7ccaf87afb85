// Growing batches of one pass: [FKT20] Snowball-SGD, whose noise decreases with the number of steps that follow.
#pragma once

#include <surety/accounting/events/points.h>
#include <surety/accounting/events/units.h>

namespace surety::optimizers {

/// B_t = ceil(sqrt(M / (T - t + 1))) for t = 1, ..., T, with the largest M for which they are at most `records` together; about M = (records / 2)^2 / T.
/// Their last iterate costs at most what one release of a batch of sqrt(M) records costs. \pre steps <= records
/// \throws Error{invalid_argument} for more than 10,000 different sizes.
/// \complexity O(steps log(records)). \source [FKT20] Section 4, as [HLL22] Lemma 3.4 cites it; docs/proofs/last-iterate.md#closed-forms.
[[nodiscard]] BatchSizes snowball_batches(Count records, Count steps);

}  // namespace surety::optimizers
