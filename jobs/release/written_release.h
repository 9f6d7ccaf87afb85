// The plan of a release as JSON, as `surety release --print-plan` writes it and anybody may:
//
//   {"version": 2, "command": "release", "adjacency": "replace-one", "target": {"epsilon": 0.5, "delta": 0},
//    "options": {"data": "a.csv", "query": [{"function": "mean", "column": "visits", "bounds": [0, 20]}], "ledger": "run.db"},
//    "event": {...}, "noise": 2, "unit": {...}}
//
// `options` has the fields of the plan by their names, which are those of the command's options: docs/reference/commands.md. `query` is an object or a
// list of objects (queries.h). `event`, `noise`, `unit` and `schema_sha256` follow from the rest; where they stand they must be what follows from it here,
// so a plan never runs as something else than it says.
//
// In version 1 a query is a text, "mean(visits)", with other fields beside it ("bounds": "0,20"), or an object with that text as its "query". It is read by the
// grammar of that version, and `notes` says so.
#pragma once

#include <string>
#include <string_view>

#include <surety/accounting/calibration/solve.h>
#include <surety/jobs/release/release_job.h>
#include <surety/jobs/release/release_plan.h>

namespace surety::jobs {

/// Reads no records, and of files nothing but a schema or a list of queries that the plan names.
/// \throws PlanError{bad_data} naming the path for what is no plan of a release: a field that is unknown, missing or said twice, a value of another type
///         or out of range, too deep a nesting; PlanError as `parse_queries` and `unit_of_records`.
[[nodiscard]] WrittenRelease read_release_plan(std::string_view text);

/// \throws PlanError where the text says an event, a noise, a unit or a schema that does not follow from its other fields.
void require_follows(const WrittenRelease& written, const Solution& cost);

/// The text of a plan, with nothing in it that follows from the rest, and no paths: `read_release_plan` makes the same plan of it.
/// \throws Error{unsupported} for what no text says: keys with another chance than `parse_queries` gives them or another owner than the unit's, limits
///         that are neither the usual ones nor none, missing cells that are not what the reading says of their column.
[[nodiscard]] std::string plan_text(const ReleasePlan& plan);

}  // namespace surety::jobs
