#include <surety/cli/process/run.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iterator>
#include <string>
#include <string_view>

#include <surety/accounting/events/format.h>
#include <surety/base/text/error.h>
#include <surety/base/text/safe_text.h>
#include <surety/cli/commands/command.h>
#include <surety/cli/commands/plan.h>
#include <surety/cli/parser/generate.h>
#include <surety/cli/parser/help.h>
#include <surety/cli/parser/limit.h>
#include <surety/cli/parser/parser.h>
#include <surety/cli/print/failure.h>
#include <surety/cli/print/output.h>
#include <surety/cli/print/progress.h>
#include <surety/cli/print/terminal.h>
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
          "Each command has --help with examples, -h for the options in short, and --json; --json=2 has one shape for all of them.\n"
          "--version says which surety this is; --generate man, bash, zsh or fish prints a manual page or completions."};
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
  surety.commands.push_back(report_command());
  for (auto& command : surety.commands) {
    if (std::find(commands_with_a_limit.begin(), commands_with_a_limit.end(), command.name) != commands_with_a_limit.end()) {
      add_limit_to(command);
    }
    if (command.name != "schema" && command.name != "show" && command.name != "noise") add_progress_to(command);
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

/// Takes the version from --json=1 and --json=2: the option itself is --json. \return the version
int take_json_version(Arguments& words) {
  constexpr std::string_view beginning = "--json=";
  int version = 1;
  for (auto& word : words) {
    if (word == "--") break;
    if (!word.starts_with(beginning)) continue;
    const auto said = word.substr(beginning.size());
    if (said != "1" && said != "2") invalid(fmt::format("--json is '{}', must be 1 or 2", one_line(said)));
    version = said == "2" ? 2 : 1;
    word = "--json";
  }
  return version;
}

/// The first words, as far as they are a command: "ledger create". For errors before the command is known.
std::string command_in(const Arguments& words) {
  const auto is_name = [](const std::string& word) {
    return !word.empty() && std::all_of(word.begin(), word.end(), [](char letter) { return letter >= 'a' && letter <= 'z'; });
  };
  if (words.empty() || !is_name(words.front())) return "";
  return words.front() == "ledger" && words.size() > 1 && is_name(words[1]) ? words[0] + " " + words[1] : words.front();
}

constexpr std::string_view generate_option = "--generate";

/// surety --generate man train
void generate(const Arguments& words) {
  const Arguments rest{words.begin() + std::min<std::ptrdiff_t>(2, std::ssize(words)), words.end()};
  const std::string form = words.size() > 1 ? words[1] : "";
  const auto surety = surety_command({});
  if (form == "man") {
    const Command* command = &surety;
    std::string path = surety.name;
    for (const auto& word : rest) {
      const auto found =
          std::find_if(command->commands.begin(), command->commands.end(), [&](const Command& one) { return one.name == word; });
      if (found == command->commands.end()) invalid(fmt::format("'{}' is no command of '{}'", one_line(word), path));
      command = &*found;
      path += " " + word;
    }
    return say_lines(man_page(*command, path, SURETY_VERSION));
  }
  if (!rest.empty()) invalid(fmt::format("'{}' is not expected after --generate {}", one_line(rest.front()), one_line(form)));
  if (form == "bash") return say_lines(bash_completion(surety));
  if (form == "zsh") return say_lines(zsh_completion(surety));
  if (form == "fish") return say_lines(fish_completion(surety));
  invalid(fmt::format("--generate is '{}', must be {}", one_line(form), generated_forms));
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

/// Of a run on several ranks the first one shows progress and prints objects.
bool is_first_rank() noexcept {
  try {
    const auto launch = launched_by_mpirun();
    return !launch || launch->rank == 0;
  } catch (...) {  // what the launcher says is refused where ranks start
    return true;
  }
}

void show_progress(const Command& command) {
  const auto* const option = command.options.find(progress_option);
  if (is_first_rank()) begin_progress(option != nullptr && option->is_given());
}

int run(const Request& request) {
  switch (request.wish) {
    // What cannot be written is noticed at the end.
    case Request::Wish::help:
      say_help(help_of(*request.command, request.path, {.width = columns_of_output(), .is_short = request.is_help_short}));
      break;
    case Request::Wish::version: say("surety {}\n", SURETY_VERSION); break;
    case Request::Wish::run:
      if (request.command->name != "train") require_one_process();
      show_progress(*request.command);
      return request.command->run(*request.command);
  }
  return exit_code::fine;
}

}  // namespace

int run_command(const Arguments& given) {
  Arguments words = given;
  set_json_form(1, "");
  try {
    set_json_form(take_json_version(words), command_in(words));
    Command surety;
    int code = exit_code::fine;
    if (!words.empty() && words.front() == generate_option) {
      generate(words);
    } else {
      code = run(request_of(words, surety));
    }
    finish_output();
    return code;
  } catch (...) {
    const auto failure = failure_of(std::current_exception());
    const int code = fail(failure.code, failure.message);
    if (is_first_rank()) print_failure(failure.error, failure.code, failure.message);
    static_cast<void>(std::fflush(stdout));  // which may be what failed
    return code;
  }
}

}  // namespace surety::cli
