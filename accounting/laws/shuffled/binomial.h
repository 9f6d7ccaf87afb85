// The binomial distribution with bounds on every number: masses, and how far a count exceeds a level in the mean.
#pragma once

#include <cstdint>
#include <vector>

#include <surety/base/numbers/ball.h>

namespace surety::accounting::laws {

/// A number as its own ball.
[[nodiscard]] inline LongBall exactly(std::uint64_t value) { return LongExact{static_cast<long double>(value)}; }
[[nodiscard]] inline LongBall exactly(double value) { return LongExact{static_cast<long double>(value)}; }

/// Bounds on a number that is not negative.
struct LongBounds {
  LongLower lower;
  LongUpper upper;
};

/// The probability that a binomial count of `trials` trials of probability `p` is `count`. The relative error is some 1e-14 and 1e-18 times the trials.
/// \pre count <= trials < 2^60, and p lies between 0 and 1; 0 and 1 themselves only where `count` is not 0 and not all trials.
/// \complexity O(1). \source the exact saddle-point form of Loader 2000; Stirling's series lies between two successive partial sums.
[[nodiscard]] LongBall binomial_mass(std::uint64_t trials, const LongBall& p, std::uint64_t count);

/// E max(N - y, 0) of a binomial count N, at each of `levels`.
/// \pre the levels rise; as binomial_mass. \complexity O(levels + standard deviation of N). \source docs/proofs/shuffled-reports.md#sums
[[nodiscard]] std::vector<LongBounds> expected_excess(std::uint64_t trials, const LongBall& p, const std::vector<long double>& levels);

/// Consecutive counts, and their probability together.
struct CountBlock {
  std::uint64_t first;
  std::uint64_t last;
  LongBounds weight;
};

/// The counts of a binomial distribution in at most some `blocks` blocks of equal length, which is 1 where there are few counts. All counts farther
/// from the mean than `reach` standard deviations and 20 `reach` are in the first and the last block.
/// \pre as binomial_mass. \complexity O(reach x standard deviation). \source docs/proofs/shuffled-reports.md#sums
[[nodiscard]] std::vector<CountBlock> count_blocks(std::uint64_t trials, const LongBall& p, std::uint64_t blocks, double reach);

}  // namespace surety::accounting::laws
