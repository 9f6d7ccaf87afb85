// How help is laid out: groups, -h, the width and the colour of the terminal. Pages and completions that are made from the same tables.
#include <support/surety_process.h>
#include <support/terminal.h>
#include <support/variable.h>

namespace surety_test::help_test {
namespace {

const std::vector<Words> commands{{"account"},        {"audit"},          {"calibrate"}, {"convert"}, {"curve"},   {"ledger", "create"},
                                  {"ledger", "list"}, {"ledger", "show"}, {"noise"},     {"predict"}, {"release"}, {"report"},
                                  {"schema"},         {"show"},           {"simulate"},  {"train"}};

std::size_t longest_line(const std::string& text) {
  std::istringstream lines{text};
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line) && !line.starts_with("Example");) longest = std::max(longest, line.size());
  return longest;
}

/// The options that a help shows, in its order.
std::vector<std::string> options_in(const std::string& help) {
  static const std::regex option{R"(\n  (-[a-z], )?(--[a-z0-9-]+))"};
  std::vector<std::string> found;
  for (std::sregex_iterator it{help.begin(), help.end(), option}, end; it != end; ++it) found.push_back((*it)[2]);
  return found;
}

TEST(Help, OfTrainHasWhatEverybodyNeedsInGroups) {
  const auto help = surety({"train", "--help"}).out;
  std::size_t before = 0;
  for (const auto& [heading, options] :
       std::vector<std::pair<std::string, Words>>{{"Data", {"--label", "--format"}},
                                                  {"Columns", {"--bounds", "--categories", "--drop", "--schema"}},
                                                  {"Owners", {"--unit", "--most"}},
                                                  {"Promise", {"--epsilon", "--delta", "--adjacency"}},
                                                  {"Ledger", {"--ledger"}},
                                                  {"Output", {"--model", "--json"}}}) {
    const auto begin = help.find("\n" + heading + ":\n");
    ASSERT_NE(begin, std::string::npos) << heading;
    EXPECT_GT(begin, before) << heading;
    before = begin;
    const auto group = help.substr(begin, help.find("\n\n", begin) - begin);
    for (const auto& option : options) EXPECT_NE(group.find("\n  " + option), std::string::npos) << option << " in " << group;
  }
  EXPECT_LE(std::count(help.begin(), help.end(), '\n'), 100);
}

TEST(Help, InShortHasOneLineForEachOption) {
  for (const auto& command : commands) {
    const auto whole = surety(command + Words{"--help"}).out;
    const auto in_short = surety(command + Words{"-h"}).out;
    EXPECT_LT(in_short.size(), whole.size()) << joined(command);
    EXPECT_EQ(in_short.find("Example"), std::string::npos);
    EXPECT_NE(in_short.find("--help explains"), std::string::npos);
    for (const auto& option : options_in(in_short)) EXPECT_NE(whole.find(" " + option), std::string::npos) << option;
    EXPECT_EQ(surety(command + Words{"-h", "--help"}).out, whole);
  }
  const auto lines = surety({"train", "-h"}).out;
  EXPECT_LE(std::count(lines.begin(), lines.end(), '\n'), 60);
}

TEST(Help, IsAsWideAsTheTerminal) {
  const Variable none{"COLUMNS", std::nullopt};
  EXPECT_LE(longest_line(surety({"account", "--help"}).out), 80U);
  EXPECT_GT(longest_line(surety({"account", "--help"}).out), 70U);
  for (const unsigned short columns : {std::uint16_t{60}, std::uint16_t{110}}) {
    const ShownTerminal terminal{columns};
    EXPECT_EQ(surety({"schema", "-h"}, {.standard_output = terminal.name()}).code, 0);
    const Variable plain{"NO_COLOR", "1"};
    EXPECT_EQ(surety({"schema", "--help"}, {.standard_output = terminal.name()}).code, 0);
    const auto shown = terminal.shown();
    EXPECT_LE(longest_line(shown), std::size_t{columns} + 8) << shown;  // of the colour of headings in the first
    EXPECT_GT(longest_line(shown) + 20, std::size_t{columns});
  }
  for (const auto& [said, columns] :
       std::vector<std::pair<const char*, std::size_t>>{{"50", 50}, {"1", 50}, {"100000", 120}, {"wide", 80}, {"", 80}, {"-5", 80}}) {
    const Variable variable{"COLUMNS", said};
    EXPECT_LE(longest_line(surety({"account", "--help"}).out), columns) << said;
    EXPECT_GT(longest_line(surety({"account", "--help"}).out), columns - 15) << said;
  }
}

TEST(Help, HasColourOnATerminalAlone) {
  const Variable none{"NO_COLOR", std::nullopt};
  const Variable term{"TERM", "xterm"};
  EXPECT_EQ(surety({"schema", "--help"}).out.find('\x1b'), std::string::npos);
  const auto on_terminal = [] {
    const ShownTerminal terminal;
    EXPECT_EQ(surety({"schema", "--help"}, {.standard_output = terminal.name()}).code, 0);
    return terminal.shown();
  };
  EXPECT_NE(on_terminal().find("\x1b[1mOptions:\x1b[0m\n"), std::string::npos);
  {
    const Variable no_colour{"NO_COLOR", "1"};
    EXPECT_EQ(on_terminal(), surety({"schema", "--help"}).out);
  }
  {
    const Variable dumb{"TERM", "dumb"};
    EXPECT_EQ(on_terminal(), surety({"schema", "--help"}).out);
  }
  const ShownTerminal terminal;
  EXPECT_EQ((Process{{"frobnicate"}, {.standard_error = terminal.name()}}.finish().code), 2);
  EXPECT_TRUE(terminal.shown().starts_with("\x1b[31msurety: error:\x1b[0m 'frobnicate'"));
}

class Generated : public CommandTest {
 protected:
  std::string made(const std::string& form) const {
    const auto outcome = surety({"--generate", form});
    EXPECT_EQ(outcome.code, 0);
    write(path(form), outcome.out);
    return outcome.out;
  }
  /// What a program prints, both streams, and its exit code in the last line.
  [[nodiscard]] static std::string printed_by(const std::string& line) {
    std::string text;
    FILE* const pipe = popen((line + " 2>&1; echo \"code $?\"").c_str(), "r");
    std::array<char, 4096> buffer{};
    while (fgets(buffer.data(), buffer.size(), pipe) != nullptr) text += buffer.data();
    pclose(pipe);
    return text;
  }
  [[nodiscard]] static bool is_installed(const std::string& program) { return printed_by("command -v " + program).ends_with("code 0\n"); }
  /// What bash offers for these words, the last of which is being written.
  [[nodiscard]] std::string completed(const Words& words) const {
    std::string line = "source " + path("bash") + "; COMP_WORDS=(surety";
    for (const auto& word : words) line += " '" + word + "'";
    line += "); COMP_CWORD=" + std::to_string(words.size()) + "; _surety; echo \"${COMPREPLY[*]}\"";
    write(path("line"), line);
    const auto text = printed_by("bash -eu " + path("line"));
    return text.substr(0, text.find("\ncode"));
  }
};

TEST_F(Generated, HasEveryOptionOfEveryCommand) {
  const auto man = made("man");
  std::map<std::string, std::string> forms;
  for (const char* form : {"bash", "zsh", "fish"}) forms[form] = made(form);
  std::set<std::string> all;
  for (const auto& command : commands) {
    for (const auto& option : options_in(surety(command + Words{"--help"}).out)) all.insert(option);
  }
  const auto list = surety({"train", "--list-algorithms"}).out +
                    surety({"simulate", "--instance", "dense", "--algorithm", "random", "--list-algorithms"}).out;
  static const std::regex option{R"(--[a-z0-9-]+)"};
  for (std::sregex_iterator it{list.begin(), list.end(), option}, end; it != end; ++it) all.insert(it->str());
  EXPECT_GT(all.size(), 100U);
  for (const auto& name : all) {
    EXPECT_NE(man.find("\\fB" + std::regex_replace(name, std::regex{"-"}, "\\-") + "\\fR"), std::string::npos) << name;
    EXPECT_TRUE(std::regex_search(forms["bash"], std::regex{name + "[ ']"})) << name;
    EXPECT_NE(forms["zsh"].find(name + "["), std::string::npos) << name;
    EXPECT_NE(forms["fish"].find(" -l " + name.substr(2) + " "), std::string::npos) << name;
  }
}

TEST_F(Generated, PagesAreWellFormed) {
  made("man");
  write(path("train"), surety({"--generate", "man", "train"}).out);
  write(path("create"), surety({"--generate", "man", "ledger", "create"}).out);
  ASSERT_TRUE(is_installed("groff"));
  for (const char* page : {"man", "train", "create"}) EXPECT_EQ(printed_by("groff -man -ww -z " + path(page)), "code 0\n") << page;
  const auto shown = printed_by("groff -man -ww -Tutf8 -P-cbou " + path("create"));
  EXPECT_NE(shown.find("surety ledger create ledger --adjacency TEXT"), std::string::npos) << shown;
  EXPECT_NE(shown.find("--planned 'repeat(1000, poisson(0.01, gaussian(1)))'"), std::string::npos)
      << "an example as it is typed: " << shown;
}

TEST_F(Generated, CompletionsOfBashComplete) {
  made("bash");
  EXPECT_EQ(completed({"acc"}), "account");
  EXPECT_EQ(completed({"--gen"}), "--generate");
  EXPECT_EQ(completed({"--generate", "b"}), "bash");
  EXPECT_EQ(completed({"account", "--adj"}), "--adjacency");
  EXPECT_EQ(completed({"account", "--adjacency", "z"}), "zero-out");
  EXPECT_EQ(completed({"account", "--adjacency", "=", "r"}), "replace-one");
  EXPECT_EQ(completed({"train", "x.csv", "--algorithm", "dp"}), "dp-sgd");
  EXPECT_EQ(completed({"train", "x.csv", "--noise-m"}), "--noise-multiplier");
  EXPECT_EQ(completed({"ledger", "c"}), "create");
  EXPECT_EQ(completed({"ledger", "create", "x.db", "--pla"}), "--planned");
  EXPECT_EQ(completed({"ledger", "show", "--pla"}), "");
  // The value of another option is no command.
  EXPECT_EQ(completed({"account", "--event", "train", "--bou"}), "");
  EXPECT_EQ(completed({"audit", "run"}), "") << "a file, which the shell completes";
}

TEST_F(Generated, CompletionsOfOtherShellsAreWellFormed) {
  for (const char* shell : {"zsh", "fish"}) {
    made(shell);
    if (!is_installed(shell)) continue;
    EXPECT_EQ(printed_by(std::string{shell} + " -n " + path(shell)), "code 0\n") << shell;
  }
  if (!is_installed("fish")) return;
  const auto offered = [&](const std::string& line) {
    return printed_by("fish --no-config -c 'source " + path("fish") + "; complete -C \"" + line + "\"'");
  };
  EXPECT_NE(offered("surety account --adj").find("--adjacency\t"), std::string::npos);
  EXPECT_NE(offered("surety account --adjacency z").find("zero-out"), std::string::npos);
  EXPECT_NE(offered("surety ledger c").find("create\t"), std::string::npos);
  EXPECT_EQ(offered("surety ledger show --sv").find("--svg"), std::string::npos) << "of the other show";
  EXPECT_NE(offered("surety show --sv").find("--svg"), std::string::npos);
}

TEST_F(Generated, RefusesOtherForms) {
  expect_refused({"--generate"}, 2, {"--generate is '', must be man, bash, zsh or fish"});
  expect_refused({"--generate", "csh"}, 2, {"must be man, bash, zsh or fish"});
  expect_refused({"--generate", "man", "fit"}, 2, {"'fit' is no command of 'surety'"});
  expect_refused({"--generate", "bash", "train"}, 2, {"'train' is not expected"});
}

}  // namespace
}  // namespace surety_test::help_test
