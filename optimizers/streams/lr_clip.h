// Clipping in an l_r norm, r >= 2, for noise whose shape is that norm: the generalized Gaussian.
#pragma once

#include <cstddef>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/units.h>
#include <surety/mechanisms/additive/lp_noise.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/domain.h>

namespace surety::optimizers {

/// The largest l_r norm that one record may contribute.
struct LrClip {
  NormExponent r;
  ClippingNorm norm;
};

/// One record's vector factor x row, clipped to l_r norm `clip` and rounded toward zero to the grid; zero where its norm is not a normal
/// double. The l_r norm of the result is at most clip.norm (docs/proofs/frank-wolfe.md#lr-clip). O(dimension).
/// \throws Error{invalid_argument} when a dense row has not `dimension` coordinates, the dimension is above 2^32, or clip.norm has not from
///         1 to 2^52 grid steps.
[[nodiscard]] GridVector clipped_contribution(double factor, const RowView& row, const LrClip& clip, Grid grid, std::size_t dimension);

/// Sensitivity in l_r of a push clipped to `clip`: 2 clip under replace-one and clip under zero-out. Exact.
/// \throws Error{invalid_argument} when 2 clip is beyond the range of double.
[[nodiscard]] LrSensitivity lr_sensitivity(const LrClip& clip, Adjacency adjacency);

/// kappa(r) = (r - 1) d^(2 / r - 2 / q): for vectors of l_q norm at most 1, q >= r, clipping in l_r is no loss at norm d^(1/r - 1/q), and
/// noise for that norm costs (r - 1) times as much as a Gaussian of the same multiplier. [HLL22] Lemma 3.2 with its exponent corrected.
[[nodiscard]] double kappa(NormExponent r, LpExponent q, Count dimension);

/// The r in [2, q] of least kappa(r). Its logarithm has the derivative 1 / (r - 1) - 2 log d / r^2, so the least value is at 2, at q or at
/// the larger root of r^2 = 2 (r - 1) log d. \throws Error{invalid_argument} when q is below 2: then l_2 norms are at most l_q norms, and
/// plain Gaussian noise is the noise of the theorem.
[[nodiscard]] NormExponent best_exponent(LpExponent q, Count dimension);

}  // namespace surety::optimizers
