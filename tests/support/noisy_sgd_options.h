// Options of methods on disjoint batches, for tests.
#pragma once

#include <cstdint>

#include <surety/optimizers/streams/noisy_sgd.h>

namespace surety::optimizers {

/// Passes over `records` in batches of `size`.
inline NoisySgdOptions noisy_sgd_options(std::uint64_t records, std::uint64_t size, std::uint64_t passes, double multiplier,
                                         Adjacency adjacency) {
  return {.noise_multiplier = NoiseMultiplier{multiplier},
          .batches = Batches{Count{records}, Count{size}},
          .passes = Count{passes},
          .adjacency = adjacency,
          .step_size = StepSize{0.7},
          .clip = ClippingNorm{0.8}};
}

}  // namespace surety::optimizers
