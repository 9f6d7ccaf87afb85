// The curve of one epoch of random allocation under replace-one, by the law of a sum on a uniform grid: where Fourier sums (replaced_epoch.h) take too many
// nodes, which is where there is little noise or there are few rounds.
//
// It is E(sum of X_i)_+ / t = E[X_1; sum of X_i > 0], X_i = A_i - e^x B_i independent, A and B = exp(+-mu g - mu^2 / 2). docs/proofs/allocated.md derives it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <surety/base/numbers/enclosure.h>

namespace surety::accounting {

/// Both ends of the curve of an epoch of that many rounds at loss x, `multiplier` the noise over the bound on one record: of the sum's law, and from above of
/// one round, which costs more.
/// \param scale roughly the curve there: what is beyond the grid is a small share of it. Any is sound.
/// \param size points of a transform, a power of two, at least 2^10.
/// \pre rounds >= 2, multiplier > 0, x >= 0, scale > 0. \complexity O(size log size), some 0.5 s for 2^20 points. The upper end is some
///     1e-2 of the curve wide at 2^20 points and 100 rounds, four times that at half as many; below 1e-9 and the digits of transforms it is wider.
/// \source docs/proofs/allocated.md#replaced-sums
[[nodiscard]] Enclosure replaced_curve(std::uint64_t rounds, double multiplier, double x, double scale, std::size_t size);

/// Its upper end alone, by half of the transforms.
[[nodiscard]] double replaced_curve_above(std::uint64_t rounds, double multiplier, double x, double scale, std::size_t size);

/// At least the curve of one of those rounds alone at x.
[[nodiscard]] double one_replaced_round(double multiplier, double x);

}  // namespace surety::accounting
