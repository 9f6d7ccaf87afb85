// How far residuals of squared loss lie from zero, released once, and the clip of derivatives that follows from it.
//
// A fit with derivatives clipped to a fixed part of the label bound B is a Huber fit: its predictions tend to the median. Without a clip the fit is
// unbiased, but its noise is large where most residuals are far smaller than B. So the clip follows from the data:
//
//     start      sum_i clamp_B(y_i) v_i,  v_i = 1 but for damaged records: the mean label, where the fit begins
//     counts     h_k = #{i : 2^-(k+1) < |r_i| / 2B <= 2^-k}, r_i the residual at the start, k = 0 .. 14; the last bin holds the rest
//     clip       R = argmin over 2B 2^(-j/2) of (R nu)^2 + (lambda b(R))^2,  b(R) = sum_k q_k max(0, 3/4 2^-k 2B - R)
//     last       sum_i clamp_R'(r_i) v_i of the residuals of the fit, R' likewise with the noise of this one number and lambda = 1
//
// q_k is h_k / n where that is at least two standard deviations of its noise, else 0. Where all q_k together are less than a half, the counts show too
// little, and R is B / 5. nu R is the size of the noise. b(R) is how far clipping moves the mean residual if all residuals of a bin have one sign and
// lie in its middle. As n mu grows, b(R) becomes 0: no residual is clipped (docs/proofs/shaped-descent.md#residuals). lambda is 1/2 for gradients.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include <surety/accounting/events/units.h>
#include <surety/optimizers/doors/run.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/optimizers/problem/unit_rows.h>

namespace surety::optimizers {

/// Linear functions of the rows of a data set. \pre each has as many numbers as a row
struct RowFunctions {
  std::span<const double> score;      ///< of which the label is predicted
  std::span<const double> intercept;  ///< v, 1 in each row but those of damaged records; clamped to [-1, 1]
};

/// What all releases here share. Public.
struct ResidualOptions {
  LabelBound label_bound;  ///< B
  Adjacency adjacency = Adjacency::replace_one;
  double count;             ///< n, the number of records or units, or a guess of it; greater than 0
  UnitEnds unit_ends = {};  ///< where neighbours differ in units of several rows: each adds means over its rows
  std::size_t threads = 1;  ///< results do not depend on it
};

/// Shares of residuals by size, with noise.
struct ResidualCounts {
  static constexpr std::size_t bins = 16;
  std::array<double, bins> shares;  ///< of all records, from the largest residuals to the smallest
  double noise;                     ///< the standard deviation of the noise of each
  LabelBound label_bound;
};

/// sum_i clamp_C(r_i) v_i / n with noise, r_i = y_i - score_i. One record moves the sum by at most C.
/// \param clip C \pre data.has_labels(); labels in [-B, B]
/// \throws what the releaser throws. \complexity O(stored values). \source docs/proofs/shaped-descent.md#residuals
[[nodiscard]] double release_mean_residual(const Dataset& data, const RowFunctions& functions, ClippingNorm clip,
                                           const ResidualOptions& options, NoiseMultiplier noise, Releaser& releaser);

/// The counts h / n with noise. One record moves h by at most 1 in l2 norm, by sqrt 2 under replace-one. \pre, \throws, \complexity as above
/// \source docs/proofs/shaped-descent.md#residuals
[[nodiscard]] ResidualCounts release_residual_counts(const Dataset& data, std::span<const double> score, const ResidualOptions& options,
                                                     NoiseMultiplier noise, Releaser& releaser);

/// R. Post-processing. \param noise_per_clip nu, at least 0 and finite \param bias_weight lambda
[[nodiscard]] ClippingNorm clip_of_residuals(const ResidualCounts& counts, double noise_per_clip, double bias_weight);

}  // namespace surety::optimizers
