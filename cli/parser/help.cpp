#include <surety/cli/parser/help.h>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include <surety/accounting/events/format.h>

namespace surety::cli {
namespace {

constexpr std::size_t indent_of_entries = 25;  ///< of what is said of an option

/// A name, and beside it what is said of it.
std::string entry(const std::string& name, const std::string& said, std::size_t width) {
  std::string begin = "  " + name;
  if (begin.size() + 1 >= indent_of_entries)
    return begin + "\n" + wrapped(std::string(indent_of_entries, ' '), said, indent_of_entries, width);
  begin.resize(indent_of_entries, ' ');
  return wrapped(std::move(begin), said, indent_of_entries, width);
}

/// The same on one line: the first sentence, or as many of its words as fit.
std::string short_entry(const std::string& name, std::string said, std::size_t width) {
  constexpr std::string_view more = " ...";
  constexpr std::size_t least = 20;  // columns for what is said, also behind a long name
  std::string begin = "  " + name;
  begin.resize(std::max(begin.size() + 1, indent_of_entries), ' ');
  const std::size_t room = std::max(least, width > begin.size() ? width - begin.size() : 0);
  said.erase(std::min(said.find(". "), said.size()));
  if (said.size() > room) {
    const auto end = said.rfind(' ', room - more.size());
    said.erase(end == std::string::npos ? room - more.size() : end);
    said += more;
  }
  return begin + said + "\n";
}

std::string spelled(const Option& option) {
  if (option.is_flag() || option.is_positional()) return option.name();
  const auto names = option.short_name().empty() ? option.name() : fmt::format("{}, {}", option.short_name(), option.name());
  return fmt::format("{} {}", names, option.placeholder());
}

std::string usage_line(const Command& command, const std::string& path, std::size_t width) {
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
  return wrapped("Usage:", line, 7, width);
}

bool has_essential_options(const Command& command) {
  const auto& groups = command.options.groups();
  return std::any_of(groups.begin(), groups.end(), [](const OptionTable::Group& group) {
    return std::any_of(group.options.begin(), group.options.end(), [](const Option& option) { return option.is_essential(); });
  });
}

}  // namespace

std::string wrapped(std::string begin, std::string_view text, std::size_t left, std::size_t width) {
  std::string all;
  std::string line = std::move(begin);
  while (!text.empty()) {
    const auto length = std::min(text.find(' '), text.size());
    const auto word = text.substr(0, length);
    if (word.empty()) {
      text.remove_prefix(1);
      continue;
    }
    if (line.size() + 1 + word.size() > width && line.find_first_not_of(' ') != std::string::npos) {
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

bool is_heading(std::string_view line) { return line.size() > 1 && line.ends_with(':') && line.front() != ' '; }

Footer footer_of(const Command& command) {
  // Notes are wrapped, examples stay as they are.
  const auto examples = std::min(command.footer.find("Example"), command.footer.size());
  Footer footer{.notes = command.footer.substr(0, examples), .examples = command.footer.substr(examples)};
  std::replace(footer.notes.begin(), footer.notes.end(), '\n', ' ');
  return footer;
}

std::string help_of(const Command& command, const std::string& path, const HelpForm& form) {
  std::string text = wrapped("", command.summary, 0, form.width) + "\n" + usage_line(command, path, form.width);
  if (!command.commands.empty()) {
    text += "\nCommands:\n";
    for (const auto& one : command.commands) {
      text += form.is_short ? short_entry(one.name, one.summary, form.width) : entry(one.name, one.summary, form.width);
    }
  }
  const bool is_of_essentials = command.is_help_short || (form.is_short && has_essential_options(command));
  for (const auto& group : command.options.groups()) {
    bool is_begun = false;
    for (const auto& option : group.options) {
      if (is_of_essentials && !option.is_essential()) continue;
      if (!is_begun) text += "\n" + (group.heading.empty() ? std::string{"Options"} : group.heading) + ":\n";
      is_begun = true;
      std::string said = option.help();
      if (form.is_short) {
        text += short_entry(spelled(option), said, form.width);
        continue;
      }
      if (!option.standard().empty()) said += fmt::format(" [{}]", option.standard());
      if (!option.variable().empty()) said += fmt::format(" [${}]", option.variable());
      text += entry(spelled(option), said, form.width);
    }
  }
  if (form.is_short) return text + "\n" + wrapped("", fmt::format("{} --help explains the options and has examples.", path), 0, form.width);
  if (command.is_help_short && !command.more.empty()) text += "\n" + wrapped("", command.more, 0, form.width);
  const auto [notes, examples] = footer_of(command);
  if (!notes.empty()) text += "\n" + wrapped("", notes, 0, form.width);
  if (!examples.empty()) text += "\n" + examples + "\n";
  return text;
}

}  // namespace surety::cli
