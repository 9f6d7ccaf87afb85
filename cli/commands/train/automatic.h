// `--algorithm auto`, the default: what the rule of jobs/automatic chooses is run as if its options had been said: plan, ledger, model and report name
// the algorithm and its options.
#pragma once

#include <surety/cli/commands/train/train_options.h>

namespace surety::cli {

/// The options as if what `auto` chooses had been said: its algorithm, and what nobody said of it. They are set, and `state` says what was chosen.
/// \throws PlanError as `jobs::choose`; Error{invalid_argument} in a plan, and where no algorithm knows all that was given.
[[nodiscard]] OptionTable as_chosen(TrainState& state, const Command& said);

/// The options as if what the rules say of a named algorithm had been said (`jobs::ruled_fields`), where nobody said it. They are set, and `state` says what was
/// chosen. Of a plan nothing is set: it holds all that it needs. \pre the promise is settled
[[nodiscard]] OptionTable as_ruled(TrainState& state, const OptionTable& given);

}  // namespace surety::cli
