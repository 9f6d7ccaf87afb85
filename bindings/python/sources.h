// Records as Python has them, for the library to read.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <surety/data/arrow/arrow_stream.h>
#include <surety/data/features/sparse_matrix.h>
#include <surety/data/reading/data_policy.h>

namespace surety::python {

/// The name of a capsule with an Arrow stream.
inline constexpr const char* stream_capsule = "arrow_array_stream";

/// What a function of Python raised while the library read, kept without memory of its own, of which there may be none. Touched with the interpreter's lock alone.
using Raised = std::shared_ptr<std::optional<nanobind::python_error>>;

/// A path, or a stream or a sparse matrix that is read once.
class Source {
 public:
  using Records = std::variant<std::filesystem::path, data::ArrowStream, data::SparseMatrix>;

  explicit Source(Records records, Raised raised = nullptr) : records_{std::move(records)}, raised_{std::move(raised)} {}

  [[nodiscard]] const Records& records() const;
  /// Whether a column of the stream has this name; false for a path.
  [[nodiscard]] bool has_column(const std::string& name) const;
  /// Once. \throws Error{invalid_argument} the second time
  [[nodiscard]] Records take();
  /// What was taken, where it can be read still.
  void give_back(Records records) { records_ = std::move(records); }
  /// Throws what was raised in reading, if anything was. \pre with the lock
  void rethrow() const;

 private:
  std::optional<Records> records_;
  Raised raised_;
};

/// The stream in a capsule of `__arrow_c_stream__`.
[[nodiscard]] Source arrow_source(nanobind::handle capsule, bool no_limits);
/// Columns, batch by batch: `next()` gives None at the end, and else the number of rows and each column.
/// \param types of each what Arrow calls it, and then a column is a tuple of the buffers of its Arrow array, None where there is none; a capsule of a stream of that
///        type, and then one of a stream of one chunk; or None of objects, and then a list of these
/// \param convert as of `export_objects`. \param rows of all batches together
[[nodiscard]] Source array_source(const std::vector<std::string>& names, nanobind::handle types, nanobind::object next,
                                  nanobind::object convert, bool no_limits, std::uint64_t rows);
/// What the cells of the first column count as: their numbers as bytes of doubles, NaN where there is none, or a list of their texts, None where there is none.
[[nodiscard]] nanobind::object cells_of(Source& source, bool as_texts);
/// The arrays of a sparse matrix: `ends` of rows as int64, `indices` of columns as int32 or int64, `values` and, None where there are none, `labels` as float64.
/// \throws Error{invalid_argument} as `data::SparseMatrix::validate`
[[nodiscard]] Source sparse_source(std::uint64_t columns, nanobind::handle ends, nanobind::handle indices, bool wide_indices,
                                   nanobind::handle values, nanobind::handle labels);

}  // namespace surety::python
