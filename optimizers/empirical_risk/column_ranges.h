// Releases bounds of columns before a training: two quantiles of each column, which bisection on noisy counts finds.
//
// All columns are bisected together, the lower and the upper end of each. A round has two thresholds a column, s for the lower end and t for the upper
// one, and releases for each column
//
//     below = #{x < s},  above = #{x >= t, x >= s}
//
// with Gaussian noise. The lower end moves down where `below` exceeds the rank r, else up; the upper end moves up where `above` exceeds r, else down.
// Eight rounds choose among 256 intervals between 0 and the powers of two from 2^-64 to 2^63 and their negatives, eight more halve that interval. So a
// range has a resolution of 2^-8 of the power of two in which its end lies, whatever the unit of the column is.
//
// r is 3 standard deviations of the noise, at least 6 % and at most 45 % of the records: numbers beyond are clamped. With much noise a range is thus a
// small interval around the median. The shares were chosen on the tables named in docs/results/ranges.md.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/units.h>
#include <surety/data/features/features.h>
#include <surety/optimizers/doors/run.h>
#include <surety/optimizers/problem/dataset.h>

namespace surety::optimizers {

/// Public.
struct RangeOptions {
  std::vector<std::size_t> columns;  ///< places in a row of the numbers whose ranges are released; at least 1
  Adjacency adjacency = Adjacency::replace_one;
  NoiseMultiplier noise_multiplier;  ///< of each round
  double count;                      ///< the number of records, or a guess of it; greater than 0
};

/// How many releases `release_ranges` makes, one a round.
inline constexpr int range_releases = 16;
/// All of them, each Gaussian.
[[nodiscard]] Event ranges_event(NoiseMultiplier noise_multiplier, Adjacency adjacency);

/// How far one record moves the counts of a round in l2 norm: sqrt(columns), and sqrt(2 columns) under replace-one, rounded up.
/// \source docs/proofs/ranges.md#counts
[[nodiscard]] L2Sensitivity sensitivity_of_range_counts(std::size_t columns, Adjacency adjacency);

/// The rank r over the number of records. \source docs/proofs/ranges.md#rank
[[nodiscard]] double range_rank(const RangeOptions& options);

/// A range for each of the columns, in their order: finite bounds that ascend. Records whose last number is 0, which marks damaged ones, are in no count.
/// \pre rows of the data set are dense and in memory, have these columns, and end in a number that is 0 for damaged records alone \throws what the releaser throws
/// \complexity O(16 records x columns). \source docs/proofs/ranges.md#counts
[[nodiscard]] std::vector<data::Bounds> release_ranges(const Dataset& data, const RangeOptions& options, Releaser& releaser);

}  // namespace surety::optimizers
