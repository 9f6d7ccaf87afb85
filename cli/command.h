// The seam between the command line and the commands: each command adds its subcommand to the parser and, when it is the one
// chosen, leaves what to run. Commands run after parsing, so an error of theirs is never taken for one of usage.
#pragma once

#include <CLI/CLI.hpp>
#include <exception>
#include <functional>
#include <string>

#include <surety/accounting/events/units.h>

namespace surety::cli {

/// What to run; returns the exit code.
using Action = std::function<int()>;

/// Exit codes, as documented in the README.
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

void add_account(CLI::App& app, Action& chosen);
void add_calibrate(CLI::App& app, Action& chosen);
void add_curve(CLI::App& app, Action& chosen);
void add_train(CLI::App& app, Action& chosen);
void add_predict(CLI::App& app, Action& chosen);
void add_release(CLI::App& app, Action& chosen);
void add_simulate(CLI::App& app, Action& chosen);
void add_audit(CLI::App& app, Action& chosen);
void add_ledger(CLI::App& app, Action& chosen);

}  // namespace surety::cli
