#include <surety/mechanisms/samplers/lattice_noise.h>

namespace surety::mechanisms {

void LatticeNoise::fill(std::span<double> noise, const Grid& grid, BitsRef bits) const {
  const double step = grid.step();
  for_each_block(noise.size(), bits, [&](std::size_t first, std::span<const std::int64_t> steps) {
    double* const out = noise.data() + first;
    for (std::size_t i = 0; i < steps.size(); ++i) out[i] = static_cast<double>(steps[i]) * step;
  });
}

}  // namespace surety::mechanisms
