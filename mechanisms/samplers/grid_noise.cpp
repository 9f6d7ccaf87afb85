#include <surety/mechanisms/samplers/grid_noise.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <surety/accounting/events/units.h>
#include <surety/accounting/numbers/error.h>
#include <surety/accounting/numbers/floating_point.h>
#include <surety/accounting/numbers/interval.h>

namespace surety::mechanisms {

using accounting::Interval;

double scale_in_steps(double ratio, double sensitivity, double steps_per_unit) {
  const accounting::StandardFloatingPoint environment;
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

void require_floats(const Grid& grid, double scale) {
  const double step = grid.step();
  if (!(step >= 0x1p-149 && step * most_steps_of_floats <= static_cast<double>(std::numeric_limits<float>::max()))) {
    refuse_quantity("step of the grid", step, "so that 2^24 of it are floats: from 2^-149 to 2^103");
  }
  if (!(scale <= step * 0x1p20)) {
    refuse_quantity("scale of the noise in steps of the grid", scale / step, "at most 2^20 for floats: give a larger step");
  }
}

void require_dimension(std::size_t query, std::size_t mechanism) {
  if (query == mechanism) return;
  throw Error{ErrorCode::invalid_argument, fmt::format("the query has {} coordinates, must have {}", query, mechanism)};
}

namespace {

constexpr double half_range = 0x1p51;  // numbers below it, and sums of two of them, are whole steps exactly

/// Whether every |value| steps_per_unit and every |noise| is below half_range; a NaN is not. Sums of bits, since compilers make vectors of
/// those.
bool fit_half_range(std::span<const double> values, double steps_per_unit, std::span<const std::int64_t> noise) noexcept {
  const accounting::StandardFloatingPoint environment;
  constexpr auto limit = std::bit_cast<std::uint64_t>(half_range);
  constexpr auto magnitude = ~std::uint64_t{0} >> 1;
  std::uint64_t all_below = ~std::uint64_t{0};
  std::uint64_t any = 0;
  for (std::size_t i = 0; i < noise.size(); ++i) {
    all_below &= (std::bit_cast<std::uint64_t>(values[i] * steps_per_unit) & magnitude) - limit;
    any |= static_cast<std::uint64_t>(noise[i]) + (std::uint64_t{1} << 51);
  }
  return all_below >> 63 == 1 && any >> 52 == 0;
}

}  // namespace

void round_and_add(std::span<double> values, std::span<const std::int64_t> noise, const Grid& grid) noexcept {
  const accounting::StandardFloatingPoint environment;
  const double step = grid.step();
  const double steps_per_unit = grid.steps_per_unit();
  double* const value = values.data();
  if (!fit_half_range(values, steps_per_unit, noise)) {
    for (std::size_t i = 0; i < noise.size(); ++i) {
      value[i] = static_cast<double>(saturating_add(nearest_integer(value[i] * steps_per_unit), noise[i])) * step;
    }
    return;
  }
  // The same in doubles, without conversions: adding and subtracting 2^52 rounds to a whole number, ties to even, which is one too low
  // where it has rounded a half down.
  constexpr double whole = 0x1p52;
  constexpr double origin = 0x1.8p52;  // whose last digit is 1, also of its neighbours up to 2^51 away
  for (std::size_t i = 0; i < noise.size(); ++i) {
    const double steps = value[i] * steps_per_unit;
    const double size = std::fabs(steps);
    const double even = (size + whole) - whole;
    const double nearest = even + (size - even >= 0.5 ? 1.0 : 0.0);
    const double noise_steps = std::bit_cast<double>(std::bit_cast<std::uint64_t>(origin) + static_cast<std::uint64_t>(noise[i])) - origin;
    value[i] = (std::copysign(nearest, steps) + noise_steps) * step;
  }
}

namespace detail {

std::vector<double> release_on_grid(const LatticeNoise& noise, const Grid& grid, const GridVector& query, BitsRef bits) {
  require_same_grid(query.grid, grid);
  std::vector<double> noisy(query.steps.size());
  const double step = grid.step();
  noise.for_each_block(query.steps.size(), bits, [&](std::size_t first, std::span<const std::int64_t> drawn) {
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      noisy[first + i] = static_cast<double>(saturating_add(query.steps[first + i], drawn[i])) * step;
    }
  });
  return noisy;
}

void round_and_release_on_grid(const LatticeNoise& noise, const Grid& grid, std::span<double> values, BitsRef bits) {
  noise.for_each_block(values.size(), bits, [&](std::size_t first, std::span<const std::int64_t> drawn) {
    round_and_add(values.subspan(first, drawn.size()), drawn, grid);
  });
}

void round_and_release_on_grid(const LatticeNoise& noise, const Grid& grid, std::span<float> values, BitsRef bits) {
  const double most = most_steps_of_floats * grid.step();
  std::vector<double> exact;
  noise.for_each_block(values.size(), bits, [&](std::size_t first, std::span<const std::int64_t> drawn) {
    const auto block = values.subspan(first, drawn.size());
    exact.assign(block.begin(), block.end());
    round_and_add(exact, drawn, grid);
    std::transform(exact.begin(), exact.end(), block.begin(),
                   [most](double value) { return static_cast<float>(std::clamp(value, -most, most)); });
  });
}

}  // namespace detail

}  // namespace surety::mechanisms
