// A plan of the command: --print-plan writes what the command line says as one (jobs/plans/plan_json.h), --plan runs what stands in one. Where it says
// what follows from the rest, that must be what follows here, so a plan never runs as something else than it says.
#pragma once

#include <optional>
#include <string>

#include <surety/cli/parser/options.h>
#include <surety/jobs/plans/plan_json.h>

namespace surety::cli {

struct PlannedRun {
  std::string command;  ///< train or release
  const OptionTable& options;
  Target target;
  jobs::Follows follows;                                    ///< its event: all that will be released
  std::optional<std::string> schema_sha256 = std::nullopt;  ///< of the file of --schema
  nlohmann::json queries = {};   ///< of a release: its statistics, which stand in the place of all options about them
  bool is_of_version_1 = false;  ///< of a training whose label no later version knows
};
/// \throws Error{unsupported} for an option whose text is not UTF-8, the only text that JSON has.
[[nodiscard]] nlohmann::json to_json(const PlannedRun& plan);
/// The options of a command as its plan says them: those that were given, but for the promise.
[[nodiscard]] nlohmann::json options_json(std::string_view command, const OptionTable& given);

/// What a plan that was read says of what follows from it.
struct ExpectedRun {
  std::string file;
  std::string text;  ///< of the plan, checked
  int version = 0;
};

/// The values that a plan gives one option: none of a flag, one for each time of another.
struct PlannedOption {
  std::string field;
  std::vector<std::string> texts;
};

/// The words of a user, and the plan that they name.
struct GivenArguments {
  Arguments words;  ///< without --plan FILE
  std::optional<ExpectedRun> expected = {};
  std::vector<PlannedOption> planned = {};  ///< the options of the plan, and its promise

  /// The value of an option, before anything is parsed; nothing where neither the words nor the plan have it.
  [[nodiscard]] std::optional<std::string> value_of(const std::string& field) const;
};
/// Reads the plan of --plan FILE of train and release. \throws Error{bad_data} naming the file, when it cannot be read or is no plan of this command.
[[nodiscard]] GivenArguments with_plan(const Arguments& words);

/// Sets the options of the command to the values of the plan. \throws Error naming the file, for a field that the command does not have, or a value out of its range.
void set_planned(Command& command, const GivenArguments& given);

/// \throws Error{invalid_argument} when the plan that was read says another event, noise or unit than follow here.
void require_as_expected(const ExpectedRun& expected, const PlannedRun& plan);

}  // namespace surety::cli
