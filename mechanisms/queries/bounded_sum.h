// Sums and means of numbers between public bounds, in integers: their sensitivity holds for every order of the records, which that of a
// floating-point sum does not (Casacuberta, Shoemate, Vadhan, Wagaman: Widespread underestimation of sensitivity, 2022).
//
// A value is clamped to the bounds and rounded to the nearest grid point between them. Its contribution depends on that record alone and
// is a whole number of steps, so sums are exact. With lo and hi the outermost grid points within the bounds,
//
//   adjacency            sum of values          sum of values less a public centre c     number of records
//   replace_one          hi - lo                hi - lo                                  public
//   add_or_remove_one    max(|lo|, |hi|)        max(c - lo, hi - c)                      1
//   zero_out             max(|lo|, |hi|)        max(c - lo, hi - c)                      public
//
// in any norm, since these are single numbers. The mean is a noisy centred sum over the number of records, which is public or noisy too.
#pragma once

#include <cstdint>
#include <span>

#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>

namespace surety::mechanisms {

/// Public bounds on values. \throws Error{invalid_argument} unless both are finite and lower < upper.
class Bounds {
 public:
  Bounds(double lower, double upper);
  [[nodiscard]] double lower() const noexcept { return lower_; }
  [[nodiscard]] double upper() const noexcept { return upper_; }

 private:
  double lower_;
  double upper_;
};

/// The map from a value to grid steps between bounds.
class BoundedSteps {
 public:
  /// The largest bound over grid step.
  static constexpr double largest_ratio = 0x1p40;

  /// \throws Error{invalid_argument} when a bound is more than 2^40 steps or fewer than two grid points lie between the bounds.
  BoundedSteps(Bounds bounds, Grid grid);

  [[nodiscard]] const Grid& grid() const noexcept { return grid_; }
  [[nodiscard]] std::int64_t lowest() const noexcept { return lowest_; }
  [[nodiscard]] std::int64_t highest() const noexcept { return highest_; }
  /// The value clamped to the bounds, in steps, rounded to nearest; a NaN becomes `replacement`. Never throws.
  [[nodiscard]] std::int64_t operator()(double value, std::int64_t replacement) const noexcept;

 private:
  Grid grid_;
  std::int64_t lowest_ = 0;
  std::int64_t highest_ = 0;
};

/// The sum of bounded values.
class BoundedSum {
 public:
  /// The empty sum. \throws Error{invalid_argument} as `BoundedSteps`.
  BoundedSum(Bounds bounds, Grid grid) : steps_{bounds, grid} {}

  /// Adds a record. A NaN counts as 0, clamped. Never throws. O(1).
  void add(double value) noexcept;
  void add(std::span<const double> values) noexcept;

  /// The sum so far as a query of one coordinate, saturating at +-largest_sum steps.
  [[nodiscard]] GridVector sum() const;
  /// Of `sum()`, exact, see above.
  [[nodiscard]] double sensitivity(Adjacency adjacency) const;
  [[nodiscard]] L1Sensitivity l1_sensitivity(Adjacency adjacency) const { return L1Sensitivity{sensitivity(adjacency)}; }
  [[nodiscard]] L2Sensitivity l2_sensitivity(Adjacency adjacency) const { return L2Sensitivity{sensitivity(adjacency)}; }

 private:
  __extension__ using Integer = __int128;  // 2^64 records of 2^41 steps fit

  BoundedSteps steps_;
  Integer sum_ = 0;
};

/// What a mean of bounded values needs: the sum of their distances from the middle of the bounds, and their number.
class BoundedMean {
 public:
  /// No records. \throws Error{invalid_argument} as `BoundedSteps`.
  BoundedMean(Bounds bounds, Grid grid, Adjacency adjacency);

  /// Adds a record. A NaN counts as the centre. Never throws. O(1).
  void add(double value) noexcept;
  void add(std::span<const double> values) noexcept;

  /// The public point of the grid nearest to the middle of the bounds.
  [[nodiscard]] double centre() const noexcept;
  /// The sum of value - centre, a query of one coordinate, and its sensitivity, exact.
  [[nodiscard]] GridVector centred_sum() const;
  [[nodiscard]] double sensitivity() const;
  [[nodiscard]] L1Sensitivity l1_sensitivity() const { return L1Sensitivity{sensitivity()}; }
  [[nodiscard]] L2Sensitivity l2_sensitivity() const { return L2Sensitivity{sensitivity()}; }

  /// The number of records on the grid of whole numbers: a query of sensitivity 1 under add_or_remove_one, where it is private.
  [[nodiscard]] GridVector private_count() const;
  /// The number of records, where it is public. \throws Error{invalid_argument} under add_or_remove_one.
  [[nodiscard]] std::uint64_t public_count() const;

  /// The mean by a released centred sum and a released or public count: centre + sum / max(count, 1), within the bounds. Post-processing.
  [[nodiscard]] double estimate(double released_sum, double count) const;

 private:
  __extension__ using Integer = __int128;

  Bounds bounds_;
  BoundedSteps steps_;
  Adjacency adjacency_;
  std::int64_t centre_;
  Integer sum_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace surety::mechanisms
