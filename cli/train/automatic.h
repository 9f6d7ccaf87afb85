// `--algorithm auto`, the default: what the rule of jobs/automatic chooses is run as if its options had been said: plan, ledger, model and report name
// the algorithm and its options.
#pragma once

#include "train_options.h"

namespace surety::cli {

inline constexpr std::string_view automatic_name = "auto";

/// Stands for the others in the help. \param own where its options go
[[nodiscard]] AlgorithmOptions automatic_options(jobs::AutomaticPlan& own);

/// The options as if what `auto` chooses had been said: its algorithm, and what nobody said of it. They are set, and `state` says what was chosen.
/// \throws PlanError as `jobs::choose`; Error{invalid_argument} in a plan, and where no algorithm knows all that was given.
[[nodiscard]] OptionTable as_chosen(TrainState& state, const Command& said);

}  // namespace surety::cli
