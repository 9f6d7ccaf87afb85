// What every algorithm of surety train knows: where records come from, the problem, the promise, and where the model goes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <surety/cli/commands/algorithm_options.h>
#include <surety/cli/commands/private_run.h>
#include <surety/cli/parser/options.h>
#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/automatic/automatic.h>
#include <surety/jobs/plans/table_fields.h>
#include <surety/jobs/plans/train_plan.h>
#include <surety/jobs/train/chosen_text.h>

namespace surety::cli {

struct TrainOptions {
  jobs::TableFields table;
  jobs::ReadingFields reading;

  std::string algorithm = "auto";
  jobs::FieldText chosen = {};  ///< by `auto`: its words, and why
  /// The problem, the search and what an algorithm knows; `plan_of` says the rest.
  jobs::TrainPlan plan{.target = {.epsilon = Epsilon{1}, .delta = Delta{0}, .adjacency = Adjacency::replace_one}, .source = {}};

  PrivateRunOptions run;
  std::string model;
  OverwriteOption overwrite;
  bool json = false;
};

using jobs::automatic_name;

/// One algorithm as the command sees it: with its own fields, as they were said.
class OfferedAlgorithm {
 public:
  explicit OfferedAlgorithm(std::unique_ptr<jobs::Algorithm> its) : its_{std::move(its)}, own_{its_->standard()} {}

  [[nodiscard]] const jobs::Algorithm& its() const noexcept { return *its_; }
  [[nodiscard]] const jobs::AlgorithmPlan& own() const noexcept { return own_; }
  /// Its options; their values go into it and into `plan`.
  [[nodiscard]] AlgorithmOptions options(jobs::TrainPlan& plan);

 private:
  std::unique_ptr<jobs::Algorithm> its_;
  jobs::AlgorithmPlan own_;
};

/// What the command keeps while it is parsed and run.
struct TrainState {
  TrainOptions options;
  jobs::AutomaticPlan automatic;             ///< of `auto`
  std::vector<OfferedAlgorithm> algorithms;  ///< all but `auto`
  std::vector<AlgorithmOptions> tables;      ///< of all, in the order of the help
  bool lists_algorithms = false;

  TrainState();
  TrainState(const TrainState&) = delete;
  TrainState& operator=(const TrainState&) = delete;
  /// The one that the options name. \pre not `auto`
  [[nodiscard]] const OfferedAlgorithm& chosen() const;
};

/// How a file of records is read, but for --form-is-public.
void add_data_options(OptionTable& table, TrainOptions& options, const std::vector<jobs::DataFormat>& formats);
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
