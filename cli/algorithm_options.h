// Commands with algorithms that have options of their own: their table in the help, the refusal of those of other algorithms, and the table for
// the documents.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "options.h"

namespace surety::cli {

struct AlgorithmOptions {
  std::string algorithm;
  std::string summary;
  OptionTable options = {};
  /// Why an option of others is refused, in words that follow its name, where that is not said by whom it is for.
  std::vector<std::pair<std::string, std::string>> refusals = {};
};

/// Adds the options of the algorithm `name` to the command, and those of others where the help does not show them. Where the user has not
/// chosen an algorithm, the help is the short one. \param lists where --list-algorithms goes
void add_algorithm_options(Command& command, const std::vector<AlgorithmOptions>& all, std::string_view name, bool is_chosen, bool& lists,
                           const Arguments& words);

/// \throws Error{invalid_argument} when an option was given that the algorithm has no use for. \param hidden those of other algorithms
void require_own_options(const OptionTable& hidden, const std::vector<AlgorithmOptions>& all, std::string_view name);

/// A table in Markdown: the algorithms and what is their own.
void print_algorithms(const std::vector<AlgorithmOptions>& all);

}  // namespace surety::cli
