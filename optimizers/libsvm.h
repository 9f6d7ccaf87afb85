// LIBSVM text files as sparse data sets: one record per line, `label index:value index:value ...`, with indices from 1 that
// ascend; missing indices are zero. Gzip is recognised, LF and CRLF end a line, '#' starts a comment that lasts to the end of
// the line, lines without a record are skipped.
//
// What does not fit is Error{bad_data} with the file and the line.
#pragma once

#include <filesystem>

#include <surety/optimizers/dataset.h>
#include <surety/optimizers/features.h>

namespace surety::optimizers {

/// All records with their labels. `features.inputs` says how many features there are, because the largest index that occurs
/// in private data is private too.
/// \throws Error{bad_data} for an empty file, a label or value that is not a finite number, an index that is 0, larger than the
///         count, not a whole number or not above the one before it;
///         Error{invalid_argument} when the map is not valid or is one of named columns.
/// \complexity one pass; memory for the non-zero features.
[[nodiscard]] Dataset read_libsvm(const std::filesystem::path& path, const FeatureMap& features);

}  // namespace surety::optimizers
