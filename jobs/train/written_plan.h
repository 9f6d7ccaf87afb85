// The plan of a training as JSON, as `surety train --print-plan` writes it and anybody may:
//
//   {"version": 2, "command": "train", "adjacency": "replace-one", "target": {"epsilon": 1, "delta": 1e-05},
//    "options": {"data": "a.csv", "algorithm": "svrg", "label": "y>0", "records": 4000, "ledger": "run.db", "model": "m.json"},
//    "event": {...}, "noise": 37.3, "unit": {...}}
//
// `options` has the fields of the plan by their names, which are those of the command's options: docs/reference/commands.md. `event`, `noise`, `unit` and
// `schema_sha256` follow from the rest; where they stand they must be what follows from it here, so a plan never runs as something else than it says.
// In a plan of version 1 the label of two classes may be a column without a comparison; `notes` names it.
#pragma once

#include <string>
#include <string_view>

#include <surety/jobs/plans/train_plan.h>
#include <surety/jobs/plans/written_plan.h>
#include <surety/jobs/train/train_job.h>
#include <surety/jobs/train/written_training.h>

namespace surety::jobs {

/// Reads no records, and of files nothing but a schema or the head of a record file that the plan names.
/// \throws PlanError{bad_data} naming the path for what is no plan of a training: a field that is unknown, missing, of another algorithm or said twice, a value
///         of another type or out of range, too deep a nesting; and as `source_of` and `unit_of_records`.
[[nodiscard]] WrittenTraining read_train_plan(std::string_view text, NamedRecords named = NamedRecords::always);

/// \throws PlanError where the text says an event, a noise, a unit or a schema that does not follow from its other fields.
void require_follows(const WrittenTraining& written, const CalibratedNoise& noise);

/// The text of a plan, with nothing in it that follows from the rest: `read_train_plan` makes the same plan of it, of the records of its path, or of none.
/// \throws Error{unsupported} for what no text says: rows of a stream, a file for each rank, a field that another algorithm has alone, numbers that are none,
///         limits that are neither the usual ones nor none; as `read_train_plan`.
[[nodiscard]] std::string plan_text(const TrainPlan& plan);

}  // namespace surety::jobs
