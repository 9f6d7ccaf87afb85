// The help of a command, from its tables.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <surety/cli/parser/options.h>

namespace surety::cli {

/// `text` in lines of at most 100 columns, of which the first begins after `begin` and the others after `left` blanks. Ends with a line end.
[[nodiscard]] std::string wrapped(std::string begin, std::string_view text, std::size_t left);

/// At most 100 columns wide, but for examples. \param path the words that call it: "surety ledger create"
[[nodiscard]] std::string help_of(const Command& command, const std::string& path);

}  // namespace surety::cli
