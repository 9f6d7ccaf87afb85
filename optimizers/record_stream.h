// Records that arrive one at a time, from a file or from standard input, for algorithms that release as they read.
//
// Once such an algorithm runs, nothing about a record may stop it: where it stopped would be a release without noise. So a line that is no
// record (a ragged row, a text where a number is due) counts as a record of zeros, and so does one whose label the loss does not know. How
// many there were is private too; `damaged` is for the owner of the data alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <surety/mechanisms/record_sum.h>
#include <surety/optimizers/csv.h>
#include <surety/optimizers/dataset.h>
#include <surety/optimizers/libsvm.h>
#include <surety/optimizers/problem.h>

namespace surety::optimizers {

class RecordStream {
 public:
  /// Records with labels, as their feature map makes them.
  explicit RecordStream(CsvRecords records) : records_{std::move(records)} {}
  explicit RecordStream(LibsvmRecords records) : records_{std::move(records)} {}

  /// Reads the next record, with its label as `objective` wants it; false at the end.
  /// \throws Error{bad_data} when the file itself cannot be read on (a damaged gzip stream, a read error).
  template <Objective O>
  [[nodiscard]] bool next(const O& objective) {
    if (!read()) return false;
    if (const auto label = damaged_now_ ? std::nullopt : objective.encode_label(label_)) {
      label_ = *label;
      return true;
    }
    ++damaged_;
    indices_.clear();
    values_.clear();
    label_ = 0;
    return true;
  }

  /// The record that was read last; a record of zeros has no values.
  [[nodiscard]] RowView row() const { return {.indices = indices_, .values = values_, .norm = mechanisms::l2_norm(values_)}; }
  [[nodiscard]] double label() const noexcept { return label_; }

  /// How many lines counted as records of zeros so far: private.
  [[nodiscard]] std::uint64_t damaged() const noexcept { return damaged_; }

 private:
  /// Reads a line into the members; false at the end. Sets `damaged_now_` when it is no record.
  bool read();

  std::variant<CsvRecords, LibsvmRecords> records_;
  LibsvmRecords::Record record_;
  std::vector<std::uint32_t> indices_;
  std::vector<double> values_;
  double label_ = 0;
  bool damaged_now_ = false;
  std::uint64_t damaged_ = 0;
};

}  // namespace surety::optimizers
