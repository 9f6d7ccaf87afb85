// surety under mpirun: the same parameters however learners are spread, one line of error, and a ledger that keeps what was reserved when a
// rank is killed, stopped or fails. Refused runs are started with --quiet, or mpirun adds words of its own to ours.
#include <sys/stat.h>

#include <support/mpirun.h>

namespace surety_test::mpirun_test {
namespace {

class Mpirun : public MpirunTest {
 protected:
  /// Seven learners share 60 records, and noise is replayed.
  [[nodiscard]] Words words(const std::string& name) const {
    return {"train",         path("small.csv"),
            "--label",       "label>0",
            "--algorithm",   "gossip",
            "--learners",    "7",
            "--records",     "60",
            "--radius",      "2",
            "--epsilon",     "1",
            "--delta",       "1e-5",
            "--ledger",      path(name + ".db"),
            "--model",       path(name + ".json"),
            "--replay-seed", "5"};
  }
  /// A run that lasts until it is ended.
  [[nodiscard]] Words endless() const { return words("run") + Words{"--passes", "10000000", "--topology", "complete"}; }
};

TEST_F(Mpirun, GivesTheSameParametersToTheLastBitOnAnyNumberOfRanks) {
  static_cast<void>(small_data(60));
  for (const Words& extra : std::vector<Words>{{"--passes", "3", "--batch-size", "2", "--count-records"},
                                               {"--topology", "ring", "--delta", "0", "--noise", "k-norm", "--count-records"}}) {
    Words base = words("alone") + extra;
    if (extra[0] == "--topology")
      base.erase(std::find(base.begin(), base.end(), "--delta"), std::find(base.begin(), base.end(), "--delta") + 2);
    const auto alone = surety(base);
    ASSERT_EQ(alone.code, 0) << alone.err;
    const auto model = contents(path("alone.json"));
    const auto charged = surety({"ledger", "show", path("alone.db"), "1", "--json"}).json();
    ASSERT_GT(model.size(), 100U);
    for (const int ranks : extra[0] == "--passes" ? std::vector<int>{1, 2, 3, 4} : std::vector<int>{4}) {
      const std::string name = "on" + std::to_string(ranks);
      auto arguments = base;
      for (auto& word : arguments) {
        if (word == path("alone.db")) word = path(name + ".db");
        if (word == path("alone.json")) word = path(name + ".json");
      }
      const auto outcome = run(arguments, ranks);
      ASSERT_EQ(outcome.code, 0) << outcome.err;
      EXPECT_EQ(outcome.err, "");
      EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'),
                std::count(alone.out.begin(), alone.out.end(), '\n') + (ranks > 1 ? 1 : 0))
          << outcome.out;
      EXPECT_EQ(contents(path(name + ".json")), model) << ranks << " ranks";
      // One charge, the same as of one process, and settled.
      EXPECT_EQ(runs_in(path(name + ".db")), 1U);
      const auto shown = surety({"ledger", "show", path(name + ".db"), "1", "--json"}).json();
      EXPECT_EQ(shown["state"], "settled");
      EXPECT_EQ(shown["planned"], charged["planned"]);
      EXPECT_EQ(shown["charged"], charged["charged"]);
      std::filesystem::remove(path(name + ".db"));
    }
    std::filesystem::remove(path("alone.db"));
  }
}

TEST_F(Mpirun, RefusesInOneLineOnAllRanks) {
  static_cast<void>(small_data(60));
  expect_one_line(run(words("run") + Words{"--topology", "hypercube"}, 3), 2, {"learners is 7", "power of two"});
  expect_one_line(run(words("run") + Words{"--learn"}, 3), 2, {"--learn"});
  expect_one_line(run(words("run"), 8), 2, {"number of nodes is 8", "at most 7"});
  const auto perturbed = train(path("small.csv"), "label>0", "output-perturbation");
  expect_one_line(run(perturbed, 2), 2, {"2 processes", "must be one"});
  EXPECT_FALSE(std::filesystem::exists(path("run.db")));
  auto nowhere = words("run");
  *(std::find(nowhere.begin(), nowhere.end(), "--ledger") + 1) = path("no/such/run.db");
  expect_one_line(run(nowhere, 3), 5, {"no/such/run.db"});
  // Found by the reservation alone, when all ranks have read their data.
  write(path("run.db-journal"), "of an earlier database");
  expect_one_line(run(words("run"), 3), 5, {"run.db-journal", "left over"});
  std::filesystem::remove(path("run.db-journal"));

  ASSERT_EQ(surety({"ledger", "create", path("run.db"), "--adjacency", "replace-one", "--epsilon", "0.5", "--delta", "1e-5", "--filter",
                    "gaussian"})
                .code,
            0);
  expect_one_line(run(words("run"), 4), 2, {"no filter of kind gaussian"});
  EXPECT_EQ(runs_in(path("run.db")), 0U);
  EXPECT_FALSE(std::filesystem::exists(path("run.json")));
}

// Each process would release and charge once more.
TEST_F(Mpirun, RefusesWhatIsForOneProcess) {
  static_cast<void>(small_data(60));
  const Words release{"release", path("small.csv"), "--query", "sum(x)", "--bounds", "-3,3", "--epsilon", "1", "--ledger", path("run.db")};
  expect_one_line(run(release, 2), 2, {"2 processes", "must be one"});
  const Words create{"ledger", "create", path("run.db"), "--adjacency", "replace-one"};
  expect_one_line(run(create, 2), 2, {"2 processes", "must be one"});
  EXPECT_FALSE(std::filesystem::exists(path("run.db")));
  EXPECT_EQ(run(release, 1).code, 0);
  EXPECT_EQ(runs_in(path("run.db")), 1U);
}

// MPI itself would wait for them without end.
TEST_F(Mpirun, DoesNotWaitForProcessesThatNeverStartMpi) {
  static_cast<void>(small_data(60));
  const auto beside = [&](const Words& other) { return run(words("run") + Words{"--timeout", "1"} + Words{":", "-n", "1"} + other, 1); };
  expect_one_line(beside({"sleep", "600"}), 5, {"MPI has not started within 1 s"});
  // Where one ends after the other has begun to start MPI, mpirun ends both and says so itself.
  const auto outcome = beside({"true"});
  if (outcome.code == 5) {
    expect_one_line(outcome, 5, {"MPI has not started within 1 s"});
  } else {
    EXPECT_EQ(outcome.code, 1) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }
  EXPECT_FALSE(std::filesystem::exists(path("run.db")));
}

// mpirun can start ranks with different words. What differs is found before anything is charged, and nobody waits for a rank that has
// ended.
TEST_F(Mpirun, RefusesRanksWithDifferentOptions) {
  static_cast<void>(small_data(60));
  const Words second{":", "-n", "1", SURETY_COMMAND};
  const auto other = [&](const Words& words_of_second) { return run(words("run") + second + words_of_second, 1); };
  expect_one_line(other(words("run") + Words{"--passes", "2"}), 2, {"rank 1 is about to run something else"});
  expect_one_line(other(words("run") + Words{"--topology", "hypercube"}), 2, {"rank 1: learners is 7", "power of two"});
  expect_one_line(other(words("run") + Words{"--no-such-word"}), 2, {"--no-such-word"});
  EXPECT_FALSE(std::filesystem::exists(path("run.db")));
}

// Started by another MPI's mpirun, every process would take itself for the first and charge for all.
TEST_F(Mpirun, RefusesTheLauncherOfAnotherMpi) {
  static_cast<void>(small_data(60));
  setenv("PMI_RANK", "0", 1);
  setenv("PMI_SIZE", "4", 1);
  expect_refused_untouched(words("run"), 5, {"process 0 of 1", "0 of 4"});
  unsetenv("PMI_RANK");
  unsetenv("PMI_SIZE");
}

// A learner's own file is opened by its rank alone, and what that rank finds in it reaches the first before anything is charged.
TEST_F(Mpirun, HearsOfTheErrorsOfLaterRanks) {
  for (std::size_t i = 0; i < 4; ++i) write(path("of" + std::to_string(i)), "+1 1:1\n-1 2:1\n");
  write(path("of3"), "+1 1:1\n-1 zwei:1\n");
  Words arguments{"train",         path("of{learner}"),
                  "--format",      "libsvm",
                  "--features",    "2",
                  "--algorithm",   "gossip",
                  "--learners",    "4",
                  "--records",     "8",
                  "--radius",      "1",
                  "--epsilon",     "1",
                  "--delta",       "1e-5",
                  "--ledger",      path("run.db"),
                  "--model",       path("run.json"),
                  "--replay-seed", "1"};
  expect_one_line(run(arguments + Words{"--form-is-public"}, 2), 3, {"rank 1", "of3", "zwei"});
  EXPECT_FALSE(std::filesystem::exists(path("run.db")));
  write(path("of3"), "+1 1:1\n-1 1:1\n");
  ASSERT_EQ(run(arguments, 2).code, 0);
  EXPECT_EQ(runs_in(path("run.db")), 1U);
}

// Held by a pipe without data the rank is killed before the run is reserved, so nothing is charged.
TEST_F(Mpirun, ChargesNothingWhenARankIsKilledBeforeTheReservation) {
  for (std::size_t i = 0; i < 3; ++i) write(path("of" + std::to_string(i)), "+1 1:1\n-1 2:1\n");
  ASSERT_EQ(mkfifo(path("of3").c_str(), 0600), 0);
  Process mpirun{
      {"train",    path("of{learner}"), "--format", "libsvm",        "--features", "2",         "--algorithm", "gossip",  "--learners",
       "4",        "--records",         "8",        "--radius",      "1",          "--epsilon", "1",           "--delta", "1e-5",
       "--ledger", path("run.db"),      "--model",  path("run.json")},
      {.launcher = launcher(2)}};
  const pid_t later = rank_of(mpirun, 1);
  // It reads the pipe once a writer can open it.
  const auto end = Clock::now() + std::chrono::minutes{1};
  int writer = -1;
  while ((writer = open(path("of3").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0) {
    ASSERT_LT(Clock::now(), end);
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  ASSERT_EQ(::kill(later, SIGKILL), 0);
  const auto outcome = mpirun.finish();
  close(writer);
  EXPECT_NE(outcome.code, 0);
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(!std::filesystem::exists(path("run.db")) || runs_in(path("run.db")) == 0);
  EXPECT_FALSE(std::filesystem::exists(path("run.json")));
}

TEST_F(Mpirun, KeepsTheFullChargeWhenARankIsKilled) {
  static_cast<void>(small_data(60));
  for (const int killed : {2, 0}) {
    Process mpirun{endless(), {.launcher = launcher(3)}};
    const pid_t rank = rank_of(mpirun, killed);
    ASSERT_NO_FATAL_FAILURE(wait_for_the_charge());
    const auto begin = Clock::now();
    ASSERT_EQ(::kill(rank, SIGKILL), 0);
    const auto outcome = mpirun.finish();
    EXPECT_EQ(outcome.code, 137) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds{20}) << "mpirun hangs";
    expect_the_full_charge();
    std::filesystem::remove(path("run.db"));
  }
}

// A rank that does not answer, but lives: the others wait for the timeout, then say which learner is missing, and all end.
TEST_F(Mpirun, EndsWhenARankNoLongerAnswers) {
  static_cast<void>(small_data(60));
  for (const int stopped : {1, 0}) {
    Process mpirun{endless() + Words{"--timeout", "2"}, {.launcher = launcher(2)}};
    const pid_t rank = rank_of(mpirun, stopped);
    ASSERT_NO_FATAL_FAILURE(wait_for_the_charge());
    const auto begin = Clock::now();
    ASSERT_EQ(::kill(rank, SIGSTOP), 0);
    const auto outcome = mpirun.finish();
    EXPECT_EQ(outcome.code, 5) << outcome.err;
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds{20}) << "mpirun hangs";
    EXPECT_EQ(outcome.out, "");
    // MPI_Abort may add lines of its own; of ours there is one.
    const std::string ours = "surety: error: ";
    EXPECT_NE(outcome.err.find(ours), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find(ours), outcome.err.rfind(ours)) << outcome.err;
    EXPECT_NE(outcome.err.find("within 2 s"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find(stopped == 1 ? "learner 4" : "learner 0"), std::string::npos) << outcome.err;
    expect_the_full_charge();
    std::filesystem::remove(path("run.db"));
  }
}

}  // namespace
}  // namespace surety_test::mpirun_test
