// The help of a command, from its tables.
#pragma once

#include <string>

#include <surety/cli/parser/options.h>

namespace surety::cli {

/// At most 100 columns wide, but for examples. \param path the words that call it: "surety ledger create"
[[nodiscard]] std::string help_of(const Command& command, const std::string& path);

}  // namespace surety::cli
