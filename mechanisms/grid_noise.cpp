#include <surety/mechanisms/grid_noise.h>

#include <fmt/format.h>

#include <surety/accounting/error.h>
#include <surety/accounting/interval.h>

namespace surety::mechanisms {

using accounting::Interval;

double scale_in_steps(double ratio, double sensitivity, double steps_per_unit) {
  constexpr mpfr_prec_t precision = 128;  // exact: two doubles and a power of two
  return (Interval{ratio, precision} * Interval{sensitivity, precision} * Interval{steps_per_unit, precision}).enclosure().upper;
}

double checked_scale_in_steps(const char* name, double ratio, double sensitivity, const Grid& grid) {
  const double steps = scale_in_steps(ratio, sensitivity, grid.steps_per_unit());
  if (steps <= 0x1p56) return steps;
  throw Error{ErrorCode::invalid_argument, fmt::format("{} is {} grid steps, must be at most 2^56", name, steps)};
}

void require_same_grid(const Grid& query, const Grid& mechanism) {
  if (query == mechanism) return;
  throw Error{ErrorCode::invalid_argument, fmt::format("the query's grid has log2_step {}, must be the mechanism's {}",
                                                       query.log2_step.value(), mechanism.log2_step.value())};
}

void require_dimension(std::size_t query, std::size_t mechanism) {
  if (query == mechanism) return;
  throw Error{ErrorCode::invalid_argument, fmt::format("the query has {} coordinates, must have {}", query, mechanism)};
}

void round_and_add(std::span<double> values, std::span<const std::int64_t> noise, const Grid& grid) noexcept {
  const double step = grid.step();
  const double steps_per_unit = grid.steps_per_unit();
  double* const value = values.data();
  for (std::size_t i = 0; i < noise.size(); ++i) {
    value[i] = static_cast<double>(saturating_add(nearest_integer(value[i] * steps_per_unit), noise[i])) * step;
  }
}

}  // namespace surety::mechanisms
