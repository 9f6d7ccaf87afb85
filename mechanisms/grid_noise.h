// What mechanisms that add noise on a grid have in common: a release of a query on the grid, and of one that arrives as real numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <surety/accounting/event.h>
#include <surety/mechanisms/grid.h>
#include <surety/mechanisms/random_bits.h>

namespace surety::mechanisms {

/// ratio * sensitivity * steps_per_unit, rounded up: a scale of noise in grid steps.
[[nodiscard]] double scale_in_steps(double ratio, double sensitivity, double steps_per_unit);
/// The same, checked. `name` is what the message calls it. \throws Error{invalid_argument} when it is more than 2^56 grid steps: results,
/// which saturate at 2^62, would show it.
[[nodiscard]] double checked_scale_in_steps(const char* name, double ratio, double sensitivity, const Grid& grid);

/// \throws Error{invalid_argument} when the two differ.
void require_same_grid(const Grid& query, const Grid& mechanism);

/// `Noise` (a `LatticeNoise`), added to a query on a grid.
template <class Noise>
class GridNoise {
 public:
  /// One release of `query`: coordinate i is (query.steps[i] + noise_i) g for independent samples, within +-(2^62 - 1) steps, as a double:
  /// exact up to 2^53 steps and the nearest double beyond. Never throws on a value of the query. O(dimension). \throws
  /// Error{invalid_argument} when the query lives on another grid; Error{environment} when the bits fail.
  template <ReleaseBits Bits>
  [[nodiscard]] std::vector<double> release(const GridVector& query, Bits& bits) const {
    require_same_grid(query.grid, grid_);
    GridVector noisy{.grid = query.grid, .steps = std::vector<std::int64_t>(query.steps.size())};
    noise_.for_each_block(query.steps.size(), bits, [&](std::size_t first, std::span<const std::int64_t> noise) {
      for (std::size_t i = 0; i < noise.size(); ++i) noisy.steps[first + i] = saturating_add(query.steps[first + i], noise[i]);
    });
    return to_reals(noisy);
  }

 protected:
  GridNoise(Noise noise, Grid grid) : noise_{std::move(noise)}, grid_{grid} {}
  [[nodiscard]] const Noise& noise() const noexcept { return noise_; }

 private:
  Noise noise_;
  Grid grid_;
};

}  // namespace surety::mechanisms
