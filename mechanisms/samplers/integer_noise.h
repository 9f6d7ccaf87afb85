// How mechanisms on the integers add their noise: the query is clamped to +-2^62 and the result to +-(2^62 - 1), so that nothing overflows
// and nothing is refused for its value (grid.h). Clamping brings no two queries further apart, and the result is post-processing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/samplers/lattice_noise.h>

namespace surety::mechanisms {

/// Adds a sample of `noise` to each of `values`, as `saturating_add`; the samples are those of `noise.fill`. O(values), time as
/// `LatticeNoise::fill`: it depends on what is drawn, not on the values. \throws what the bits throw; from there on, values are as they
/// were, without noise.
void add_noise(const LatticeNoise& noise, std::span<std::int64_t> values, BitsRef bits);

/// The same of one value, compiled for each source of bits as the samplers' `operator()`.
template <ReleaseBits Bits>
[[nodiscard]] std::int64_t with_noise(const LatticeNoise& noise, std::int64_t value, Bits& bits) {
  return saturating_add(value, noise(bits));
}

/// The same of a copy.
[[nodiscard]] std::vector<std::int64_t> with_noise(const LatticeNoise& noise, std::span<const std::int64_t> values, BitsRef bits);

}  // namespace surety::mechanisms
