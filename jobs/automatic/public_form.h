// What is public of records before a training: the form of their source, and their number.
#pragma once

#include <cstdint>

#include <surety/jobs/algorithms/reading.h>
#include <surety/jobs/plans/train_plan.h>

namespace surety::jobs {

/// The source for what reads its form alone: rows in memory, which can be read once, stay for the training.
[[nodiscard]] TrainingSource form_of(const TrainingSource& source);

/// \param records of the form of the source, which are read where they are neither in memory nor a record file's
[[nodiscard]] std::uint64_t count_of(const TrainingSource& source, optimizers::RecordStream& records);

}  // namespace surety::jobs
