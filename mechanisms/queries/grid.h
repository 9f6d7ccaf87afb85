// The grid on which every released value lives: the integer multiples of a power of two. On it sums are exact and associative,
// so a sensitivity that is proved for real numbers holds for what the machine computes, and a released value says nothing through
// its low-order bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace surety {

/// The exponent of a grid's step, from -900 to 900, so that every step, every inverse step and every int64 multiple of a step is a
/// normal double or zero.
class Log2Step {
 public:
  static constexpr int lowest = -900;
  static constexpr int highest = 900;

  /// Implicit, so that a grid reads `Grid{.log2_step = -20}`. \throws Error{invalid_argument} out of range.
  Log2Step(int value);
  [[nodiscard]] int value() const noexcept { return value_; }
  friend bool operator==(Log2Step, Log2Step) = default;

 private:
  int value_;
};

struct Grid {
  Log2Step log2_step;

  /// The distance between neighbouring points, in data units. Exact.
  [[nodiscard]] double step() const noexcept { return power_of_two(log2_step.value()); }
  /// 1 / step, exact.
  [[nodiscard]] double steps_per_unit() const noexcept { return power_of_two(-log2_step.value()); }
  friend bool operator==(const Grid&, const Grid&) = default;

 private:
  /// 2^exponent by its bits. \pre a normal double, as every step and every inverse step is
  static double power_of_two(int exponent) noexcept { return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52); }
};

/// Exact values on a grid count up to this many steps: far beyond use, and half of what int64 holds. Clamping brings no two vectors
/// further apart, so it preserves every sensitivity.
inline constexpr std::int64_t largest_sum = std::int64_t{1} << 62;

/// exact + noise, in steps, where `exact` is clamped to +-largest_sum and the result to +-(largest_sum - 1).
///
/// For noise that saturates at the ends of int64, this is the clamped value of exact + *unsaturated* noise: when the noise saturates, the
/// sum is beyond +-(largest_sum - 1) in both cases. So the result is post-processing of the ideal sum.
[[nodiscard]] inline std::int64_t saturating_add(std::int64_t exact, std::int64_t noise) noexcept {
  constexpr std::int64_t largest_result = largest_sum - 1;
  std::int64_t sum = 0;
  // Only terms of one sign overflow, and then the noise alone is beyond the largest result.
  if (__builtin_add_overflow(std::clamp(exact, -largest_sum, largest_sum), noise, &sum)) sum = noise;
  return std::clamp(sum, -largest_result, largest_result);
}

/// A vector on a grid: coordinate i is steps[i] * grid.step().
struct GridVector {
  Grid grid;
  std::vector<std::int64_t> steps;
  friend bool operator==(const GridVector&, const GridVector&) = default;
};

namespace mechanisms {

/// The nearest integer, halves away from zero, saturating at +-largest_sum; 0 for a NaN. Without a branch that depends on the value.
[[nodiscard]] inline std::int64_t nearest_integer(double value) noexcept {
  constexpr auto largest = static_cast<double>(largest_sum);
  const double number = value == value ? value : 0;
  const double clamped = number > largest ? largest : number < -largest ? -largest : number;
  const auto whole = static_cast<std::int64_t>(clamped);     // toward zero
  const double rest = clamped - static_cast<double>(whole);  // exact: 0 from 2^53 on
  return whole + (rest >= 0.5 ? 1 : 0) - (rest <= -0.5 ? 1 : 0);
}

/// The nearest grid point in every coordinate, halves away from zero, saturating at +-largest_sum steps. A NaN counts as 0, so the
/// caller's sensitivity must hold for the query so completed. Never throws on a value. O(dimension).
[[nodiscard]] GridVector round_to_nearest(std::span<const double> values, Grid grid);

/// The coordinates in data units: exact up to 2^53 steps and the nearest double beyond. O(dimension).
[[nodiscard]] std::vector<double> to_reals(const GridVector& vector);

}  // namespace mechanisms
}  // namespace surety
