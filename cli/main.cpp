// surety: calibrate, account, curve, release, train, predict, simulate, audit, ledger.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <system_error>

#include <surety/accounting/numbers/error.h>
#include <surety/accounting/system/new_file.h>

#include "command.h"
#include "output.h"
#include "ranks.h"

namespace surety::cli {

int exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::budget_exceeded: return exit_code::broken;
    case ErrorCode::invalid_argument:
    case ErrorCode::unsupported: return exit_code::usage;
    case ErrorCode::bad_data: return exit_code::bad_data;
    case ErrorCode::damaged_ledger: return exit_code::damaged_ledger;
    case ErrorCode::environment: return exit_code::environment;
    case ErrorCode::unreachable:
    case ErrorCode::memory: return exit_code::unreachable;
    case ErrorCode::internal: return exit_code::internal;
  }
  return exit_code::internal;
}

int fail(int code, const std::string& message) {
  // Messages cut what they repeat of a user's text to 200 characters each; this is for those of other libraries.
  constexpr std::size_t most = 1000;
  std::fputs(fmt::format("surety: error: {}\n", one_line(message, most)).c_str(), stderr);
  return code;
}

Failure failure_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Failure& failure) {
    return failure;
  } catch (const Error& refusal) {
    return {exit_code_of(refusal.code()), refusal.what()};
  } catch (const std::bad_alloc&) {
    return {exit_code::environment, "memory is exhausted"};
  } catch (const std::system_error& refusal) {  // of printing to a full disk
    return {exit_code::environment, refusal.what()};
  } catch (const std::exception& defect) {
    return {exit_code::internal, defect.what()};
  }
}

namespace {

/// The parser's refusals in the words of the others: name, value, constraint.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  // A word too many explains best why another one seems to be missing.
  if (const auto unexpected = app.remaining(true); !unexpected.empty()) {
    std::string command = app.get_name();
    for (const auto* chosen = &app; !chosen->get_subcommands().empty();) {
      chosen = chosen->get_subcommands().front();
      command += " " + chosen->get_name();
    }
    return fmt::format("'{}' is not expected, must be what '{} --help' shows", one_line(unexpected.front()), command);
  }
  std::string message = error.what();
  if (error.get_name() == "ValidationError") {
    if (const auto colon = message.find(": "); colon != std::string::npos) message.erase(colon, 1);
  }
  return message;
}

/// Makes descriptors 0 to 2 exist. A file opened later would otherwise become, say, standard error, and receive its text. What is
/// put in their place refuses to be used, so that lost output is noticed.
void claim_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) == -1) static_cast<void>(open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  }
}

int run(int argc, char** argv) {
  CLI::App app{
      "Differential privacy that stands behind its numbers: calibrate noise, audit what was spent, release private statistics, train "
      "private models.",
      "surety"};
  app.set_version_flag("--version", "surety " SURETY_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 fine, 1 budget exceeded or promise broken, 2 usage, 3 bad data, 4 damaged ledger,\n"
      "5 environment (full disk, no entropy), 6 unreachable target, 70 internal.\n"
      "Each command has --help with examples.");
  Action chosen;
  add_calibrate(app, chosen);
  add_account(app, chosen);
  add_curve(app, chosen);
  add_release(app, chosen);
  add_train(app, chosen);
  add_predict(app, chosen);
  add_simulate(app, chosen);
  add_audit(app, chosen);
  add_ledger(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      let_the_first_speak();
      return fail(exit_code::usage, usage_message(app, error));
    }
    app.exit(error);  // prints --help or --version
    finish_output();
    return exit_code::fine;
  }
  if (!app.got_subcommand("train")) require_one_process();
  const int code = chosen();
  finish_output();
  return code;
}

}  // namespace
}  // namespace surety::cli

int main(int argc, char** argv) {
  using namespace surety;
  // A file size limit is to be an error of the write, not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  cli::claim_standard_descriptors();
  accounting::remove_new_files_on_signals();
  try {
    return cli::run(argc, argv);
  } catch (...) {
    const auto failure = cli::failure_of(std::current_exception());
    return cli::fail(failure.code, failure.message);
  }
}
