// Rows of a sparse matrix that another program holds in memory, as records of sparse features: what the same rows are as LIBSVM text (libsvm.h).
//
// Compressed sparse rows: row i holds the entries from ends[i] to ends[i + 1], each a column and a value. A row is what it means, however it is written:
// its columns may stand in any order, values of one column are added in the order in which they stand, and zeros are not there.
//
// How the ends of rows lie is looked at before anything is read. What a row holds never stops a reader: one with a column that the matrix does not have, or
// with a value, a sum or a label that is not finite, is a damaged record (data_policy.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <surety/data/features/features.h>
#include <surety/data/features/sparse_record.h>
#include <surety/data/reading/data_policy.h>

namespace surety::data {

/// The matrix, without a copy. None of it must change while it is read; a row of which columns or values do is another row.
struct SparseMatrix {
  std::uint64_t columns = 0;
  std::span<const std::int64_t> ends;  ///< of rows, one more than there are rows: from 0 on, never descending
  std::variant<std::span<const std::int32_t>, std::span<const std::int64_t>> indices;
  std::span<const double> values;
  std::span<const double> labels;               ///< of rows; empty: there are none, and they count as 0
  std::shared_ptr<const void> owner = nullptr;  ///< of all that it looks at

  [[nodiscard]] std::size_t rows() const noexcept { return ends.size() - 1; }
  /// \throws Error{invalid_argument} where there are no ends, they do not ascend from 0 to at most the number of entries, entries have not as many columns as
  ///         values, or rows not as many labels.
  void validate() const;
};

/// One at a time.
class SparseRows {
 public:
  /// \throws Error{invalid_argument} as `SparseMatrix::validate`, and for a map that is not valid, of named columns or of another number of features.
  SparseRows(SparseMatrix matrix, const FeatureMap& features, RecordForm form);

  /// Reads the next record as the map makes it; false at the end. A damaged one has no values.
  /// \throws Error{bad_data} in its place where the form is public.
  [[nodiscard]] bool next(SparseRecord& record);
  [[nodiscard]] bool is_damaged() const noexcept { return is_damaged_; }
  [[nodiscard]] RecordForm form() const noexcept { return form_; }
  /// \throws DamagedRecord "sparse matrix: row <row><reason>", always.
  [[noreturn]] void refuse_record(const std::string& reason) const;

 private:
  /// What is wrong with the row in hand, or nothing.
  std::string read(SparseRecord& record);

  SparseMatrix matrix_;
  FeatureMap features_;
  RecordForm form_;
  std::size_t row_ = 0;  ///< of the next record
  std::vector<std::pair<std::uint32_t, double>> entries_;
  bool is_damaged_ = false;
};

}  // namespace surety::data
