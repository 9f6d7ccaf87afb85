// All that can be said of a training, as fields of its plan.
#pragma once

#include <optional>
#include <string>

#include <surety/jobs/algorithms/algorithm.h>
#include <surety/jobs/plans/fields.h>
#include <surety/jobs/plans/plan_json.h>
#include <surety/jobs/plans/reading_fields.h>
#include <surety/jobs/plans/table_fields.h>
#include <surety/jobs/plans/train_plan.h>
#include <surety/jobs/plans/unit_fields.h>
#include <surety/jobs/train/written_training.h>

namespace surety::jobs {

/// All that can be said of a training with one algorithm, and where it is kept.
class TrainFields {
 public:
  explicit TrainFields(const Algorithm& algorithm);
  TrainFields(const TrainFields&) = delete;
  TrainFields& operator=(const TrainFields&) = delete;

  [[nodiscard]] FieldTable& table() noexcept { return table_; }
  /// \throws as `source_of` and `unit_of_records`.
  [[nodiscard]] WrittenTraining written(const Target& target, NamedRecords named);

 private:
  TrainPlan plan_{.target = {.epsilon = Epsilon{1}, .delta = Delta{0}, .adjacency = Adjacency::replace_one}, .source = {}};
  TableFields records_;
  ReadingFields reading_;
  UnitFields unit_;
  RunFields run_;
  std::optional<std::string> model_;
  FieldTable table_;
};

}  // namespace surety::jobs
