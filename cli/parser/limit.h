// Options of many commands: --limit-seconds, how long a command may think before it answers or charges; --progress.
#pragma once

#include <array>
#include <string_view>

#include <surety/cli/parser/options.h>

namespace surety::cli {

inline constexpr std::string_view limit_option = "--limit-seconds";

/// The commands that ask what something costs.
inline constexpr std::array commands_with_a_limit{"calibrate", "account", "curve",  "release", "train",
                                                  "simulate",  "audit",   "ledger", "report"};

/// Gives the command, or each of its own commands, the option, and ends its questions by Error{stopped} when that time is over.
void add_limit_to(Command& command);

inline constexpr std::string_view progress_option = "--progress";

/// Gives the command, or each of its own commands, the option --progress. Who runs the command looks whether it is given.
void add_progress_to(Command& command);

}  // namespace surety::cli
