// A query as a part of a charge: what it reads of a row, what its release costs, and the numbers that it releases. Each kind has a file of its own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/base/numbers/few.h>
#include <surety/base/text/error.h>
#include <surety/data/arrow/arrow_stream.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/statistics/estimates.h>
#include <surety/statistics/query.h>
#include <surety/statistics/reading.h>
#include <surety/statistics/totals.h>

namespace surety::statistics {

/// How many records a mean or a variance is of, where their number was released with it. Of means of groups that nobody listed: how many units.
struct UsedRecords {
  Estimate used;
  std::optional<Estimate> total = std::nullopt;  ///< of all that could be used, where that is public or was released in the same charge

  /// The interval lies below nine tenths of the total: much was left out.
  [[nodiscard]] bool are_few() const noexcept { return total && surety::are_few(used.upper, total->lower); }
};

/// A number that was released, of a group and a cell where there are such.
struct Answer {
  std::string group;
  std::string cell;
  Estimate estimate;
  std::vector<std::string> group_texts = {};  ///< of each column of the group, where it is by several
  std::optional<UsedRecords> used = std::nullopt;
  /// With the confidence of an interval, of a quantile: its rank misses the requested one by fewer records than that; of a mode: its count is below the
  /// largest among the texts left by fewer records than that.
  std::optional<double> rank_error = std::nullopt;
};

/// What is public of a part, for reports.
struct PartFacts {
  std::string query;
  std::string noise;                         ///< "laplace"
  std::optional<double> standard_deviation;  ///< of the noise on each coordinate, before it is rounded to the grid
  std::string noise_is_on;                   ///< "the count of each group"
  std::optional<double> l1_sensitivity;
  std::optional<double> l2_sensitivity;
  std::optional<double> grid_step;
  bool is_whole;  ///< every number counts records
  bool has_groups;
  bool has_cells;
  bool has_rank_error = false;  ///< of quantiles, whose reports name each answer's
  bool has_interval = true;     ///< false of quantiles without one
  /// The column that is read; empty where records alone are counted.
  std::string column = {};
  std::optional<MissingCells> missing_cells = std::nullopt;  ///< where a column is read
  std::string other_cells = {};                          ///< what becomes of cells beyond what is public: "numbers are clamped to [0, 20]"
  std::vector<std::string> group_columns = {};           ///< where groups are by several
  std::optional<data::Bounds> range = std::nullopt;      ///< where every mean or variance of clamped numbers lies
  std::map<std::string, std::string> column_units = {};  ///< of columns that are declared to hold dates: "days since 1970-01-01"
  std::string_view cell_heading = "key";                 ///< of a table of cells without numbers
  bool has_values = true;                                ///< if false, only cells or groups are released, and their numbers are NaN
  /// Half of the length of each interval, where it is the same for all values: of counts, sums and histograms, 0 of a public count;
  /// the rank error of a quantile of one fraction without an interval; of a mode by how many records less than the largest a count may be.
  std::optional<double> half_length = std::nullopt;
};

class Part {
 public:
  Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  virtual ~Part() = default;

  /// Takes the places of its columns, once before the first row. \throws Error{bad_data} for one that is missing.
  virtual void start(Rows& rows) = 0;
  /// Adds the row in hand. \throws Error{bad_data} as `Rows::number`.
  virtual void add(Rows& rows) = 0;
  /// What the records so far add up to: with the number of records all that `release` looks at.
  [[nodiscard]] virtual QueryTotal total() const = 0;
  /// Adds that of at most `records` other records, and of keys of other units. \throws Error{invalid_argument} for one that no such records have.
  virtual void add_total(const QueryTotal& total, std::uint64_t records) = 0;
  /// Adds all rows of the batch in hand at once; false, and adds none, where it needs them one by one. \pre the form of the table is private
  [[nodiscard]] virtual bool add_batch(const data::ArrowReader& /*batch*/) { return false; }
  /// What `release` spends.
  [[nodiscard]] virtual Event event() const = 0;
  [[nodiscard]] virtual PartFacts facts() const = 0;
  /// Spends, then draws. `records` is the number of records where it is public. \throws Error{internal} when the reservation does not hold
  /// the event; Error{environment} when the bits fail.
  [[nodiscard]] virtual std::vector<Answer> release(accounting::Reservation& reservation, mechanisms::BitsRef bits,
                                                    std::uint64_t records) = 0;
};

/// With what is public of the cells that a statistic reads.
[[nodiscard]] PartFacts with_cells(PartFacts facts, const Statistic& statistic);

/// \throws Error{invalid_argument} for a total of another kind.
template <class Total>
[[nodiscard]] const Total& of_kind(const QueryTotal& total) {
  const auto* const found = std::get_if<Total>(&total);
  if (found == nullptr) invalid("a total is of a query of another kind");
  return *found;
}

}  // namespace surety::statistics
