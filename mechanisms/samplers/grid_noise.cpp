#include <surety/mechanisms/samplers/grid_noise.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/text/error.h>

namespace surety::mechanisms {

double scale_in_steps(double ratio, double sensitivity, double steps_per_unit) {
  const StandardFloatingPoint environment;
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

namespace {

constexpr double half_range = 0x1p51;  // numbers below it, and sums of two of them, are whole steps exactly

/// Whether every |value| steps_per_unit and every |noise| is below half_range; a NaN is not. Sums of bits, since compilers make vectors of
/// those.
bool fit_half_range(std::span<const double> values, double steps_per_unit, std::span<const std::int64_t> noise) noexcept {
  const StandardFloatingPoint environment;
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
  const StandardFloatingPoint environment;
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

void require_floats(const Grid& grid, double scale_in_steps) {
  const int step = grid.log2_step.value();
  if (!(step >= -149 && step <= 103)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("log2_step of the grid is {}, must be from -149 to 103 for floats", step)};
  }
  if (!(scale_in_steps <= 0x1p20)) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("the noise is {} grid steps wide, must be at most 2^20 for floats: take a larger step", scale_in_steps)};
  }
}

float float_on_grid(double value, const Grid& grid) noexcept {
  const StandardFloatingPoint environment;
  const double largest = largest_float_steps * grid.step();
  return static_cast<float>(std::clamp(value, -largest, largest));
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
  const StandardFloatingPoint environment;
  const double largest = largest_float_steps * grid.step();
  noise.for_each_block(values.size(), bits, [&](std::size_t first, std::span<const std::int64_t> drawn) {
    std::array<double, LatticeNoise::block> exact;
    const auto block = std::span{exact}.first(drawn.size());
    const auto floats = values.subspan(first, drawn.size());
    std::copy(floats.begin(), floats.end(), block.begin());
    round_and_add(block, drawn, grid);
    std::transform(block.begin(), block.end(), floats.begin(),
                   [largest](double value) { return static_cast<float>(std::clamp(value, -largest, largest)); });
  });
}

}  // namespace detail

}  // namespace surety::mechanisms
