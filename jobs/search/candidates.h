// The candidates of a search: the combinations of public values that fields of a plan may have.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <surety/jobs/algorithms/algorithm.h>
#include <surety/jobs/search/search_run.h>

namespace surety::jobs {

/// What a search is over: what its plan says, and else what the algorithm would try, but for what was said.
[[nodiscard]] std::vector<std::string> searched_over(const TrainPlan& plan, const Algorithm& algorithm, const SaidFields& said);

/// One combination, as names of fields and values.
struct Combination {
  FieldText text = {};  ///< "steps 10 clip 0.3"
  std::vector<std::pair<std::string, std::string>> values = {};
};
/// All of them, the last field varying fastest. \param over "steps=10,30" each
/// \throws PlanError for one that names no field of the algorithm's own which may tell candidates apart, or names it twice, for one that was said
///         beside it, and for fewer than two or too many combinations.
[[nodiscard]] std::vector<Combination> combinations(const std::vector<std::string>& over, const Algorithm& algorithm,
                                                    const SaidFields& said);

/// The search that a plan asks for as one run: its candidates are the plan with other values.
/// `plan`, `algorithm` and what `context` refers to outlive it. \throws as `combinations`, `Algorithm::prepare` and `tuned`.
[[nodiscard]] std::unique_ptr<TrainingRun> search_of(const TrainPlan& plan, const Algorithm& algorithm, const SaidFields& said,
                                                     const TrainContext& context);

}  // namespace surety::jobs
