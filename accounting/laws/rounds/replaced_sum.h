// The curve of one epoch of random allocation under replace-one, by the law of a sum on grids whose steps are shares of what lies on them: where Fourier sums
// (replaced_epoch.h) take too many nodes, which is where there is little noise or there are few rounds.
//
// It is E(sum of X_i)_+ / t, X_i = A_i - e^x B_i independent, A and B = exp(+-mu g - mu^2 / 2). docs/proofs/allocated.md derives it.
#pragma once

#include <cstdint>

#include <surety/accounting/laws/finite/polygon_law.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::accounting {

/// At least the curve of an epoch of that many rounds at loss x, `multiplier` the noise over the bound on one record: of the sum's law, or of two rounds, which
/// cost no less.
/// \param scale roughly the curve there: what is beyond the grid is a small share of it. Any is sound.
/// \param step of the grids, as a share of what a sum spreads. Both ends are O(step^2) apart: some 1e-3 to 1e-2 of the curve at 0.03.
/// \pre rounds >= 2, multiplier > 0, x >= 0, scale > 0, step > 0. \complexity O(log(rounds) / step^2) products, but no more than a few 1e6 / step.
/// \source docs/proofs/allocated.md#replaced-sums
[[nodiscard]] double replaced_curve_above(std::uint64_t rounds, double multiplier, double x, double scale, double step);

/// At most that curve, in the same way; 0 where masses have no digits.
[[nodiscard]] double replaced_curve_below(std::uint64_t rounds, double multiplier, double x, double scale, double step);

/// The test that the sum is above 0, in half as much time again; of delta 0 or less where it shows nothing.
[[nodiscard]] laws::CurveTest replaced_test(std::uint64_t rounds, double multiplier, double x, double scale, double step);

/// The curve of an epoch of two rounds: that of means sqrt(2) / multiplier apart. At least that of one of more rounds.
[[nodiscard]] Enclosure two_replaced_rounds(double multiplier, double x);

}  // namespace surety::accounting
