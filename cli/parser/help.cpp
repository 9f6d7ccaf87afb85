#include <surety/cli/parser/help.h>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include <surety/accounting/events/format.h>

namespace surety::cli {
namespace {

constexpr std::size_t line_width = 100;
constexpr std::size_t indent_of_entries = 25;  ///< of what is said of an option

/// A name, and beside it what is said of it.
std::string entry(const std::string& name, const std::string& said) {
  std::string begin = "  " + name;
  if (begin.size() + 1 >= indent_of_entries) return begin + "\n" + wrapped(std::string(indent_of_entries, ' '), said, indent_of_entries);
  begin.resize(indent_of_entries, ' ');
  return wrapped(std::move(begin), said, indent_of_entries);
}

std::string spelled(const Option& option) {
  if (option.is_flag() || option.is_positional()) return option.name();
  return fmt::format("{} {}", option.name(), option.placeholder());
}

std::string usage_line(const Command& command, const std::string& path) {
  std::string line = path;
  bool is_more = false;
  for (const auto& group : command.options.groups()) {
    for (const auto& option : group.options) {
      if (option.is_required()) {
        line += " " + spelled(option);
      } else if (option.is_positional()) {
        line += " [" + option.name() + "]";
      } else {
        is_more = true;
      }
    }
  }
  if (is_more) line += " [options]";
  if (!command.commands.empty()) line += " COMMAND";
  return wrapped("Usage:", line, 7);
}

}  // namespace

std::string wrapped(std::string begin, std::string_view text, std::size_t left) {
  std::string all;
  std::string line = std::move(begin);
  while (!text.empty()) {
    const auto length = std::min(text.find(' '), text.size());
    const auto word = text.substr(0, length);
    if (word.empty()) {
      text.remove_prefix(1);
      continue;
    }
    if (line.size() + 1 + word.size() > line_width && line.find_first_not_of(' ') != std::string::npos) {
      all += line + "\n";
      line.assign(left, ' ');
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
    line += word;
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return all + line + "\n";
}

std::string help_of(const Command& command, const std::string& path) {
  std::string text = wrapped("", command.summary, 0) + "\n" + usage_line(command, path);
  if (!command.commands.empty()) {
    text += "\nCommands:\n";
    for (const auto& one : command.commands) text += entry(one.name, one.summary);
  }
  for (const auto& group : command.options.groups()) {
    bool is_begun = false;
    for (const auto& option : group.options) {
      if (command.is_help_short && !option.is_essential()) continue;
      if (!is_begun) text += "\n" + (group.heading.empty() ? std::string{"Options"} : group.heading) + ":\n";
      is_begun = true;
      std::string said = option.help();
      if (!option.standard().empty()) said += fmt::format(" [{}]", option.standard());
      text += entry(spelled(option), said);
    }
  }
  if (command.is_help_short && !command.more.empty()) text += "\n" + command.more + "\n";
  // Notes are wrapped, examples stay as they are.
  const auto examples = std::min(command.footer.find("Example"), command.footer.size());
  std::string notes = command.footer.substr(0, examples);
  std::replace(notes.begin(), notes.end(), '\n', ' ');
  if (!notes.empty()) text += "\n" + wrapped("", notes, 0);
  if (examples < command.footer.size()) text += "\n" + command.footer.substr(examples) + "\n";
  return text;
}

}  // namespace surety::cli
