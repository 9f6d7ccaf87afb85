#include <surety/mechanisms/grid.h>

#include <algorithm>

#include <fmt/format.h>

#include <surety/accounting/error.h>

namespace surety {

Log2Step::Log2Step(int value) : value_{value} {
  if (!(value >= lowest && value <= highest)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("grid exponent log2_step is {}, must be from {} to {}", value, lowest, highest)};
  }
}

std::int64_t saturating_add(std::int64_t exact, std::int64_t noise) noexcept {
  constexpr std::int64_t largest_result = largest_sum - 1;
  std::int64_t sum = 0;
  // Only terms of one sign overflow, and then the noise alone is beyond the largest result.
  if (__builtin_add_overflow(std::clamp(exact, -largest_sum, largest_sum), noise, &sum)) sum = noise;
  return std::clamp(sum, -largest_result, largest_result);
}

namespace mechanisms {
namespace {

std::int64_t nearest(double steps) {
  if (std::isnan(steps)) return 0;
  if (steps >= static_cast<double>(largest_sum)) return largest_sum;
  if (steps <= -static_cast<double>(largest_sum)) return -largest_sum;
  return static_cast<std::int64_t>(std::round(steps));
}

}  // namespace

GridVector round_to_nearest(std::span<const double> values, Grid grid) {
  GridVector result{.grid = grid, .steps = {}};
  result.steps.reserve(values.size());
  // A power of two scales exactly; below the range of double it can only turn what rounds to 0 into another such value.
  const double steps_per_unit = grid.steps_per_unit();
  for (const double value : values) result.steps.push_back(nearest(value * steps_per_unit));
  return result;
}

std::vector<double> to_reals(const GridVector& vector) {
  std::vector<double> result;
  result.reserve(vector.steps.size());
  const double step = vector.grid.step();
  for (const std::int64_t steps : vector.steps) result.push_back(static_cast<double>(steps) * step);
  return result;
}

}  // namespace mechanisms
}  // namespace surety
