// CSV files as data sets: RFC 4180 with a header line, read strictly. Line ends are LF or CRLF, cells may be quoted ("" inside
// quotes is one quote), a UTF-8 byte order mark and empty lines at the end are ignored, gzip is recognised. Numbers are decimal
// with a point, whatever the locale, and may have spaces around them.
//
// What does not fit is Error{bad_data} with the file, the row (1 is the first after the header), the line and the column. The
// columns and what becomes of them are public (features.h); reading looks at one row at a time.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <surety/optimizers/dataset.h>
#include <surety/optimizers/features.h>
#include <surety/optimizers/text_reader.h>

namespace surety::optimizers {

/// The rows of a CSV file, one at a time, each as long as the header.
class CsvReader {
 public:
  /// Reads the header. \throws Error{bad_data} for an empty file, or a column name that is empty or appears twice.
  explicit CsvReader(const std::filesystem::path& path, Lines lines = Lines::free);

  [[nodiscard]] const std::vector<std::string>& header() const noexcept { return header_; }

  /// Reads the next row into `cells`; false at the end of the file.
  /// \throws Error{bad_data} for a ragged row, a misplaced or unclosed quote, or a stray carriage return.
  [[nodiscard]] bool next(std::vector<std::string>& cells);

  /// Goes on at the next line, after a row that was refused; at once when that row was read to its end.
  void skip_line();
  [[nodiscard]] bool is_broken() const noexcept { return text_.is_broken(); }

  /// The position of a column in the header. \throws Error{bad_data} listing the header's names when there is none.
  [[nodiscard]] std::size_t position(const std::string& column) const;

  /// The number in column `position` of the row that was read last.
  /// \throws Error{bad_data} with its row and column, followed by `advice` when the cell is a text.
  [[nodiscard]] double number(const std::vector<std::string>& cells, std::size_t position, std::string_view advice = {}) const;

  /// \throws Error{bad_data} "<file>: row <row> (line <line>)<reason>", or the header in place of the row, always.
  [[noreturn]] void refuse(const std::string& reason) const;

 private:
  [[nodiscard]] bool read_record(std::vector<std::string>& cells);
  void read_cell(std::string& cell);

  TextReader text_;
  Lines lines_;
  std::vector<std::string> header_;
  std::size_t row_ = 0;
  std::size_t line_ = 1;
  bool at_line_start_ = true;
};

/// What the user says about the columns. Every name must be a column of the file.
struct CsvOptions {
  std::vector<std::string> drop = {};                               ///< columns that are no features
  std::map<std::string, Bounds> bounds = {};                        ///< public bounds
  std::map<std::string, std::vector<std::string>> categories = {};  ///< public lists of categories
  ColumnMap otherwise = SignedLogarithm{};                          ///< what becomes of the other columns
  bool intercept = true;
  bool unit_norm = true;
};

/// Data with the map that made its features.
struct CsvData {
  Dataset data;
  FeatureMap features;
};

/// Every column but the label and the dropped ones, in the order of the header.
/// \throws Error{bad_data} for a column that the file does not have; Error{invalid_argument} for a map that is not valid or a
///         column with two roles.
[[nodiscard]] FeatureMap csv_features(const CsvReader& reader, const LabelRule& label, const CsvOptions& options);

/// The records of a CSV file, one at a time, as `features` makes them. Columns that the map does not name are not looked at.
class CsvRecords {
 public:
  /// The rows that `reader` has not read yet. \throws Error{invalid_argument} when the map is not valid or not one of named columns;
  /// Error{bad_data} for a missing column.
  CsvRecords(CsvReader reader, const FeatureMap& features, const std::optional<LabelRule>& label);

  /// Reads the next record: its dense row, and its label when there is a rule for it (otherwise 0); false at the end of the file.
  /// \throws Error{bad_data} for a row that is no record. `skip_line` then goes on behind it.
  [[nodiscard]] bool next(std::vector<double>& row, double& label);
  void skip_line() { reader_.skip_line(); }
  [[nodiscard]] bool is_broken() const noexcept { return reader_.is_broken(); }

 private:
  FeatureMap features_;
  std::optional<LabelRule> label_;
  CsvReader reader_;
  std::vector<std::size_t> positions_;
  std::size_t label_position_;
  std::vector<std::string> cells_;
};

/// All rows, dense, with their labels when `label` is given. Columns that the map does not name are not looked at.
/// \throws Error{bad_data} for a missing column, a cell that is not a finite number where one is needed (a text in a column
///         without categories, naming both ways out), or a file without rows.
/// \complexity one pass; memory for the features.
[[nodiscard]] Dataset read_csv(const std::filesystem::path& path, const FeatureMap& features, const std::optional<LabelRule>& label);

/// `csv_features`, then `read_csv`.
[[nodiscard]] CsvData read_csv(const std::filesystem::path& path, const LabelRule& label, const CsvOptions& options);

}  // namespace surety::optimizers
