// The records of a file, of standard input, of an Arrow stream or of a sparse matrix, one at a time, as an objective wants them: for algorithms that release as they read, and,
// all of them read into a data set, for those that do not.
//
// Nothing about a record may stop a run: where it stopped would be a release without noise. So a damaged record (data_policy.h) is one of
// zeros, and so is one whose label the loss does not know. How many there were is private too; `damaged` is for the owner of the data
// alone. Where the user says that the form of the file is public, such a record is Error{bad_data}.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <surety/data/arrow/arrow_records.h>
#include <surety/data/csv/csv.h>
#include <surety/data/csv/libsvm.h>
#include <surety/data/features/record_file.h>
#include <surety/data/features/sparse_matrix.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/problem.h>

namespace surety::optimizers {

class RecordStream {
 public:
  /// Records with labels, as their feature map makes them.
  explicit RecordStream(data::CsvRecords records) : has_weights_{records.has_weights()}, records_{std::move(records)} {}
  explicit RecordStream(data::LibsvmRecords records) : records_{std::move(records)} {}
  explicit RecordStream(data::StoredRecords records) : records_{std::move(records)} {}
  explicit RecordStream(data::ArrowRecords records) : has_weights_{records.has_weights()}, records_{std::move(records)} {}
  explicit RecordStream(data::SparseRows records) : records_{std::move(records)} {}

  /// Reads the next record, with its label as `objective` wants it; false at the end.
  /// \throws Error{bad_data} when the file itself cannot be read on (a damaged gzip stream, a read error), and for a damaged record where
  ///         the form is public.
  [[nodiscard]] bool next(ObjectiveRef objective);

  /// The record that was read last; a record of zeros has no values.
  [[nodiscard]] RowView row() const { return {.indices = indices_, .values = values_, .norm = mechanisms::l2_norm(values_)}; }
  [[nodiscard]] double label() const noexcept { return label_; }
  /// Of the record that was read last, from 0 to 1; where records have weights, of a record of zeros 0.
  [[nodiscard]] double weight() const noexcept { return weight_; }
  [[nodiscard]] bool has_weights() const noexcept { return has_weights_; }
  /// Rows are sparse: of LIBSVM text or a matrix.
  [[nodiscard]] bool is_sparse() const noexcept {
    return std::holds_alternative<data::LibsvmRecords>(records_) || std::holds_alternative<data::SparseRows>(records_);
  }

  /// How many records counted as zeros so far: private.
  [[nodiscard]] std::uint64_t damaged() const noexcept { return damaged_; }

 private:
  /// Reads a record into the members; false at the end.
  bool read();
  /// \throws Error{bad_data} with the place of the record in hand, where the form is public.
  void require_private_form(ObjectiveRef objective) const;

  bool has_weights_ = false;
  double weight_ = 1;
  std::variant<data::CsvRecords, data::LibsvmRecords, data::StoredRecords, data::ArrowRecords, data::SparseRows> records_;
  data::SparseRecord record_;
  std::vector<std::uint32_t> indices_;
  std::vector<double> values_;
  double label_ = 0;
  bool is_damaged_ = false;
  std::uint64_t damaged_ = 0;
};

/// Records of one stream, as a data set in the making.
class RecordCollector {
 public:
  /// \param most_numbers of a dense data set, and rows of a sparse one; where the number of records is private, it must limit nothing.
  /// \param mapped_features how many numbers a row has after a later map, where these are more
  RecordCollector(std::size_t features, bool is_sparse, std::uint64_t most_numbers, std::size_t mapped_features = 0,
                  bool has_weights = false)
      : numbers_a_record_{is_sparse ? 1 : std::max(features, mapped_features)},
        most_numbers_{most_numbers},
        data_{features, is_sparse, has_weights} {}

  /// \throws Error{bad_data} when there are too many numbers.
  void add(const RowView& row, double label, double weight = 1);
  [[nodiscard]] Dataset finish() && { return std::move(data_).finish(); }

 private:
  std::uint64_t numbers_a_record_;  ///< how many a sparse row has is private, how many rows there are is not
  std::uint64_t most_numbers_;
  data::DatasetBuilder data_;
};

/// All that is left of `stream`, with labels as `objective` wants them; a record of zeros has the label 0, and adds nothing to any
/// gradient. The data set may be empty. \throws Error{bad_data} as `RecordStream::next` and RecordCollector.
[[nodiscard]] Dataset read_all(RecordStream& stream, ObjectiveRef objective, std::size_t features, std::uint64_t most_numbers,
                               std::size_t mapped_features = 0);

/// All records of a file, whose rows stay there.
struct RecordsInFile {
  Dataset data;
  std::uint64_t damaged;  ///< of them are records of zeros: private
};
/// With labels as `objective` wants them. Reads the file once. \throws Error{bad_data} as `RecordFile::read_block`, and for a damaged record where the
/// form is public.
[[nodiscard]] RecordsInFile read_in_place(std::shared_ptr<const data::RecordFile> file, ObjectiveRef objective, data::RecordForm form);

}  // namespace surety::optimizers
