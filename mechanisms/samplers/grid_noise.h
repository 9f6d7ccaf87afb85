// What mechanisms that add noise on a grid have in common: a release of a query on the grid, and of one that arrives as real numbers.
// Of what is drawn only the time of whole blocks of 256 coordinates shows (lattice_noise.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/samplers/lattice_noise.h>

namespace surety::mechanisms {

/// ratio * sensitivity * steps_per_unit, rounded up: a scale of noise in grid steps.
[[nodiscard]] double scale_in_steps(double ratio, double sensitivity, double steps_per_unit);
/// The same, checked. `name` is what the message calls it. \throws Error{invalid_argument} when it is more than 2^56 grid steps: results,
/// which saturate at 2^62, would show it.
[[nodiscard]] double checked_scale_in_steps(const char* name, double ratio, double sensitivity, const Grid& grid);

/// \throws Error{invalid_argument} when the two differ.
void require_same_grid(const Grid& query, const Grid& mechanism);

/// \throws Error{invalid_argument} when the two differ.
void require_dimension(std::size_t query, std::size_t mechanism);

/// values[i] becomes (nearest_integer(values[i] / g) + noise[i]) g, within +-(2^62 - 1) steps. \pre As long as each other.
void round_and_add(std::span<double> values, std::span<const std::int64_t> noise, const Grid& grid) noexcept;

/// Results for floats stay within 2^24 steps of the grid, where each is a float exactly: all digits of its own and no rounding, also where
/// floats are subnormal. \throws Error{invalid_argument} where that is not so, which no value has a say in: for steps below 2^-149 or above
/// 2^103, and noise of more than 2^20 steps, which would often go beyond.
void require_floats(const Grid& grid, double scale_in_steps);
/// The nearest float among those, of a value on the grid. \pre require_floats.
[[nodiscard]] float float_on_grid(double value, const Grid& grid) noexcept;
inline constexpr double largest_float_steps = 0x1p24;

namespace detail {
[[nodiscard]] std::vector<double> release_on_grid(const LatticeNoise& noise, const Grid& grid, const GridVector& query, BitsRef bits);
void round_and_release_on_grid(const LatticeNoise& noise, const Grid& grid, std::span<double> values, BitsRef bits);
void round_and_release_on_grid(const LatticeNoise& noise, const Grid& grid, std::span<float> values, BitsRef bits);
}  // namespace detail

/// `Noise` (a `LatticeNoise`), added to a query on a grid.
template <class Noise>
class GridNoise {
 public:
  /// One release of `query`: coordinate i is (query.steps[i] + noise_i) g for independent samples, within +-(2^62 - 1) steps, as a double:
  /// exact up to 2^53 steps and the nearest double beyond. Never throws on a value of the query. O(dimension). \throws
  /// Error{invalid_argument} when the query lives on another grid; Error{environment} when the bits fail.
  [[nodiscard]] std::vector<double> release(const GridVector& query, BitsRef bits) const {
    return detail::release_on_grid(noise_, grid_, query, bits);
  }

  /// The release of `round_to_nearest(values, grid)` from the same bits, over `values`, which the rounding must not bring further apart
  /// than the sensitivity says: `OnReals` below charges for it. Never throws on a value. What the bits have not reached when they fail
  /// stays as it was. O(size), and no memory. \throws Error{environment} when the bits fail.
  void round_and_release_in_place(std::span<double> values, BitsRef bits) const {
    detail::round_and_release_on_grid(noise_, grid_, values, bits);
  }
  /// The same release from the same bits, each result as `float_on_grid`. \throws as above, and before a value is looked at as
  /// `require_floats`.
  void round_and_release_in_place(std::span<float> values, BitsRef bits) const {
    if constexpr (requires { noise_.sigma(); }) {
      require_floats(grid_, noise_.sigma().value());
    } else {
      require_floats(grid_, noise_.scale().value());
    }
    detail::round_and_release_on_grid(noise_, grid_, values, bits);
  }

 protected:
  GridNoise(Noise noise, Grid grid) : noise_{std::move(noise)}, grid_{grid} {}
  [[nodiscard]] const Noise& noise() const noexcept { return noise_; }

 private:
  Noise noise_;
  Grid grid_;
};

/// `Mechanism` (a `GridNoise` with the sensitivity after rounding) for a query that arrives as real numbers, already summed.
///
/// The guarantee is as good as the caller's bound on the sensitivity of what the machine computes: floating-point sums do not keep the
/// sensitivity that their formula has, unlike `RecordSum` and `ClippedSum`. Coordinates are rounded to the nearest grid point and clamped to
/// +-2^62 steps, a NaN counts as 0, and the bound must hold with that: a sum that one record can make NaN or infinite has none.
template <class Mechanism>
class OnReals {
 public:
  [[nodiscard]] Event event() const { return rounded_.event(); }
  [[nodiscard]] const Mechanism& rounded() const noexcept { return rounded_; }

  /// One release of `query`, rounded to nearest, as of `Mechanism`. Never throws on a value of the query.
  /// \throws Error{invalid_argument} when the query does not have the mechanism's dimension; Error{environment} when the bits fail.
  [[nodiscard]] std::vector<double> release(std::span<const double> query, BitsRef bits) const {
    std::vector<double> result{query.begin(), query.end()};
    release_in_place(result, bits);
    return result;
  }

  /// The same values from the same bits, stored over the query. What the bits have not reached when they fail stays as it was: such a
  /// query must not be published. O(dimension), and no memory. \throws as `release`.
  void release_in_place(std::span<double> query, BitsRef bits) const {
    require_dimension(query.size(), dimension_);
    rounded_.round_and_release_in_place(query, bits);
  }
  /// The same of floats, which are kept within 2^24 steps of the grid: no result is rounded. NaN counts as 0, infinities saturate, subnormal
  /// numbers are rounded to the grid as all others, and 0 is never negative in a result. \throws as above, and before a value is looked at
  /// as `require_floats`.
  void release_in_place(std::span<float> query, BitsRef bits) const {
    require_dimension(query.size(), dimension_);
    rounded_.round_and_release_in_place(query, bits);
  }

 protected:
  OnReals(Mechanism rounded, std::size_t dimension) : rounded_{std::move(rounded)}, dimension_{dimension} {}

 private:
  Mechanism rounded_;
  std::size_t dimension_;
};

}  // namespace surety::mechanisms
