// Noise for the queries of one charge: the family and the scale that meet a promise.
#pragma once

#include <string>
#include <vector>

#include <surety/accounting/calibration/solve.h>
#include <surety/statistics/parts.h>

namespace surety::cli {

/// Noise that meets the target, with the parts that it is for.
struct CalibratedQueries {
  Solution cost;  ///< of all, at the common scale
  statistics::Parts parts;
};

/// The noise asked for ("laplace", "gaussian"), or for "best" the family that is better for these queries: of which the sum of weight times
/// variance over squared l2 sensitivity is smaller, for a single query the smaller standard deviation. Public.
/// \throws Error{unreachable, unsupported, invalid_argument} as `solve` and `SumPart`.
[[nodiscard]] CalibratedQueries choose_noise(const std::vector<statistics::WeightedStatistic>& queries, const Target& target,
                                             const std::string& noise, double confidence);

}  // namespace surety::cli
