// The sum of rows that are clipped in the norm in which noise is scaled, for whoever has the rows and not their sum.
//
// Each row is scaled down to norm C, rounded toward zero to the grid, and then checked in integers (of l_r norms: in doubles, with a bound on all
// that they err), as `RecordSum` does for l2. So a row contributes an integer vector that depends on that row alone and has norm at most C,
// whatever it holds; a row whose norm is not a finite double contributes zero. Sums are exact, so their order does not matter.
//
// A sum that was made elsewhere has no such sensitivity: one NaN makes a sum NaN, which then counts as 0, and sums in floating point do not keep
// the sensitivity of their formula (docs/proofs/mechanisms.md#clipped-sum).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/mechanisms/queries/sensitivity.h>

namespace surety::mechanisms {

class ClippedSum {
 public:
  /// The largest clipping norm over grid step.
  static constexpr double largest_ratio = RecordSum::largest_ratio;

  struct Options {
    std::variant<NormName, NormExponent> norm;  ///< in which rows are clipped
    ClippingNorm clip;                          ///< C, the largest norm of a row's contribution
    Grid grid;                                  ///< with step at most C and at least C / largest_ratio
    std::size_t dimension;                      ///< numbers of a row, at least 1
  };

  /// The empty sum. \throws Error{invalid_argument} when the options break their constraints.
  explicit ClippedSum(const Options& options);

  /// Adds a row: coordinate i is min(1, C / ||row||) row[i], up to a relative (dimension + 8) 2^-52, rounded toward zero to the grid. Never refused
  /// for a value. Integers beyond 2^53 are rounded to doubles first. O(dimension). \throws Error{invalid_argument} when it does not have
  /// `dimension` numbers.
  void add(std::span<const double> row);
  void add(std::span<const float> row);
  void add(std::span<const std::int64_t> row);

  /// The sum so far, saturating at +-largest_sum steps per coordinate. O(dimension).
  [[nodiscard]] GridVector sum() const;

  [[nodiscard]] const Options& options() const noexcept { return options_; }

 private:
  // 2^64 rows of 2^40 steps fit into 128 bits.
  __extension__ using Integer = __int128;

  template <class Value>
  void add_converted(std::span<const Value> row);
  /// \return of `steps_`, whose magnitudes are at most C / step: whether the norm is at most C / step.
  [[nodiscard]] bool is_within() const;
  /// Of a row. NaN or infinite when a value is. \pre not of l2
  [[nodiscard]] double norm_of(std::span<const double> row) const;

  Options options_;
  double ratio_;               ///< C / step
  std::vector<RecordSum> l2_;  ///< one, of the l2 norm; else none
  std::vector<double> row_;    ///< converted
  std::vector<std::int64_t> steps_;
  std::vector<Integer> sum_;
};

}  // namespace surety::mechanisms
