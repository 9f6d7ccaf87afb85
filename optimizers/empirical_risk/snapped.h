// Numbers that lie on a grid whatever their last digits are.
#pragma once

#include <cmath>

namespace surety::optimizers::detail {

/// The nearest multiple of 2^-40 of the power of two at or below `scale`, which is positive. Grids of sums round toward zero: the last digits that are lost where all
/// labels were moved together would move one that lies on the grid by a step of it.
[[nodiscard]] inline double snapped(double value, double scale) {
  const double step = std::ldexp(1.0, std::ilogb(scale) - 40);
  return std::round(value / step) * step;
}

}  // namespace surety::optimizers::detail
