// Each algorithm's help lists the options that it accepts and no others, and one of another algorithm is refused by its name.
#include <support/surety_process.h>

namespace surety_test::algorithms_test {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream{text};
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The options of a help, with what stands for their values: {"--steps", "COUNT"}.
std::map<std::string, std::string> options_in(const std::string& help) {
  std::map<std::string, std::string> options;
  const std::regex option{"^  (--[a-z0-9-]+)( [A-Z]+)?( .*)?$"};
  for (const auto& line : lines_of(help)) {
    std::smatch found;
    if (std::regex_match(line, found, option)) options[found[1]] = found[2].matched ? found.str(2).substr(1) : "";
  }
  return options;
}

/// The algorithms of a command, by its table for the documents.
std::vector<std::string> algorithms_of(const std::string& command) {
  std::vector<std::string> names;
  for (const auto& line : lines_of(surety({command, "--list-algorithms"}).out)) {
    if (line.rfind("| `", 0) == 0 && line.rfind("| `--", 0) != 0) names.push_back(line.substr(3, line.find('`', 3) - 3));
  }
  return names;
}

class Algorithms : public CommandTest {
 protected:
  /// Words with which nothing is missing, and nothing runs: the ledger's folder is not there.
  [[nodiscard]] Words words(const std::string& command, const std::string& algorithm) const {
    const Words chosen{command, "--algorithm", algorithm};
    if (command == "simulate") return chosen + Words{"--instance", algorithm == "projection-free" ? "dense" : "simplex"};
    return chosen + Words{path("data.csv"), "--label",         "y", "--epsilon", "1", "--delta", "1e-5", "--ledger", path("missing/run.db"),
                          "--model",        path("model.json")};
  }

  void expect_help_to_list_what_is_accepted(const std::string& command) const {
    const auto names = algorithms_of(command);
    std::map<std::string, std::map<std::string, std::string>> of;
    std::map<std::string, std::string> all;
    for (const auto& name : names) {
      of[name] = options_in(surety({command, "--algorithm", name, "--help"}).out);
      all.insert(of[name].begin(), of[name].end());
    }
    for (const auto& name : names) {
      if (name == "auto") continue;  // it chooses whoever knows an option
      const auto base = words(command, name);
      for (const auto& [option, value] : all) {
        if (option == "--list-algorithms" || option == "--plan" || std::find(base.begin(), base.end(), option) != base.end()) continue;
        const auto outcome = surety(base + (value.empty() ? Words{option} : Words{option, "1"}));
        EXPECT_NE(outcome.code, 0);
        const std::string begin = "surety: error: " + option + " is ";
        const bool is_foreign = outcome.err.rfind(begin + "for ", 0) == 0 || outcome.err.rfind(begin + "not for " + name, 0) == 0;
        EXPECT_EQ(is_foreign, !of[name].contains(option)) << joined(base) << " " << option << "\n" << outcome.err;
      }
    }
  }
};

TEST_F(Algorithms, OfTrainListExactlyTheOptionsThatTheyAccept) {
  EXPECT_EQ(algorithms_of("train").size(), 21U);
  expect_help_to_list_what_is_accepted("train");
}

TEST_F(Algorithms, OfSimulateListExactlyTheOptionsThatTheyAccept) {
  EXPECT_EQ(algorithms_of("simulate"), (Words{"hdb", "ucb", "random", "projection-free"}));
  expect_help_to_list_what_is_accepted("simulate");
}

TEST_F(Algorithms, RefuseAnOptionOfOthersByTheirNames) {
  expect_refused_untouched(words("train", "gradient-descent") + Words{"--microbatch", "2"}, 2,
                           {"--microbatch is for dp-sgd, not for gradient-descent"});
  expect_refused_untouched(words("train", "svrg") + Words{"--geometry", "l1"}, 2, {"--geometry is for mirror-descent, not for svrg"});
  expect_refused_untouched(
      words("train", "gossip") + Words{"--threads", "2"}, 2,
      {"--threads is for shaped-descent, gradient-descent, accelerated-gradient-descent, mirror-descent, svrg, svrg++, output-perturbation, objective-perturbation, sufficient-statistics, not for gossip"});
}

TEST_F(Algorithms, OfOneNameHaveDefaultsOfTheirOwn) {
  const auto has = [&](const std::string& algorithm, const std::string& option, const std::string& said) {
    const auto help = surety({"train", "--algorithm", algorithm, "--help"}).out;
    const auto at = help.find("\n  " + option + " ");
    ASSERT_NE(at, std::string::npos) << algorithm << option;
    const auto end = std::min(help.find("\n  --", at + 1), help.find("\n\n", at + 1));
    EXPECT_NE(help.substr(at, end - at).find(said), std::string::npos) << help.substr(at, end - at);
  };
  has("gradient-descent", "--steps", "[100]");
  has("mirror-descent", "--steps", "[30]");
  has("svrg", "--epochs", "[5]");
  has("svrg++", "--epochs", "[3]");
  has("output-perturbation", "--regularization", "[0.01]");
  has("noisy-frank-wolfe", "--clip", "[1, of squared loss");
  has("online-frank-wolfe", "--clip", "[0.5, of squared loss");
}

TEST_F(Algorithms, AreListedForTheDocuments) {
  const auto table = surety({"train", "--list-algorithms"}).out;
  EXPECT_NE(table.find("| `svrg` | "), std::string::npos);
  // An option of an algorithm is there once: in its row, or in that of all that have it.
  for (const auto& name : algorithms_of("train")) {
    for (const auto& [option, value] : options_in(surety({"train", "--algorithm", name, "--help"}).out)) {
      if (table.find("`" + option + "`") == std::string::npos) continue;
      int times = 0;
      for (const auto& line : lines_of(table)) {
        if (line.find(" | ") == std::string::npos) continue;
        const bool of_several = line.rfind("| `--", 0) == 0;
        const auto having = ", " + line.substr(line.find(" | ") + 3);
        const bool is_its =
            of_several ? having.find(", " + name + ",") != std::string::npos || having.find(", " + name + " |") != std::string::npos
                       : line.rfind("| `" + name + "` |", 0) == 0;
        if (is_its && line.find("`" + option + "`") != std::string::npos) ++times;
      }
      EXPECT_EQ(times, 1) << name << " " << option;
    }
  }
  EXPECT_NE(table.find("`--epochs` (5)"), std::string::npos) << table;
}

TEST_F(Algorithms, LeaveTheShortHelpOnOneScreen) {
  for (const char* command : {"train", "simulate"}) {
    const auto lines = lines_of(surety({command, "--help"}).out);
    EXPECT_LE(lines.size(), 40U) << command;
    bool is_example = false;
    for (const auto& line : lines) {
      is_example = is_example || line == "Examples:";
      EXPECT_TRUE(is_example || line.size() <= 100) << line;
    }
  }
}

TEST_F(Algorithms, AreMeantWhereTheirNamesAreMistyped) {
  expect_refused_untouched(words("train", "svgr"), 2, {"--algorithm is 'svgr', must be auto or", "; did you mean 'svrg'?"});
  expect_refused_untouched(words("train", "dp-sgd") + Words{"--loss", "logistc"}, 2, {"did you mean 'logistic'?"});
  expect_refused_untouched(words("train", "dp-sgd") + Words{"--batchsize", "3"}, 2,
                           {"'--batchsize' is not expected", "did you mean '--batch-size'?"});
  expect_refused_untouched(words("simulate", "hbd"), 2, {"did you mean 'hdb'?"});
  expect_refused_untouched({"release", path("data.csv"), "--query", "maen(x)", "--epsilon", "1", "--ledger", path("run.db")}, 2,
                           {"--query has 'maen'", "did you mean 'mean'?"});
}

}  // namespace
}  // namespace surety_test::algorithms_test
