// The commands.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <surety/cli/commands/plan.h>
#include <surety/cli/parser/options.h>
#include <surety/cli/print/failure.h>

namespace surety::cli {

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
[[nodiscard]] Command train_command(const GivenArguments& given);
[[nodiscard]] Command predict_command();
[[nodiscard]] Command show_command();
[[nodiscard]] Command release_command(const GivenArguments& given);
[[nodiscard]] Command schema_command();
[[nodiscard]] Command noise_command();
[[nodiscard]] Command convert_command();
[[nodiscard]] Command audit_command();
[[nodiscard]] Command ledger_command();
[[nodiscard]] Command report_command();

}  // namespace surety::cli
