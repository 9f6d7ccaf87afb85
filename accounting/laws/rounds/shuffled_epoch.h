// One epoch of batches of a secret permutation, as far as concrete data sets show its cost: what bounds it from below.
//
// With T batches, each released by a Gaussian of multiplier z, let all other records contribute nothing (zero-out) or the opposite
// of the one that differs (replace-one), so that up to known shifts
//     Q   N(0, I) in T dimensions
//     P   N(e_t / z, I), t the batch of the record
// and look at no more than which interval holds the largest of the T coordinates. That is post-processing, so the pair of interval
// probabilities is dominated by (P, Q), in both directions.
#pragma once

#include <cstdint>

#include <surety/accounting/laws/cells/dominating_pair.h>

namespace surety::accounting {

/// The intervals' losses log P/Q and their masses under P. By symmetry the law of the largest coordinate is the same whichever batch
/// holds the record, so the last batch may be smaller.
/// \pre multiplier > 0, batches >= 1.
/// \complexity some 2 ms: 2000 thresholds in extended precision, whose rounding is counted.
/// \source docs/proofs/batches.md#shuffled-epochs.
[[nodiscard]] AtomsBase largest_coordinate(double multiplier, std::uint64_t batches);

/// The same of an epoch in which a record is in `participations` of the batches, its own. \pre 1 <= participations <= batches.
[[nodiscard]] AtomsBase largest_coordinate(double multiplier, std::uint64_t batches, std::uint64_t participations);

/// The same of the records of a user, each in one of the batches, uniform and independent. \pre 1 <= records <= 8, batches <= 2^53.
[[nodiscard]] AtomsBase largest_coordinate_of_user(double multiplier, std::uint64_t batches, std::uint64_t records);

}  // namespace surety::accounting
