// Bits that count how often they are read. They are not random: for tests that look at no noise.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include <surety/mechanisms/bits/random_bits.h>

namespace surety::testing {

struct CountingBits {
  int fills = 0;
  void fill(std::span<std::byte> bytes) {
    ++fills;
    std::fill(bytes.begin(), bytes.end(), std::byte{0x55});
  }
};

}  // namespace surety::testing

// A false promise, which only a test may make.
template <>
inline constexpr bool surety::is_cryptographic<surety::testing::CountingBits> = true;
