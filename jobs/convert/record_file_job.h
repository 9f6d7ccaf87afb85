// The records of a text file as features, in a binary file that training reads a block at a time. It is as private as they are: nothing is charged, and
// what is counted is not to be published.
#pragma once

#include <cstdint>
#include <string>

#include <surety/base/system/place.h>
#include <surety/data/features/record_file.h>
#include <surety/jobs/plans/train_plan.h>

namespace surety::jobs {

inline constexpr FileKind record_file{"a record file", data::record_file_magic};

struct Converted {
  std::size_t features = 0;
  std::uint64_t records = 0;  ///< private
  std::uint64_t damaged = 0;  ///< of them, which count as zeros: private
};

/// Writes the records of `source`, CSV or LIBSVM, as a training would read them. Only the file's owner may read it; it takes its place when it is whole.
/// Memory does not grow with the records.
/// \throws Error{bad_data} for what cannot be read, and for names that no file holds; Error{environment, invalid_argument} as `NewFile::replace`.
[[nodiscard]] Converted convert(const TrainingSource& source, const std::string& output, Overwrite overwrite);

}  // namespace surety::jobs
