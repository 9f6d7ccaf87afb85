// Statistics of a file, of which each row is read once for all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <surety/data/csv.h>
#include <surety/data/data_policy.h>
#include <surety/statistics/integer_sum.h>

namespace surety::statistics {

/// The rows of a file, one after the other. A cell that several ask for as a number is parsed once.
class Rows {
 public:
  /// \throws Error{bad_data} as CsvReader.
  explicit Rows(data::CsvReader reader);

  /// \throws Error{bad_data} for a column that is missing.
  [[nodiscard]] std::size_t position(const std::string& column) const { return reader_.position(column); }
  /// Of a column of numbers. \throws Error{invalid_argument}, too, when its missing cells count as something else.
  [[nodiscard]] std::size_t number_position(const std::string& column) const { return reader_.number_position(column); }
  /// The next row; false at the end. \throws Error{bad_data} as CsvReader.
  [[nodiscard]] bool next();

  /// Of the row in hand. \throws Error{bad_data} for a number in place of nothing, where the form of the file is public.
  [[nodiscard]] const std::string& text(std::size_t position) const { return reader_.text(cells_, position); }
  [[nodiscard]] std::optional<double> number(std::size_t position);
  /// \throws Error{bad_data} "<file>: <reason>", always.
  [[noreturn]] void refuse_file(std::string_view reason) const { reader_.refuse_file(reason); }
  /// Whether the row in hand meets a condition on these rows.
  [[nodiscard]] bool meets(data::CsvCondition& condition) const { return condition.is_met(reader_, cells_); }
  [[nodiscard]] data::CsvCondition on_rows(const data::Condition& condition) const { return {condition, reader_}; }

 private:
  struct Parsed {
    std::uint64_t row = 0;
    std::optional<double> number;
  };

  data::CsvReader reader_;
  std::vector<std::string> cells_;
  std::uint64_t row_ = 0;
  std::vector<Parsed> parsed_;
};

/// Adds rows to a sum, as its statistic says.
class SumReader {
 public:
  /// `sum` must stay where it is. \throws Error{bad_data} for a column that is missing.
  SumReader(StatisticSum& sum, const Rows& rows);
  /// The row in hand. A damaged cell counts as data_policy.h says; a row whose group cannot be told is in none.
  /// \throws Error{bad_data} as `Rows::number`, also for a row that does not meet the condition.
  void add(Rows& rows);

 private:
  /// The cell of the row in hand.
  [[nodiscard]] static std::optional<std::size_t> find(const CellFinder& cells, std::size_t position, Rows& rows);

  StatisticSum& sum_;
  std::optional<std::size_t> column_;
  std::optional<data::CsvCondition> where_;
  std::optional<std::size_t> by_;
  std::optional<CellFinder> groups_;
  bool is_text_;
};

/// Gives each row to `add`. \return the number of rows. \throws Error{bad_data} as `Rows`; for a file without rows where their number is
/// public.
std::uint64_t read_rows(Rows& rows, bool number_is_public, const std::function<void(Rows&)>& add);

/// Reads a file into `sum`, row by row. A damaged record is one record, and a damaged cell counts as data_policy.h says.
/// \return the number of records.
/// \throws Error{bad_data} for a column that is missing; where the number of records is public, for a file without records; where the
///         form of the file is public, for a damaged record or cell, whether or not it meets the condition.
[[nodiscard]] std::uint64_t read_statistic(const std::filesystem::path& path, StatisticSum& sum, const data::DataPolicy& policy = {});
/// The same for the rows that `reader` has not read yet: of each unit at most as many as the statistic's may have.
[[nodiscard]] std::uint64_t read_statistic(data::CsvReader reader, StatisticSum& sum);

}  // namespace surety::statistics
