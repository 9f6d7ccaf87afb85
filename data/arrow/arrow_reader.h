// The rows of an Arrow stream as records, with the meaning of those of a CSV file (csv.h): data_policy.h says what becomes of what is missing or
// damaged. What is said of how text is written, delimiters and names of columns, says nothing here; only a text that is used as a
// number is written as `CsvFormat` says.
//
// What does not fit is Error{bad_data}, "Arrow stream: ...": in the schema always, in a cell where the form is public, then with its row (from 1). Types of columns
// always fit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <surety/data/arrow/arrow_stream.h>
#include <surety/data/arrow/arrow_units.h>
#include <surety/data/reading/condition.h>
#include <surety/data/reading/data_policy.h>

namespace surety::data {

class ArrowReader {
 public:
  /// \throws Error{bad_data} for a column of `policy.csv.missing` or `complete` that is not there; Error{invalid_argument} for an empty value of
  ///         a missing cell.
  ArrowReader(ArrowStream stream, const DataPolicy& policy);

  /// The names of the columns.
  [[nodiscard]] const std::vector<std::string>& header() const noexcept { return names_; }
  /// The position of a column, which is looked at from now on: only such a column's cells may be asked for, and so. \pre no row was read yet
  /// \throws Error{bad_data} for a column that is not there or stands there twice, of whatever type; Error{invalid_argument} for one of numbers whose
  ///         missing cells count as a text.
  [[nodiscard]] std::size_t position(const std::string& column, CellUse use);

  /// From now on a missing cell of the column counts as `value`. \throws as the constructor.
  void count_missing_as(const std::string& column, const std::string& value);
  /// What was said of that.
  [[nodiscard]] std::optional<std::string> missing(std::size_t position) const;

  /// Reads all that is left of the stream and holds the columns that are looked at. From now on rows are those that are kept alone, and one with nothing
  /// in it but the identifier of its owner is a damaged record: so a unit is zeroed. \pre all columns are known by `position`, no row was read yet, and nothing is
  /// said of what a missing cell of the owner's column counts as \throws as `next_batch` and `select_rows`; Error{bad_data} for an owner's column that
  /// is not there.
  const KeptRows& keep_units(const ArrowUnits& units);

  /// Goes to the next row; false at the end. \throws as `next_batch`, and where the form is public for a row that is null as a whole.
  [[nodiscard]] bool next();
  /// Whether the row in hand is a damaged record: null as a whole, or a zeroed one of its unit.
  [[nodiscard]] bool is_damaged() const noexcept { return is_damaged_; }

  /// What is in a cell of the row in hand, or what it counts as where it is missing: as those of CsvReader.
  /// \throws Error{bad_data} in place of nothing where the form is public, with `advice` when the cell is a text.
  [[nodiscard]] const std::string& text(std::size_t position);
  /// The identifier of the row's owner, also of a row with nothing else in it; empty where there is none. \pre `position` is that of a column that
  /// names owners
  [[nodiscard]] const std::string& owner(std::size_t position);
  [[nodiscard]] std::optional<double> number(std::size_t position, std::string_view advice = {});
  [[nodiscard]] std::optional<Date> date(std::size_t position);
  /// The cells of a column may be texts. \throws Error{bad_data} for a column that is missing.
  [[nodiscard]] bool may_hold_texts(const std::string& column) const {
    return stream_.columns()[stream_.position(column)].may_hold_texts();
  }
  [[nodiscard]] bool is_missing(std::size_t position, CellKind kind);
  /// The truth value in a cell of the row in hand; nothing where it is none.
  [[nodiscard]] std::optional<bool> truth(std::size_t position) const;

  /// The same rows batch by batch: goes to the next batch, whose rows `next_in_batch` gives. \throws Error{bad_data} as `ArrowStream::next` and
  /// `ArrowBatch::cells`, of the columns that are looked at.
  [[nodiscard]] bool next_batch();
  [[nodiscard]] bool next_in_batch();
  /// How many rows of the batch in hand are kept, here and below. \complexity O(1) where all are, else O(rows of the batch)
  [[nodiscard]] std::size_t rows_of_batch() const;
  /// Calls see(numbers, rows) of some rows after the other: the finite numbers among a column's cells in their order, and how many rows there are.
  /// False, and sees nothing, where rows that count as damaged have cells there. \pre the column is looked at, as one of numbers
  [[nodiscard]] bool numbers_of_batch(std::size_t position, const std::function<void(std::span<const double>, std::size_t)>& see) const;

  /// The place of the row in hand, kept or not, among all of the stream and in its batch, and how many rows the batch has.
  [[nodiscard]] std::uint64_t row() const noexcept { return rows_before_ + place_; }
  [[nodiscard]] std::size_t place_in_batch() const noexcept { return place_; }
  [[nodiscard]] std::size_t stored_rows() const noexcept { return stored_rows_; }
  /// As `ArrowCells::numbers_or_nan`, of rows of the batch in hand, kept or not. \pre the column is looked at, as one of numbers
  void numbers_or_nan(std::size_t position, std::size_t first, std::span<double> out) const {
    cells_[position]->numbers_or_nan(first, out);
  }

  /// \throws DamagedRecord "Arrow stream: row <row><reason>", always.
  [[noreturn]] void refuse_record(std::string_view reason) const;
  /// \throws Error{bad_data} "Arrow stream: <reason>", always.
  [[noreturn]] static void refuse_file(std::string_view reason) { ArrowStream::refuse(reason); }
  [[nodiscard]] RecordForm form() const noexcept { return policy_.form; }
  /// How a number in a text is written.
  [[nodiscard]] NumberFormat number_format() const noexcept { return policy_.csv.numbers(); }

 private:
  struct Missing {
    std::string text;
    std::optional<double> number;
  };
  [[nodiscard]] const Missing* missing_at(std::size_t position) const {
    return !missing_.empty() && missing_[position] && !is_damaged_ ? &*missing_[position] : nullptr;
  }
  /// The cell is there.
  [[nodiscard]] bool is_there(std::size_t position) const { return !is_damaged_ && !cells_[position]->is_null(place_); }
  [[nodiscard]] ParsedNumber parsed(std::size_t position) const { return cells_[position]->number(place_, policy_.csv.numbers()); }
  [[nodiscard]] const ArrowBatch& batch() const { return kept_ ? held_[next_held_ - 1] : *batch_; }
  /// Says of each row of a batch whether there is nothing in it but an owner.
  void look_for_blanks(const ArrowBatch& batch);
  /// Whether the column names the owner of a row, alone or with others.
  [[nodiscard]] bool is_of_owner(std::size_t position) const {
    return std::find(owners_.begin(), owners_.end(), position) != owners_.end();
  }
  /// What a text of the cell is in a message.
  [[nodiscard]] std::string shown(std::size_t position);

  ArrowStream stream_;
  DataPolicy policy_;
  std::vector<std::string> names_;
  std::vector<std::size_t> used_;
  std::vector<std::optional<Missing>> missing_;  // empty where nothing was said
  std::optional<ArrowBatch> batch_;              ///< in hand, where they are not held
  std::vector<ArrowBatch> held_;
  std::size_t next_held_ = 0;
  std::shared_ptr<const KeptRows> kept_;          ///< nothing where all are
  std::vector<std::size_t> owners_;               ///< the positions of the columns that name the owner, where they are held
  std::vector<bool> is_blank_;                    ///< row by row, where they are held
  std::vector<std::optional<ArrowCells>> cells_;  ///< of the batch in hand, of columns that are looked at
  std::vector<std::string> texts_;                ///< of the row in hand
  std::size_t next_place_ = 0;
  std::size_t place_ = 0;          ///< of the row in hand in its batch
  std::size_t stored_rows_ = 0;    ///< of the batch in hand, kept or not
  std::uint64_t rows_before_ = 0;  ///< the batch in hand
  bool is_damaged_ = false;
};

}  // namespace surety::data
