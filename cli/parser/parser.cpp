// The one file that knows the library that parses: it takes ten times as long to compile as what uses it.
#include <surety/cli/parser/parser.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <iterator>

#include <surety/accounting/events/format.h>
#include <surety/accounting/events/words.h>
#include <surety/base/text/error.h>
#include <surety/jobs/plans/other_words.h>

namespace surety::cli {
namespace {

/// Stands for an empty argument: CLI11 takes an empty word for the name of a group of options, and may then look for its options without end. No argument of a
/// process has a NUL in it.
constexpr std::string_view empty_word{"\0empty", 6};
std::string argument_of(const std::string& word) { return word == empty_word ? std::string{} : word; }

/// Names of the library for kinds of values, which stand in its message of a value that is missing.
const char* type_name(const Option& option) {
  if (option.placeholder() == "NUMBER") return "FLOAT";
  return option.placeholder() == "COUNT" ? "UINT" : "TEXT";
}

/// \pre options that a plan gives are set
void give(CLI::App& app, Option& option) {
  if (option.is_flag()) {
    app.add_flag_callback(option.name(), [&option] { option.set({}); });
    return;
  }
  const auto names = option.short_name().empty() ? option.name() : fmt::format("{},{}", option.short_name(), option.name());
  auto* given = app.add_option(names, CLI::callback_t{[&option, planned = option.given()](const CLI::results_t& words) {
                                 if (!planned.empty() && !option.is_repeatable()) {
                                   invalid(fmt::format("{} is given by the plan, too; remove one of them", option.name()));
                                 }
                                 auto texts = planned;
                                 std::transform(words.begin(), words.end(), std::back_inserter(texts), argument_of);
                                 option.set(texts);
                                 return true;
                               }});
  given->type_name(type_name(option));
  if (option.is_repeatable()) given->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args(false);
  given->check(CLI::Validator{[&option](const std::string& word) { return jobs::fault_of(option.field().constraint(), argument_of(word)); },
                              "", ""});
  given->required(option.is_required() && !option.is_given() && option.value_of_variable().empty());
}

/// What one of these words replaces is not required.
void require_no_replaced(Command& command, const Arguments& words) {
  for (auto& group : command.options.groups()) {
    for (auto& option : group.options) {
      const auto& other = option.replacement();
      const auto replaces = [&](const std::string& word) { return word == other || word.starts_with(other + "="); };
      if (!other.empty() && std::any_of(words.begin(), words.end(), replaces)) option.required(false);
    }
  }
}

void give(CLI::App& app, OptionTable& table, const std::vector<std::string>& exactly_one_of) {
  CLI::App* question = nullptr;
  if (!exactly_one_of.empty()) {
    question = app.add_option_group("question");
    const bool is_planned =
        std::any_of(exactly_one_of.begin(), exactly_one_of.end(), [&](const std::string& name) { return table.find(name)->is_given(); });
    if (!is_planned) question->require_option(1);
  }
  for (auto& group : table.groups()) {
    for (auto& option : group.options) {
      const bool is_asked = std::find(exactly_one_of.begin(), exactly_one_of.end(), option.name()) != exactly_one_of.end();
      give(is_asked ? *question : app, option);
    }
  }
  for (const auto& group : table.groups()) {
    for (const auto& option : group.options) {
      if (!option.excluded().empty()) app.get_option(option.name())->excludes(app.get_option(option.excluded()));
    }
  }
}

void give(CLI::App& parent, Command& command) {
  auto& app = *parent.add_subcommand(command.name, command.summary);
  give(app, command.options, command.exactly_one_of);
  give(app, command.hidden, {});
  for (auto& one : command.commands) give(app, one);
  if (!command.commands.empty()) app.require_subcommand(1);
}

/// Refuses options that exclude each other where a plan gives one of them: the library sees the other alone.
void require_compatible(const Command& command) {
  std::vector<std::string> asked;
  for (const auto& name : command.exactly_one_of) {
    if (command.options.find(name)->is_given()) asked.push_back(name);
  }
  if (asked.size() > 1) invalid(fmt::format("cannot combine {}; remove all but one", fmt::join(asked, " with ")));
  for (const auto& group : command.options.groups()) {
    for (const auto& option : group.options) {
      if (option.excluded().empty() || !option.is_given() || !command.options.find(option.excluded())->is_given()) continue;
      invalid(fmt::format("cannot combine {} with {}; remove one", option.name(), option.excluded()));
    }
  }
}

/// Takes from the environment what neither the words nor a plan give.
void take_variables(Command& command) {
  for (auto& group : command.options.groups()) {
    for (auto& option : group.options) {
      if (option.is_given() || option.value_of_variable().empty()) continue;
      const auto& others = option.variable_unless();
      const bool is_replaced = std::any_of(others.begin(), others.end(), [&](const std::string& other) {
        const auto* const found = command.options.find(other);
        return found != nullptr && found->is_given();
      });
      if (!is_replaced) option.set_by_variable();
    }
  }
}

/// The same command where it may be changed.
Command& changeable(Command& surety, const Command& chosen) {
  for (auto& one : surety.commands) {
    if (&one == &chosen) return one;
    for (auto& inner : one.commands) {
      if (&inner == &chosen) return inner;
    }
  }
  return surety;
}

/// The command that was chosen, as far as it was.
Request chosen_by(const CLI::App& app, const Command& surety) {
  Request request{.command = &surety, .path = surety.name};
  for (const auto* chosen = &app; !chosen->get_subcommands().empty();) {
    chosen = chosen->get_subcommands().front();
    for (const auto& one : request.command->commands) {
      if (one.name == chosen->get_name()) {
        request.command = &one;
        break;
      }
    }
    request.path += " " + chosen->get_name();
  }
  return request;
}

/// What a word might have been meant to be.
std::vector<std::string_view> known_words(const Command& command, bool is_option) {
  std::vector<std::string_view> known;
  if (!is_option) {
    for (const auto& one : command.commands) known.push_back(one.name);
    return known;
  }
  for (const auto* table : {&command.options, &command.hidden}) {
    for (const auto& group : table->groups()) {
      for (const auto& option : group.options) {
        if (!option.is_positional()) known.push_back(option.name());
      }
    }
  }
  known.emplace_back("--help");
  return known;
}

/// What a message says of an option or a command that is a word of another tool; empty for others.
std::string meaning_of_other(const Command& command, const std::string& path, const std::string& word) {
  if (!word.starts_with(mark_of_options)) {
    for (const auto& [other, own, says] : jobs::other_commands()) {
      if (other == word && !command.commands.empty() && path.find(' ') == std::string::npos) {
        return fmt::format("unknown command {}; Surety calls it '{} {}'", one_line(word), path, own);
      }
    }
    return {};
  }
  std::vector<std::string_view> fields;
  std::vector<std::string_view> positional;
  for (const auto* table : {&command.options, &command.hidden}) {
    for (const auto& group : table->groups()) {
      for (const auto& option : group.options) {
        fields.push_back(option.field().name());
        if (option.is_positional()) positional.push_back(option.field().name());
      }
    }
  }
  const auto meaning =
      jobs::meaning_of(std::string_view{word}.substr(mark_of_options.size()), fields).printed([&](const std::string& field) {
        const bool is_positional = std::find(positional.begin(), positional.end(), field) != positional.end();
        return is_positional ? fmt::format("{} and takes it without an option, after the command", field) : option_name(field);
      });
  return meaning.empty() ? std::string{} : fmt::format("unknown option {}; {}", one_line(word), meaning);
}

std::string unexpected_word(const CLI::App& app, const Command& surety, const std::string& unexpected_argument) {
  const std::string unexpected = argument_of(unexpected_argument);
  const auto request = chosen_by(app, surety);
  const std::string word = unexpected.substr(0, unexpected.find('='));
  if (auto meaning = meaning_of_other(*request.command, request.path, word); !meaning.empty()) {
    return fmt::format("{} ('{} --help')", meaning, request.path);
  }
  return fmt::format("'{}' is not expected, must be what '{} --help' shows{}", one_line(unexpected), request.path,
                     did_you_mean(word, known_words(*request.command, word.starts_with('-'))));
}

/// The library's refusals in the words of the others: name, value, constraint.
std::string usage_message(const CLI::App& app, const Command& surety, const CLI::ParseError& error) {
  // A word too many explains best why another one seems to be missing.
  if (const auto unexpected = app.remaining(true); !unexpected.empty()) return unexpected_word(app, surety, unexpected.front());
  std::string message = error.what();
  if (error.get_name() == "ValidationError") {
    if (const auto colon = message.find(": "); colon != std::string::npos) message.erase(colon, 1);
  }
  return message;
}

/// The arguments with each "--name=" split into "--name" and an empty value, and `empty_word` for what is empty. CLI11 would take the argument behind "--name="
/// as its value, and an option would be lost.
Arguments with_empty_values(const Arguments& words) {
  Arguments split;
  bool may_be_options = true;
  for (const auto& word : words) {
    may_be_options = may_be_options && word != "--";
    const bool has_empty_value = may_be_options && word.starts_with("--") && word.find('=') == word.size() - 1;
    split.push_back(has_empty_value ? word.substr(0, word.size() - 1) : word);
    if (has_empty_value) split.emplace_back();
  }
  std::replace(split.begin(), split.end(), std::string{}, std::string{empty_word});
  return split;
}

}  // namespace

Request parse(Command& surety, const Arguments& given) {
  const auto words = with_empty_values(given);
  CLI::App app{surety.summary, surety.name};
  app.set_version_flag("--version", "");
  app.require_subcommand(1);
  for (auto& command : surety.commands) {
    require_no_replaced(command, words);
    give(app, command);
  }
  Request::Wish wish = Request::Wish::run;
  try {
    app.parse(Arguments{words.rbegin(), words.rend()});  // which takes them from the end
  } catch (const CLI::CallForHelp&) {
    // Help for what is no command would be that of another.
    if (const auto unexpected = app.remaining(true); !unexpected.empty() && !unexpected.front().starts_with('-')) {
      invalid(unexpected_word(app, surety, unexpected.front()));
    }
    wish = Request::Wish::help;
  } catch (const CLI::CallForVersion&) {
    wish = Request::Wish::version;
  } catch (const CLI::ParseError& error) {
    invalid(usage_message(app, surety, error));
  }
  auto request = chosen_by(app, surety);
  request.wish = wish;
  const auto is_given = [&](std::string_view word) { return std::find(given.begin(), given.end(), word) != given.end(); };
  request.is_help_short = wish == Request::Wish::help && is_given("-h") && !is_given("--help");
  if (wish == Request::Wish::run) {
    require_compatible(*request.command);
    take_variables(changeable(surety, *request.command));
  }
  return request;
}

}  // namespace surety::cli
