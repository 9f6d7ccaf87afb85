// What is asked of the data: a count of rows, of units or of different texts, a sum, mean, variance, quantile or histogram, with its condition, its groups, its adjacency and whom it protects. Public in
// every part.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <surety/accounting/events/unit.h>
#include <surety/accounting/events/units.h>
#include <surety/data/features/features.h>
#include <surety/data/reading/condition.h>
#include <surety/statistics/cells.h>
#include <surety/statistics/expression.h>
#include <surety/statistics/groups.h>
#include <surety/statistics/quantile.h>

namespace surety::statistics {

/// By which column the owner of a row is found, where a unit has several rows.
struct RowOwner {
  std::string column;
  bool empty_is_each;                    ///< a row without an identifier is a unit of its own
  std::vector<std::string> beside = {};  ///< the further columns of a combination
  friend bool operator==(const RowOwner&, const RowOwner&) = default;
};
struct CountOf {
  friend bool operator==(const CountOf&, const CountOf&) = default;
};
/// How many units there are, or have a used row that meets the condition; of groups, how many have such a row in each.
struct UnitsOf {
  std::optional<RowOwner> owner = std::nullopt;  ///< needed where a unit has several rows
  friend bool operator==(const UnitsOf&, const UnitsOf&) = default;
};
/// How many different texts a column holds, where each unit brings so many of its own at most: the first of its used rows, as `KeysOf` has them.
struct DistinctOf {
  std::string column;
  Count most_keys{1};                            ///< of each unit, at most as many as it has rows
  std::optional<RowOwner> owner = std::nullopt;  ///< needed where a unit has several rows
  friend bool operator==(const DistinctOf&, const DistinctOf&) = default;
};
struct SumOf {
  std::string column;
  data::Bounds bounds;
  friend bool operator==(const SumOf&, const SumOf&) = default;
};
/// The sum over units of what each adds up to, clipped once to the bounds: who has many rows may use them all, and one that has none adds 0, clipped. Of groups
/// each unit adds one vector, clipped to the norm C in l2 where the bounds are -C and C.
struct UnitSumOf {
  std::string column;
  data::Bounds clip;
  std::optional<RowOwner> owner = std::nullopt;  ///< needed where a unit has several rows
  friend bool operator==(const UnitSumOf&, const UnitSumOf&) = default;
};
struct MeanOf {
  std::string column;
  data::Bounds bounds;
  friend bool operator==(const MeanOf&, const MeanOf&) = default;
};
/// The mean of (x - mean)^2 over the records that count.
struct VarianceOf {
  std::string column;
  data::Bounds bounds;
  friend bool operator==(const VarianceOf&, const VarianceOf&) = default;
};
/// A q-quantile, by a choice among public candidates, or several by halving.
struct QuantileOf {
  std::string column;
  data::Bounds bounds;
  Fractions fractions;
  std::optional<std::size_t> candidates = std::nullopt;  ///< `Candidates::between` where nothing is said
  bool has_interval = false;                             ///< with intervals in the unit of the column (quantile_intervals.h)
  friend bool operator==(const QuantileOf&, const QuantileOf&) = default;
};
struct HistogramOf {
  std::string column;
  Cells cells;
  friend bool operator==(const HistogramOf&, const HistogramOf&) = default;
};
/// The most frequent of listed texts, each by a choice among those not chosen before (mode_part.h). Records with other texts do not count.
struct ModeOf {
  std::string column;
  data::Categories categories;  ///< known without looking at the data
  std::size_t top = 1;          ///< how many of them are released
  friend bool operator==(const ModeOf&, const ModeOf&) = default;
};
/// The texts that a column holds, or the tuples of texts that several hold, and nobody listed, each with the number of units that hold it, as far as that is
/// above a threshold (keys.h).
struct KeysOf {
  std::string column;
  Count most_keys{1};                            ///< of each unit, at most as many as it has rows
  Delta chance{0};                               ///< of the promised delta, for a key that one unit alone holds to appear
  std::optional<RowOwner> owner = std::nullopt;  ///< needed where a unit has several rows
  std::vector<std::string> beside = {};          ///< the further columns of a tuple
  bool hides_counts = false;                     ///< keys alone are shown (key_selection.h)
  Delta chance_of_selection{0};                  ///< of the promised delta, where they are and no noise is beside them
  friend bool operator==(const KeysOf&, const KeysOf&) = default;
};
/// The mean in each group of a column that nobody listed, of those groups that are shown as `KeysOf` shows keys (group_means.h): of each unit's own mean of
/// its rows in the group. Without units of several rows that is the mean of the rows.
struct GroupMeansOf {
  MeanOf mean;
  KeysOf keys;  ///< the groups
  friend bool operator==(const GroupMeansOf&, const GroupMeansOf&) = default;
};
/// Of each unit at most so many rows count in a group, the first of its used rows there: which they are does not depend on its rows in other groups.
struct GroupCap {
  Count most{1};                                 ///< at most as many as a unit has rows
  std::optional<RowOwner> owner = std::nullopt;  ///< needed where a unit has several rows
  friend bool operator==(const GroupCap&, const GroupCap&) = default;
};

/// What a missing cell is, one that is empty or no number, of the column of a statistic.
enum class MissingCells {
  left_out,          ///< no record of the statistic: how many records it has is private
  count_as_a_value,  ///< the value that `data::CsvFormat::missing` says; where that does not hold, of damaged records, 0 clamped to the bounds
  promised_complete  ///< there is none; one that is there all the same is 0 clamped to the bounds, which is within the sensitivity
};

/// The unit of a date's number. The bounds of a column of dates have it, too.
inline constexpr std::string_view unit_of_dates = "days since 1970-01-01";

/// What is asked of the data. Public in every part.
struct Statistic {
  std::variant<CountOf, SumOf, MeanOf, VarianceOf, QuantileOf, HistogramOf, KeysOf, UnitsOf, DistinctOf, GroupMeansOf, UnitSumOf, ModeOf>
      of;
  std::optional<data::Condition> where = std::nullopt;  ///< only records that meet it are counted
  Adjacency adjacency;
  std::optional<Groups> by = std::nullopt;
  std::optional<GroupCap> group_cap =
      std::nullopt;         ///< of counts of records, sums, means, variances, quantiles, histograms and modes of groups
  UnitOfPrivacy unit = {};  ///< what is added, removed, replaced or zeroed between neighbours: all its rows, of which unit.most() are used
  MissingCells missing = MissingCells::left_out;
  std::vector<std::string> dates =
      {};  ///< columns that are declared to hold dates, of those whose numbers the statistic or its groups read
  /// In the place of the column, whose name is then the text of the expression: the number of a row is its value, and a row without one has a missing cell.
  std::optional<Expression> expression = std::nullopt;

  static constexpr std::size_t most_numbers = std::size_t{1} << 20;  ///< of all groups

  /// \throws Error{invalid_argument} for bounds and cells as their `validate`, for a mode of fewer texts than 2 or that releases all of them, for bounds of a variance
  ///         whose squares are no numbers, for units, different texts or keys without the owner that several rows have, or more texts of a unit than it
  ///         has rows, for more than `most_numbers` cells of all groups or 2^22 candidates, for different texts or keys of groups, for a cap in groups of what is none of records or is of none, for clipped sums of groups whose bounds are not -C and C, and for an expression of what is not computed from numbers.
  void validate() const;
  /// How many records are counted is public: there is neither a condition nor a group, no record is left out for a missing cell, and the
  /// adjacency keeps the number of units, of one record each. A unit of several may have fewer or more of them.
  [[nodiscard]] bool has_public_count() const noexcept;
  friend bool operator==(const Statistic&, const Statistic&) = default;
};

/// The number of records is public: the adjacency keeps the number of units, of one record each.
[[nodiscard]] bool has_public_size(Adjacency adjacency, const UnitOfPrivacy& unit) noexcept;

/// \throws Error{invalid_argument} as `Candidates`.
[[nodiscard]] Candidates candidates_of(const QuantileOf& quantile);

/// A quantile or a mode: the result is a choice among candidates.
[[nodiscard]] bool is_choice(const Statistic& statistic) noexcept;

/// The result has numbers; of a mode and of keys without counts it has texts alone.
[[nodiscard]] bool has_numbers(const Statistic& statistic) noexcept;

/// The answer is public: the number of all units, or of all records where each unit has one, which the adjacency keeps. It has no noise and no charge.
[[nodiscard]] bool is_public(const Statistic& statistic) noexcept;

/// "count() where visits>0", "count(distinct town)", "sum(age)", "mean(age) by sex where visits>0", "mean(age) by discovered town, sex". The function
/// with its columns is a query of the command that reads the same columns.
[[nodiscard]] std::string describe(const Statistic& statistic);

/// The name of a column as it stands in such a text and in a query of the command: in double quotes where it needs them, as where it may be an expression.
[[nodiscard]] std::string query_name(std::string_view column);

/// The columns of a key.
[[nodiscard]] std::vector<std::string> columns_of(const KeysOf& keys);
/// The keys that nobody listed which are asked for, or whose means are; else nullptr.
[[nodiscard]] const KeysOf* keys_of(const Statistic& statistic) noexcept;
/// Of one unit at most so many rows count: those that are used, or fewer by a cap in each group.
[[nodiscard]] Count most_rows(const Statistic& statistic);
/// By which column owners are found where units have several rows and the statistic tells them apart; else nullptr.
[[nodiscard]] const RowOwner* owner_of(const Statistic& statistic) noexcept;
/// The column that is counted, summed or cut into cells, or the text of its expression; nullptr for a count of records or units.
[[nodiscard]] const std::string* column_of(const Statistic& statistic) noexcept;
/// The same as a term of a formula: an expression in parentheses. \pre column_of(statistic) != nullptr
[[nodiscard]] std::string term_of(const Statistic& statistic);
/// Numbers of a column are read: not texts, and not records or units alone.
[[nodiscard]] bool reads_numbers(const Statistic& statistic) noexcept;
/// The columns whose numbers the statistic reads, without those of its groups and condition.
[[nodiscard]] std::vector<std::string> columns_of_numbers(const Statistic& statistic);
/// The bounds of a sum, mean or variance, or of what a unit adds; nullptr for others.
[[nodiscard]] const data::Bounds* bounds_of(const Statistic& statistic) noexcept;
/// A sum, mean or variance without the records whose cell is missing.
[[nodiscard]] bool leaves_out_missing_cells(const Statistic& statistic) noexcept;
/// A mean of an unknown number of records: a sum and a count.
[[nodiscard]] bool is_ratio(const Statistic& statistic) noexcept;

}  // namespace surety::statistics
