// Commands with algorithms that have options of their own: their table in the help, the refusal of those of other algorithms, and the table for
// the documents.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "options.h"

namespace surety::cli {

/// An algorithm by its name, and the options that are its own. `Shared` is what all algorithms of its command know.
template <class Shared>
class NamedAlgorithm {
 public:
  NamedAlgorithm(std::string_view name, std::string_view summary) : name_{name}, summary_{summary} {}
  NamedAlgorithm(const NamedAlgorithm&) = delete;
  NamedAlgorithm& operator=(const NamedAlgorithm&) = delete;
  virtual ~NamedAlgorithm() = default;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// One sentence.
  [[nodiscard]] const std::string& summary() const noexcept { return summary_; }

  /// The options that it knows beside those that all share; their values go into this algorithm and into `shared`.
  virtual void add_options(OptionTable& table, Shared& shared) = 0;
  /// Why it has no use for an option of others, in words that follow the option's name; where nothing is said, that it is for those.
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::string>> refusals() const { return {}; }

 private:
  std::string name_;
  std::string summary_;
};

struct AlgorithmOptions {
  std::string algorithm;
  std::string summary;
  OptionTable options = {};
  /// Why an option of others is refused, in words that follow its name, where that is not said by whom it is for.
  std::vector<std::pair<std::string, std::string>> refusals = {};
};

/// What such a command keeps while it is parsed and run.
template <class A, class Shared>
struct AlgorithmCommand {
  Shared options = {};
  std::vector<std::unique_ptr<A>> algorithms;
  bool lists_algorithms = false;
};

/// What each algorithm says of itself.
template <class A, class Shared>
std::vector<AlgorithmOptions> options_of(const std::vector<std::unique_ptr<A>>& algorithms, Shared& shared) {
  std::vector<AlgorithmOptions> all;
  for (const auto& algorithm : algorithms) {
    all.push_back({.algorithm = algorithm->name(), .summary = algorithm->summary(), .refusals = algorithm->refusals()});
    algorithm->add_options(all.back().options, shared);
  }
  return all;
}
[[nodiscard]] std::vector<std::string> names_of(const std::vector<AlgorithmOptions>& all);

/// The algorithm of this name. \pre there is one
template <class A>
const A& algorithm_named(const std::vector<std::unique_ptr<A>>& algorithms, std::string_view name) {
  return **std::find_if(algorithms.begin(), algorithms.end(), [&](const auto& algorithm) { return algorithm->name() == name; });
}

/// Adds the options of the algorithm `name` to the command, and those of others where the help does not show them. Where the user has not
/// chosen an algorithm, the help is the short one. \param lists where --list-algorithms goes
void add_algorithm_options(Command& command, const std::vector<AlgorithmOptions>& all, std::string_view name, bool is_chosen, bool& lists,
                           const Arguments& words);

/// What such a command runs: it prints `all` where `lists` says so by then, and else does `run`. \param lists outlives the command
[[nodiscard]] std::function<int(const Command&)> list_or_run(std::vector<AlgorithmOptions> all, const bool& lists,
                                                             std::function<int(const Command&, const std::vector<AlgorithmOptions>&)> run);

/// \throws Error{invalid_argument} when an option was given that the algorithm has no use for. \param hidden those of other algorithms
void require_own_options(const OptionTable& hidden, const std::vector<AlgorithmOptions>& all, std::string_view name);

/// A table in Markdown: the algorithms and what is their own.
void print_algorithms(const std::vector<AlgorithmOptions>& all);

}  // namespace surety::cli
