// Weights shrunk by an estimate of their risk ([Ste81]), from released and public numbers alone.
//
// Each of K models has coordinates u_kj = b_j u*_kj + noise, independent, of variance v_j, where u*_k is the minimum of a loss of curvatures h_j. A candidate is
//
//     s_k(R, P) = (H + R I + P C^T C)^-1 (H + r I) u_k,       H = diag(h),
//
// the model with the ridge R in the place of r, and a penalty P of the weights C x of curves. The result is the candidate that minimizes
//
//     sum_k |H^(1/2) (s_k - u_k / b)|^2 + 2 K sum_j h_j S_jj v_j / b_j,           S = (H + R I + P C^T C)^-1 (H + r I),
//
// an unbiased estimate, but for a constant, of sum_k E |H^(1/2) (s_k - u*_k)|^2. So one run has the result of many ridges, and of a model without curves.
#pragma once

#include <span>
#include <vector>

namespace surety::optimizers {

/// d numbers for each of the first three.
struct SteinTerms {
  std::vector<double> curvature;  ///< h
  std::vector<double> variance;   ///< v
  std::vector<double> reach;      ///< b: the part of the way to the minimum that a descent without noise comes
  double ridge;                   ///< r
  std::vector<double> curves;     ///< C: rows of d numbers, one behind the other; none without curves
};

/// The shrunk coordinates of K models, one behind the other.
/// \param coordinates u: K d numbers, from the point to which they are shrunk
/// \pre d > 0; curvatures, reaches and the ridge are greater than 0, variances at least 0, all finite; with curves not all of C is 0
/// \complexity 10 values of R, each O(K d) time; with curves O(d^3) for four of them and O(K d^2) for each of 8 values of P, and O(d^2) memory
/// \source docs/proofs/shaped-descent.md#shrinkage
[[nodiscard]] std::vector<double> shrunk_by_stein(std::span<const double> coordinates, const SteinTerms& terms);

}  // namespace surety::optimizers
