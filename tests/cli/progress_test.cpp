// Progress on standard error: on a terminal after two seconds, elsewhere with --progress, and never the number of records.
#include <sys/stat.h>

#include <chrono>
#include <thread>

#include <support/surety_process.h>
#include <support/terminal.h>

namespace surety_test::progress_test {
namespace {

class Progress : public CommandTest {
 protected:
  [[nodiscard]] Words training(const char* steps) const {
    auto words = train(small_data());
    *(std::find(words.begin(), words.end(), "--steps") + 1) = steps;
    return words;
  }
  /// An account of an event that comes from standard input after three seconds.
  [[nodiscard]] Outcome slow(const Words& more, Surroundings around) const {
    const auto pipe = path("pipe");
    EXPECT_EQ(mkfifo(pipe.c_str(), S_IRUSR | S_IWUSR), 0);
    const int writer = open(pipe.c_str(), O_RDWR | O_CLOEXEC);
    around.standard_input = pipe.c_str();
    Process process{Words{"account", "--event", "-", "--adjacency", "replace-one", "--delta", "1e-5"} + more, around};
    std::this_thread::sleep_for(std::chrono::milliseconds{3500});
    const std::string event{"gaussian(1)\n"};
    EXPECT_EQ(::write(writer, event.data(), event.size()), static_cast<ssize_t>(event.size()));
    close(writer);
    return process.finish();
  }
};

TEST_F(Progress, IsShownOnATerminalAfterTwoSeconds) {
  const ShownTerminal terminal;
  EXPECT_EQ(slow({}, {.standard_error = terminal.name()}).code, 0);
  const auto shown = terminal.shown();
  EXPECT_TRUE(shown.starts_with("\rsurety: working, 2 s")) << shown;
  EXPECT_NE(shown.find("\rsurety: working, 3 s"), std::string::npos) << shown;
  EXPECT_TRUE(shown.ends_with(" \r")) << "the line is removed: " << shown;
}

TEST_F(Progress, IsALineElsewhereWhereItIsAskedFor) { EXPECT_EQ(slow({"--progress"}, {}).err, "surety: working, 2 s\n"); }

TEST_F(Progress, IsNothingElsewhere) { EXPECT_EQ(slow({}, {}).err, ""); }

TEST_F(Progress, IsNotShownOfWhatIsQuick) {
  const ShownTerminal terminal;
  EXPECT_EQ(
      (Process{{"account", "--event", "gaussian(1)", "--adjacency", "replace-one", "--delta", "1e-5"}, {.standard_error = terminal.name()}}
           .finish()
           .code),
      0);
  EXPECT_EQ(terminal.shown(), "");
}

TEST_F(Progress, IsShownFromTheFirstStepWhereItIsAskedFor) {
  const ShownTerminal terminal;
  const auto outcome = Process{training("20") + Words{"--progress"}, {.standard_error = terminal.name()}}.finish();
  EXPECT_EQ(outcome.code, 0);
  const auto shown = terminal.shown();
  EXPECT_NE(shown.find("\rsurety: step 1 of 20"), std::string::npos) << shown;
  // All that is shown are steps: neither the 60 records nor how many of them were read.
  const auto others = std::regex_replace(shown, std::regex{R"(\rsurety: step \d+ of 20 *|\r *\r)"}, "");
  EXPECT_EQ(others, "");
}

// The time of a run after its charge depends on records, and in a search on the number of its runs: a log of standard error must not hold it.
TEST_F(Progress, ShowsNoTimeAfterTheCharge) {
  const auto pipe = path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), S_IRUSR | S_IWUSR), 0);
  const int writer = open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  // A stream is charged when its header was read, and waits for its records.
  const std::string header{"x,label\n"};
  ASSERT_EQ(::write(writer, header.data(), header.size()), static_cast<ssize_t>(header.size()));
  Process process{{"train", "-", "--label", "label>0", "--algorithm", "one-pass-sgd", "--steps", "20", "--radius", "1", "--epsilon", "1",
                   "--delta", "1e-5", "--ledger", path("run.db"), "--model", path("model.json"), "--progress"},
                  {.standard_input = pipe.c_str()}};
  std::this_thread::sleep_for(std::chrono::milliseconds{3500});
  EXPECT_EQ(runs_in(path("run.db")), 1U) << "it is charged";
  close(writer);
  const auto outcome = process.finish();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err.find("working"), std::string::npos) << outcome.err;
}

TEST_F(Progress, IsNoPartOfAPlan) {
  const auto plan = surety(training("5") + Words{"--progress", "--print-plan"});
  EXPECT_EQ(plan.code, 0);
  EXPECT_FALSE(plan.json()["options"].contains("progress"));
  auto changed = plan.json();
  changed["options"]["progress"] = true;
  write(path("plan.json"), changed.dump());
  expect_refused({"train", "--plan", path("plan.json")}, 3, {"options have 'progress', which must be said where the plan is run"});
}

}  // namespace
}  // namespace surety_test::progress_test
