// SIGKILL at random moments of surety train and surety release: the ledger still opens, and never reports less than was released.
//
// What can be seen of a release from outside is progress on the terminal, which is shown after the step's release, and the model.
// So: whoever saw a step or a model finds its run charged. Under sanitizers 40 moments take the place of 200, because everything
// is ten times slower there.
#include <chrono>
#include <random>
#include <thread>

#include "surety_process.h"

namespace surety_test {
namespace {

constexpr int kills = sanitized ? 40 : 200;
constexpr int kills_per_ledger = 25;

/// What a process shows on its terminal.
class Terminal {
 public:
  Terminal() : main_{posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)} {
    if (main_ < 0 || grantpt(main_) != 0 || unlockpt(main_) != 0) throw std::runtime_error{"no terminal"};
    name_ = ptsname(main_);
    other_ = open(name_.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    close(other_);
    close(main_);
  }
  [[nodiscard]] const char* name() const { return name_.c_str(); }
  [[nodiscard]] std::string shown() const {
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t count = 0; (count = read(main_, buffer.data(), buffer.size())) > 0;)
      text.append(buffer.data(), static_cast<std::size_t>(count));
    return text;
  }

 private:
  int main_;
  int other_ = -1;
  std::string name_;
};

using Kill = CommandTest;

TEST_F(Kill, AtAnyMomentLeavesALedgerThatChargesWhatWasReleased) {
  using Clock = std::chrono::steady_clock;
  using Milliseconds = std::chrono::duration<double, std::milli>;
  const auto data = small_data(sanitized ? 60 : 400);
  auto words = train(data);
  *(std::find(words.begin(), words.end(), "--steps") + 1) = "50";

  // Moments are drawn from the whole duration of a run. It changes with the load of the machine, so it is followed: it shrinks
  // when a run ends before its moment and grows otherwise, and settles where about one run in six ends by itself.
  const auto begin = Clock::now();
  ASSERT_EQ(surety(words).code, 0);
  Milliseconds whole{Clock::now() - begin};

  std::mt19937_64 random{20240229};
  std::map<std::string, int> seen;
  std::string ledger;
  std::size_t charged = 0;
  for (int i = 0; i < kills; ++i) {
    if (i % kills_per_ledger == 0) {  // so that the making of a ledger is interrupted, too
      ledger = path("run" + std::to_string(i) + ".db");
      *(std::find(words.begin(), words.end(), "--ledger") + 1) = ledger;
      charged = 0;
    }
    std::filesystem::remove(path("model.json"));
    const Terminal terminal;
    const auto moment = std::chrono::duration_cast<std::chrono::microseconds>(whole * std::uniform_real_distribution<double>{0, 1}(random));
    Process process{words, {.standard_output = terminal.name(), .standard_error = terminal.name()}};
    std::this_thread::sleep_for(moment);
    process.kill();
    const auto outcome = process.finish();
    const std::string shown = terminal.shown();
    const bool stepped = shown.find("step ") != std::string::npos;
    const bool killed = outcome.signal == SIGKILL;
    ++seen[killed ? "killed" : "finished"];
    whole *= killed ? 1.01 : 0.95;
    EXPECT_TRUE(killed || outcome.code == 0) << shown;

    const std::string where = "moment " + std::to_string(i) + ", after " + std::to_string(moment.count()) + " us";
    const bool has_model = std::filesystem::exists(path("model.json"));
    if (has_model) {
      ++seen["model"];
      EXPECT_EQ(surety({"predict", path("model.json"), data}).code, 0) << where;
    }
    if (stepped) ++seen["step"];
    if (!std::filesystem::exists(ledger)) {
      EXPECT_EQ(charged, 0U) << where << ": the ledger vanished";
      EXPECT_FALSE(has_model || stepped) << where << ": released without a ledger";
      ++seen["no ledger"];
      continue;
    }
    const auto runs = runs_in(ledger);
    EXPECT_GE(runs, charged + (has_model || stepped ? 1 : 0)) << where;
    EXPECT_LE(runs, charged + 1) << where;
    if (runs > charged && !has_model) ++seen["charged without a model"];
    charged = runs;
  }
  const auto audited = surety({"audit", ledger, "--delta", "1e-5"});
  EXPECT_EQ(audited.code, 0) << audited.err;
  // The moments reached every part of a run, or the test shows less than it says.
  for (const char* part : {"killed", "model", "step", "no ledger", "charged without a model"}) EXPECT_GT(seen[part], 0) << part;
  EXPECT_GT(seen["killed"], kills / 2);
}

// A statistic is printed after its run is settled, so whoever saw one finds it charged, and settled.
TEST_F(Kill, OfAReleaseLeavesALedgerThatChargesIt) {
  using Clock = std::chrono::steady_clock;
  using Milliseconds = std::chrono::duration<double, std::milli>;
  const Words words{"release", small_data(400), "--query", "sum(x)", "--bounds", "-3,3", "--epsilon", "1", "--ledger", path("run.db")};
  const auto begin = Clock::now();
  ASSERT_EQ(surety(words).code, 0);
  Milliseconds whole{Clock::now() - begin};

  std::mt19937_64 random{20240301};
  std::map<std::string, int> seen;
  std::size_t charged = 1;
  for (int i = 0; i < kills / 2; ++i) {
    Process process{words};
    std::this_thread::sleep_for(whole * std::uniform_real_distribution<double>{0, 1}(random));
    process.kill();
    const auto outcome = process.finish();
    const bool killed = outcome.signal == SIGKILL;
    whole *= killed ? 1.02 : 0.9;
    EXPECT_TRUE(killed || outcome.code == 0) << outcome.err;
    const bool released = !outcome.out.empty();
    const auto runs = surety({"ledger", "list", path("run.db"), "--json"}).json()["runs"];
    EXPECT_GE(runs.size(), charged + (released ? 1 : 0)) << i;
    EXPECT_LE(runs.size(), charged + 1) << i;
    const bool is_new = runs.size() > charged;
    if (released) {
      EXPECT_EQ(runs.back()["state"], "settled");
    }
    ++seen[released ? "released" : is_new ? "charged without a result" : "not charged"];
    charged = runs.size();
  }
  EXPECT_EQ(surety({"audit", path("run.db"), "--delta", "1e-5"}).code, 0);
  for (const char* part : {"released", "charged without a result", "not charged"}) EXPECT_GT(seen[part], 0) << part;
}

}  // namespace
}  // namespace surety_test
