// Commands with algorithms that have options of their own: their table in the help, the refusal of those of other algorithms, and the list of
// all.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <surety/cli/parser/options.h>

namespace surety::cli {

/// An algorithm of a command, and the options that it knows beside those that all share.
struct AlgorithmOptions {
  std::string algorithm;
  std::string summary;  ///< one sentence
  OptionTable options = {};
  /// Why an option of others is refused, in words that follow its name, where that is not said by whom it is for.
  std::vector<std::pair<std::string, std::string>> refusals = {};
};

/// What an algorithm says of itself. \param options to which its fields are added
template <class A>
[[nodiscard]] AlgorithmOptions options_of(const A& algorithm, const jobs::FieldTable& fields, OptionTable options = {}) {
  AlgorithmOptions own{.algorithm = algorithm.name(), .summary = algorithm.summary(), .options = std::move(options)};
  own.options.add(fields);
  for (const auto& [field, reason] : algorithm.refusals()) {
    own.refusals.emplace_back(option_name(field), reason.printed(option_name));
  }
  return own;
}

/// The one of this name. \pre there is one
[[nodiscard]] const AlgorithmOptions& options_named(const std::vector<AlgorithmOptions>& all, std::string_view name);
[[nodiscard]] std::vector<std::string> names_of(const std::vector<AlgorithmOptions>& all);

/// Adds the options of the algorithm `name` to the command, and those of others where the help does not show them. Where the user has not
/// chosen an algorithm, the help is the short one. \param lists where --list-algorithms goes
void add_algorithm_options(Command& command, const std::vector<AlgorithmOptions>& all, std::string_view name, bool is_chosen, bool& lists,
                           const Arguments& words);

/// \throws Error{invalid_argument} when an option was given that the algorithm has no use for. \param hidden those of other algorithms
void require_own_options(const OptionTable& hidden, const std::vector<AlgorithmOptions>& all, std::string_view name);

/// Prints the algorithms with their own options, and the options of several, in lines of at most 100 columns. Returns the exit code.
int print_algorithms(const std::vector<AlgorithmOptions>& all);

}  // namespace surety::cli
