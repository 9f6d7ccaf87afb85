// How mechanisms on the integers add their noise: the query is clamped to +-2^62 and the result to +-(2^62 - 1), so that nothing overflows
// and nothing is refused for its value (grid.h). Clamping brings no two queries further apart, and the result is post-processing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/samplers/lattice_noise.h>
#include <surety/mechanisms/bits/random_bits.h>

namespace surety::mechanisms {

/// Adds a sample of `noise` to each of `values`, as `saturating_add`; the samples are those of `noise.fill`. O(values), time as
/// `LatticeNoise::fill`: it depends on what is drawn, not on the values. \throws what the bits throw; from there on, values are as they
/// were, without noise.
template <ReleaseBits Bits>
void add_noise(const LatticeNoise& noise, std::span<std::int64_t> values, Bits& bits) {
  noise.for_each_block(values.size(), bits, [values](std::size_t first, std::span<const std::int64_t> drawn) {
    for (std::size_t i = 0; i < drawn.size(); ++i) values[first + i] = saturating_add(values[first + i], drawn[i]);
  });
}

/// The same of one value.
template <ReleaseBits Bits>
[[nodiscard]] std::int64_t with_noise(const LatticeNoise& noise, std::int64_t value, Bits& bits) {
  return saturating_add(value, noise(bits));
}

/// The same of a copy.
template <ReleaseBits Bits>
[[nodiscard]] std::vector<std::int64_t> with_noise(const LatticeNoise& noise, std::span<const std::int64_t> values, Bits& bits) {
  std::vector<std::int64_t> noisy(values.begin(), values.end());
  add_noise(noise, noisy, bits);
  return noisy;
}

}  // namespace surety::mechanisms
