#include <surety/mechanisms/queries/grid.h>

#include <fmt/format.h>

#include <surety/base/numbers/floating_point.h>
#include <surety/base/text/error.h>

namespace surety {

Log2Step::Log2Step(int value) : value_{value} {
  if (!(value >= lowest && value <= highest)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("grid exponent log2_step is {}, must be from {} to {}", value, lowest, highest)};
  }
}

namespace mechanisms {
GridVector round_to_nearest(std::span<const double> values, Grid grid) {
  const StandardFloatingPoint environment;
  GridVector result{.grid = grid, .steps = {}};
  result.steps.reserve(values.size());
  // A power of two scales exactly; below the range of double it can only turn what rounds to 0 into another such value.
  const double steps_per_unit = grid.steps_per_unit();
  for (const double value : values) result.steps.push_back(nearest_integer(value * steps_per_unit));
  return result;
}

std::vector<double> to_reals(const GridVector& vector) {
  const StandardFloatingPoint environment;
  std::vector<double> result;
  result.reserve(vector.steps.size());
  const double step = vector.grid.step();
  for (const std::int64_t steps : vector.steps) result.push_back(static_cast<double>(steps) * step);
  return result;
}

}  // namespace mechanisms
}  // namespace surety
