// The plan of a training as a text has it.
#pragma once

#include <optional>
#include <string>

#include <surety/jobs/plans/train_plan.h>
#include <surety/jobs/plans/written_plan.h>

namespace surety::jobs {

/// A plan that was read, and what its text says beside it.
struct WrittenTraining : WrittenPlan {
  TrainPlan plan;
  std::optional<std::string> model = {};  ///< where its model is to go
};

/// Whether a plan has to name its records.
enum class NamedRecords {
  always,
  or_given_later,  ///< to its job: `TrainJob::take_records`
};

}  // namespace surety::jobs
