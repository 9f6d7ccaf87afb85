// From words to the tables of a command.
#pragma once

#include <string>

#include <surety/cli/parser/options.h>

namespace surety::cli {

/// What the words ask for.
struct Request {
  const Command* command = nullptr;  ///< the one that is meant
  std::string path;                  ///< the words that call it: "surety ledger create"
  enum class Wish { run, help, version } wish = Wish::run;
  bool is_help_short = false;  ///< for -h without --help
};

/// Sets the options of the command that `words` choose among `commands`, and returns it. An option that is set already, by a plan, is not required; it is refused
/// in the words, and a list gets longer.
/// \throws Error{invalid_argument} naming the word, the option or what is missing.
[[nodiscard]] Request parse(Command& surety, const Arguments& words);

}  // namespace surety::cli
