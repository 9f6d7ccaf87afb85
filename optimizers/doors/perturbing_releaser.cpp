#include <surety/optimizers/doors/perturbing_releaser.h>

#include <cstdint>

namespace surety::optimizers {

std::vector<double> NoisyPerturbingReleaser::perturb(std::size_t dimension, L2Sensitivity sigma, const Event& event) {
  const Grid grid = mechanisms::grid_for(sigma, NoiseMultiplier{1});
  const mechanisms::Gaussian::Options options{
      .multiplier = NoiseMultiplier{1}, .sensitivity = sigma, .grid = grid, .adjacency = event.adjacency()};
  if (!noise_ || noise_->options() != options) noise_.emplace(options);
  reservation_.spend(event);
  return noise_->release(GridVector{.grid = grid, .steps = std::vector<std::int64_t>(dimension)}, bits_);
}

}  // namespace surety::optimizers
