// Statistics of a file, or of an Arrow stream, of which each row is read once for all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <surety/data/arrow/arrow_reader.h>
#include <surety/data/csv/csv.h>
#include <surety/data/reading/data_policy.h>
#include <surety/data/reading/row_condition.h>
#include <surety/statistics/integer_sum.h>

namespace surety::statistics {

/// The rows of a table, one after the other. A cell that several ask for as a number is parsed once.
class Rows {
 public:
  /// \throws Error{bad_data} as CsvReader.
  explicit Rows(data::CsvReader reader);
  explicit Rows(data::ArrowReader reader);

  /// The position of a column that is used so. \pre no row was read yet \throws Error{bad_data} for a column that is missing, or of another type;
  /// Error{invalid_argument}, too, of one of numbers, when its missing cells count as something else.
  [[nodiscard]] std::size_t position(const std::string& column, data::CellUse use);
  /// From now on the rows are those that are kept of units, of a stream. \pre as `ArrowReader::keep_units`, and this was made of one \throws as that.
  const data::KeptRows& keep_units(const data::ArrowUnits& units) { return std::get<data::ArrowReader>(reader_).keep_units(units); }
  /// The next row; false at the end. \throws Error{bad_data} as its reader.
  [[nodiscard]] bool next();

  /// The stream that this was made of, for what reads whole batches; rows of its batch in hand. \pre it was made of one
  [[nodiscard]] data::ArrowReader& stream() { return std::get<data::ArrowReader>(reader_); }
  [[nodiscard]] bool next_in_batch() {
    ++row_;
    return stream().next_in_batch();
  }

  /// Of the row in hand, as its reader gives them. \throws Error{bad_data} for a number in place of nothing, where the form of the table is public.
  [[nodiscard]] const std::string& text(std::size_t position);
  /// The identifier of the row's owner, also of a row with nothing else in it; empty where there is none. \pre the column names owners
  [[nodiscard]] const std::string& owner(std::size_t position);
  [[nodiscard]] std::optional<double> number(std::size_t position);
  [[nodiscard]] std::optional<data::Date> date(std::size_t position);
  /// The date in days since 1970-01-01. \throws as `date`.
  [[nodiscard]] std::optional<double> days(std::size_t position);
  /// The cells of a column may be texts, as all of a text file are. \throws Error{bad_data} for a column that is missing.
  [[nodiscard]] bool may_hold_texts(const std::string& column) const;
  /// \throws Error{bad_data} for a column whose name is the text of the expression: either may be meant.
  void require_no_column(const Expression& expression) const;
  [[nodiscard]] bool is_missing(std::size_t position, data::CellKind kind);
  [[nodiscard]] bool is_damaged() const;
  /// That there are no rows. \throws Error{bad_data}, always.
  [[noreturn]] void refuse_emptiness() const;

 private:
  struct Parsed {
    std::uint64_t row = 0;
    std::optional<double> number;
  };
  struct Csv {
    data::CsvReader reader;
    std::vector<std::string> cells = {};
  };

  std::variant<Csv, data::ArrowReader> reader_;
  std::uint64_t row_ = 0;
  std::vector<Parsed> parsed_;
};

/// The numbers of a column. Dates written as texts are read as days since 1970-01-01; typed dates have these numbers already.
class NumberColumn {
 public:
  /// \throws Error{bad_data} for a column that is missing; Error{invalid_argument} where its missing cells count as another kind of value.
  NumberColumn(const Statistic& statistic, const std::string& column, Rows& rows);
  /// Of the row in hand. \throws Error{bad_data} as `Rows::number`.
  [[nodiscard]] std::optional<double> read(Rows& rows) const { return are_days_ ? rows.days(position_) : rows.number(position_); }
  /// For readers of whole batches; nothing where each cell must be read as a date.
  [[nodiscard]] std::optional<std::size_t> position_in_batches() const { return are_days_ ? std::nullopt : std::optional{position_}; }

 private:
  bool are_days_;
  std::size_t position_;
};

/// The numbers that a statistic reads: of a column, or computed from columns.
class NumberReader {
 public:
  /// \throws as `NumberColumn` of each column, and `Rows::require_no_column`. \pre reads_numbers(statistic)
  NumberReader(const Statistic& statistic, Rows& rows);
  /// Of the row in hand, from its own cells alone; nothing where a cell is missing or the expression has no number. \throws Error{bad_data} as `Rows::number`.
  [[nodiscard]] std::optional<double> read(Rows& rows);
  /// As that of `NumberColumn`; nothing of an expression.
  [[nodiscard]] std::optional<std::size_t> position_in_batches() const;

 private:
  std::vector<NumberColumn> columns_;  ///< of the expression, or one
  std::optional<Expression> expression_;
  std::vector<double> cells_;
};

/// Whose the row in hand is.
class OwnerReader {
 public:
  /// \throws Error{bad_data} for a column that is missing. \pre `statistic` tells units apart
  OwnerReader(const Statistic& statistic, Rows& rows);
  /// A text that tells units apart; nullptr where the row is a unit of its own.
  [[nodiscard]] const std::string* find(Rows& rows);

 private:
  std::vector<std::size_t> columns_;  ///< none where each row is a unit
  std::vector<std::string_view> texts_;
  std::string combined_;
  bool empty_is_each_ = false;
};

/// The group of the row in hand. \pre the statistic has groups
class GroupFinder {
 public:
  /// \throws Error{bad_data} for a column that is missing.
  GroupFinder(const Statistic& statistic, Rows& rows);
  /// Looks at every column; nothing where a cell is in no group. \throws Error{bad_data} as `Rows::number`.
  [[nodiscard]] std::optional<std::size_t> find(Rows& rows) const;

 private:
  struct Column {
    CellFinder cells;
    std::size_t number;                                      ///< of cells
    std::variant<std::size_t, NumberColumn> text_or_number;  ///< the position of a column of texts
  };
  std::vector<Column> columns_;
};

/// Which rows of a unit count in a group: all, or the first ones under a cap.
class GroupPlaces {
 public:
  /// \throws Error{bad_data} for a column that is missing.
  GroupPlaces(const Statistic& statistic, Rows& rows);
  /// Whether the row in hand counts in this group, of whose rows it is then one.
  [[nodiscard]] bool take(Rows& rows, std::size_t group);

 private:
  std::uint64_t most_ = 0;
  std::optional<OwnerReader> owner_;                                                           ///< where there is a cap
  std::unordered_map<std::string, std::vector<std::pair<std::size_t, std::uint64_t>>> taken_;  ///< of a unit, by groups
};

/// The key of the row in hand: the text of a column, or that of several (`tuple_key`).
class KeyFinder {
 public:
  /// \throws Error{bad_data} for a column that is missing.
  KeyFinder(const std::vector<std::string>& columns, Rows& rows);
  /// Empty where there is none. Valid until the next call.
  [[nodiscard]] const std::string& find(Rows& rows);

 private:
  std::vector<std::size_t> positions_;
  std::vector<std::string> texts_;
  std::string key_;
};

/// Adds rows to a sum, as its statistic says.
class SumReader {
 public:
  /// `sum` must stay where it is. \throws Error{bad_data} for a column that is missing.
  SumReader(StatisticSum& sum, Rows& rows);
  /// The row in hand. A damaged cell counts as data_policy.h says; a row whose group cannot be told is in none.
  /// \throws Error{bad_data} as `Rows::number`, also for a row that does not meet the condition.
  void add(Rows& rows);
  /// All rows of the batch in hand; false, and adds none, where they are needed one by one. \pre the form of the table is private. The same integers.
  [[nodiscard]] bool add_batch(const data::ArrowReader& batch);

 private:
  StatisticSum& sum_;
  std::optional<std::size_t> texts_;     ///< the column of a histogram of texts
  std::optional<NumberReader> numbers_;  ///< of other statistics
  std::optional<data::RowCondition> where_;
  std::optional<GroupFinder> groups_;
  std::optional<OwnerReader> owner_;  ///< where units are counted
  GroupPlaces places_;
  std::unordered_map<std::string, std::vector<std::size_t>> seen_in_ = {};  ///< of a unit the groups in which it was counted
};

/// Gives each row to `add`. \return the number of rows. \throws Error{bad_data} as `Rows`; for a table without rows where their number is
/// public.
std::uint64_t read_rows(Rows& rows, bool number_is_public, const std::function<void(Rows&)>& add);

/// Reads a file into `sum`, row by row. A damaged record is one record, and a damaged cell counts as data_policy.h says.
/// \return the number of records.
/// \throws Error{bad_data} for a column that is missing; where the number of records is public, for a file without records; where the
///         form of the file is public, for a damaged record or cell, whether or not it meets the condition.
[[nodiscard]] std::uint64_t read_statistic(const std::filesystem::path& path, StatisticSum& sum, const data::DataPolicy& policy = {});
/// The same for the rows that `reader` has not read yet: of each unit at most as many as the statistic's may have.
[[nodiscard]] std::uint64_t read_statistic(data::CsvReader reader, StatisticSum& sum);
[[nodiscard]] std::uint64_t read_statistic(data::ArrowReader reader, StatisticSum& sum);

}  // namespace surety::statistics
