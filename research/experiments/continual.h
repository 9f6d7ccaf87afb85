// The continual sum of a streaming algorithm, calibrated.
#pragma once

#include <surety/mechanisms/prefix_sums/gaussian_continual_sum.h>
#include <surety/optimizers/doors/stream.h>

namespace surety::experiments {

/// What `asked` asks for, with noise of `multiplier`, on the grid for it.
inline mechanisms::GaussianContinualSum sum_for(mechanisms::Factorization factorization, const optimizers::StreamShape<>& asked,
                                                NoiseMultiplier multiplier) {
  return mechanisms::GaussianContinualSum{{.factorization = factorization,
                                           .steps = asked.steps,
                                           .dimension = asked.dimension,
                                           .sensitivity = asked.sensitivity,
                                           .multiplier = multiplier,
                                           .grid = mechanisms::continual_grid(factorization, asked.steps, asked.sensitivity, multiplier),
                                           .adjacency = asked.adjacency}};
}

}  // namespace surety::experiments
