// What every command of surety shares: help, version, usage errors, and output that cannot be written.
#include <support/surety_process.h>

namespace surety_test::command_test {
namespace {

const std::vector<Words> commands{{"account"},        {"calibrate"}, {"train"},   {"predict"},          {"audit"},
                                  {"simulate"},       {"schema"},    {"convert"}, {"ledger", "create"}, {"ledger", "list"},
                                  {"ledger", "show"}, {"report"}};

TEST(Command, HasHelpWithAnExampleForEveryCommand) {
  for (const auto& command : commands) {
    const auto outcome = surety(command + Words{"--help"});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_NE(outcome.out.find("Example"), std::string::npos) << joined(command);
    EXPECT_NE(outcome.out.find("surety " + command.front()), std::string::npos) << joined(command);
  }
  const auto outcome = surety({"--help"});
  EXPECT_EQ(outcome.code, 0);
  for (const auto& command : commands) EXPECT_NE(outcome.out.find(command.front()), std::string::npos);
  EXPECT_NE(outcome.out.find("Exit codes: 0 fine"), std::string::npos);
}

TEST(Command, SaysItsVersion) {
  const auto outcome = surety({"--version"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(std::regex_match(outcome.out, std::regex{R"(surety \d+\.\d+\.\d+\n)"})) << outcome.out;
}

TEST(Command, ShowsItsHelpWithoutAWordAndForTheWordHelp) {
  const auto help = surety({"--help"}).out;
  EXPECT_EQ(surety({}).out, help);
  EXPECT_EQ(surety({"help"}).out, help);
  for (const auto& command : commands) EXPECT_EQ(surety(Words{"help"} + command).out, surety(command + Words{"--help"}).out);
  expect_refused({"help", "destroy"}, 2, {"'destroy'"});
}

TEST(Command, KeepsItsHelpToEightyColumnsButForExamples) {
  for (const auto& command : commands) {
    std::istringstream lines{surety(command + Words{"--help"}).out};
    for (std::string line; std::getline(lines, line) && line.rfind("Example", 0) != 0;) EXPECT_LE(line.size(), 80U) << line;
  }
}

TEST(Command, AsksWhatAWordWasMeantToBe) {
  const Words event{"--event", "gaussian(1)", "--delta", "1e-5"};
  expect_refused({"clibrate"}, 2, {"'clibrate' is not expected", "; did you mean 'calibrate'?"});
  expect_refused({"ledger", "craete"}, 2, {"did you mean 'create'?"});
  expect_refused(Words{"account", "--adjacencyy", "replace-one"} + event, 2, {"did you mean '--adjacency'?"});
  expect_refused(Words{"account", "--adjacencyy=replace-one"} + event, 2, {"did you mean '--adjacency'?"});
  expect_refused(Words{"account", "--adjacency", "add-or-remove"} + event, 2, {"did you mean 'add-or-remove-one'?"});
  expect_refused(Words{"curve", "--adjacency", "zero-out", "--event", "gaussian(1)", "--format", "jsno"}, 2, {"did you mean 'json'?"});
  for (const char* far : {"frobnicate", "x", ""}) {
    const auto outcome = surety({far});
    EXPECT_EQ(outcome.err.find("did you mean"), std::string::npos) << outcome.err;
  }
}

TEST(Command, RefusesWhatIsNoCommand) {
  expect_refused({"ledger"}, 2, {"subcommand"});
  expect_refused({"calibrat"}, 2, {"'calibrat'", "surety --help"});
  expect_refused({""}, 2);
  expect_refused({"ledger", "destroy"}, 2, {"'destroy'", "surety ledger --help"});
  expect_refused({"--json", "account"}, 2, {"'--json'"});
}

// CLI11 looked without end for what an empty word in the place of an argument means.
TEST(Command, RefusesAnEmptyWord) {
  for (const auto& command : commands) {
    for (const Words& rest :
         {Words{""}, Words{"", "--delta=1e-6"}, Words{"x", "", "--delta=1e-6"}, Words{"x", "--frobnicate=", "--delta=1e-6"}}) {
      expect_refused(command + rest, 2);
    }
  }
  for (const Words& words : {Words{"release", "x", "", "--epsilon=1"}, Words{"release", "x", "--queyy=", "--unit=who", "--epsilon=1"}}) {
    expect_refused(words, 2, {"is not expected"});
  }
}

TEST(Command, RefusesUnknownOptionsByNameOfEveryCommand) {
  for (const auto& command : commands) {
    std::string help = "surety";
    for (const auto& word : command) help += " " + word;
    expect_refused(command + Words{"--frobnicate"}, 2, {"'--frobnicate'", help + " --help"});
    expect_refused(command + Words{"--json", "--frobnicate=3"}, 2, {"--frobnicate"});
    expect_refused(command + Words{"--json"}, 2, {"is required"});
  }
}

TEST(Command, PrintsErrorsOnStandardErrorAlsoUnderJson) {
  const auto outcome = surety({"account", "--event", "gaussian(0)", "--adjacency", "replace-one", "--delta", "1e-5", "--json"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(is_one_error_line(outcome.err)) << outcome.err;
}

TEST(Command, KeepsErrorsOnOneLineWhateverTheyRepeat) {
  expect_refused({"account", "--event", "gaussian(\n1\r2\x1b[31m)", "--adjacency", "replace-one", "--delta", "1e-5"}, 2);
  expect_refused({"audit", "no\nsuch\nfile", "--delta", "1e-5"}, 5);
  expect_refused({"frob\nnicate"}, 2);
  expect_refused({"account", "--event", std::string(100000, 'x'), "--adjacency", "replace-one", "--delta", "1e-5"}, 2);
}

TEST(Command, NoticesThatItsOutputIsLost) {
  const Words account{"account", "--event", "gaussian(1)", "--adjacency", "replace-one", "--delta", "1e-5"};
  for (const Words& arguments : {account, account + Words{"--json"}, Words{"--help"}, Words{"--version"}, Words{"train", "--help"}}) {
    for (const auto& around : {Surroundings{.standard_output = "/dev/full"}, Surroundings{.close_output = true}}) {
      const auto outcome = surety(arguments, around);
      EXPECT_EQ(outcome.code, 5) << joined(arguments);
      EXPECT_NE(outcome.err.find("must accept"), std::string::npos) << outcome.err;
    }
  }
}

TEST(Command, KeepsItsExitCodeWithoutStandardError) {
  const Words bad{"account", "--event", "gaussian(0)", "--adjacency", "replace-one", "--delta", "1e-5"};
  EXPECT_EQ((Process{bad, {.standard_error = "/dev/full"}}.finish().code), 2);
  EXPECT_EQ((Process{bad, {.close_error = true}}.finish().code), 2);
}

}  // namespace
}  // namespace surety_test::command_test
