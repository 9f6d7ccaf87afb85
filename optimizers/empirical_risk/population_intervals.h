// What a release of sufficient statistics says of the law that its records are
// draws of: intervals for the coefficients over noise and sampling.
#pragma once

#include <optional>
#include <vector>

#include <surety/accounting/events/units.h>
#include <surety/optimizers/empirical_risk/sufficient_statistics.h>

namespace surety::optimizers {

struct PopulationIntervals {
  std::vector<double> centre;      ///< one per feature; the least squares of the
                                   ///< release without a ridge
  std::vector<double> half_width;  ///< likewise
  double deviation;                ///< at least the standard deviation of the label about its
                                   ///< expectation, as it was bounded on the way
};

/// Holds all coefficients beta at once with about the given probability over
/// noise and sampling, where each label is <beta, x> and an error, x the row as
/// it enters, errors are independent of one variance, their sums close to
/// normal, and neither clipping nor clamping changed a record. The ridge of
/// `moments` plays no part. Nothing where no finite interval follows. Computed
/// in double precision. O(d^3). \param records that were added up, none of them
/// of zeros \source docs/proofs/sufficient-statistics.md#population
[[nodiscard]] std::optional<PopulationIntervals> population_intervals(const ReleasedMoments& moments, Count records, Confidence confidence);

}  // namespace surety::optimizers
