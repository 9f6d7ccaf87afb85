// How a record takes part in a Poisson batch of at most so many records. docs/proofs/truncated.md.
#pragma once

#include <optional>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::accounting::laws {

/// With N of the others drawn, N binomial: a drawn record stays where N < largest, else with probability largest / (N + 1).
struct TruncatedBatch {
  Enclosure roomy;      ///< probability that at most largest - 2 others are in the batch: the record joins at the sampling rate
  Enclosure last;       ///< that largest - 1 others are: it joins with probability `last_rate`
  Enclosure last_rate;  ///< above the sampling rate: of crowded batches those are counted here that it stays in
  Enclosure full;       ///< that largest others are: it does not join
  Enclosure crowded;    ///< that at least largest others were drawn
  Enclosure room;       ///< that fewer were
  Enclosure rate;       ///< that it joins
  Enclosure displaces;  ///< of crowded batches, that it joins, in the place of another; 0 to 1 where there are next to none
};

/// \throws Error{unsupported} where the sums have too many terms.
/// \complexity O(deviations of the number drawn), at most 10^6 terms of 128 bits.
[[nodiscard]] TruncatedBatch truncated_batch(SamplingRate rate, Batches batches);

/// The record is in the batch with probability `rate`, and everybody knows it.
struct BatchShare {
  Enclosure weight;
  Enclosure rate;
};

/// What whoever sees how many of the others are in the batch, with N(0, z^2) added, knows of the chance that the record is: in coarse steps
/// of what he sees, hence less than he knows. No shares where he learns little for the work: noise beyond 10 records.
/// \throws Error{unsupported} as above. \complexity O(40 z + 40) normal distribution functions for each of four steps.
[[nodiscard]] std::vector<BatchShare> shares_by_others_seen(SamplingRate rate, Batches batches, double multiplier);

/// Under add-or-remove-one: the chance that so many others are drawn that the batch is full, and that the record stays in it then.
struct CrowdedBatch {
  Enclosure weight;
  double largest_rate;
};
/// Enough of them that every number of records up to that of `batches` is one with less weight and less rate than one of these, or with
/// room for all.
/// \throws Error{unsupported} as above.
[[nodiscard]] std::vector<CrowdedBatch> crowded_batches(SamplingRate rate, Batches batches);

/// The chance that the record joins, from below, in the place of another, where batches are full for sure: with some number of records up to that of
/// `batches`, or with exactly that one, for which fewer than `largest` others are drawn with probability at most e^log_room. Nothing where there is none.
/// \throws Error{unsupported} as above.
[[nodiscard]] std::optional<double> rate_of_full_batches(SamplingRate rate, Batches batches, double log_room, bool is_public);

}  // namespace surety::accounting::laws
