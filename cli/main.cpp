// surety: calibrate, account, train, predict, audit, ledger.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include "command.h"
#include "output.h"

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

namespace {

/// One line on standard error, whatever `message` holds.
int fail(int code, std::string message) {
  for (auto& c : message) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  fmt::print(stderr, "surety: error: {}\n", message);
  return code;
}

int run(int argc, char** argv) {
  CLI::App app{"Differential privacy that stands behind its numbers: calibrate noise, audit what was spent, train private models.",
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
  add_train(app, chosen);
  add_predict(app, chosen);
  add_audit(app, chosen);
  add_ledger(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return fail(exit_code::usage, error.what());
  }
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
  try {
    return cli::run(argc, argv);
  } catch (const Error& error) {
    return cli::fail(cli::exit_code_of(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return cli::fail(cli::exit_code::environment, "memory is exhausted");
  } catch (const std::exception& error) {
    return cli::fail(cli::exit_code::internal, error.what());
  }
}
