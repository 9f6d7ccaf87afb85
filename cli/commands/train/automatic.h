// `--algorithm auto`, the default: what the rule of jobs/automatic chooses is run as if its options had been said: plan, ledger, model and report name
// the algorithm and its options.
#pragma once

#include <surety/cli/commands/train/train_options.h>

namespace surety::cli {

/// The options as if what `auto` chooses had been said: its algorithm, and what nobody said of it. They are set, and `state` says what was chosen.
/// \throws PlanError as `jobs::choose`; Error{invalid_argument} in a plan, and where no algorithm knows all that was given.
[[nodiscard]] OptionTable as_chosen(TrainState& state, const Command& said);

}  // namespace surety::cli
