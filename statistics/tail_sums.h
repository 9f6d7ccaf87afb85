// Upper quantiles of sums of independent noise, for bounds that hold with a stated probability.
//
// A sum is computed on a grid of numbers. Each term is rounded up to the grid, so the result is at least the quantile, and about 1 % more.
// The probabilities are sums of products of positive doubles, whose rounding is far below the slack of 2^-30 (docs/proofs/quantiles.md#sums).
#pragma once

#include <cstddef>
#include <span>

namespace surety::statistics {

/// `least` + `scale` E, for E of density exp(-x) on x > 0.
struct ShiftedExponential {
  double least;
  double scale;
};

/// `weight` times the larger one of two independent variables. \pre weight >= 0, and neither part is negative.
struct LargerOfTwo {
  double weight;
  ShiftedExponential one;
  ShiftedExponential other;
};

/// t with P(sum > t) <= `exceeded` for the sum of independent terms: at most the union bound. Infinite where a part is.
/// \pre 0 < exceeded < 1. O(terms 2^18).
[[nodiscard]] double quantile_of_larger(std::span<const LargerOfTwo> terms, double exceeded);

/// `count` independent variables of density exp(-|x| / scale) / (2 scale).
struct LaplaceTerms {
  double scale;
  std::size_t count;
};

/// t with P(sum > t) <= `exceeded` for the sum of all of these variables.
/// \pre 2^-30 <= exceeded < 1/2, scales are finite and not negative. O(n^2 100) for n variables.
[[nodiscard]] double quantile_of_laplace(std::span<const LaplaceTerms> terms, double exceeded);

}  // namespace surety::statistics
