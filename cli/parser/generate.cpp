#include <surety/cli/parser/generate.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include <surety/cli/parser/help.h>

namespace surety::cli {
namespace {

/// A command that runs, and the words behind the program's name that call it.
struct Called {
  const Command* command;
  std::vector<std::string> words;
};

void collect(const Command& command, const std::vector<std::string>& words, std::vector<Called>& all) {
  for (const auto& one : command.commands) {
    auto inner = words;
    inner.push_back(one.name);
    all.push_back({&one, inner});
    collect(one, inner, all);
  }
}

/// All of them, those with commands of their own included.
std::vector<Called> all_called(const Command& surety) {
  std::vector<Called> all;
  collect(surety, {}, all);
  return all;
}

/// The options of a command, and those of its algorithms that it has only when such an algorithm is named.
std::vector<const Option*> all_options(const Command& command) {
  std::vector<const Option*> all;
  for (const auto* table : {&command.options, &command.hidden}) {
    for (const auto& group : table->groups()) {
      for (const auto& option : group.options) all.push_back(&option);
    }
  }
  return all;
}

/// The words of which the value of an option is one; empty where it is another text.
std::vector<std::string> words_of(const Option& option) {
  if (option.name() == "--adjacency") return {"add-or-remove-one", "replace-one", "zero-out"};
  const auto* const words = std::get_if<jobs::OneOfWords>(&option.field().constraint());
  return words == nullptr ? std::vector<std::string>{} : words->words;
}

// ---- man(7)

/// A text in which nothing is a request or an escape of roff.
std::string roff(std::string_view text) {
  std::string safe;
  for (std::size_t k = 0; k < text.size(); ++k) {
    const bool begins_line = k == 0 || text[k - 1] == '\n';
    if (begins_line && (text[k] == '.' || text[k] == '\'')) safe += "\\&";
    switch (text[k]) {
      case '\\': safe += "\\e"; break;
      case '-': safe += "\\-"; break;
      case '\'': safe += "\\(aq"; break;
      case '`': safe += "\\(ga"; break;
      case '^': safe += "\\(ha"; break;
      case '~': safe += "\\(ti"; break;
      default: safe += text[k];
    }
  }
  return safe;
}

std::string roff_of(const Option& option) {
  std::string help = option.help();
  if (!option.standard().empty()) help += fmt::format(" [{}]", option.standard());
  if (!option.variable().empty()) help += fmt::format(" [${}]", option.variable());
  std::string head = fmt::format("\\fB{}\\fR", roff(option.name()));
  if (!option.short_name().empty()) head = fmt::format("\\fB{}\\fR, {}", roff(option.short_name()), head);
  if (option.is_positional()) head = fmt::format("\\fI{}\\fR", roff(option.name()));
  if (!option.is_positional() && !option.is_flag()) head += fmt::format(" \\fI{}\\fR", option.placeholder());
  return fmt::format(".TP\n{}\n{}\n", head, roff(help));
}

std::string synopsis(const Command& command, const std::string& path) {
  std::string line = fmt::format("\\fB{}\\fR", roff(path));
  for (const auto* option : all_options(command)) {
    if (option->is_positional()) {
      const auto name = fmt::format("\\fI{}\\fR", roff(option->name()));
      line += option->is_required() ? " " + name : " [" + name + "]";
    } else if (option->is_required()) {
      line += fmt::format(" \\fB{}\\fR", roff(option->name()));
      if (!option->is_flag()) line += fmt::format(" \\fI{}\\fR", option->placeholder());
    }
  }
  if (!command.commands.empty()) return line + " \\fICOMMAND\\fR\n";
  return line + " [\\fIoptions\\fR]\n";
}

/// The options under their headings, notes and examples. \param heading the macro of a heading: "SH" or "SS"
std::string body(const Command& command, std::string_view heading) {
  std::string text;
  for (const auto& group : command.options.groups()) {
    if (group.options.empty()) continue;
    text += fmt::format(".{} \"{}\"\n", heading, roff(group.heading.empty() ? "Options" : group.heading));
    for (const auto& option : group.options) text += roff_of(option);
  }
  bool is_begun = false;
  for (const auto& group : command.hidden.groups()) {
    for (const auto& option : group.options) {
      if (!is_begun) {
        text += fmt::format(".{} \"Options of algorithms\"\nEach is of some algorithms: \\fB\\-\\-list\\-algorithms\\fR shows which.\n",
                            heading);
      }
      is_begun = true;
      text += roff_of(option);
    }
  }
  const auto [notes, examples] = footer_of(command);
  if (!notes.empty()) text += fmt::format(".{} Notes\n{}\n", heading, roff(notes));
  if (const auto end = examples.find('\n'); end != std::string::npos) {
    text += fmt::format(".{} Examples\n.nf\n{}\n.fi\n", heading, roff(std::string_view{examples}.substr(end + 1)));
  }
  return text;
}

std::string page_name(const std::string& path) {
  std::string name = path;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

// ---- shells

/// Inside apostrophes of a POSIX shell.
std::string shell_quoted(std::string_view text) {
  std::string safe{"'"};
  for (const char letter : text) {
    if (letter == '\'') {
      safe += "'\\''";
    } else {
      safe += letter;
    }
  }
  return safe + "'";
}

/// The first sentence of a help, for a list of options: at most 100 bytes.
std::string brief(std::string_view help) {
  constexpr std::size_t longest = 100;
  auto end = std::min(help.find(". "), help.size());
  if (end > longest) end = std::min(help.rfind(' ', longest), longest);
  return std::string{help.substr(0, end)};
}

std::vector<std::string> names_of(const Command& command) {
  std::vector<std::string> names;
  for (const auto* option : all_options(command)) {
    if (option->is_positional()) continue;
    names.push_back(option->name());
    if (!option->short_name().empty()) names.push_back(option->short_name());
  }
  names.emplace_back("--help");
  return names;
}

constexpr std::string_view of_program = "--help --version --generate";

/// As _arguments of zsh takes it.
std::string zsh_of(const Option& option) {
  const auto escaped = [](std::string text, std::string_view letters) {
    for (std::size_t k = 0; k < text.size(); ++k) {
      if (letters.find(text[k]) != std::string_view::npos) text.insert(k++, "\\");
    }
    return text;
  };
  std::string spec = option.is_repeatable() ? "*" : "";
  spec += fmt::format("{}[{}]", option.name(), escaped(brief(option.help()), "[]:\\"));
  if (!option.is_flag()) {
    const auto words = words_of(option);
    spec += fmt::format(":{}:", option.placeholder());
    spec += words.empty() ? "_files" : fmt::format("({})", fmt::join(words, " "));
  }
  return shell_quoted(spec);
}

}  // namespace

std::string man_page(const Command& command, const std::string& path, std::string_view version) {
  std::string name = page_name(path);
  std::string title = name;
  std::transform(title.begin(), title.end(), title.begin(),
                 [](char letter) { return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter; });
  std::string text = fmt::format(".TH \"{}\" 1 \"\" \"surety {}\" \"User Commands\"\n", roff(title), roff(version));
  text += fmt::format(".SH NAME\n{} \\- {}\n", roff(name), roff(command.summary));
  text += fmt::format(".SH SYNOPSIS\n{}", synopsis(command, path));
  const bool is_whole = path.find(' ') == std::string::npos;
  for (const auto& [one, words] : all_called(command)) {
    const auto inner = fmt::format("{} {}", path, fmt::join(words, " "));
    text += fmt::format(".SH \"{}\"\n{}\n.PP\n{}{}", roff(inner), roff(one->summary), synopsis(*one, inner), body(*one, "SS"));
  }
  text += body(command, "SH");
  text += ".SH \"SEE ALSO\"\n";
  text += is_whole ? "The guides and the reference are in the folder doc/surety of the installation.\n" : "\\fBsurety\\fR(1)\n";
  return text;
}

std::string bash_completion(const Command& surety) {
  const auto all = all_called(surety);
  std::string known;
  std::string values;
  std::vector<std::string> names;
  for (const auto& one : surety.commands) names.push_back(one.name);
  std::string options = fmt::format("    '') words={} ;;\n", shell_quoted(fmt::format("{} {}", fmt::join(names, " "), of_program)));
  for (const auto& [command, words] : all) {
    const auto called = fmt::format(" {}", fmt::join(words, " "));
    known += fmt::format("      {}) command={} ;;\n", shell_quoted(called), shell_quoted(called));
    std::vector<std::string> offered = names_of(*command);
    for (const auto& inner : command->commands) offered.push_back(inner.name);
    options += fmt::format("    {}) words={} ;;\n", shell_quoted(called), shell_quoted(fmt::format("{}", fmt::join(offered, " "))));
    for (const auto* option : all_options(*command)) {
      if (option->is_flag() || option->is_positional()) continue;
      const auto value = words_of(*option);
      if (!value.empty())
        values += fmt::format("    {}) words={} ;;\n", shell_quoted(called + ":" + option->name()),
                              shell_quoted(fmt::format("{}", fmt::join(value, " "))));
    }
  }
  return fmt::format(R"(# bash completion for surety: surety --generate bash > /etc/bash_completion.d/surety
_surety() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} command='' words='' k
  for ((k = 1; k < COMP_CWORD; k++)); do
    case "$command ${{COMP_WORDS[k]}}" in
{}    esac
  done
  if [ "$previous" = = ]; then previous=${{COMP_WORDS[COMP_CWORD-2]}}; elif [ "$current" = = ]; then current=''; fi
  case "$command:$previous" in
    ':--generate') words='man bash zsh fish' ;;
{}  esac
  if [ -n "$words" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    return
  fi
  case "$command" in
{}  esac
  # Without an option or a command to complete, the shell completes a file.
  if [ "${{current:0:1}}" = - ] || [ -z "$command" ] || [ "$command" = ' ledger' ]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  else
    COMPREPLY=()
  fi
}}
complete -o default -F _surety surety
)",
                     known, values, options);
}

std::string zsh_completion(const Command& surety) {
  const auto described = [](const Command& command) {
    std::string list;
    for (const auto& one : command.commands) {
      std::string summary = brief(one.summary);
      std::replace(summary.begin(), summary.end(), ':', ',');
      list += fmt::format("        {}\n", shell_quoted(one.name + ":" + summary));
    }
    return list;
  };
  const auto arguments = [](const Command& command) {
    std::string text = "      _arguments -S '--help[Show the options and examples]'";
    for (const auto* option : all_options(command)) {
      if (!option->is_positional()) text += " \\\n        " + zsh_of(*option);
    }
    return text + " \\\n        '*:file:_files'\n";
  };
  std::string cases;
  for (const auto& command : surety.commands) {
    cases += fmt::format("    {})\n", command.name);
    if (command.commands.empty()) {
      cases += arguments(command);
    } else {
      cases += fmt::format(
          "      if (( CURRENT == 3 )); then\n        commands=(\n{}        )\n        _describe command commands\n        return\n      fi\n",
          described(command));
      cases += "      case ${words[3]} in\n";
      for (const auto& inner : command.commands) cases += fmt::format("    {})\n{}      ;;\n", inner.name, arguments(inner));
      cases += "      esac\n";
    }
    cases += "      ;;\n";
  }
  return fmt::format(R"(#compdef surety
# zsh completion for surety: surety --generate zsh > a file _surety in a folder of $fpath
_surety() {{
  local -a commands
  if (( CURRENT == 2 )); then
    commands=(
{}    )
    _describe command commands
    _arguments '--help[Show the commands]' '--version[Print the version]' '--generate[Print a page or completions]:form:(man bash zsh fish)'
    return
  fi
  case ${{words[2]}} in
{}  esac
}}
_surety "$@"
)",
                     described(surety), cases);
}

std::string fish_completion(const Command& surety) {
  std::string text = "# fish completion for surety: surety --generate fish > ~/.config/fish/completions/surety.fish\n";
  text += "complete -c surety -n __fish_use_subcommand -l generate -x -a 'man bash zsh fish' -d 'Print a page or completions'\n";
  text += "complete -c surety -n __fish_use_subcommand -l version -d 'Print the version'\n";
  text += "complete -c surety -l help -d 'Show the options and examples'\n";
  const auto fish_quoted = [](std::string_view said) {
    std::string safe{"'"};
    for (const char letter : said) {
      if (letter == '\'' || letter == '\\') safe += '\\';
      safe += letter;
    }
    return safe + "'";
  };
  for (const auto& [command, words] : all_called(surety)) {
    const bool is_inner = words.size() > 1;
    const auto before = is_inner ? fish_quoted(fmt::format("__fish_seen_subcommand_from {}; and not __fish_seen_subcommand_from {}",
                                                           words.front(), words.back()))
                                 : std::string{"__fish_use_subcommand"};
    text += fmt::format("complete -c surety -n {} -f -a {} -d {}\n", before, words.back(), fish_quoted(brief(command->summary)));
    std::string inside;
    for (const auto& word : words) inside += fmt::format("{}__fish_seen_subcommand_from {}", inside.empty() ? "" : "; and ", word);
    // `show` is a command, and one of `ledger`.
    if (!is_inner && command->commands.empty()) {
      for (const auto& other : surety.commands) {
        const auto has_it = [name = std::string_view{command->name}](const Command& inner) { return inner.name == name; };
        if (std::any_of(other.commands.begin(), other.commands.end(), has_it))
          inside += fmt::format("; and not __fish_seen_subcommand_from {}", other.name);
      }
    }
    for (const auto* option : all_options(*command)) {
      if (option->is_positional()) continue;
      text += fmt::format("complete -c surety -n {} -l {}", fish_quoted(inside), option->name().substr(2));
      if (!option->short_name().empty()) text += fmt::format(" -s {}", option->short_name().substr(1));
      const auto value = words_of(*option);
      if (!value.empty()) text += fmt::format(" -x -a {}", fish_quoted(fmt::format("{}", fmt::join(value, " "))));
      if (value.empty() && !option->is_flag()) text += " -r";
      text += fmt::format(" -d {}\n", fish_quoted(brief(option->help())));
    }
  }
  return text;
}

}  // namespace surety::cli
