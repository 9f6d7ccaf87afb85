// The commands, and how they end.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <surety/accounting/events/units.h>

#include "options.h"
#include "plan.h"

namespace surety::cli {

/// Exit codes, as documented in docs/reference/exit-codes.md.
namespace exit_code {
inline constexpr int fine = 0;
inline constexpr int broken = 1;
inline constexpr int usage = 2;
inline constexpr int bad_data = 3;
inline constexpr int damaged_ledger = 4;
inline constexpr int environment = 5;
inline constexpr int unreachable = 6;
inline constexpr int internal = 70;
}  // namespace exit_code

[[nodiscard]] int exit_code_of(ErrorCode code);

/// What ended a command: its exit code and what is said about it.
struct Failure {
  int code;
  std::string message;
};
[[nodiscard]] Failure failure_of(const std::exception_ptr& error);
/// Prints one line on standard error, whatever `message` holds, and returns `code`; silent where standard error cannot be written.
int fail(int code, const std::string& message);

/// A command with options of its own, which `describe(command, table, options)` lays out and `run` reads; they live as long as the command.
template <class Options, class Describe>
[[nodiscard]] Command make_command(std::string name, std::string summary, int (*run)(const Options&), Describe describe) {
  Command command{.name = std::move(name), .summary = std::move(summary)};
  const auto options = std::make_shared<Options>();
  describe(command, command.options, *options);
  command.run = [options, run](const Command&) { return run(*options); };
  return command;
}

[[nodiscard]] Command account_command();
[[nodiscard]] Command calibrate_command();
[[nodiscard]] Command curve_command();
[[nodiscard]] Command train_command(const PlannedArguments& given);
[[nodiscard]] Command predict_command();
[[nodiscard]] Command release_command(const PlannedArguments& given);
[[nodiscard]] Command schema_command();
[[nodiscard]] Command convert_command();
[[nodiscard]] Command simulate_command(const Arguments& words);
[[nodiscard]] Command audit_command();
[[nodiscard]] Command ledger_command();

}  // namespace surety::cli
