// Noise for the queries of one charge: the family and the scale that meet a promise.
#pragma once

#include <string_view>
#include <vector>

#include <surety/accounting/calibration/solve.h>
#include <surety/statistics/parts.h>

namespace surety::jobs {

/// Which noise is asked for.
enum class NoiseChoice {
  best,  ///< the family that is better for these queries
  laplace,
  gaussian,
};
/// "best", "laplace", "gaussian".
[[nodiscard]] std::string_view name(NoiseChoice noise);

/// Noise that meets the target, with the parts that it is for.
struct CalibratedQueries {
  Solution cost;  ///< of all, at the common scale
  statistics::NoiseFamily family;
  statistics::Parts parts;
};

/// The noise asked for, or for `best` the family that is better for these queries: of which the sum of weight times
/// variance over squared l2 sensitivity is smaller, for a single query the smaller standard deviation, or for keys the lower threshold. Beside Laplace noise
/// quantiles are chosen by permute-and-flip at delta = 0, and where that is better. Public. \source docs/proofs/quantiles.md#which-choice
/// \throws Error{unreachable, unsupported, invalid_argument} as `solve` and `SumPart`.
[[nodiscard]] CalibratedQueries choose_noise(const std::vector<statistics::WeightedStatistic>& asked, const Target& target,
                                             NoiseChoice noise, double confidence);

}  // namespace surety::jobs
