// What a query adds up to over some records, in whole numbers: all that its release looks at, so that a table may be read in parts whose totals are
// added before one release. Private, like the records.
//
// Sums are not saturated here: they are where they are released, so that parts add up to what one reading adds up to (docs/proofs/statistics.md#parts).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace surety::statistics {

/// 2^64 records of 2^42 steps each fit.
__extension__ using ExactInteger = __int128;

/// Of a count, sum, mean, variance or histogram: each coordinate in grid steps.
struct StepTotal {
  std::vector<ExactInteger> steps;
  friend bool operator==(const StepTotal&, const StepTotal&) = default;
};
/// Of a quantile: the places where some number lies, ascending, and how many. Candidate k has the places 3 k, 3 k + 1 and 3 k + 2: numbers whose nearest
/// it is, below it, equal to it and above it.
struct RankTotal {
  static constexpr std::uint32_t places_each = 3;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> counts;
  friend bool operator==(const RankTotal&, const RankTotal&) = default;
};
/// Of keys: each that some unit holds, ascending by its bytes, and how many units count for it.
struct KeyTotal {
  std::vector<std::pair<std::string, std::uint64_t>> counts;
  friend bool operator==(const KeyTotal&, const KeyTotal&) = default;
};
/// Of a group that nobody listed: the units in it, and the sum of what they add, in grid steps.
struct GroupSum {
  std::uint64_t units = 0;
  ExactInteger steps = 0;
  friend bool operator==(const GroupSum&, const GroupSum&) = default;
};
/// Of means of such groups: each that some unit is in, ascending by its bytes.
struct GroupTotal {
  std::vector<std::pair<std::string, GroupSum>> counts;
  friend bool operator==(const GroupTotal&, const GroupTotal&) = default;
};
using QueryTotal = std::variant<StepTotal, RankTotal, KeyTotal, GroupTotal>;

/// Adds that of other records. Associative and commutative. \throws Error{invalid_argument} for one of another kind or length, or where a number would
/// not fit; then `total` is of no use. \complexity linear in both
void add(QueryTotal& total, const QueryTotal& more);

}  // namespace surety::statistics
