// LIBSVM text files as sparse data sets: one record per line, `label index:value index:value ...`, with indices from 1 that
// ascend; missing indices are zero. Gzip is recognised, LF and CRLF end a line, '#' starts a comment that lasts to the end of
// the line. Every line is a record (data_policy.h); one without a label is damaged.
//
// What does not fit is Error{bad_data} with the file and the line where the form of the file is public.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <surety/data/csv/record_splitter.h>
#include <surety/data/features/dataset.h>
#include <surety/data/features/features.h>
#include <surety/data/features/sparse_record.h>
#include <surety/data/reading/data_policy.h>

namespace surety::data {

/// The records of a LIBSVM file, one at a time, as `features` makes them.
class LibsvmRecords {
 public:
  /// \throws Error{invalid_argument} when the map is not valid or is one of named columns; Error{bad_data} when there is no such file.
  LibsvmRecords(const std::filesystem::path& path, const FeatureMap& features, const DataPolicy& policy);

  using Record = SparseRecord;

  /// False at the end of the file. A damaged record has no values.
  /// \throws Error{bad_data} for one where the form is public; always when the file itself cannot be read on.
  [[nodiscard]] bool next(Record& record);
  [[nodiscard]] bool is_damaged() const noexcept { return is_damaged_; }
  [[nodiscard]] RecordForm form() const noexcept { return policy_.form; }

  /// \throws DamagedRecord "<file>: line <line><reason>", always.
  [[noreturn]] void refuse_record(const std::string& reason) const;

 private:
  FeatureMap features_;
  std::uint32_t count_;
  DataPolicy policy_;
  RecordSplitter records_;
  std::string line_;
  bool is_damaged_ = false;
};

/// All records of a file whose form is public, with their labels. `features.inputs` says how many features there are, because the
/// largest index that occurs in private data is private too.
/// \throws Error{bad_data} for an empty file, a line without a record, a label or value that is not a finite number, an index that is 0,
///         larger than the count, not a whole number or not above the one before it;
///         Error{invalid_argument} when the map is not valid or is one of named columns.
/// \complexity one pass; memory for the non-zero features.
[[nodiscard]] Dataset read_libsvm(const std::filesystem::path& path, const FeatureMap& features, const DataLimits& limits = {});

}  // namespace surety::data
