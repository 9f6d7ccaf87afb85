// What a release of sufficient statistics says of the law that its records are
// draws of: intervals for the coefficients over noise and sampling.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
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

/// A sum of weights times factors, each weight by its place.
using LinearFunction = std::vector<std::pair<std::size_t, double>>;

/// Of each function of `ridge_weights` the root of its mean squared error about
/// what it is of the coefficients beta of the law, over noise and sampling, to
/// first order in the noise: with what the ridge takes from it, so that 1.96 of
/// it to either side hold that with a probability of about .95 or more, for
/// each function alone. Beta is as for `population_intervals`, orthogonal to
/// all relations. Nothing where the noise is too large for some direction.
/// Computed in double precision. O(d^3 + d sum of functions' lengths).
/// \param records that were added up, none of them of zeros \pre places are
/// below `moments.features` \source docs/proofs/sufficient-statistics.md#errors
[[nodiscard]] std::optional<std::vector<double>> standard_errors(const ReleasedMoments& moments, Count records,
                                                                 std::span<const LinearFunction> functions);

}  // namespace surety::optimizers
