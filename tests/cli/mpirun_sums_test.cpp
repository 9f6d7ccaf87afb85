// surety train on several ranks that share the records: the model of one process to the last bit, one charge, one line of error, and a ledger
// that keeps what was reserved when a rank is killed or stopped.
#include <support/mpirun.h>

namespace surety_test::mpirun_sums_test {
namespace {

class MpirunSums : public MpirunTest {
 protected:
  [[nodiscard]] Words words(const std::string& name, const Words& algorithm, const std::string& data) const {
    return Words{"train",         data,
                 "--label",       label_,
                 "--epsilon",     "1",
                 "--delta",       "1e-5",
                 "--ledger",      path(name + ".db"),
                 "--model",       path(name + ".json"),
                 "--replay-seed", "5",
                 "--algorithm"} +
           algorithm;
  }
  [[nodiscard]] Words words(const std::string& name, const Words& algorithm) const { return words(name, algorithm, path("small.csv")); }
  /// A run that lasts until it is ended.
  [[nodiscard]] Words endless() const { return words("run", {"gradient-descent", "--steps", "10000000"}); }

  std::string label_ = "label>0";

  /// The model is that of one process, and there is one run in the ledger, of the same charge, settled.
  void expect_as_alone(const Words& algorithm, const std::vector<int>& ranks) {
    SCOPED_TRACE(algorithm.front());
    const auto alone = surety(words("alone", algorithm));
    ASSERT_EQ(alone.code, 0) << alone.err;
    const auto model = contents(path("alone.json"));
    const auto charged = surety({"ledger", "show", path("alone.db"), "1", "--json"}).json();
    std::filesystem::remove(path("alone.db"));
    for (const int n : ranks) {
      const auto outcome = run(words("on", algorithm), n);
      ASSERT_EQ(outcome.code, 0) << outcome.err;
      EXPECT_EQ(outcome.err, "");
      EXPECT_NE(outcome.out.find("processes    " + std::to_string(n)), std::string::npos) << outcome.out;
      EXPECT_EQ(contents(path("on.json")), model) << n << " ranks";
      EXPECT_EQ(runs_in(path("on.db")), 1U);
      const auto shown = surety({"ledger", "show", path("on.db"), "1", "--json"}).json();
      EXPECT_EQ(shown["state"], "settled");
      EXPECT_EQ(shown["charged"], charged["charged"]);
      std::filesystem::remove(path("on.db"));
      std::filesystem::remove(path("on.json"));
    }
  }
};

TEST_F(MpirunSums, GiveTheModelOfOneProcessToTheLastBit) {
  static_cast<void>(small_data(61));
  expect_as_alone({"gradient-descent", "--steps", "20"}, {2, 4});
  expect_as_alone({"gradient-descent", "--steps", "20", "--iterate", "random", "--adjacency", "add-or-remove-one", "--public-count", "50"},
                  {3});
  expect_as_alone({"accelerated-gradient-descent", "--adjacency", "zero-out"}, {2});
  expect_as_alone({"mirror-descent", "--radius", "2"}, {3});
  expect_as_alone({"gradient-descent", "--steps", "20", "--ranges", "private"}, {3});
  expect_as_alone({"shaped-descent", "--steps", "4", "--start", "share", "--bounds", "x=private"}, {2});
  expect_as_alone({"dp-sgd", "--records", "61", "--batch-size", "5"}, {2, 4});
}

TEST_F(MpirunSums, AreOfWhatTheRuleChooses) {
  static_cast<void>(small_data(61));
  expect_as_alone({"auto"}, {2});
  expect_one_line(run(words("run", {"auto", "--learner", "subgradient"}), 2), 2, {"2 processes were started by mpirun"});
  expect_one_line(run(words("run", {"auto"}, "-"), 2), 2, {"data file is -", "auto"});
  label_ = "y";
  expect_as_alone({"auto", "--classes", "0,1,2,3"}, {2});
}

TEST_F(MpirunSums, AreOfARecordFile) {
  ASSERT_EQ(surety({"convert", small_data(61), path("records"), "--label", "label>0"}).code, 0);
  ASSERT_EQ(surety(words("alone", {"shaped-descent"})).code, 0);
  auto of_file = words("on", {"shaped-descent", "--format", "records"}, path("records"));
  of_file.erase(std::find(of_file.begin(), of_file.end(), "--label"), std::find(of_file.begin(), of_file.end(), "--epsilon"));
  const auto outcome = run(of_file, 2);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(contents(path("on.json")), contents(path("alone.json")));
}

TEST_F(MpirunSums, AreOfFewerRecordsThanRanksToo) {
  static_cast<void>(small_data(3));
  expect_as_alone({"gradient-descent", "--steps", "5", "--held-out", "0"}, {4});
}

TEST_F(MpirunSums, AreOfAFileForEachRank) {
  const std::string header = "x,y,label\n";
  const std::string first = "1,2,0\n-1,0,1\n3,1,1\n";
  const std::string second = "0,2,1\n,,\n-2,-1,0\n1,1,1\n";
  write(path("part0.csv"), header + first);
  write(path("part1.csv"), header + second);
  write(path("small.csv"), header + first + second);
  for (const Words& algorithm : {Words{"gradient-descent", "--held-out", "0", "--steps", "20", "--regularization", "0"},
                                 Words{"dp-sgd", "--records", "7", "--batch-size", "2", "--held-out", "0"}}) {
    ASSERT_EQ(surety(words("alone", algorithm)).code, 0);
    const auto outcome = run(words("on", algorithm, path("part{rank}.csv")) + Words{"--json"}, 2);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(contents(path("on.json")), contents(path("alone.json")));
    EXPECT_EQ(outcome.json()["training_records"], 7);
    EXPECT_EQ(outcome.json()["damaged_records_not_private"],
              surety(words("alone", algorithm) + Words{"--json"}).json()["damaged_records_not_private"]);
    for (const char* file : {"on.db", "alone.db"}) std::filesystem::remove(path(file));
  }
  const auto by_rule = words("on", {"auto", "--held-out", "0"}, path("part{rank}.csv"));
  expect_one_line(run(by_rule, 2), 2, {"--records is missing", "the files of all ranks"});
  ASSERT_EQ(surety(words("alone", {"auto", "--held-out", "0"})).code, 0);
  EXPECT_EQ(run(by_rule + Words{"--records", "7"}, 2).code, 0);
  EXPECT_EQ(contents(path("on.json")), contents(path("alone.json")));
  const Words descent{"gradient-descent"};
  expect_one_line(run(words("run", descent, path("part{rank}.csv")), 2), 2, {"--held-out is 0.2", "must be 0"});
  expect_refused(words("run", descent, path("part{rank}.csv")), 2, {"{rank}", "one process"});
  expect_one_line(run(words("run", {"dp-sgd", "--records", "6", "--held-out", "0"}, path("part{rank}.csv")), 2), 3, {"7 records", "6"});
  // The second rank's file may not be written over either.
  auto over = words("run", {"gradient-descent", "--held-out", "0"}, path("part{rank}.csv"));
  *(std::find(over.begin(), over.end(), "--model") + 1) = path("part1.csv");
  expect_one_line(run(over, 2), 2, {"part1.csv"});
  EXPECT_FALSE(std::filesystem::exists(path("run.db")));
}

TEST_F(MpirunSums, RefuseWhatRanksCannotShare) {
  static_cast<void>(small_data(60));
  expect_one_line(run(words("run", {"gradient-descent", "--unit", "x", "--most", "2"}), 2), 2, {"--unit", "one process"});
  expect_one_line(run(words("run", {"gradient-descent"}, "-"), 2), 2, {"data file is -"});
  expect_one_line(run(words("run", {"dp-sgd", "--records", "60", "--sampling", "fixed"}), 2), 2, {"--sampling is fixed", "poisson"});
  expect_one_line(run(words("run", {"dp-sgd", "--records", "60", "--batch-size", "6", "--microbatch", "2"}), 2), 2, {"--microbatch is 2"});
  // Same words, other records: found before the charge.
  std::filesystem::create_directory(path("other"));
  std::string text = "x,y,label\n";
  for (int i = 0; i < 60; ++i) text += "1,2,0\n";
  write(path("other/small.csv"), text);
  const auto here = words("run", {"gradient-descent"}, "small.csv");
  Process mixed{here + Words{":", "-wdir", path("other"), "-n", "1", SURETY_COMMAND} + here,
                {.launcher = Words{SURETY_MPIRUN, "--quiet", "-wdir", path(""), "-n", "1"}}};
  expect_one_line(mixed.finish(), 2, {"rank 1 is about to run something else"});
  EXPECT_FALSE(std::filesystem::exists(path("run.db")));
}

TEST_F(MpirunSums, KeepTheFullChargeWhenARankIsKilledOrStopped) {
  static_cast<void>(small_data(60));
  for (const int rank : {1, 0}) {
    for (const int signal : {SIGKILL, SIGSTOP}) {
      Process mpirun{endless() + Words{"--timeout", "2"}, {.launcher = launcher(2)}};
      const pid_t process = rank_of(mpirun, rank);
      ASSERT_NO_FATAL_FAILURE(wait_for_the_charge());
      const auto begin = Clock::now();
      ASSERT_EQ(::kill(process, signal), 0);
      const auto outcome = mpirun.finish();
      EXPECT_NE(outcome.code, 0);
      EXPECT_LT(Clock::now() - begin, std::chrono::seconds{20}) << "mpirun hangs";
      EXPECT_EQ(outcome.out, "");
      if (signal == SIGSTOP) {
        EXPECT_EQ(outcome.code, 5) << outcome.err;
        EXPECT_NE(outcome.err.find("within 2 s"), std::string::npos) << outcome.err;
      }
      expect_the_full_charge();
      std::filesystem::remove(path("run.db"));
    }
  }
}

}  // namespace
}  // namespace surety_test::mpirun_sums_test
