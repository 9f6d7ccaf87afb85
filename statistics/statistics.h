// Private statistics: one count, sum, mean or histogram of a file, as an integer vector whose sensitivity is exact.
//
// Each record becomes a vector of integers, in steps of a public grid, that depends on that record and public options alone; the vectors
// are added in integers. So the sensitivity below holds for what the machine computes, whatever the cells hold and in every order:
//
//   count      1 for every record that meets the condition
//   sum        the number in the column, clamped to the bounds and rounded to the grid
//   mean       where the number of records is public, the same sum, divided afterwards;
//              else the sum of (number - middle of the bounds), and beside it the count with the weight of half the bounds' width
//   histogram  1 in the cell that the record falls into
//
// Which records are counted: all, or those that meet a condition. Their number is public only without a condition and under replace-one
// or zero-out. Under zero-out a record gives way to one that contributes zero to every sum here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include <surety/accounting/ledger/ledger.h>
#include <surety/data/data_policy.h>
#include <surety/data/features.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/additive/laplace.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>

namespace surety::statistics {

struct CountOf {};
struct SumOf {
  std::string column;
  data::Bounds bounds;
};
struct MeanOf {
  std::string column;
  data::Bounds bounds;
};
/// `count` cells of equal width: [e_0, e_1), [e_1, e_2), ..., the last one closed. Numbers beyond the bounds fall into the outer cells.
struct Bins {
  data::Bounds bounds;
  std::size_t count;
};
/// One cell per category, whose text must be the whole cell of the file; records with other texts are in no cell.
struct HistogramOf {
  std::string column;
  std::variant<data::Categories, Bins> cells;
};

/// What is asked of the data. Public in every part.
struct Statistic {
  std::variant<CountOf, SumOf, MeanOf, HistogramOf> of;
  std::optional<data::LabelRule> where = std::nullopt;  ///< the condition, with its comparison: only records that meet it are counted
  Adjacency adjacency;

  static constexpr double largest_bound = 0x1p900;
  static constexpr double smallest_width = 0x1p-800;
  static constexpr std::size_t most_bins = std::size_t{1} << 20;

  /// \throws Error{invalid_argument} for bounds that do not ascend, exceed `largest_bound` or are closer than `smallest_width`; for bins
  ///         fewer than 2, more than `most_bins` or narrower than doubles can tell apart; for categories that are empty or listed twice;
  ///         for a condition without a comparison; and for a count of all records where their number is public.
  void validate() const;
  /// How many records are counted is public: there is no condition and the adjacency keeps their number.
  [[nodiscard]] bool has_public_count() const noexcept;
};

/// "count() where visits>0", "sum(age)".
[[nodiscard]] std::string describe(const Statistic& statistic);

/// The inner ends of the cells and the two bounds, ascending: bins.count + 1 numbers.
[[nodiscard]] std::vector<double> edges(const Bins& bins);

/// The grid of a statistic: the integers for counts, and `mechanisms::grid_for` of the width of the bounds (of their larger magnitude
/// where a record may come or go) for sums. A function of public values. \throws as `Statistic::validate` and `mechanisms::grid_for`.
[[nodiscard]] Grid grid_for(const Statistic& statistic, NoiseMultiplier noise);

/// A released number and the interval that holds the exact one, in data units.
struct Estimate {
  double value;
  double lower;
  double upper;
};

/// Noise that fits a statistic.
using StatisticNoise = std::variant<mechanisms::Laplace, mechanisms::Gaussian>;

[[nodiscard]] Event event_of(const StatisticNoise& noise);
[[nodiscard]] std::string_view name(const StatisticNoise& noise);
/// Standard deviation of the ideal noise on each coordinate, before it is rounded to the grid.
[[nodiscard]] double standard_deviation(const StatisticNoise& noise);

/// The smallest multiple t of the grid step with P(|noise| > t) <= `exceeded`, by interval arithmetic from the law of the rounded noise:
/// erfc((t + g/2) / (sigma sqrt 2)) for the Gaussian, exp(-(t + g/2) / b) for Laplace. \pre 2^-60 <= exceeded < 1.
[[nodiscard]] double quantile(const StatisticNoise& noise, double exceeded);

/// The exact integer vector of a statistic.
class StatisticSum {
 public:
  /// The sum over no records. \throws Error{invalid_argument} as `Statistic::validate`, or when the grid has fewer than 1 or more than 2^40
  /// steps between the origin and a bound.
  StatisticSum(Statistic statistic, Grid grid);

  /// Adds one record that meets the condition, by the cell of the statistic's column. A text is looked up among the categories, or is
  /// ignored otherwise; a number is clamped, a NaN counts as the lower bound. Never throws. O(log cells).
  void add(double number);
  void add(const std::string& text);
  /// Adds one record that meets the condition and whose cell is damaged: 0, clamped to the bounds; in a histogram it is in no cell.
  void add_damaged();
  /// Adds one record to a count.
  void add() { add_steps(0, 1); }

  /// Each coordinate of the sum, saturating at 2^62 grid steps.
  [[nodiscard]] GridVector sum() const;

  /// Of `sum()`, in data units and exact up to one rounding up (docs/proofs/statistics.md#statistics).
  [[nodiscard]] L1Sensitivity l1_sensitivity() const;
  [[nodiscard]] L2Sensitivity l2_sensitivity() const;

  /// How far the noise on each coordinate reaches with the probability that `confidence` leaves to it: a share of 1 - confidence for each
  /// coordinate that a number needs. \pre 0 < confidence < 1.
  [[nodiscard]] double reach(const StatisticNoise& noise, double confidence) const;

  /// What the released vector says about each number asked for: one, or one per cell. Each interval alone holds the exact statistic of the
  /// clamped and rounded records with at least the probability `confidence`, for `reach` of that. `records` is the number of records where
  /// it is public, and is not read elsewhere. Means are clamped to their bounds; an end of another interval is infinite where a sum may
  /// have saturated. \pre `released` is as long as `sum()`.
  [[nodiscard]] std::vector<Estimate> estimates(const std::vector<double>& released, double reach, std::uint64_t records) const;

  /// The name of each number asked for: of the statistic, or of the cell.
  [[nodiscard]] std::vector<std::string> names() const;
  /// What each coordinate of `sum()` is, for people: "the count", "the sum".
  [[nodiscard]] std::string what_is_released() const;
  [[nodiscard]] bool is_histogram() const noexcept { return std::holds_alternative<HistogramOf>(statistic_.of); }
  /// Every number asked for counts records, so it is whole.
  [[nodiscard]] bool counts() const noexcept { return is_histogram() || std::holds_alternative<CountOf>(statistic_.of); }
  [[nodiscard]] const Statistic& statistic() const noexcept { return statistic_; }
  [[nodiscard]] Grid grid() const noexcept { return grid_; }

 private:
  // 2^64 records of 2^40 steps fit into 128 bits.
  __extension__ using Integer = __int128;

  void add_steps(std::size_t coordinate, std::int64_t steps) { sum_[coordinate] += steps; }
  /// The clamped number in steps from the origin.
  [[nodiscard]] std::int64_t steps_of(double number) const;
  [[nodiscard]] double norm(bool squared) const;

  Statistic statistic_;
  Grid grid_;
  data::Bounds bounds_{0, 0};  ///< of sums and means
  double origin_ = 0;          ///< what counts as zero in a sum
  std::int64_t low_ = 1;       ///< the least and the largest contribution of a record to the first coordinate, in steps
  std::int64_t high_ = 1;
  std::int64_t weight_ = 0;    ///< of the count beside a sum; 0 where there is none
  std::vector<double> inner_;  ///< the inner edges of bins
  std::unordered_map<std::string, std::size_t> category_;
  std::vector<Integer> sum_;
};

/// Reads a file into `sum`, row by row. A damaged record is one record, and a damaged cell counts as data_policy.h says.
/// \return the number of records.
/// \throws Error{bad_data} for a column that is missing; where the number of records is public, for a file without records; where the
///         form of the file is public, for a damaged record or cell, whether or not it meets the condition.
[[nodiscard]] std::uint64_t read_statistic(const std::filesystem::path& path, StatisticSum& sum, const data::DataPolicy& policy = {});

/// Noise for `sum` that is `event`: laplace(b) or gaussian(z). \throws Error{unsupported} for another event; Error{invalid_argument} where
/// the noise does not fit the grid.
[[nodiscard]] StatisticNoise noise_for(const StatisticSum& sum, const Event& event);

/// Spends from `reservation`, then draws the noise: the one way by which a statistic leaves. \throws Error{internal} when the reservation
/// does not hold the event; Error{environment} when the bits fail.
[[nodiscard]] std::vector<double> release(const StatisticSum& sum, const StatisticNoise& noise, accounting::Reservation& reservation,
                                          mechanisms::BitsRef bits);

}  // namespace surety::statistics
