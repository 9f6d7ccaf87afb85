// How a record takes part in a Poisson batch of at most so many records. docs/proofs/truncated.md.
#pragma once

#include <surety/accounting/events/event.h>
#include <surety/accounting/numbers/enclosure.h>

namespace surety::accounting::privacy_loss {

/// With N of the others drawn, N binomial: a drawn record stays where N < largest, else with probability largest / (N + 1).
struct TruncatedBatch {
  Enclosure roomy;      ///< probability that at most largest - 2 others are in the batch: the record joins at the sampling rate
  Enclosure last;       ///< that largest - 1 others are: it joins with probability `last_rate`
  Enclosure last_rate;  ///< above the sampling rate: of crowded batches those are counted here that it stays in
  Enclosure full;       ///< that largest others are: it does not join
  Enclosure crowded;    ///< that at least largest others were drawn
  Enclosure rate;       ///< that it joins
};

/// \throws Error{unsupported} where the sums have too many terms.
/// \complexity O(largest + records x rate) in 128 bits; at most 10^7.
[[nodiscard]] TruncatedBatch truncated_batch(SamplingRate rate, Batches batches);

/// What a batch has at most under add-or-remove-one, whatever the number of records: the chance to stay in a crowded one.
[[nodiscard]] double largest_crowded_rate(SamplingRate rate, Batches batches);

}  // namespace surety::accounting::privacy_loss
