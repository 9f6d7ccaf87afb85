// SIGKILL at random moments of surety train and surety release: the ledger still opens, and never reports less than was released.
//
// What can be seen of a release from outside is progress on the terminal, which is shown after the step's release, and the model.
// So: whoever saw a step or a model finds its run charged. Most moments are drawn from the whole duration of a run. Those that show
// the most are certain: the process is held where it must pass (by data that do not come, a terminal that is stopped, a full pipe),
// or is watched until it has shown what is waited for. Under sanitizers 40 moments take the place of 200, because everything is ten
// times slower there.
#include <sys/stat.h>
#include <termios.h>

#include <chrono>
#include <random>
#include <thread>

#include <support/surety_process.h>

namespace surety_test::kill_test {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

const int kills = sanitized ? 40 : 200;
constexpr int kills_per_ledger = 25;
// The turns, of a ledger's or of ten, whose moment is certain.
constexpr int before_data = 0;
constexpr int after_charge = 1;
constexpr int after_step = 2;
constexpr int after_result = 3;
constexpr int first_random = 4;

/// Waits for what is sure to come, and says so if it does not.
template <class Condition>
void wait_for(const char* what, Condition has_come) {
  const auto end = Clock::now() + std::chrono::minutes{2};
  while (!has_come()) {
    ASSERT_LT(Clock::now(), end) << "waited in vain for " << what;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}

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
  /// As by Ctrl-S: whoever writes to the terminal waits.
  void stop() const {
    if (tcflow(other_, TCOOFF) != 0) throw std::runtime_error{"the terminal does not stop"};
  }
  /// All that was shown so far.
  const std::string& shown() {
    std::array<char, 4096> buffer{};
    for (ssize_t count = 0; (count = read(main_, buffer.data(), buffer.size())) > 0;)
      text_.append(buffer.data(), static_cast<std::size_t>(count));
    return text_;
  }

 private:
  int main_;
  int other_ = -1;
  std::string name_;
  std::string text_;
};

/// A named pipe. Whoever opens it to read waits for a writer, and once it is full whoever writes waits for a reader.
class NamedPipe {
 public:
  explicit NamedPipe(std::string name) : name_{std::move(name)} {
    if (mkfifo(name_.c_str(), 0600) != 0) throw std::runtime_error{"no named pipe"};
  }
  NamedPipe(const NamedPipe&) = delete;
  NamedPipe& operator=(const NamedPipe&) = delete;
  ~NamedPipe() {
    if (end_ >= 0) close(end_);
  }
  [[nodiscard]] const std::string& name() const { return name_; }
  void fill() {
    end_ = open(name_.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (end_ < 0) throw std::runtime_error{"the named pipe does not open"};
    const std::string page(4096, ' ');
    while (::write(end_, page.data(), page.size()) > 0) {
    }
  }

 private:
  std::string name_;
  int end_ = -1;
};

class Kill : public CommandTest {
 protected:
  /// The runs that a ledger lists; none while it is being made or changed, so that a living process can be watched.
  [[nodiscard]] static nlohmann::json runs_now(const std::string& ledger) {
    const auto listed = Process{{"ledger", "list", ledger, "--json"}}.finish();
    return listed.code == 0 ? listed.json()["runs"] : nlohmann::json::array();
  }
};

TEST_F(Kill, AtAnyMomentLeavesALedgerThatChargesWhatWasReleased) {
  const auto data = small_data(sanitized ? 60 : 400);
  const NamedPipe no_data{path("no_data.csv")};
  auto words = train(data);
  *(std::find(words.begin(), words.end(), "--steps") + 1) = "50";
  words.emplace_back("--progress");  // from the first step

  // A moment is drawn from the whole duration of a run. It changes with the load of the machine, so it is followed: it shrinks
  // when a run ends before its moment and grows otherwise, and settles where about one run in six ends by itself.
  const auto begin = Clock::now();
  ASSERT_EQ((Process{words}.finish().code), 0);
  Milliseconds whole{Clock::now() - begin};

  std::mt19937_64 random{20240229};
  std::map<std::string, int> seen;
  std::string ledger;
  std::size_t charged = 0;
  // The last ledger is audited, so there has to be one.
  for (int i = 0; seen["killed"] < kills || !std::filesystem::exists(ledger); ++i) {
    const int turn = i % kills_per_ledger;
    if (turn == 0) {  // so that the making of a ledger is interrupted, too
      ledger = path("run" + std::to_string(i) + ".db");
      *(std::find(words.begin(), words.end(), "--ledger") + 1) = ledger;
      charged = 0;
    }
    std::filesystem::remove(path("model.json"));
    Terminal terminal;
    words[1] = turn == before_data ? no_data.name() : data;
    if (turn == after_charge) terminal.stop();
    const auto moment = std::chrono::duration_cast<std::chrono::microseconds>(whole * std::uniform_real_distribution<double>{0, 1}(random));
    Process process{words, {.standard_output = terminal.name(), .standard_error = terminal.name()}};
    switch (turn) {
      case after_charge: ASSERT_NO_FATAL_FAILURE(wait_for("the charge", [&] { return runs_now(ledger).size() > charged; })); break;
      case after_step:
        ASSERT_NO_FATAL_FAILURE(wait_for("a step", [&] { return terminal.shown().find("step ") != std::string::npos; }));
        break;
      case after_result: ASSERT_NO_FATAL_FAILURE(wait_for("the model", [&] { return std::filesystem::exists(path("model.json")); })); break;
      default: std::this_thread::sleep_for(moment);
    }
    process.kill();
    const auto outcome = process.finish();
    const std::string& shown = terminal.shown();
    const bool stepped = shown.find("step ") != std::string::npos;
    const bool killed = outcome.signal == SIGKILL;
    ++seen[killed ? "killed" : "finished"];
    if (turn >= first_random) whole *= killed ? 1.01 : 0.95;
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
  for (const char* part : {"model", "step", "no ledger", "charged without a model"}) EXPECT_GT(seen[part], 0) << part;
}

// A statistic is printed before its run is settled, since it is paid for, so whoever saw one finds it charged, if not settled.
TEST_F(Kill, OfAReleaseLeavesALedgerThatChargesIt) {
  const auto data = small_data(400);
  const auto ledger = path("run.db");
  const auto result = path("result");
  const NamedPipe no_data{path("no_data.csv")};
  NamedPipe full{path("full")};
  full.fill();
  Words words{"release", data, "--query", "sum(x)", "--bounds", "-3,3", "--epsilon", "1", "--ledger", ledger};
  const auto begin = Clock::now();
  ASSERT_EQ((Process{words}.finish().code), 0);
  Milliseconds whole{Clock::now() - begin};

  std::mt19937_64 random{20240301};
  std::map<std::string, int> seen;
  std::size_t charged = 1;
  for (int i = 0; seen["killed"] < kills / 2; ++i) {
    const int turn = i % 10;
    words[1] = turn == before_data ? no_data.name() : data;
    write(result, "");
    Process process{words, {.standard_output = turn == after_charge ? full.name().c_str() : result.c_str()}};
    switch (turn) {
      case after_charge: ASSERT_NO_FATAL_FAILURE(wait_for("the charge", [&] { return runs_now(ledger).size() > charged; })); break;
      case after_result: ASSERT_NO_FATAL_FAILURE(wait_for("the result", [&] { return !contents(result).empty(); })); break;
      default: std::this_thread::sleep_for(whole * std::uniform_real_distribution<double>{0, 1}(random));
    }
    process.kill();
    const auto outcome = process.finish();
    const bool killed = outcome.signal == SIGKILL;
    ++seen[killed ? "killed" : "finished"];
    if (turn >= first_random) whole *= killed ? 1.02 : 0.9;
    EXPECT_TRUE(killed || outcome.code == 0) << outcome.err;
    const bool released = !contents(result).empty();
    const auto runs = surety({"ledger", "list", ledger, "--json"}).json()["runs"];
    EXPECT_GE(runs.size(), charged + (released ? 1 : 0)) << i;
    EXPECT_LE(runs.size(), charged + 1) << i;
    const bool is_new = runs.size() > charged;
    if (released) {
      EXPECT_EQ(runs.back()["charged"], runs.back()["planned"]);
      ++seen[runs.back()["state"].get<std::string>()];
    }
    ++seen[released ? "released" : is_new ? "charged without a result" : "not charged"];
    charged = runs.size();
  }
  EXPECT_EQ(surety({"audit", ledger, "--delta", "1e-5"}).code, 0);
  for (const char* part : {"released", "charged without a result", "not charged"}) EXPECT_GT(seen[part], 0) << part;
}

}  // namespace
}  // namespace surety_test::kill_test
