// surety simulate: regret, what it charges, and what it refuses.
#include "surety_process.h"

namespace surety_test {
namespace {

class Simulate : public CommandTest {
 protected:
  /// A small run of `algorithm` on `instance`, with noise and a ledger.
  [[nodiscard]] Words simulate(const std::string& instance, const std::string& algorithm) const {
    return without_promise(instance, algorithm) + Words{"--epsilon", "1", "--delta", "1e-4", "--ledger", path("bandit.db")};
  }
  [[nodiscard]] static Words without_promise(const std::string& instance, const std::string& algorithm) {
    return {"simulate", "--instance", instance, "--algorithm", algorithm, "--steps", "600", "--dimension", "10", "--seeds", "3"};
  }
};

const Words replayed{"--replay-seed", "4"};

TEST_F(Simulate, ChargesALedgerOnceForAllRuns) {
  for (const char* algorithm : {"hdb", "ucb"}) {
    const auto outcome = surety(simulate("sparse", algorithm) + Words{"--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto report = outcome.json();
    EXPECT_EQ(report["algorithm"], algorithm);
    EXPECT_EQ(report["not_private"], false);
    EXPECT_LE(report["epsilon"]["upper"].get<double>(), 1);
    EXPECT_GT(report["epsilon"]["lower"].get<double>(), 0.999999);
    ASSERT_EQ(report["regret"].size(), 10U);
    EXPECT_EQ(report["regret"][9]["users"], 600);
    EXPECT_LE(report["regret"][9]["least"], report["regret"][9]["mean"]);
    EXPECT_LE(report["regret"][9]["mean"], report["regret"][9]["largest"]);
    EXPECT_GT(report["regret"][9]["deviation"].get<double>(), 0);
    const auto run = surety({"ledger", "show", path("bandit.db"), std::to_string(report["run"].get<int>()), "--json"}).json();
    EXPECT_EQ(run["state"], "settled");
    EXPECT_EQ(run["charged"], run["planned"]);
    EXPECT_EQ(run["settled"]["released"], run["planned"]);
    EXPECT_EQ(run["not_private"], false);
  }
  EXPECT_EQ(runs_in(path("bandit.db")), 2U);
  EXPECT_EQ(surety({"audit", path("bandit.db"), "--delta", "1e-4"}).code, 0);
}

TEST_F(Simulate, ChargesWhatItsFactorizationReleases) {
  for (const char* factorization : {"tree", "streaming-tree", "toeplitz", "buffered"}) {
    const auto report = surety(simulate("dense", "hdb") + Words{"--factorization", factorization, "--json"}).json();
    const bool is_tree = std::string{factorization}.find("tree") != std::string::npos;
    EXPECT_EQ(report["event"].get<std::string>().substr(0, 11), is_tree ? "repeat(10, " : "gaussian(3.") << factorization;
  }
}

TEST_F(Simulate, RepeatsItselfFromASeedAndSaysNotPrivate) {
  const auto words = simulate("dense", "hdb") + replayed;
  const auto outcome = surety(words);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* said :
       {"NOT PRIVATE", "replace-one", "epsilon = 1 at delta = 0.0001", "own arm", "seeds 1 to 3", "once: a user is in one run"}) {
    EXPECT_NE(outcome.out.find(said), std::string::npos) << said << " is not in\n" << outcome.out;
  }
  const auto regret = [&](const Words& more) { return surety(words + more + Words{"--json"}).json()["regret"]; };
  EXPECT_EQ(regret({}), regret({}));
  EXPECT_NE(regret({}), regret({"--first-seed", "2"}));
  EXPECT_EQ(surety(words + Words{"--json"}).json()["not_private"], true);
  EXPECT_NE(surety({"ledger", "list", path("bandit.db")}).out.find("NOT PRIVATE"), std::string::npos);
  EXPECT_EQ(surety({"audit", path("bandit.db"), "--delta", "1e-4"}).code, 1);
}

TEST_F(Simulate, DrawsFreshNoiseOtherwise) {
  const auto words = simulate("dense", "hdb") + Words{"--json"};
  EXPECT_NE(surety(words).json()["regret"], surety(words).json()["regret"]);
}

TEST_F(Simulate, LearnsWithoutNoiseAndChargesNothing) {
  const auto last = [](const Words& words) { return surety(words + Words{"--json"}).json()["regret"].back()["mean"].get<double>(); };
  const double random = last(without_promise("sparse", "random"));
  EXPECT_GT(random, 150);  // 225 on average
  for (const char* algorithm : {"hdb", "ucb"}) {
    const Words words = without_promise("sparse", algorithm) + Words{"--without-noise"};
    EXPECT_LT(last(words + (std::string{algorithm} == "hdb" ? Words{"--warm-up", "30"} : Words{})), 0.5 * random) << algorithm;
    EXPECT_EQ(surety(words + Words{"--json"}).json()["not_private"], true);
    EXPECT_NE(surety(words).out.find("NOT PRIVATE"), std::string::npos);
  }
  EXPECT_EQ(surety(without_promise("sparse", "random")).out.find("NOT PRIVATE"), std::string::npos);
  EXPECT_TRUE(files().empty());
}

TEST_F(Simulate, TakesEveryOption) {
  EXPECT_EQ(surety(simulate("dense", "hdb") + Words{"--arms", "3", "--warm-up", "20", "--step-scale", "0.4", "--ball", "inf", "--clip",
                                                    "0.2", "--reward-bound", "0.5", "--adjacency", "zero-out", "--note", "mine"})
                .code,
            0);
  EXPECT_NE(surety({"ledger", "list", path("bandit.db")}).out.find("mine"), std::string::npos);
  EXPECT_EQ(
      surety(without_promise("dense", "ucb") + Words{"--exploration", "0", "--clip", "0.5", "--reward-bound", "0.5", "--without-noise"})
          .code,
      0);
}

TEST_F(Simulate, RefusesBadOptionsInOneLine) {
  ASSERT_EQ(surety(simulate("dense", "hdb")).code, 0);
  for (const auto& [option, most] :
       {std::pair{"--steps", "16777216"}, {"--arms", "1000"}, {"--dimension", "1000000"}, {"--seeds", "1000"}}) {
    for (const std::string bad : {"0", "-1", "1.5", "abc", "", "99999999999"}) {
      const Words base{"simulate", "--instance", "dense", "--algorithm", "random"};
      expect_refused_untouched(base + Words{option, bad}, 2, {option, "'" + bad + "'", "must be a whole number from", most});
    }
  }
  for (const std::string bad : {"nan", "-1", "abc", "", "1e400"}) {
    for (const auto& [option, quantity] :
         {std::pair{"--step-scale", "step"}, {"--ball", "l"}, {"--clip", "clip"}, {"--reward-bound", "bound"}}) {
      expect_refused_untouched(simulate("dense", "hdb") + Words{option, bad}, 2, {quantity, bad, "must be"});
    }
    expect_refused_untouched(simulate("dense", "ucb") + Words{"--exploration", bad}, 2, {"exploration", bad, "must be"});
  }
  expect_refused_untouched(without_promise("dens", "hdb"), 2, {"--instance is 'dens'", "sparse or dense"});
  expect_refused_untouched(without_promise("dense", "hbd"), 2, {"--algorithm is 'hbd'", "hdb or ucb or random"});
  expect_refused_untouched(simulate("dense", "hdb") + Words{"--factorization", "oak"}, 2, {"--factorization is 'oak'"});
}

TEST_F(Simulate, RefusesWhatDoesNotFitTogether) {
  ASSERT_EQ(surety(simulate("dense", "hdb")).code, 0);
  expect_refused_untouched(without_promise("dense", "hdb"), 2, {"--epsilon is missing"});
  expect_refused_untouched(without_promise("dense", "hdb") + Words{"--epsilon", "1"}, 2, {"--delta is missing"});
  expect_refused_untouched(without_promise("dense", "hdb") + Words{"--epsilon", "1", "--delta", "1e-4"}, 2, {"--ledger is missing"});
  expect_refused_untouched(simulate("dense", "random"), 2, {"--epsilon is for noise"});
  for (const char* option : {"--note", "--replay-seed", "--ledger", "--delta"}) {
    expect_refused_untouched(without_promise("dense", "hdb") + Words{"--without-noise", option, "1"}, 2, {option, "for noise"});
  }
  expect_refused_untouched(without_promise("dense", "random") + Words{"--without-noise"}, 2, {"--without-noise", "random play"});
  expect_refused_untouched(simulate("dense", "ucb") + Words{"--warm-up", "3"}, 2, {"--warm-up is for hdb"});
  expect_refused_untouched(simulate("dense", "hdb") + Words{"--exploration", "1"}, 2, {"--exploration is for ucb"});
  expect_refused_untouched(without_promise("dense", "random") + Words{"--clip", "1"}, 2, {"--clip is for hdb and ucb"});
  expect_refused_untouched(simulate("dense", "hdb") + Words{"--warm-up", "301"}, 2, {"warm-up is 301", "600"});
  expect_refused_untouched(simulate("sparse", "hdb") + Words{"--arms", "5", "--warm-up", "9"}, 2, {"dimension is 10", "5 arms"});
  expect_refused_untouched(simulate("dense", "hdb") + Words{"--adjacency", "add-or-remove-one"}, 2, {"adjacency is add-or-remove-one"});
  auto no_delta = simulate("dense", "hdb");
  *(std::find(no_delta.begin(), no_delta.end(), "--delta") + 1) = "0";
  expect_refused_untouched(no_delta, 6, {"delta = 0"});
  expect_refused_untouched(simulate("dense", "hdb") + Words{"--clip", "1e-320"}, 2, {"grid"});
}

}  // namespace
}  // namespace surety_test
