// LIBSVM text files as sparse data sets: one record per line, `label index:value index:value ...`, with indices from 1 that
// ascend; missing indices are zero. Gzip is recognised, LF and CRLF end a line, '#' starts a comment that lasts to the end of
// the line, lines without a record are skipped.
//
// What does not fit is Error{bad_data} with the file and the line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <surety/optimizers/dataset.h>
#include <surety/optimizers/features.h>
#include <surety/optimizers/text_reader.h>

namespace surety::optimizers {

/// The records of a LIBSVM file, one at a time, as `features` makes them.
class LibsvmRecords {
 public:
  /// \throws Error{invalid_argument} when the map is not valid or is one of named columns; Error{bad_data} when there is no such file.
  LibsvmRecords(const std::filesystem::path& path, const FeatureMap& features, Lines lines = Lines::free);

  struct Record {
    double label;
    std::vector<std::uint32_t> indices;  ///< ascending, from 0
    std::vector<double> values;          ///< not zero
  };

  /// False at the end of the file. \throws Error{bad_data} for a line that is no record; the next call goes on behind it.
  [[nodiscard]] bool next(Record& record);
  [[nodiscard]] bool is_broken() const noexcept { return text_.is_broken(); }

  /// \throws Error{bad_data} "<file>: <reason>", always.
  [[noreturn]] void refuse(std::string_view reason) const { text_.refuse(reason); }

 private:
  FeatureMap features_;
  std::uint32_t count_;
  Lines lines_;
  TextReader text_;
  std::string line_;
  bool at_line_start_ = true;
};

/// All records with their labels. `features.inputs` says how many features there are, because the largest index that occurs
/// in private data is private too.
/// \throws Error{bad_data} for an empty file, a label or value that is not a finite number, an index that is 0, larger than the
///         count, not a whole number or not above the one before it;
///         Error{invalid_argument} when the map is not valid or is one of named columns.
/// \complexity one pass; memory for the non-zero features.
[[nodiscard]] Dataset read_libsvm(const std::filesystem::path& path, const FeatureMap& features);

}  // namespace surety::optimizers
