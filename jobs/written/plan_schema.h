// What a plan in JSON may say, for whoever writes one: editors, forms, other languages. Made of the same rows as `read_train_plan` and `read_release_plan`.
#pragma once

#include <string>

namespace surety::jobs {

/// A JSON Schema (draft 2020-12) of plans of trainings, one alternative for each algorithm, and of releases: docs/reference/plan.schema.json. What it takes is
/// a plan but for values that depend on each other, and paths; what `--print-plan` writes it takes. Descriptions name fields of plans.
[[nodiscard]] std::string plan_schema();

}  // namespace surety::jobs
