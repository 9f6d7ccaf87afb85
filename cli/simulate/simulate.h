// surety simulate, the one command with algorithms that are no jobs.
#pragma once

#include <surety/cli/parser/options.h>

namespace surety::cli {

[[nodiscard]] Command simulate_command(const Arguments& words);

}  // namespace surety::cli
