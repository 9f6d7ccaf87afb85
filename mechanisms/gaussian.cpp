#include <surety/mechanisms/gaussian.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <surety/accounting/interval.h>

namespace surety::mechanisms {
namespace {

using accounting::Interval;

/// multiplier * sensitivity * units, rounded up.
double sigma_up(NoiseMultiplier multiplier, L2Sensitivity sensitivity, double units) {
  constexpr mpfr_prec_t precision = 128;  // exact: two doubles and a power of two
  return (Interval{multiplier.value(), precision} * Interval{sensitivity.value(), precision} * Interval{units, precision})
      .enclosure()
      .upper;
}

}  // namespace

Grid grid_for(L2Sensitivity sensitivity, NoiseMultiplier multiplier) {
  const double sigma = sigma_up(multiplier, sensitivity, 1);
  if (!std::isfinite(sigma)) throw Error{ErrorCode::invalid_argument, "sigma is infinite, must be within the range of double"};
  const int log2_sensitivity = std::ilogb(sensitivity.value());
  return {.log2_step = std::clamp(std::ilogb(sigma) - 29, log2_sensitivity - 38, log2_sensitivity - 10)};
}

Gaussian::Gaussian(Options options)
    : options_{options}, noise_{StepSigma{sigma_up(options.multiplier, options.sensitivity, options.grid.steps_per_unit())}} {
  const double steps = noise_.sigma().value();
  if (!(steps <= 0x1p56)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("sigma is {} grid steps, must be at most 2^56", steps)};
  }
}

void Gaussian::require_same_grid(const Grid& grid) const {
  if (grid != options_.grid) {
    throw Error{ErrorCode::invalid_argument, fmt::format("the query's grid has log2_step {}, must be the mechanism's {}",
                                                         grid.log2_step.value(), options_.grid.log2_step.value())};
  }
}

GaussianOnReals::GaussianOnReals(Options options)
    : options_{options},
      rounded_{{.multiplier = options.multiplier,
                .sensitivity = after_rounding(options.sensitivity, options.grid, options.dimension),
                .grid = options.grid,
                .adjacency = options.adjacency}} {}

void GaussianOnReals::require_dimension(std::size_t size) const {
  if (size != options_.dimension) {
    throw Error{ErrorCode::invalid_argument, fmt::format("the query has {} coordinates, must have {}", size, options_.dimension)};
  }
}

}  // namespace surety::mechanisms
