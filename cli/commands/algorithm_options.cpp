#include <surety/cli/commands/algorithm_options.h>

#include <fmt/format.h>

#include <algorithm>

#include <surety/accounting/events/format.h>
#include <surety/base/text/error.h>
#include <surety/cli/parser/help.h>
#include <surety/cli/print/output.h>
#include <surety/cli/print/terminal.h>

namespace surety::cli {
namespace {

constexpr std::string_view list_option = "--list-algorithms";

auto place_of(const std::vector<AlgorithmOptions>& all, std::string_view name) {
  return std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.algorithm == name; });
}

/// The option of another algorithm: refused whatever its value is, so that is neither checked nor kept.
Option unread(const Option& option) {
  static bool flag = false;
  static std::string text;
  static std::vector<std::string> texts;
  const jobs::Field::Value nowhere = option.is_flag()         ? jobs::Field::Value{&flag}
                                     : option.is_repeatable() ? jobs::Field::Value{&texts}
                                                              : jobs::Field::Value{&text};
  return {{option.field().name(), nowhere, option.field().help(), {}}, option.is_positional()};
}

}  // namespace

void add_algorithm_options(Command& command, const std::vector<AlgorithmOptions>& all, std::string_view name, bool is_chosen, bool& lists,
                           const Arguments& words) {
  command.options.group("Output")
      .add(std::string{list_option}, lists, "Print what each algorithm is and its own options, and do nothing else")
      .essential();
  if (const auto own = place_of(all, name); own != all.end()) {
    for (const auto& group : own->options.groups()) {
      for (const auto& option : group.options) command.options.group(group.heading).add(option);
    }
    if (is_chosen) command.summary += fmt::format(" {}: {}", own->algorithm, own->summary);
  }
  for (const auto& other : all) {
    for (const auto& group : other.options.groups()) {
      for (const auto& option : group.options) {
        if (command.options.find(option.name()) == nullptr && command.hidden.find(option.name()) == nullptr)
          command.hidden.add(unread(option));
      }
    }
  }
  command.is_help_short = !is_chosen;
  command.more = fmt::format("surety {} --algorithm NAME --help shows all options of that algorithm, with its defaults.", command.name);
  if (std::find(words.begin(), words.end(), list_option) == words.end()) return;
  for (auto& group : command.options.groups()) {
    for (auto& option : group.options) option.required(false);
  }
}

const AlgorithmOptions& options_named(const std::vector<AlgorithmOptions>& all, std::string_view name) { return *place_of(all, name); }

std::vector<std::string> names_of(const std::vector<AlgorithmOptions>& all) {
  std::vector<std::string> names;
  for (const auto& one : all) names.push_back(one.algorithm);
  return names;
}

void require_own_options(const OptionTable& hidden, const std::vector<AlgorithmOptions>& all, std::string_view name) {
  const auto& refusals = options_named(all, name).refusals;
  for (const auto& group : hidden.groups()) {
    for (const auto& option : group.options) {
      if (!option.is_given()) continue;
      for (const auto& [refused, reason] : refusals) {
        if (refused == option.name()) invalid(fmt::format("{} {}", refused, reason));
      }
      std::vector<std::string_view> knowing;
      for (const auto& other : all) {
        if (other.options.find(option.name()) != nullptr) knowing.push_back(other.algorithm);
      }
      invalid(fmt::format("{} is for {}, not for {}", option.name(), fmt::join(knowing, ", "), name));
    }
  }
}

int print_algorithms(const std::vector<AlgorithmOptions>& all) {
  // What three or more have with one default is printed once, with the names of all that have it.
  std::vector<std::pair<std::string, std::vector<std::string_view>>> options;
  std::size_t longest = 0;
  for (const auto& one : all) {
    longest = std::max(longest, one.algorithm.size());
    for (const auto& group : one.options.groups()) {
      for (const auto& option : group.options) {
        const auto text = option.name() + (option.standard().empty() ? "" : fmt::format(" ({})", option.standard()));
        auto found = options.begin();
        while (found != options.end() && found->first != text) ++found;
        if (found == options.end()) found = options.insert(found, {text, {}});
        found->second.push_back(one.algorithm);
      }
    }
  }
  const std::size_t left = longest + 2;
  const std::size_t width = columns_of_output();
  for (const auto& one : all) {
    std::vector<std::string_view> own;
    for (const auto& [text, having] : options) {
      if (having.size() < 3 && std::find(having.begin(), having.end(), one.algorithm) != having.end()) own.emplace_back(text);
    }
    say_lines(wrapped(fmt::format("{:<{}}", one.algorithm, left), one.summary, left, width));
    if (!own.empty()) say_lines(wrapped(std::string(left, ' '), fmt::format("{}", fmt::join(own, ", ")), left, width));
  }
  std::vector<std::pair<std::vector<std::string_view>, std::vector<std::string_view>>> shared;
  for (const auto& [text, having] : options) {
    if (having.size() < 3) continue;
    auto found = shared.begin();
    while (found != shared.end() && found->first != having) ++found;
    if (found == shared.end()) found = shared.insert(found, {having, {}});
    found->second.emplace_back(text);
  }
  say("\nOptions of several:\n");
  for (const auto& [names, texts] : shared) {
    say_lines(wrapped("", fmt::format("{}", fmt::join(texts, ", ")), 0, width));
    say_lines(wrapped("    of", fmt::format("{}", fmt::join(names, ", ")), 7, width));
  }
  return 0;
}

}  // namespace surety::cli
