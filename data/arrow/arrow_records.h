// The rows of an Arrow stream as records of a training: the same map from cells to features as of a CSV file (features.h), the same fate of what is
// damaged (data_policy.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <surety/data/arrow/arrow_reader.h>
#include <surety/data/csv/csv.h>
#include <surety/data/features/features.h>

namespace surety::data {

/// As `csv_features`, of the columns of a stream. \throws the same. \pre no row was read yet
[[nodiscard]] FeatureMap arrow_features(ArrowReader& reader, const LabelRule& label, const CsvOptions& options);

/// One at a time. Columns that the map does not name are not looked at.
class ArrowRecords {
 public:
  /// The rows that `reader` has not read yet. \throws Error{invalid_argument} when the map is not valid or not one of named columns; Error{bad_data} for a
  /// missing column, and, with its type, for one that cannot be used as the map and the label do.
  ArrowRecords(ArrowReader reader, const FeatureMap& features, const std::optional<LabelRule>& label,
               const std::optional<WeightRule>& weight = std::nullopt);
  ArrowRecords(ArrowRecords&&) noexcept;
  ArrowRecords& operator=(ArrowRecords&&) noexcept;
  ~ArrowRecords();

  /// From now on records are those of the rows that are kept alone (`ArrowReader::keep_units`). \pre no record was read yet
  const KeptRows& keep_units(const ArrowUnits& units) { return reader_.keep_units(units); }

  /// Reads the next record: its dense row, and its label when there is a rule for it (otherwise 0); false at the end of the stream. A record
  /// with a damaged cell in a column that is used has an empty row. \throws Error{bad_data} as ArrowReader.
  [[nodiscard]] bool next(std::vector<double>& row, double& label);
  /// The record that was read last had a damaged cell in a column that is used.
  [[nodiscard]] bool is_damaged() const noexcept { return is_damaged_; }
  /// The weight of the record that was read last over the largest one: from 0 to 1, of a damaged record 0.
  [[nodiscard]] double weight() const noexcept { return weight_; }
  [[nodiscard]] bool has_weights() const noexcept { return has_weights_; }

  [[noreturn]] void refuse_record(const std::string& reason) const { reader_.refuse_record(reason); }
  [[nodiscard]] RecordForm form() const noexcept { return reader_.form(); }

 private:
  /// Makes features of numbers for the row in hand and the next ones of its batch, column by column.
  void make_block();

  ArrowReader reader_;
  std::unique_ptr<const NamedRecord> record_;
  std::vector<double> block_;      ///< by column and row: NaN where the cell itself is to be looked at
  std::uint64_t block_first_ = 0;  ///< the row of the stream where it begins
  std::uint64_t block_end_ = 0;
  bool has_weights_ = false;
  double weight_ = 1;
  bool is_damaged_ = false;
};

}  // namespace surety::data
