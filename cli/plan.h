// What a command that charges a ledger is about to do, as one value: --print-plan writes it as JSON, --plan does it, and what the command line
// says becomes one before anything is read or charged.
//
//   {"version": 1, "command": "train", "adjacency": "replace-one", "target": {"epsilon": 1, "delta": 1e-05}, "unit": {"name": "row", "most": 1},
//    "options": {"data": "a.csv", "algorithm": "svrg", "label": "y", "records": 4000, "ledger": "run.db", "model": "m.json"},
//    "event": {...}, "noise": 37.3}
//
// `event`, `noise`, `unit` and `schema_sha256` (with --schema, of its file) follow from the rest. Where they stand in a plan that is read they must be what follows from it here, so a plan
// never runs as something else than it says; a plan that is written by hand may leave them out.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/unit.h>

#include "options.h"

namespace surety::cli {

struct PlannedRun {
  std::string command;  ///< train or release
  const OptionTable& options;
  Target target;
  UnitOfPrivacy unit;
  Event event;                                              ///< all that will be released
  double noise;                                             ///< its multiplier or scale
  std::optional<std::string> schema_sha256 = std::nullopt;  ///< of the file of --schema
};
[[nodiscard]] nlohmann::json to_json(const PlannedRun& plan);
/// The options of a command as its plan says them: those that were given, but for the promise.
[[nodiscard]] nlohmann::json options_json(std::string_view command, const OptionTable& given);

/// What a plan that was read says of what follows from it.
struct ExpectedRun {
  std::string file;
  std::string text;  ///< of the plan, checked
};

/// The words with the options of the plan in the place of --plan FILE, and what that plan expects. Without --plan, or for another command than
/// train and release, the words as they are.
struct PlannedArguments {
  Arguments words;
  std::optional<ExpectedRun> expected = {};
};
/// \throws Error{bad_data} naming the file, when it cannot be read or is no plan of this command.
[[nodiscard]] PlannedArguments with_plan_as_options(const Arguments& words);

/// \throws Error{invalid_argument} when the plan that was read says another event, noise or unit than follow here.
void require_as_expected(const ExpectedRun& expected, const PlannedRun& plan);

}  // namespace surety::cli
