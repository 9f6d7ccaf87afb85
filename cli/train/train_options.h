// What every algorithm of surety train knows: where records come from, the problem, the promise, and where the model goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <surety/jobs/algorithms/reading.h>
#include <surety/jobs/plans/table_fields.h>
#include <surety/jobs/plans/train_plan.h>

#include "../data_options.h"
#include "../options.h"
#include "../private_run.h"

namespace surety::cli {

struct TrainOptions {
  jobs::TableFields table;
  DataOptions reading;

  std::string algorithm = "auto";
  std::string chosen = {};  ///< by `auto`: its words, and why
  /// The problem, the search and what an algorithm knows; `plan_of` says the rest.
  jobs::TrainPlan plan{.target = {.epsilon = Epsilon{1}, .delta = Delta{0}, .adjacency = Adjacency::replace_one}, .source = {}};

  PrivateRunOptions run;
  std::string model;
  OverwriteOption overwrite;
  bool json = false;
};

/// How a file of records is read, but for --form-is-public.
void add_data_options(OptionTable& table, TrainOptions& options, std::vector<std::string> formats);
/// The options above, but for those that an algorithm words by itself: --clip, --radius and --form-is-public.
void add_shared_options(OptionTable& table, TrainOptions& options, const std::vector<std::string>& algorithms);

/// Reads --schema and fills in the label and the unit, where no option says them. \throws Error{bad_data} as `read_schema`.
void apply_schema(TrainOptions& options);

/// Where records come from and how they are read: public, and checked before they are.
/// \throws Error{invalid_argument} for options that do not suit the format; Error{bad_data} for a record file that cannot be opened.
[[nodiscard]] jobs::TrainingSource source_of(const TrainOptions& options);
/// All that the options say. \throws as `source_of`; Error{invalid_argument} for a promise that is none.
[[nodiscard]] jobs::TrainPlan plan_of(const TrainOptions& options, const jobs::AlgorithmPlan& own);

}  // namespace surety::cli
