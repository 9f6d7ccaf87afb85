// Pages and completions for shells, from the tables of the commands.
#pragma once

#include <string>
#include <string_view>

#include <surety/cli/parser/options.h>

namespace surety::cli {

/// What --generate takes.
inline constexpr std::string_view generated_forms = "man, bash, zsh or fish";

/// A page of the manual in the macros of man(7): of all commands if `path` is only the name of the program, else of one.
/// \param path the words that call it: "surety ledger create"
/// \param version of the program
[[nodiscard]] std::string man_page(const Command& command, const std::string& path, std::string_view version);

/// Completion of commands, options and the values of options that are one of some words. Elsewhere the shell completes names of files.
[[nodiscard]] std::string bash_completion(const Command& surety);
[[nodiscard]] std::string zsh_completion(const Command& surety);
[[nodiscard]] std::string fish_completion(const Command& surety);

}  // namespace surety::cli
