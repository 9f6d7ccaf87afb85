#include <surety/mechanisms/additive/gaussian.h>

#include <algorithm>
#include <cmath>

#include <surety/base/text/error.h>

namespace surety::mechanisms {

Grid grid_for(L2Sensitivity sensitivity, NoiseMultiplier multiplier) {
  const double sigma = scale_in_steps(multiplier.value(), sensitivity.value(), 1);
  if (!std::isfinite(sigma)) throw Error{ErrorCode::invalid_argument, "sigma is infinite, must be within the range of double"};
  const int log2_sensitivity = std::ilogb(sensitivity.value());
  return {.log2_step = std::clamp(std::ilogb(sigma) - 29, log2_sensitivity - 38, log2_sensitivity - 10)};
}

Gaussian::Gaussian(Options options)
    : GridNoise{RoundedGaussian{
                    StepSigma{checked_scale_in_steps("sigma", options.multiplier.value(), options.sensitivity.value(), options.grid)}},
                options.grid},
      options_{options} {}

GaussianOnReals::GaussianOnReals(Options options)
    : OnReals{Gaussian{{.multiplier = options.multiplier,
                        .sensitivity = after_rounding(options.sensitivity, options.grid, options.dimension),
                        .grid = options.grid,
                        .adjacency = options.adjacency}},
              options.dimension},
      options_{options} {}

}  // namespace surety::mechanisms
