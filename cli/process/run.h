// The command without its process: what `surety WORDS...` does and says, as a function.
#pragma once

#include <surety/cli/parser/options.h>

namespace surety::cli {

/// Does what the words ask for, prints what it says on standard output, an error as one line on standard error, and returns the exit code.
/// \param words without the program's name
[[nodiscard]] int run_command(const Arguments& words);

}  // namespace surety::cli
