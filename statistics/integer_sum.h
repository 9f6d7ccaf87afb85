// The exact integer vector of a statistic, and its sensitivities.
//
// Each record becomes a vector of integers, in steps of a public grid, that depends on that record and public options alone; the vectors
// are added in integers. So the sensitivity below holds for what the machine computes, whatever the cells hold and in every order:
//
//   count      1 for every record that meets the condition; or for every unit that has one, once in each group; or for every different text
//   sum        the number in the column, clamped to the bounds and rounded to the grid
//   of units   what each unit's numbers, rounded to the grid, add up to, clipped to the bounds
//   mean       where the number of records is public, the same sum, divided afterwards;
//              else the sum of (number - middle of the bounds), and beside it the count with a weight: half the bounds' width, or under
//              replace-one beside Gaussian noise sqrt 3 times that, with which a record that comes moves no more than one that changes
//   variance   the number's distance from the middle of the bounds, its centred square, and the count with a weight (variance.h)
//   histogram  1 in the cell that the record falls into
//
// A record whose cell is missing is none of a sum, mean or variance, unless the statistic says otherwise (`MissingCells`).
//
// Which records are counted: all, or those that meet a condition. Their number is public only without a condition, where none is left out,
// and under replace-one or zero-out. Under zero-out a record gives way to one that contributes zero to every sum here.
//
// Groups have one such vector each, side by side. A record is in one group or none, and may leave one and join another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <surety/base/numbers/interval.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/statistics/confidence_set.h>
#include <surety/statistics/query.h>
#include <surety/statistics/totals.h>

namespace surety::statistics {

/// The grid of a statistic: the integers for counts, and `mechanisms::grid_for` of the width of the bounds (of their larger magnitude
/// where a record may come or go) for sums. A function of public values. \throws as `Statistic::validate` and `mechanisms::grid_for`.
[[nodiscard]] Grid grid_for(const Statistic& statistic, NoiseMultiplier noise);

/// The exact integer vector of a statistic.
class StatisticSum {
 public:
  /// The sum over no records, for noise of this law: it decides the weight of a count beside a sum, and every weight is right for every law.
  /// \throws Error{invalid_argument} as `Statistic::validate`, or when the grid has fewer than 1 or more than 2^40 steps between the origin
  /// and a bound. \param weight of the count beside a sum in the place of that, as a share of the largest number in steps
  StatisticSum(Statistic statistic, Grid grid, NoiseLaw law = NoiseLaw::laplace, std::optional<double> weight = std::nullopt);

  /// Adds one record that meets the condition to its group, by the cell of the statistic's column. A text is looked up among the categories, or is
  /// ignored otherwise; a number is clamped, a NaN counts as the lower bound. Never throws. O(log cells).
  /// \pre group < groups()
  void add(double number, std::size_t group = 0);
  void add(const std::string& text, std::size_t group = 0);
  /// Adds so many records, each as by its number alone: the same integers. \pre groups() == 1
  void add(std::span<const double> numbers);
  /// Adds one record that meets the condition and whose cell is missing: nothing where such are left out, else 0, clamped to the bounds; in a
  /// histogram it is in no cell. Under zero-out, where a zeroed record is such a one, it is none where records are counted beside their numbers.
  void add_damaged(std::size_t group = 0);
  /// Adds one record, unit or text to a count.
  void add_to_count(std::size_t group = 0) { add_steps(group, 0, 1); }
  /// A number of a unit whose sum is clipped, in steps: to the nearest, at most 2^40 in magnitude; a NaN counts as 0.
  [[nodiscard]] std::int64_t unclipped_steps_of(double number) const noexcept;
  /// What a unit's numbers add up to in a group.
  using OfGroup = std::pair<std::size_t, ExactInteger>;
  /// Adds that of all groups of one unit, clipped: the one sum without groups, the vector by its norm with them (docs/proofs/statistics.md#unit-sums).
  /// \pre each group at most once, and each sum at most 2^60 in magnitude
  void add_unit(std::span<const OfGroup> sums);
  /// Adds so many to a count. \pre count < 2^63
  void add_to_count_times(std::uint64_t count) { add_steps(0, 0, static_cast<std::int64_t>(count)); }

  /// Each coordinate of the sum, saturating at 2^62 grid steps.
  [[nodiscard]] GridVector sum() const;
  /// The same as it is, which other records' may be added to.
  [[nodiscard]] StepTotal total() const { return {sum_}; }
  /// Adds that of at most `records` other records. \throws Error{invalid_argument} for one that no such records have.
  void add_total(const StepTotal& total, std::uint64_t records);

  /// Of `sum()`, in data units and exact up to one rounding up (docs/proofs/statistics.md#statistics).
  [[nodiscard]] L1Sensitivity l1_sensitivity() const;
  [[nodiscard]] L2Sensitivity l2_sensitivity() const;

  /// 1 where there are none.
  [[nodiscard]] std::size_t groups() const noexcept { return statistic_.by ? number_of(*statistic_.by) : 1; }
  /// Coordinates of `sum()` that belong to one group, whose are side by side: one, one per cell, a sum and a count, or
  /// the parts of a variance.
  [[nodiscard]] std::size_t coordinates_of_group() const noexcept { return coordinates_; }
  /// The name of each number asked for of a group: of the statistic, or of the cell.
  [[nodiscard]] std::vector<std::string> names() const;
  /// What each coordinate of `sum()` is, for people: "the count", "the sum".
  [[nodiscard]] std::string what_is_released() const;
  [[nodiscard]] bool is_histogram() const noexcept { return std::holds_alternative<HistogramOf>(statistic_.of); }
  [[nodiscard]] bool is_variance() const noexcept { return std::holds_alternative<VarianceOf>(statistic_.of); }
  /// Every number asked for counts records, units or texts, so it is whole.
  [[nodiscard]] bool counts() const noexcept {
    return is_histogram() || std::holds_alternative<CountOf>(statistic_.of) || std::holds_alternative<UnitsOf>(statistic_.of) ||
           std::holds_alternative<DistinctOf>(statistic_.of);
  }
  [[nodiscard]] const Statistic& statistic() const noexcept { return statistic_; }
  [[nodiscard]] Grid grid() const noexcept { return grid_; }
  /// What counts as zero in a sum, in data units.
  [[nodiscard]] double origin() const noexcept { return origin_; }
  /// The least and the largest contribution of a record to the first coordinate, and the weight of the count beside a sum, 0 where there is
  /// none: all in steps.
  [[nodiscard]] std::int64_t least() const noexcept { return low_; }
  [[nodiscard]] std::int64_t largest() const noexcept { return high_; }
  [[nodiscard]] std::int64_t farthest() const noexcept { return std::max(std::abs(low_), std::abs(high_)); }
  [[nodiscard]] std::int64_t weight() const noexcept { return weight_; }

  /// The clamped number in steps from the origin, to the nearest, of two the one further from 0: as `std::llround` (docs/proofs/statistics.md#blocks).
  [[nodiscard]] std::int64_t steps_of(double number) const noexcept {
    const double clamped = std::min(number >= bounds_.lower ? number : bounds_.lower, bounds_.upper);
    const double steps = (clamped - origin_) * steps_per_unit_;
    constexpr double below_half = 0x1.fffffffffffffp-2;
    return static_cast<std::int64_t>(steps + __builtin_copysign(below_half, steps));
  }

 private:
  using Integer = ExactInteger;

  void add_steps(std::size_t group, std::size_t coordinate, std::int64_t steps) { sum_[group * coordinates_ + coordinate] += steps; }
  /// The weight of the count beside a sum, in steps.
  [[nodiscard]] std::int64_t weight_beside_sum(NoiseLaw law) const;
  [[nodiscard]] double norm(bool squared) const;
  /// The same where units or texts are counted; nothing elsewhere.
  [[nodiscard]] std::optional<double> norm_of_units(bool squared) const;
  /// Of the records of a unit of which a group counts no more than its cap, in steps. \param comes one more or less of a group \param changes one for another there
  [[nodiscard]] Interval norm_under_cap(const Interval& comes, const Interval& changes, bool squared) const;

  Statistic statistic_;
  Grid grid_;
  double steps_per_unit_ = 1;
  data::Bounds bounds_{0, 0};  ///< of sums and means
  double origin_ = 0;          ///< what counts as zero in a sum
  std::int64_t low_ = 1;
  std::int64_t high_ = 1;
  std::int64_t weight_ = 0;
  std::optional<CellFinder> cells_;  ///< of a histogram
  std::size_t coordinates_ = 1;      ///< of a group
  std::vector<Integer> sum_;
};

}  // namespace surety::statistics
