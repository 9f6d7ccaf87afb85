// CSV files as data sets: RFC 4180 with a header line, or with other delimiters and names from the user (`CsvFormat`). Line ends are LF or CRLF, cells may be quoted ("" inside quotes is one quote),
// a UTF-8 byte order mark is ignored, compression recognised. Numbers are decimal with a point, whatever the locale, and may have spaces
// around them. What a record is, and what becomes of one that is damaged, is said in data_policy.h.
//
// What does not fit is Error{bad_data} with the file: in the header always, in a record where the form of the file is public, then with
// the row (1 is the first after the header), its first line and the column. The columns and what becomes of them are public
// (features.h); reading looks at one row at a time.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <surety/data/csv/record_splitter.h>
#include <surety/data/features/dataset.h>
#include <surety/data/features/features.h>
#include <surety/data/reading/condition.h>
#include <surety/data/reading/data_policy.h>

namespace surety::data {

/// The rows of a CSV file, one at a time, each as long as the header.
class CsvReader {
 public:
  /// Reads the header, or nothing where `policy.csv` names the columns.
  /// \throws Error{bad_data} for an empty file, a header beyond the limits, a column name that is empty or appears twice, or a column of
  ///         `policy.csv.missing` or `complete` that is not there; Error{invalid_argument} for a delimiter that is none, names from the user that are empty
  ///         or appear twice, and an empty value of a missing cell.
  CsvReader(const std::filesystem::path& path, const DataPolicy& policy);

  [[nodiscard]] const std::vector<std::string>& header() const noexcept { return header_; }

  /// Reads the next row into `cells`; false at the end of the file. Where the form is private, all cells of a damaged record are empty.
  /// \throws Error{bad_data} where the form is public for a ragged row, a misplaced or unclosed quote, a stray carriage return, a zero
  ///         byte or a row that is too long; always when the file itself cannot be read on.
  [[nodiscard]] bool next(std::vector<std::string>& cells);
  /// The row that was read last was a damaged record.
  [[nodiscard]] bool is_damaged() const noexcept { return is_damaged_; }
  /// The identifier of the owner of the row that was read last into `cells`, also where there is nothing else in it; empty where there is none.
  /// \pre `position` is that of the owners' column, or of one of them where a combination names the owner
  [[nodiscard]] const std::string& owner(const std::vector<std::string>& cells, std::size_t position) const;
  /// Its text, as far as it was kept.
  [[nodiscard]] const std::string& record() const noexcept { return record_; }

  /// From now on `next` gives the rows alone that are kept, as if the others were not there, and one with nothing in it but the identifier of
  /// its owner is a damaged record: so a unit is zeroed. \pre no row was read yet
  /// \throws Error{bad_data} from `next` where the file has another number of rows than that of `is_kept`.
  void keep_only(std::shared_ptr<const std::vector<bool>> is_kept, const std::string& owner) {
    keep_only(std::move(is_kept), std::vector{owner});
  }
  /// The same, where the columns `owners` together name the owner of a row.
  void keep_only(std::shared_ptr<const std::vector<bool>> is_kept, const std::vector<std::string>& owners);

  /// The position of a column in the header. \throws Error{bad_data} listing the header's names when there is none.
  [[nodiscard]] std::size_t position(const std::string& column) const;
  /// As `position`, of a column that is used so. \throws Error{invalid_argument}, too, where its numbers or dates are used and its missing cells count as
  ///         another kind of value.
  [[nodiscard]] std::size_t position(const std::string& column, CellUse use) const;

  /// From now on a missing cell of the column counts as `value` (data_policy.h). \throws as the constructor.
  void count_missing_as(const std::string& column, const std::string& value);
  /// What was said of that.
  [[nodiscard]] std::optional<std::string> missing(std::size_t position) const;

  /// The text in column `position` of the row that was read last, or what it counts as where it is missing.
  [[nodiscard]] const std::string& text(const std::vector<std::string>& cells, std::size_t position) const;
  /// The number in column `position` of the row that was read last, or what it counts as where it is missing; nothing when it is damaged.
  /// \throws Error{bad_data} in place of nothing where the form is public: with its row and column, followed by `advice` when the cell is a
  ///         text.
  [[nodiscard]] std::optional<double> number(const std::vector<std::string>& cells, std::size_t position,
                                             std::string_view advice = {}) const;

  /// The date in column `position` of the row that was read last, or that which it counts as where it is missing; nothing when it is
  /// damaged. \throws Error{bad_data} in place of nothing where the form is public.
  [[nodiscard]] std::optional<Date> date(const std::vector<std::string>& cells, std::size_t position) const;
  /// Whether the cell, as it stands in the file, is missing (condition.h). \pre the row that was read last is no damaged record
  /// \throws Error{bad_data} where the form is public for one that is neither empty nor blank.
  [[nodiscard]] bool is_missing(const std::vector<std::string>& cells, std::size_t position, CellKind kind) const;

  /// \throws DamagedRecord "<file>: row <row> (line <line>)<reason>", always; of the header Error{bad_data}.
  [[noreturn]] void refuse_record(const std::string& reason) const;
  /// \throws Error{bad_data} "<file>: <reason>", always.
  [[noreturn]] void refuse_file(std::string_view reason) const { records_.refuse_file(reason); }
  [[nodiscard]] RecordForm form() const noexcept { return policy_.form; }

 private:
  /// There is nothing in `cells` but an owner.
  [[nodiscard]] bool is_blank(const std::vector<std::string>& cells) const;
  void remember_owner(const std::vector<std::string>& cells);
  /// Cuts the record in hand. Returns what is wrong with it, as a message of a public form; empty when nothing is.
  std::string cut(std::size_t cells, std::size_t most_bytes, std::vector<std::string>& result);
  /// Goes to the next record that is kept; false at the end.
  bool advance();

  DataPolicy policy_;
  RecordSplitter records_;
  std::vector<std::string> header_;
  std::unordered_map<std::string, std::size_t> positions_;
  struct Missing {
    std::string text;
    std::optional<double> number;
  };
  std::vector<std::optional<Missing>> missing_;  // empty where nothing was said
  std::string record_;
  std::size_t row_ = 0;
  bool is_damaged_ = false;
  std::vector<std::string> owner_of_damaged_;         ///< of the row that was read last, where it is one: a text for each of `owners_`
  std::shared_ptr<const std::vector<bool>> is_kept_;  ///< nothing where all are
  std::vector<std::size_t> owners_;                   ///< the columns that name it, where rows are kept
};

/// The row that `reader` read last, with its cells: what a `RowCondition` and a `NamedRecord` ask.
struct CsvRow {
  const CsvReader& reader;
  const std::vector<std::string>& cells;

  [[nodiscard]] bool is_damaged() const noexcept { return reader.is_damaged(); }
  [[nodiscard]] const std::string& text(std::size_t position) const { return reader.text(cells, position); }
  [[nodiscard]] std::optional<double> number(std::size_t position, std::string_view advice = {}) const {
    return reader.number(cells, position, advice);
  }
  [[nodiscard]] std::optional<Date> date(std::size_t position) const { return reader.date(cells, position); }
  [[nodiscard]] static std::optional<bool> truth(std::size_t /*position*/) noexcept { return std::nullopt; }  // cells are texts
  [[nodiscard]] bool is_missing(std::size_t position, CellKind kind) const { return reader.is_missing(cells, position, kind); }
  [[noreturn]] void refuse_record(const std::string& reason) const { reader.refuse_record(reason); }
  [[nodiscard]] RecordForm form() const noexcept { return reader.form(); }
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

class NamedRecord;

/// The records of a CSV file, one at a time, as `features` makes them. Columns that the map does not name are not looked at.
class CsvRecords {
 public:
  /// The rows that `reader` has not read yet. \throws Error{invalid_argument} when the map is not valid or not one of named columns;
  /// Error{bad_data} for a missing column.
  CsvRecords(CsvReader reader, const FeatureMap& features, const std::optional<LabelRule>& label,
             const std::optional<WeightRule>& weight = std::nullopt);
  CsvRecords(CsvRecords&&) noexcept;
  CsvRecords& operator=(CsvRecords&&) noexcept;
  ~CsvRecords();

  /// Reads the next record: its dense row, and its label when there is a rule for it (otherwise 0); false at the end of the file. A record
  /// with a damaged cell in a column that is used has an empty row. \throws Error{bad_data} as CsvReader.
  [[nodiscard]] bool next(std::vector<double>& row, double& label);
  /// The record that was read last had a damaged cell in a column that is used.
  [[nodiscard]] bool is_damaged() const noexcept { return is_damaged_; }
  /// The weight of the record that was read last over the largest one: from 0 to 1, of a damaged record 0.
  [[nodiscard]] double weight() const noexcept { return weight_; }
  [[nodiscard]] bool has_weights() const noexcept { return has_weights_; }

  [[noreturn]] void refuse_record(const std::string& reason) const { reader_.refuse_record(reason); }
  [[nodiscard]] RecordForm form() const noexcept { return reader_.form(); }

 private:
  CsvReader reader_;
  std::unique_ptr<const NamedRecord> record_;
  std::vector<std::string> cells_;
  bool has_weights_ = false;
  double weight_ = 1;
  bool is_damaged_ = false;
};

/// All rows of a file whose form is public, dense, with their labels when `label` is given. Columns that the map does not name are not
/// looked at.
/// \throws Error{bad_data} for a missing column, a damaged record, a cell that is not a finite number where one is needed (a text in a
///         column without categories, naming both ways out), or a file without rows.
/// \complexity one pass; memory for the features.
[[nodiscard]] Dataset read_csv(const std::filesystem::path& path, const FeatureMap& features, const std::optional<LabelRule>& label,
                               const DataLimits& limits = {}, const CsvFormat& format = {});

/// `csv_features`, then `read_csv`.
[[nodiscard]] CsvData read_csv(const std::filesystem::path& path, const LabelRule& label, const CsvOptions& options);

}  // namespace surety::data
