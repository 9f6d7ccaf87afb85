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

/// What --list-algorithms prints.
struct Listing {
  std::vector<std::string> names;
  std::map<std::string, std::string> of;                        ///< each algorithm's summary and own options
  std::vector<std::pair<std::string, std::string>> of_several;  ///< an option, and the algorithms that have it
};

Listing listing_of(const std::string& command) {
  Listing listing;
  bool is_shared = false;
  for (const auto& line : lines_of(surety({command, "--list-algorithms"}).out)) {
    EXPECT_LE(line.size(), 100U) << line;
    const auto text = line.substr(std::min(line.find_first_not_of(' '), line.size()));
    if (text.empty() || text == "Options of several:") {
      is_shared = true;
    } else if (is_shared && line.starts_with("    of ")) {
      listing.of_several.back().second = text.substr(3);
    } else if (is_shared && line.starts_with(" ")) {
      listing.of_several.back().second += " " + text;
    } else if (is_shared && (listing.of_several.empty() || !listing.of_several.back().second.empty())) {
      listing.of_several.emplace_back(text, "");
    } else if (is_shared) {
      listing.of_several.back().first += " " + text;
    } else if (line.starts_with(" ")) {
      listing.of[listing.names.back()] += " " + text;
    } else {
      listing.names.push_back(line.substr(0, line.find(' ')));
      listing.of[listing.names.back()] = text;
    }
  }
  return listing;
}

std::vector<std::string> algorithms_of(const std::string& command) { return listing_of(command).names; }

/// How often a name is in a list, whose texts in parentheses may have others.
int times(const std::string& text, const std::string& name) {
  std::string names;
  int depth = 0;
  for (const char letter : text) {
    depth += letter == '(' ? 1 : 0;
    if (depth == 0) names += letter == ',' ? ' ' : letter;
    depth -= letter == ')' ? 1 : 0;
  }
  std::istringstream words{names};
  int count = 0;
  for (std::string word; words >> word;) count += word == name ? 1 : 0;
  return count;
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
    const auto entry = std::regex_replace(help.substr(at, end - at), std::regex{R"(\s+)"}, " ");  // whatever the width of its lines
    EXPECT_NE(entry.find(said), std::string::npos) << entry;
  };
  has("gradient-descent", "--steps", "[100]");
  has("mirror-descent", "--steps", "[30]");
  has("svrg", "--epochs", "[5]");
  has("svrg++", "--epochs", "[3]");
  has("output-perturbation", "--regularization", "[0.01]");
  has("noisy-frank-wolfe", "--clip", "[1, of squared loss");
  has("online-frank-wolfe", "--clip", "[0.5, of squared loss");
}

TEST_F(Algorithms, AreListedForATerminal) {
  const auto listing = listing_of("train");
  EXPECT_EQ(listing.of.at("svrg").find("svrg  "), 0U);
  // An option of an algorithm is there once: with its own, or with those of all that have it.
  for (const auto& name : listing.names) {
    for (const auto& [option, value] : options_in(surety({"train", "--algorithm", name, "--help"}).out)) {
      const auto is_listed = [&option = option](const auto& entry) { return times(entry.first, option) + times(entry.second, option) > 0; };
      if (std::none_of(listing.of.begin(), listing.of.end(), is_listed) &&
          std::none_of(listing.of_several.begin(), listing.of_several.end(), is_listed)) {
        continue;  // all algorithms share it
      }
      int found = times(listing.of.at(name), option);
      for (const auto& [options, having] : listing.of_several) {
        if (times(having, name) > 0) found += times(options, option);
      }
      EXPECT_EQ(found, 1) << name << " " << option;
    }
  }
  EXPECT_NE(listing.of.at("dp-sgd").find("--epochs (5)"), std::string::npos);
  // The papers' names.
  const auto bandits = listing_of("simulate");
  for (const auto& [name, of_paper] : std::map<std::string, std::string>{{"gradient-descent", "DP-GD"},
                                                                         {"mirror-descent", "DP-AccMD"},
                                                                         {"dp-sgd", "DP-SGD"},
                                                                         {"svrg", "DP-SVRG"},
                                                                         {"svrg++", "DP-SVRG++"},
                                                                         {"online-frank-wolfe", "DP-TOFW"},
                                                                         {"private-ftrl", "DP-FTRL"},
                                                                         {"polyhedral-frank-wolfe", "DP-POFW"},
                                                                         {"noisy-sgd", "NoisySGD"},
                                                                         {"noisy-frank-wolfe", "NoisySFW"},
                                                                         {"gossip", "DOLA"},
                                                                         {"hdb", "DP-HDB"},
                                                                         {"projection-free", "PrivateBandit"},
                                                                         {"ucb", "DP-UCB"}}) {
    const auto& all = listing.of.contains(name) ? listing : bandits;
    EXPECT_NE(all.of.at(name).find("(" + of_paper), std::string::npos) << name;
  }
  EXPECT_NE(bandits.of.at("projection-free").find("TreeBasedAgg is --factorization tree"), std::string::npos);
}

TEST_F(Algorithms, LeaveTheShortHelpOnOneScreen) {
  for (const char* command : {"train", "simulate"}) {
    const auto lines = lines_of(surety({command, "-h"}).out);
    EXPECT_LE(lines.size(), 45U) << command;
    for (const auto& line : lines) EXPECT_LE(line.size(), 80U) << line;
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
