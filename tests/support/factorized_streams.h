// Streams for the tests of factorized sums.
#pragma once

#include <cstdint>
#include <vector>

#include <surety/mechanisms/prefix_sums/toeplitz_sum.h>

namespace surety::mechanisms {

using Stream = std::vector<std::vector<std::int64_t>>;  // by step, then by coordinate

/// A sensitivity of 2^20 grid steps.
inline FactorizedSumOptions options(std::uint64_t steps, std::uint64_t dimension = 1) {
  return {.steps = Count{steps},
          .dimension = Count{dimension},
          .sensitivity = L2Sensitivity{1},
          .multiplier = NoiseMultiplier{2},
          .grid = {.log2_step = -20},
          .adjacency = Adjacency::replace_one};
}

template <class Codec>
Stream encode(Codec codec, const Stream& stream) {
  Stream encoded;
  for (const auto& row : stream) {
    const auto y = codec.encode(row);
    encoded.emplace_back(y.begin(), y.end());
  }
  return encoded;
}

}  // namespace surety::mechanisms
