// surety simulate: regret, what it charges, and what it refuses.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <support/surety_process.h>

namespace surety_test::simulate_test {
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

/// The default numbers of a run, which a test may change, since no option may be given twice.
struct Size {
  std::string steps = "1024";
  std::string dimension = "5";
  std::string rank = "2";
};

class SimulateLosses : public CommandTest {
 protected:
  [[nodiscard]] Words simulate(const std::string& instance, const Words& more = {}, const Size& size = {}) const {
    return without_promise(instance, size) + Words{"--epsilon", "1", "--delta", "1e-5", "--ledger", path("bandit.db")} + more;
  }
  [[nodiscard]] static Words without_promise(const std::string& instance, const Size& size = {}) {
    const Words words{"simulate",     "--instance", instance, "--algorithm", "projection-free", "--steps", size.steps, "--dimension",
                      size.dimension, "--seeds",    "2"};
    return instance == "uniform-matroid" ? words + Words{"--rank", size.rank} : words;
  }
};

TEST_F(SimulateLosses, ChargesALedgerForEveryNoise) {
  struct Case {
    Words words;
    const char* event;      // begins so: 32 pushes, so that a record is in 6 nodes of a tree
    double least;           // of what the promise of 1 is used
    const char* parameter;  // what the noise is called
  };
  std::size_t runs = 0;
  for (const char* instance : {"simplex", "uniform-matroid"}) {
    for (const auto& [more, event, least, parameter] :
         std::vector<Case>{{{}, "gaussian(", 0.999999, "noise_multiplier"},
                           {{"--noise", "gaussian", "--factorization", "tree"}, "repeat(6, gaussian(", 0.999999, "noise_multiplier"},
                           {{"--noise", "laplace"}, "repeat(6, laplace(6", 0.9, "noise_scale"},
                           {{"--noise", "paper"}, "repeat(6, gaussian(", 0, "noise_multiplier"}}) {
      const auto outcome = surety(simulate(instance, more + Words{"--json"}));
      ASSERT_EQ(outcome.code, 0) << outcome.err;
      const auto report = outcome.json();
      EXPECT_EQ(report["not_private"], false);
      EXPECT_EQ(report["event"].get<std::string>().rfind(event, 0), 0U) << report["event"];
      EXPECT_LE(report["epsilon"]["upper"].get<double>(), 1);
      EXPECT_GT(report["epsilon"]["lower"].get<double>(), least);
      EXPECT_GT(report[parameter].get<double>(), 1);
      ASSERT_EQ(report["regret"].size(), 10U);
      EXPECT_EQ(report["regret"][9]["users"], 1024);
      EXPECT_GT(report["regret"][9]["deviation"].get<double>(), 0);
      for (std::size_t i = 1; i < 10; ++i) EXPECT_GT(report["regret"][i]["least"], report["regret"][i - 1]["least"]);
      const auto run = surety({"ledger", "show", path("bandit.db"), std::to_string(report["run"].get<int>()), "--json"}).json();
      EXPECT_EQ(run["state"], "settled");
      EXPECT_EQ(run["settled"]["released"], run["planned"]);
      EXPECT_EQ(run["not_private"], false);
      EXPECT_EQ(runs_in(path("bandit.db")), ++runs);
    }
  }
  EXPECT_EQ(surety({"audit", path("bandit.db"), "--delta", "1e-5"}).code, 0);
}

TEST_F(SimulateLosses, IsPureWithoutDelta) {
  for (const char* noise : {"laplace", "paper"}) {
    auto words = without_promise("simplex") + Words{"--epsilon", "1", "--delta", "0", "--noise", noise, "--ledger", path("bandit.db")};
    const auto outcome = surety(words + Words{"--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.json()["event"].get<std::string>().rfind("repeat(6, laplace(", 0), 0U);
    EXPECT_LE(outcome.json()["epsilon"]["upper"].get<double>(), 1);
  }
  EXPECT_EQ(surety({"audit", path("bandit.db"), "--delta", "0"}).code, 0);
}

TEST_F(SimulateLosses, RepeatsItselfFromASeedAndSaysNotPrivate) {
  const auto words = simulate("uniform-matroid", replayed);
  const auto outcome = surety(words);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* said : {"NOT PRIVATE", "rank 2, dimension 5", "epsilon = 1 at delta = 1e-05, for all points played", "seeds 1 to 2"}) {
    EXPECT_NE(outcome.out.find(said), std::string::npos) << said << " is not in\n" << outcome.out;
  }
  const auto regret = [&](const Words& more) { return surety(words + more + Words{"--json"}).json()["regret"]; };
  EXPECT_EQ(regret({}), regret({}));
  EXPECT_NE(regret({}), regret({"--first-seed", "2"}));
  EXPECT_EQ(surety(words + Words{"--json"}).json()["not_private"], true);
  EXPECT_EQ(surety({"audit", path("bandit.db"), "--delta", "1e-5"}).code, 1);
}

TEST_F(SimulateLosses, DrawsFreshNoiseOtherwise) {
  const auto words = simulate("simplex", {"--json"});
  EXPECT_NE(surety(words).json()["regret"], surety(words).json()["regret"]);
}

TEST_F(SimulateLosses, LosesLessWithoutNoiseAndChargesNothing) {
  const auto last = [](const Words& words) { return surety(words + Words{"--json"}).json()["regret"].back()["mean"].get<double>(); };
  const Size size{.steps = "65536"};
  const double exact = last(without_promise("simplex", size) + Words{"--without-noise"});
  EXPECT_TRUE(files().empty());
  EXPECT_LT(exact, last(simulate("simplex", Words{"--noise", "laplace"} + replayed, size)));
  EXPECT_NE(surety(without_promise("simplex") + Words{"--without-noise"}).out.find("NOT PRIVATE"), std::string::npos);
}

TEST_F(SimulateLosses, RefusesWhatDoesNotFit) {
  ASSERT_EQ(surety(simulate("simplex")).code, 0);
  for (const char* option : {"--arms", "--warm-up", "--step-scale", "--ball", "--clip", "--reward-bound", "--exploration"}) {
    expect_refused_untouched(simulate("simplex", {option, "2"}), 2, {option, "for arms, projection-free has none"});
  }
  expect_refused_untouched(simulate("simplex", {"--rank", "2"}), 2, {"--rank is for uniform-matroid"});
  expect_refused_untouched(simulate("uniform-matroid", {}, {.rank = "5"}), 2, {"rank is 5", "less than the dimension, 5"});
  expect_refused_untouched(simulate("simplex", {}, {.dimension = "1"}), 2, {"dimension is 1", "at least 2"});
  expect_refused_untouched(simulate("simplex", {"--noise", "oak"}), 2, {"--noise is 'oak'", "gaussian or laplace or paper"});
  for (const char* noise : {"laplace", "paper"}) {
    expect_refused_untouched(simulate("simplex", {"--noise", noise, "--factorization", "tree"}), 2, {"--factorization is for gaussian"});
  }
  expect_refused_untouched(simulate("simplex", {"--adjacency", "add-or-remove-one"}), 2, {"adjacency is add-or-remove-one"});
  expect_refused_untouched(simulate("simplex", {"--noise", "paper"}, {.steps = "1"}), 2, {"noise multiplier is 0"});
  expect_refused_untouched(without_promise("simplex"), 2, {"--epsilon is missing"});
  for (const char* option : {"--note", "--ledger", "--delta", "--epsilon", "--replay-seed"}) {
    expect_refused_untouched(without_promise("simplex") + Words{"--without-noise", option, "1"}, 2, {option, "for noise"});
  }
  expect_refused_untouched(without_promise("simplex") + Words{"--without-noise", "--noise", "paper"}, 2, {"--noise is for noise"});
  auto no_rank = simulate("uniform-matroid");
  const auto rank = std::find(no_rank.begin(), no_rank.end(), "--rank");
  no_rank.erase(rank, rank + 2);
  expect_refused_untouched(no_rank, 2, {"--rank is missing"});
  auto no_delta = simulate("simplex");
  *(std::find(no_delta.begin(), no_delta.end(), "--delta") + 1) = "0";
  expect_refused_untouched(no_delta, 6, {"delta = 0"});
  for (const auto& [instance, algorithm, fitting] : {std::array{"simplex", "hdb", "projection-free"},
                                                     {"uniform-matroid", "random", "projection-free"},
                                                     {"dense", "projection-free", "hdb, ucb or random"}}) {
    expect_refused_untouched({"simulate", "--instance", instance, "--algorithm", algorithm}, 2, {algorithm, "must be", fitting, instance});
  }
  const Words arms{"simulate", "--instance", "dense", "--algorithm", "hdb"};
  expect_refused_untouched(arms + Words{"--rank", "2"}, 2, {"--rank is for uniform-matroid"});
  expect_refused_untouched(arms + Words{"--noise", "paper"}, 2, {"--noise is for projection-free"});
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
  expect_refused_untouched(without_promise("dens", "hdb"), 2, {"--instance is 'dens'", "sparse or dense or simplex or uniform-matroid"});
  expect_refused_untouched(without_promise("dense", "hbd"), 2, {"--algorithm is 'hbd'", "hdb or ucb or random or projection-free"});
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
}  // namespace surety_test::simulate_test
