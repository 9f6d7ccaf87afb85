// surety train --algorithm gossip in one process: what it charges, writes and refuses. What mpirun adds is in mpirun_test.
#include <support/surety_process.h>

namespace surety_test::gossip_test {
namespace {

class Gossip : public CommandTest {
 protected:
  /// Seven learners share 60 records.
  [[nodiscard]] Words words(const std::string& data) const {
    return {"train",   data,        "--label",  "label>0",      "--algorithm", "gossip",          "--learners",
            "7",       "--records", "60",       "--radius",     "2",           "--epsilon",       "1",
            "--delta", "1e-5",      "--ledger", path("run.db"), "--model",     path("model.json")};
  }
  /// Only without noise of its own does a run repeat itself.
  [[nodiscard]] Words replayed(const std::string& data, const Words& extra = {}) const {
    return words(data) + Words{"--replay-seed", "5", "--batch-size", "2", "--passes", "2"} + extra;
  }
  std::string model_of(const Words& arguments) {
    const auto trained = surety(arguments);
    EXPECT_EQ(trained.code, 0) << joined(arguments) << trained.err;
    return contents(path("model.json"));
  }
  static Words changed(Words words, const std::string& option, const std::string& value) {
    *(std::find(words.begin(), words.end(), option) + 1) = value;
    return words;
  }
};

TEST_F(Gossip, TrainsChargesAndWritesAModelOverEveryTopologyWithEveryNoise) {
  const auto data = small_data(60);
  write(path("star"), "1 0\n2 0\n3 0\n4 0\n0 5\n6 0\n");
  std::size_t run = 0;
  for (const Words& extra :
       std::vector<Words>{{},
                          {"--topology", "complete", "--noise", "gaussian", "--schedule", "constant"},
                          {"--topology", "ring", "--noise", "laplace", "--batch-size", "3"},
                          {"--topology", "matchings", "--noise", "k-norm", "--mixing-seed", "3", "--passes", "3"},
                          {"--topology", "graph", "--graph", path("star"), "--adjacency", "zero-out"},
                          {"--topology", "ring", "--schedule", "inverse", "--regularization", "0.1", "--step-size", "10"}}) {
    const bool zero_out = std::find(extra.begin(), extra.end(), "zero-out") != extra.end();
    const std::string ledger = path(zero_out ? "zero.db" : "run.db");
    const auto arguments = changed(words(data), "--ledger", ledger) + extra + Words{"--json"};
    const auto trained = surety(arguments);
    ASSERT_EQ(trained.code, 0) << joined(arguments) << trained.err;
    const auto report = trained.json();
    EXPECT_EQ(report["run"], zero_out ? 1 : ++run);
    EXPECT_EQ(report["processes"], 1);
    EXPECT_LE(report["epsilon"]["upper"].get<double>(), 1);
    EXPECT_GE(report["epsilon"]["upper"].get<double>(), 0.999) << "less is spent than promised: " << joined(arguments);
    const auto shown = surety({"ledger", "show", ledger, std::to_string(report["run"].get<int>()), "--json"}).json();
    EXPECT_EQ(shown["state"], "settled");
    EXPECT_EQ(shown["charged"], shown["settled"]["released"]);
    EXPECT_EQ(surety({"predict", path("model.json"), data}).code, 0);
  }
  const auto audited = surety({"audit", path("run.db"), "--delta", "1e-3", "--json"});
  EXPECT_EQ(audited.code, 0) << audited.err;
  EXPECT_EQ(audited.json()["kept"], true);
}

// 60 records of 7 learners: four have 9, three have 8. A learner's releases are parallel to the others', passes follow each other.
TEST_F(Gossip, ChargesLearnersInParallelAndEveryPass) {
  const auto data = small_data(60);
  const auto event_of = [&](const std::string& passes) {
    const auto report =
        surety(changed(words(data), "--delta", "0") + Words{"--noise", "laplace", "--batch-size", "2", "--passes", passes, "--json"})
            .json();
    EXPECT_NEAR(report["noise_value"].get<double>(), std::stod(passes), 1e-9 * std::stod(passes));
    EXPECT_EQ(report["rounds"], 5 * std::stoi(passes));
    return report["event"].get<std::string>();
  };
  const auto count = [](const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  const auto event = event_of("1");
  EXPECT_TRUE(event.starts_with("parallel(deterministic(9, 2, laplace(1")) << event;
  EXPECT_EQ(count(event, "deterministic(9, 2, laplace("), 4U) << event;
  EXPECT_EQ(count(event, "deterministic(8, 2, laplace("), 3U) << event;
  const auto of_passes = event_of("4");
  EXPECT_TRUE(of_passes.starts_with("repeat(4, parallel(deterministic(9, 2, laplace(4")) << of_passes;
}

TEST_F(Gossip, RepeatsItselfFromASeedAndOtherwiseDoesNot) {
  const auto data = small_data(60);
  const auto first = model_of(replayed(data));
  EXPECT_EQ(model_of(replayed(data)), first);
  EXPECT_EQ(model_of(replayed(data, {"--mixing-seed", "0", "--topology", "matchings"})), first);
  EXPECT_NE(model_of(replayed(data, {"--mixing-seed", "1"})), first);
  EXPECT_NE(model_of(replayed(data, {"--topology", "complete"})), first);
  const auto private_words = words(data);
  EXPECT_NE(model_of(private_words), model_of(private_words));
}

// Record i belongs to learner i mod 7, whether all learners' records are in one file or each learner's in its own.
TEST_F(Gossip, ReadsAFileOfEachLearner) {
  const auto data = small_data(60);
  std::istringstream lines{contents(data)};
  std::string header;
  std::getline(lines, header);
  std::vector<std::string> files(7, header + "\n");
  std::size_t record = 0;
  for (std::string line; std::getline(lines, line);) files[record++ % 7] += line + "\n";
  for (std::size_t i = 0; i < 7; ++i) write(path("of" + std::to_string(i) + ".csv"), files[i]);
  const auto from_one = model_of(replayed(data));
  EXPECT_EQ(model_of(replayed(path("of{learner}.csv"))), from_one);

  const auto words = changed(replayed(path("of{learner}.csv")), "--ledger", path("other.db"));
  write(path("of3.csv"), files[3] + "0,0,1\n");
  expect_refused_untouched(words, 3, {"of3.csv", "has 10 records", "must have the 9"});
  write(path("of3.csv"), "y,x,label\n" + files[3].substr(header.size() + 1));
  expect_refused_untouched(words, 3, {"of3.csv", "other columns"});
  std::filesystem::remove(path("of3.csv"));
  expect_refused_untouched(words, 3, {"of3.csv"});
}

TEST_F(Gossip, LearnsWhenTheBudgetIsLarge) {
  const auto data = small_data(1400);
  auto arguments = changed(changed(words(data), "--records", "1400"), "--epsilon", "1000");
  arguments = arguments + Words{"--batch-size", "4", "--passes", "3", "--radius", "20"};
  arguments.erase(std::find(arguments.begin(), arguments.end(), "--radius"), std::find(arguments.begin(), arguments.end(), "--epsilon"));
  ASSERT_EQ(surety(arguments).code, 0);
  const auto predicted = surety({"predict", path("model.json"), data});
  ASSERT_EQ(predicted.code, 0);
  std::istringstream scores{predicted.out};
  int right = 0;
  std::string line;
  for (int i = 0; std::getline(scores, line); ++i) {
    right += (std::stod(line) > 0.5) == (i % 7 / 4 == 1) ? 1 : 0;
  }
  EXPECT_GE(right, 1200) << predicted.out.substr(0, 200);
}

TEST_F(Gossip, RefusesBeforeAnythingIsWritten) {
  const auto data = small_data(60);
  const auto all = words(data);
  const auto without = [&](const std::string& option) {
    auto rest = all;
    const auto place = std::find(rest.begin(), rest.end(), option);
    rest.erase(place, place + 2);
    return rest;
  };
  expect_refused_untouched(without("--learners"), 2, {"--learners is missing"});
  expect_refused_untouched(without("--records"), 2, {"--records is missing"});
  expect_refused_untouched(changed(all, "--learners", "61"), 2, {"learners is 61", "at most 60"});
  expect_refused_untouched(changed(all, "--records", "61"), 3, {"small.csv", "has 60 records", "61"});
  expect_refused_untouched(all + Words{"--batch-size", "9"}, 2, {"batch size is 9", "at most 8"});
  expect_refused_untouched(all + Words{"--topology", "hypercube"}, 2, {"learners is 7", "power of two"});
  expect_refused_untouched(all + Words{"--topology", "torus"}, 2, {"learners is 7", "product"});
  expect_refused_untouched(all + Words{"--topology", "star"}, 2, {"--topology", "star"});
  expect_refused_untouched(all + Words{"--topology", "graph"}, 2, {"--graph is missing"});
  expect_refused_untouched(all + Words{"--graph", data}, 2, {"--graph is for"});
  expect_refused_untouched(all + Words{"--topology", "ring", "--mixing-seed", "2"}, 2, {"--mixing-seed is for"});
  write(path("apart"), "0 1\n2 3\n4 5\n5 6\n1 3\n");
  expect_refused_untouched(all + Words{"--topology", "graph", "--graph", path("apart")}, 2, {"learner 4 cannot be reached"});
  write(path("graph"), "0 1\n0 two\n");
  expect_refused_untouched(all + Words{"--topology", "graph", "--graph", path("graph")}, 3, {"line 2 is '0 two'"});
  expect_refused_untouched(all + Words{"--topology", "graph", "--graph", path("none")}, 3, {"none: cannot be read"});
  expect_refused_untouched(all + Words{"--adjacency", "add-or-remove-one"}, 2, {"add-or-remove-one"});
  expect_refused_untouched(all + Words{"--noise", "gumbel"}, 2, {"--noise is 'gumbel'"});
  expect_refused_untouched(changed(all, "--delta", "0") + Words{"--noise", "gaussian"}, 6, {"delta is 0, must be greater than 0"});
  expect_refused_untouched(all + Words{"--held-out", "0.1"}, 2, {"--held-out is for"});
  expect_refused_untouched(all + Words{"--steps", "5"}, 2, {"--steps is not for gossip"});
  expect_refused_untouched(all + Words{"--timeout", "0"}, 2, {"--timeout is 0"});
  expect_refused_untouched(changed(all, "--algorithm", "noisy-sgd"), 2, {"--learners is for gossip"});
  expect_refused_untouched(words("-"), 2, {"the data file is -"});
  ASSERT_EQ(surety({"ledger", "create", path("run.db"), "--adjacency", "replace-one", "--epsilon", "0.5", "--delta", "1e-5", "--filter",
                    "gaussian"})
                .code,
            0);
  expect_refused_untouched(all, 2, {"no filter of kind gaussian"});
}

}  // namespace
}  // namespace surety_test::gossip_test
