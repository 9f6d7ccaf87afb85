#include <surety/cli/process/run.h>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <string>

#include <surety/accounting/events/format.h>
#include <surety/base/text/error.h>
#include <surety/cli/commands/command.h>
#include <surety/cli/commands/plan.h>
#include <surety/cli/parser/help.h>
#include <surety/cli/parser/limit.h>
#include <surety/cli/parser/parser.h>
#include <surety/cli/print/output.h>
#include <surety/cli/ranks/ranks.h>
#include <surety/cli/simulate/simulate.h>

namespace surety::cli {

namespace {

Command surety_command(const GivenArguments& given) {
  Command surety{
      .name = "surety",
      .summary =
          "Differential privacy that stands behind its numbers: calibrate noise, audit what was spent, release private statistics, train private models.",
      .footer =
          "Exit codes: 0 fine, 1 budget exceeded or promise broken, 2 usage, 3 bad data, 4 damaged ledger,\n"
          "5 environment (full disk, no entropy), 6 unreachable target, or no answer in the memory and time allowed, 70 internal.\n"
          "Each command has --help with examples; --version says which surety this is."};
  surety.commands.push_back(calibrate_command());
  surety.commands.push_back(account_command());
  surety.commands.push_back(curve_command());
  surety.commands.push_back(release_command(given));
  surety.commands.push_back(train_command(given));
  surety.commands.push_back(convert_command());
  surety.commands.push_back(predict_command());
  surety.commands.push_back(show_command());
  surety.commands.push_back(schema_command());
  surety.commands.push_back(noise_command());
  surety.commands.push_back(simulate_command(given.words));
  surety.commands.push_back(audit_command());
  surety.commands.push_back(ledger_command());
  for (auto& command : surety.commands) {
    if (std::find(commands_with_a_limit.begin(), commands_with_a_limit.end(), command.name) != commands_with_a_limit.end()) {
      add_limit_to(command);
    }
    if (given.expected && command.name == given.words.front()) set_planned(command, given);
  }
  return surety;
}

/// `surety`, `surety help` and `surety help train` ask for what --help shows.
Arguments with_help_as_option(Arguments words) {
  if (!words.empty() && words.front() != "help") return words;
  if (!words.empty()) words.erase(words.begin());
  words.emplace_back("--help");
  return words;
}

Request request_of(const Arguments& words, Command& surety) {
  try {
    const auto given = with_plan(with_help_as_option(words));
    surety = surety_command(given);
    return parse(surety, given.words);
  } catch (const Error&) {
    let_the_first_speak();
    throw;
  }
}

int run(const Request& request) {
  switch (request.wish) {
    // What cannot be written is noticed at the end.
    case Request::Wish::help: say_lines(help_of(*request.command, request.path)); break;
    case Request::Wish::version: say("surety {}\n", SURETY_VERSION); break;
    case Request::Wish::run:
      if (request.command->name != "train") require_one_process();
      return request.command->run(*request.command);
  }
  return exit_code::fine;
}

}  // namespace

int run_command(const Arguments& words) {
  try {
    Command surety;
    const int code = run(request_of(words, surety));
    finish_output();
    return code;
  } catch (...) {
    const auto failure = failure_of(std::current_exception());
    return fail(failure.code, failure.message);
  }
}

}  // namespace surety::cli
