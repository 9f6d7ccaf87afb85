#include <surety/accounting/ledger/ledger.h>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <random>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/base/system/drawn_ahead.h>

#include <support/sanitized.h>

namespace surety::accounting::ledger_test {
namespace {

namespace fs = std::filesystem;

constexpr auto adjacency = Adjacency::replace_one;

// Tests that walk through every byte or many kills take samples where the sanitizers make each step some twenty times slower.
const int thinned = surety_test::sanitized ? 8 : 1;

Event leaf(double multiplier) { return gaussian(NoiseMultiplier{multiplier}, adjacency); }
Event times(std::uint64_t count, const Event& event) { return repeat(Count{count}, event); }
Plan plan(std::uint64_t count, double multiplier) { return {.event = times(count, leaf(multiplier))}; }

Target target(double epsilon, double delta) { return {.epsilon = Epsilon{epsilon}, .delta = Delta{delta}, .adjacency = adjacency}; }

/// A budget that allows a sum of mu^2 up to 0.0718514.
Budget small_budget() { return {.target = target(1, 1e-5), .filter = FilterKind::gaussian}; }

/// The one error that `action` throws.
template <class Action>
Error error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {ErrorCode::internal, "nothing was thrown"};
}

template <class Action>
ErrorCode code_of(Action action) {
  return error_of(action).code();
}

std::string bytes_of(const fs::path& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

void write_bytes(const fs::path& path, const std::string& bytes) { std::ofstream{path, std::ios::binary | std::ios::trunc} << bytes; }

void run_sql(const fs::path& path, const char* sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
  sqlite3_close(database);
}

/// Runs `body` in a child process. The child leaves by _exit, so that nothing of the parent's is cleaned up twice. One that hangs is killed: it
/// would keep the output of the test open, and with it whoever waits for that.
template <class Body>
pid_t start_child(Body body) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::alarm(300);
  int code = 99;
  try {
    code = body();
  } catch (const Error& error) {
    code = 50 + static_cast<int>(error.code());
  } catch (...) {
  }
  ::_exit(code);
}

int status_of(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

template <class Body>
int run_in_child(Body body) {
  return status_of(start_child(body));
}

constexpr int refused_with(ErrorCode code) { return 50 + static_cast<int>(code); }

class LedgerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "surety-ledger-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] const fs::path& folder() const { return folder_; }
  [[nodiscard]] fs::path path() const { return folder_ / "run.db"; }
  [[nodiscard]] std::size_t files() const { return static_cast<std::size_t>(std::distance(fs::directory_iterator{folder_}, {})); }

  /// A ledger with a settled, an adaptively stopped, an empty and an open run; it charges 3 + 7 + 11 releases.
  void make_history() const {
    auto ledger = Ledger::create(path(), adjacency);
    auto settled = ledger.reserve(plan(5, 40));
    for (int i = 0; i < 3; ++i) settled.spend(leaf(40));
    settled.settle(Stopping::data_independent);
    auto adaptive = ledger.reserve(plan(7, 50));
    adaptive.spend(leaf(50));
    adaptive.settle(Stopping::adaptive);
    ledger.reserve(plan(9, 60)).settle(Stopping::data_independent);
    static_cast<void>(ledger.reserve(plan(11, 70)));
  }
  static constexpr const char* history = "compose(repeat(3, gaussian(40)), repeat(7, gaussian(50)), repeat(11, gaussian(70)))";

 private:
  fs::path folder_;
};

// ------------------------------------------------------------------------------------------------------ reserve and settle

TEST_F(LedgerTest, ANewLedgerIsEmpty) {
  const auto ledger = Ledger::create(path(), Adjacency::zero_out);
  EXPECT_EQ(ledger.adjacency(), Adjacency::zero_out);
  EXPECT_EQ(ledger.path(), path());
  EXPECT_FALSE(ledger.event().has_value());
  EXPECT_TRUE(ledger.runs().empty());
  EXPECT_TRUE(ledger.entries().empty());
  EXPECT_FALSE(ledger.budget().has_value());
  EXPECT_FALSE(ledger.balance().has_value());
  EXPECT_EQ(files(), 1U) << "nothing but the ledger may be left in its folder";
}

TEST_F(LedgerTest, AReservationIsSeenByOthersAtOnce) {
  auto ledger = Ledger::create(path(), adjacency);
  const auto run = ledger.reserve(plan(100, 40));
  EXPECT_EQ(run.id(), RunId{1});
  EXPECT_EQ(describe(*Ledger::open(path()).event()), "repeat(100, gaussian(40))");
}

TEST_F(LedgerTest, AnAbandonedRunStaysChargedInFull) {
  auto ledger = Ledger::create(path(), adjacency);
  ledger.reserve(plan(100, 40)).spend(leaf(40));
  EXPECT_EQ(describe(*ledger.event()), "repeat(100, gaussian(40))");
  EXPECT_FALSE(ledger.runs().at(0).settlement.has_value());
}

TEST_F(LedgerTest, ASettledRunIsChargedWhatItReleased) {
  auto ledger = Ledger::create(path(), adjacency);
  auto run = ledger.reserve({.event = compose({times(5, leaf(40)), leaf(2)})});
  run.spend(leaf(2));
  run.spend(times(2, leaf(40)));
  run.settle(Stopping::data_independent);
  EXPECT_EQ(describe(*ledger.event()), "compose(gaussian(2), repeat(2, gaussian(40)))");
}

TEST_F(LedgerTest, ARunThatReleasedNothingIsFree) {
  auto ledger = Ledger::create(path(), adjacency);
  ledger.reserve(plan(100, 40)).settle(Stopping::data_independent);
  EXPECT_FALSE(ledger.event().has_value());
  EXPECT_EQ(ledger.runs().size(), 1U);
}

TEST_F(LedgerTest, AnAdaptiveStopIsChargedThePlan) {
  auto ledger = Ledger::create(path(), adjacency);
  auto run = ledger.reserve(plan(100, 40));
  run.spend(leaf(40));
  run.settle(Stopping::adaptive);
  EXPECT_EQ(describe(*ledger.event()), "repeat(100, gaussian(40))");
  EXPECT_EQ(describe(*ledger.runs().at(0).settlement->released), "gaussian(40)");
}

TEST_F(LedgerTest, AnAdaptiveStopCountsAgainstABudgetWhatItReleased) {
  auto ledger = Ledger::create(path(), adjacency, small_budget());
  auto run = ledger.reserve(plan(100, 40));
  EXPECT_TRUE(ledger.balance()->spent.contains(0.0625));
  run.spend(times(4, leaf(40)));
  run.settle(Stopping::adaptive);
  EXPECT_NEAR(ledger.balance()->spent.upper, 0.0025, 1e-17);
  EXPECT_EQ(describe(*ledger.event()), "repeat(100, gaussian(40))") << "what an audit adds up does not rest on the filter";
  EXPECT_NO_THROW(static_cast<void>(ledger.reserve(plan(100, 40))));
}

TEST_F(LedgerTest, AReleaseBeyondThePlanIsNotCharged) {
  auto ledger = Ledger::create(path(), adjacency);
  auto run = ledger.reserve(plan(2, 40));
  run.spend(leaf(40));
  const auto error = error_of([&] { run.spend(times(2, leaf(40))); });
  EXPECT_EQ(error.code(), ErrorCode::budget_exceeded);
  EXPECT_STREQ(error.what(), "run 1 releases 'repeat(2, gaussian(40))' beyond what is left of its plan 'repeat(2, gaussian(40))'");
  EXPECT_EQ(code_of([&] { run.spend(leaf(41)); }), ErrorCode::budget_exceeded);
  EXPECT_EQ(code_of([&] { run.spend(gaussian(NoiseMultiplier{40}, Adjacency::zero_out)); }), ErrorCode::budget_exceeded);
  EXPECT_EQ(run.released(), Releases::of(leaf(40))) << "a refused release must not be counted";
}

TEST_F(LedgerTest, ARunSettlesOnce) {
  auto ledger = Ledger::create(path(), adjacency);
  auto run = ledger.reserve(plan(2, 40));
  run.settle(Stopping::data_independent);
  const auto error = error_of([&] { run.settle(Stopping::data_independent); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_STREQ(error.what(), "run 1 is settled already, a run settles once");
}

TEST_F(LedgerTest, AnotherProcessMaySettle) {
  auto ledger = Ledger::create(path(), adjacency);
  const auto id = ledger.reserve(plan(8, 40)).id();
  ASSERT_EQ(run_in_child([&] {
              Ledger::open(path()).settle(id, times(3, leaf(40)), Stopping::data_independent);
              return 0;
            }),
            0);
  EXPECT_EQ(describe(*ledger.event()), "repeat(3, gaussian(40))");
}

TEST_F(LedgerTest, ARunCannotSettleWithMoreThanItsPlan) {
  auto ledger = Ledger::create(path(), adjacency);
  const auto id = ledger.reserve(plan(8, 40)).id();
  for (const auto& more : {times(9, leaf(40)), leaf(39), compose({times(8, leaf(40)), leaf(1e9)})}) {
    EXPECT_EQ(code_of([&] { ledger.settle(id, more, Stopping::data_independent); }), ErrorCode::invalid_argument) << describe(more);
  }
  EXPECT_EQ(code_of([&] { ledger.settle(id, gaussian(NoiseMultiplier{40}, Adjacency::zero_out), Stopping::data_independent); }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(describe(*ledger.event()), "repeat(8, gaussian(40))");
}

TEST_F(LedgerTest, AnUnknownRunCannotSettle) {
  auto ledger = Ledger::create(path(), adjacency);
  for (const std::uint64_t id : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
    EXPECT_EQ(code_of([&] { ledger.settle({id}, std::nullopt, Stopping::data_independent); }), ErrorCode::invalid_argument);
  }
}

TEST_F(LedgerTest, RunsComeBackAsWritten) {
  auto ledger = Ledger::create(path(), adjacency);
  const Plan written{.event = compose({times(3, leaf(0.1 + 0.2)), leaf(5e-324)}),
                     .promise = target(0.1, 1e-300),
                     .note = "gradient descent\n\"quoted\" \xc3\xa9",
                     .not_private = true};
  auto reservation = ledger.reserve(written);
  reservation.spend(leaf(5e-324));
  reservation.settle(Stopping::adaptive);
  const auto run = Ledger::open(path()).runs().at(0);
  EXPECT_EQ(run.id, RunId{1});
  EXPECT_EQ(run.plan.event, written.event);
  EXPECT_EQ(run.plan.promise->epsilon, Epsilon{0.1});
  EXPECT_EQ(run.plan.promise->delta, Delta{1e-300});
  EXPECT_EQ(run.plan.promise->adjacency, adjacency);
  EXPECT_EQ(run.plan.note, written.note);
  EXPECT_TRUE(run.plan.not_private);
  EXPECT_EQ(run.settlement->released, leaf(5e-324));
  EXPECT_EQ(run.settlement->stopping, Stopping::adaptive);
  EXPECT_EQ(run.created.size(), std::string{"2026-01-31T23:59:59Z"}.size());
  EXPECT_EQ(run.settlement->time, run.created);
}

TEST_F(LedgerTest, ANoteMayBeAnyBytes) {
  auto ledger = Ledger::create(path(), adjacency);
  static_cast<void>(ledger.reserve({.event = leaf(2), .note = "caf\xe9"}));
  EXPECT_EQ(ledger.runs().at(0).plan.note, "caf\xef\xbf\xbd");
}

TEST_F(LedgerTest, AMarkIsOneRunsWhateverBecameOfIt) {
  Ledger ledger = Ledger::create(path(), adjacency);
  const auto once = [&](const std::string& note, std::string_view mark) {
    return ledger.reserve_once({.event = leaf(40), .note = note}, mark);
  };
  const auto is_refused = [&](std::string_view mark, const char* words) {
    const auto runs = ledger.runs().size();
    const Error error = error_of([&] { static_cast<void>(once("again", mark)); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string{error.what()}.find(words), std::string::npos) << error.what();
    EXPECT_EQ(ledger.runs().size(), runs);
  };
  {
    auto living = once("a note", "ticket 07");
    EXPECT_EQ(living.plan().note, "a note [ticket 07]");
    EXPECT_EQ(ledger.runs().at(0).plan.note, living.plan().note) << "for people, and every version reads it";
    is_refused("ticket 07", "run 1 of the ledger has the mark [ticket 07], which one run may have: it is charged in full");
    EXPECT_EQ(once("", "ticket 08").plan().note, "[ticket 08]") << "and died";
    is_refused("ticket 08", "run 2");
    living.settle(Stopping::data_independent);
  }
  is_refused("ticket 07", "it is settled");
  EXPECT_NO_THROW(once("caf\xe9\xc3", "ticket 7")) << "another mark, though it looks alike";
  is_refused("ticket 7", "run 3");
  EXPECT_NO_THROW(once("an end [ticket 9] within", "ticket 1"));
  EXPECT_NO_THROW(once("", "ticket 9"));
  // One who writes a mark into a note takes it.
  static_cast<void>(ledger.reserve({.event = leaf(40), .note = "mine [ticket 10]"}));
  is_refused("ticket 10", "run 6");
  EXPECT_NO_THROW(once("", "0"));
  Ledger other = Ledger::open(path());
  EXPECT_EQ(error_of([&] { static_cast<void>(other.reserve_once({.event = leaf(40)}, "ticket 07")); }).code(), ErrorCode::invalid_argument);
  for (const char* mark : {"", "[a", "a]", "a\n", "\xc3\xa9", "a-b"}) {
    EXPECT_EQ(error_of([&] { static_cast<void>(once("", mark)); }).code(), ErrorCode::invalid_argument) << mark;
  }
  EXPECT_NO_THROW(once("", std::string(64, 'a')));
  EXPECT_EQ(error_of([&] { static_cast<void>(once("", std::string(65, 'a'))); }).code(), ErrorCode::invalid_argument);
}

TEST_F(LedgerTest, OfProcessesThatReserveOneMarkAtOnceOneIsAdmitted) {
  Ledger ledger = Ledger::create(path(), adjacency);
  for (int round = 0; round < 10; ++round) {
    const std::string mark = fmt::format("ticket {}", round);
    std::array<int, 2> gate{};
    ASSERT_EQ(::pipe(gate.data()), 0);
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      children.push_back(start_child([&] {
        ::close(gate[1]);
        Ledger own = Ledger::open(path());
        char byte = 0;
        static_cast<void>(::read(gate[0], &byte, 1));  // end of file for all at once
        static_cast<void>(own.reserve_once(plan(1, 40), mark));
        return 0;
      }));
    }
    ::close(gate[0]);
    ::close(gate[1]);
    int admitted = 0;
    for (const pid_t child : children) {
      const int status = status_of(child);
      EXPECT_TRUE(status == 0 || status == refused_with(ErrorCode::invalid_argument)) << status;
      if (status == 0) ++admitted;
    }
    EXPECT_EQ(admitted, 1);
    EXPECT_EQ(ledger.runs().size(), static_cast<std::size_t>(round + 1));
  }
}

TEST_F(LedgerTest, EntriesListWhatIsChargedByRunAndLeaf) {
  auto ledger = Ledger::create(path(), adjacency);
  static_cast<void>(ledger.reserve({.event = compose({times(5, leaf(40)), leaf(2)}), .note = "first"}));
  ledger.reserve({.event = leaf(9), .note = "never began"}).settle(Stopping::data_independent);
  static_cast<void>(ledger.reserve({.event = leaf(40), .note = "third"}));
  std::ostringstream text;
  for (const auto& entry : ledger.entries()) {
    text << entry.run.value << ": " << entry.count.value() << " x " << describe(entry.event) << " # " << entry.note << '\n';
  }
  EXPECT_EQ(text.str(), "1: 1 x gaussian(2) # first\n1: 5 x gaussian(40) # first\n3: 1 x gaussian(40) # third\n");
}

TEST_F(LedgerTest, WhatReallyHappenedIsAskedFromAnAccountant) {
  auto ledger = Ledger::create(path(), adjacency);
  static_cast<void>(ledger.reserve(plan(60, 40)));
  static_cast<void>(ledger.reserve(plan(40, 40)));
  EXPECT_EQ(epsilon(ClosedForm{}, *ledger.event(), Delta{1e-6}), epsilon(ClosedForm{}, times(100, leaf(40)), Delta{1e-6}));
}

TEST_F(LedgerTest, EveryEventMustHaveTheLedgersAdjacency) {
  auto ledger = Ledger::create(path(), adjacency);
  const auto other = gaussian(NoiseMultiplier{3}, Adjacency::add_or_remove_one);
  const auto error = error_of([&] { static_cast<void>(ledger.reserve({.event = other})); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_STREQ(error.what(), "adjacency of the event is add-or-remove-one, must be the ledger's, replace-one");
  const Target promise{.epsilon = Epsilon{1}, .delta = Delta{1e-5}, .adjacency = Adjacency::zero_out};
  EXPECT_EQ(code_of([&] { static_cast<void>(ledger.reserve({.event = leaf(3), .promise = promise})); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { ledger.check({.event = other}); }), ErrorCode::invalid_argument);
  EXPECT_TRUE(ledger.runs().empty());
}

TEST_F(LedgerTest, ACountThatCannotBeSaidAgainIsRefused) {
  auto ledger = Ledger::create(path(), adjacency);
  static_cast<void>(ledger.reserve(plan(Releases::max_count, 1e9)));
  EXPECT_EQ(code_of([&] { static_cast<void>(ledger.reserve(plan(1, 1e9))); }), ErrorCode::invalid_argument);
  EXPECT_EQ(Releases::of(*ledger.event()).count(leaf(1e9)), Releases::max_count);
}

TEST_F(LedgerTest, StoppingsRoundTripThroughTheirNames) {
  for (const auto stopping : {Stopping::data_independent, Stopping::adaptive}) EXPECT_EQ(parse_stopping(name(stopping)), stopping);
  EXPECT_EQ(code_of([] { static_cast<void>(parse_stopping("early")); }), ErrorCode::invalid_argument);
}

// --------------------------------------------------------------------------------------------------- who may spend and settle

TEST_F(LedgerTest, ASettledRunReleasesNothingMore) {
  auto ledger = Ledger::create(path(), adjacency);
  for (int i = 1; i <= 5; ++i) {
    auto run = ledger.reserve(plan(1, 40));
    run.settle(Stopping::data_independent);
    const auto error = error_of([&] { run.spend(leaf(40)); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error.what(), fmt::format("run {} releases 'gaussian(40)' after it was settled, must release before", i));
    EXPECT_TRUE(run.released().empty());
  }
  EXPECT_FALSE(ledger.event().has_value());
}

TEST_F(LedgerTest, ALivingRunIsSettledByItsReservationAlone) {
  auto ledger = Ledger::create(path(), adjacency);
  auto run = ledger.reserve(plan(8, 40));
  run.spend(times(3, leaf(40)));
  auto other = Ledger::open(path());
  for (auto* handle : {&ledger, &other}) {
    const auto error = error_of([&] { handle->settle(run.id(), leaf(40), Stopping::data_independent); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_STREQ(error.what(), "run 1 is still running, must be settled by its own reservation: it may release more");
  }
  const auto settle_elsewhere = [&] {
    Ledger::open(path()).settle(run.id(), std::nullopt, Stopping::data_independent);
    return 0;
  };
  EXPECT_EQ(run_in_child(settle_elsewhere), refused_with(ErrorCode::invalid_argument));
  EXPECT_EQ(describe(*ledger.event()), "repeat(8, gaussian(40))");
  run.spend(leaf(40));
  run.settle(Stopping::data_independent);
  EXPECT_EQ(run_in_child(settle_elsewhere), refused_with(ErrorCode::invalid_argument)) << "and once";
  EXPECT_EQ(describe(*other.event()), "repeat(4, gaussian(40))");
}

// Other handles of the process open and close the file all the time, which must not lose the lock that says that the run is alive.
TEST_F(LedgerTest, ARunStaysAliveWhileOtherHandlesComeAndGo) {
  auto run = Ledger::create(path(), adjacency).reserve(plan(8, 40));
  for (int i = 0; i < 3; ++i) static_cast<void>(Ledger::open(path()).reserve(plan(1, 60)));
  EXPECT_EQ(run_in_child([&] {
              Ledger::open(path()).settle(run.id(), std::nullopt, Stopping::data_independent);
              return 0;
            }),
            refused_with(ErrorCode::invalid_argument));
  run.spend(leaf(40));
}

TEST_F(LedgerTest, ARunOfAKilledProcessCanBeSettled) {
  static_cast<void>(Ledger::create(path(), adjacency));
  ASSERT_EQ(run_in_child([&] {
              auto run = Ledger::open(path()).reserve(plan(8, 40));
              run.spend(leaf(40));
              ::kill(::getpid(), SIGKILL);
              return 0;
            }),
            1000 + SIGKILL);
  auto ledger = Ledger::open(path());
  ledger.settle({1}, leaf(40), Stopping::data_independent);
  EXPECT_EQ(describe(*ledger.event()), "gaussian(40)");
}

TEST_F(LedgerTest, AfterAFailedSettlementNothingMoreIsReleased) {
  auto ledger = Ledger::create(path(), adjacency);
  auto run = ledger.reserve(plan(8, 40));
  run.spend(leaf(40));
  const fs::path away = folder() / "away.db";
  fs::rename(path(), away);
  EXPECT_EQ(code_of([&] { run.settle(Stopping::data_independent); }), ErrorCode::environment);
  EXPECT_EQ(code_of([&] { run.spend(leaf(40)); }), ErrorCode::invalid_argument);
  EXPECT_EQ(describe(*Ledger::open(away).event()), "repeat(8, gaussian(40))");
  fs::rename(away, path());
  run.settle(Stopping::data_independent);
  EXPECT_EQ(describe(*Ledger::open(path()).event()), "gaussian(40)");
}

TEST_F(LedgerTest, AMovedReservationIsWhereItWasMovedTo) {
  auto ledger = Ledger::create(path(), adjacency);
  auto from = ledger.reserve(plan(2, 40));
  auto to = std::move(from);
  EXPECT_EQ(code_of([&] { from.spend(leaf(40)); }), ErrorCode::invalid_argument);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(code_of([&] { from.settle(Stopping::data_independent); }), ErrorCode::invalid_argument);
  to.spend(leaf(40));
  to = ledger.reserve(plan(3, 50));
  EXPECT_NO_THROW(ledger.settle({1}, leaf(40), Stopping::data_independent)) << "what it held before is gone";
  EXPECT_EQ(code_of([&] { ledger.settle({2}, std::nullopt, Stopping::data_independent); }), ErrorCode::invalid_argument);
  EXPECT_EQ(describe(*ledger.event()), "compose(gaussian(40), repeat(3, gaussian(50)))");
}

TEST_F(LedgerTest, ACopyOfTheProcessMayNotUseWhatItInherited) {
  auto ledger = Ledger::create(path(), adjacency);
  auto run = std::make_unique<Reservation>(ledger.reserve(plan(2, 40)));
  for (const std::function<void()>& use : {std::function<void()>{[&] { run->spend(times(2, leaf(40))); }},
                                           std::function<void()>{[&] { run->settle(Stopping::data_independent); }},
                                           std::function<void()>{[&] { static_cast<void>(ledger.event()); }},
                                           std::function<void()>{[&] { static_cast<void>(ledger.reserve(plan(1, 50))); }}}) {
    EXPECT_EQ(run_in_child([&] {
                use();
                return 0;
              }),
              refused_with(ErrorCode::invalid_argument));
  }
  // The child destroys what it inherited, and opens the ledger anew.
  EXPECT_EQ(run_in_child([&] {
              run.reset();
              ledger = Ledger::open(path());
              if (code_of([&] { ledger.settle({1}, std::nullopt, Stopping::data_independent); }) != ErrorCode::invalid_argument) return 1;
              static_cast<void>(ledger.reserve(plan(3, 50)));
              return 0;
            }),
            0);
  run->spend(times(2, leaf(40)));
  run->settle(Stopping::data_independent);
  EXPECT_EQ(describe(*ledger.event()), "compose(repeat(2, gaussian(40)), repeat(3, gaussian(50)))");
}

/// Where a thread that opens a ledger stops amid SQLite's work, until it is told to go on.
class StopWithinACall {
 public:
  StopWithinACall() {
    inside = may_go_on = false;
    EXPECT_EQ(sqlite3_auto_extension(reinterpret_cast<void (*)()>(&StopWithinACall::stop)), SQLITE_OK);
  }
  ~StopWithinACall() { sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(&StopWithinACall::stop)); }

  static void wait_until_one_is_there() { inside.wait(false); }
  static void go_on() {
    may_go_on = true;
    may_go_on.notify_all();
  }

 private:
  static int stop(sqlite3*, const char**, const void*) {
    inside = true;
    inside.notify_all();
    may_go_on.wait(false);
    return SQLITE_OK;
  }

  static inline std::atomic<bool> inside = false;
  static inline std::atomic<bool> may_go_on = false;
};

// What a copy inherits of SQLite is then half done. The thread stands where it holds no lock of the heap: a copy that is made while another
// thread allocates may hang in its first allocation, where the sanitizers' heap has no handler for forks.
TEST_F(LedgerTest, AProcessForkedAmidACallCanUseNoLedger) {
  static_cast<void>(Ledger::create(path(), adjacency));
  const StopWithinACall calls;
  std::thread opener{[&] { EXPECT_NO_THROW(static_cast<void>(Ledger::open(path()))); }};
  StopWithinACall::wait_until_one_is_there();
  EXPECT_EQ(run_in_child([&] {
              StopWithinACall::go_on();
              static_cast<void>(Ledger::open(path()));
              return 0;
            }),
            refused_with(ErrorCode::environment));
  StopWithinACall::go_on();
  opener.join();
  EXPECT_EQ(run_in_child([&] {
              static_cast<void>(Ledger::open(path()));
              return 0;
            }),
            0)
      << "the call is over";
}

TEST_F(LedgerTest, ThreadsMayShareALedger) {
  auto ledger = Ledger::create(path(), adjacency);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 5; ++j) {
        auto run = ledger.reserve(plan(2, 40));
        run.spend(leaf(40));
        run.settle(Stopping::data_independent);
        static_cast<void>(ledger.event());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(describe(*ledger.event()), "repeat(20, gaussian(40))");
}

TEST_F(LedgerTest, TwentyProcessesAllGetTheirTurn) {
  std::vector<pid_t> children;
  for (int i = 0; i < 20; ++i) {
    children.push_back(start_child([&] {
      for (int j = 0; j < 3; ++j) {
        auto run = Ledger::open_or_create(path(), adjacency).reserve(plan(2, 40));
        run.spend(leaf(40));
        run.settle(Stopping::data_independent);
      }
      return 0;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(status_of(child), 0);
  EXPECT_EQ(describe(*Ledger::open(path()).event()), "repeat(60, gaussian(40))");
}

// ---------------------------------------------------------------------------------------------------------- the unit of privacy

TEST_F(LedgerTest, ALedgerProtectsOneUnit) {
  const UnitOfPrivacy patient{"patient", Count{5}};
  auto ledger = Ledger::create(path(), adjacency, std::nullopt, patient);
  EXPECT_EQ(Ledger::open(path()).unit(), patient);
  const auto error = error_of([&] { static_cast<void>(ledger.reserve(plan(1, 40))); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_STREQ(
      error.what(),
      "unit of the plan is one row, must be the ledger's, one patient of at most 5 rows (names byte by byte, rows without one: one unit): they differ in whose rows they are, how many rows are used");
  EXPECT_EQ(code_of([&] { ledger.check(plan(1, 40)); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { static_cast<void>(Ledger::open_or_create(path(), adjacency)); }), ErrorCode::invalid_argument);
  static_cast<void>(Ledger::open_or_create(path(), adjacency, patient).reserve({.event = leaf(40), .unit = patient}));
  EXPECT_EQ(Ledger::open(path()).runs().at(0).plan.unit, patient);
  EXPECT_TRUE(Ledger::create(folder() / "rows.db", adjacency).unit() == UnitOfPrivacy{});
}

TEST_F(LedgerTest, SaysWhetherItWasMade) {
  EXPECT_TRUE(Ledger::open_or_create(path(), adjacency).is_new());
  EXPECT_FALSE(Ledger::open_or_create(path(), adjacency).is_new());
  EXPECT_FALSE(Ledger::open(path()).is_new());
  EXPECT_TRUE(Ledger::create(folder() / "other.db", adjacency).is_new());
}

// ------------------------------------------------------------------------------------------------------------------ budget

TEST_F(LedgerTest, ABudgetAdmitsTheRunCalibratedToAllOfIt) {
  const auto run = calibrate([](NoiseMultiplier z) { return repeat(Count{100}, gaussian(z, adjacency)); }, small_budget().target);
  auto ledger = Ledger::create(path(), adjacency, small_budget());
  EXPECT_NO_THROW(ledger.check({.event = run.event}));
  EXPECT_NO_THROW(static_cast<void>(ledger.reserve({.event = run.event})));
  EXPECT_EQ(code_of([&] { static_cast<void>(ledger.reserve(plan(1, 1e4))); }), ErrorCode::budget_exceeded);
}

TEST_F(LedgerTest, ARefusalSaysWhatIsSpentAskedAndAllowed) {
  auto ledger = Ledger::create(path(), adjacency, small_budget());
  static_cast<void>(ledger.reserve(plan(100, 40)));
  const std::string expected =
      "the budget epsilon = 1 at delta = 1e-05 allows mu^2 of at most 0.0718514: 0.0625 is spent and 'repeat(16, gaussian(40))' asks 0.01";
  for (const auto& action : {std::function<void()>{[&] { static_cast<void>(ledger.reserve(plan(16, 40))); }},
                             std::function<void()>{[&] { ledger.check(plan(16, 40)); }}}) {
    const auto error = error_of(action);
    EXPECT_EQ(error.code(), ErrorCode::budget_exceeded);
    EXPECT_EQ(error.what(), expected);
  }
  EXPECT_EQ(ledger.runs().size(), 1U) << "a refused reservation must not be written";
}

TEST_F(LedgerTest, AnUnfinishedRunCountsInFullAgainstTheBudget) {
  auto ledger = Ledger::create(path(), adjacency, small_budget());
  auto first = ledger.reserve(plan(100, 40));
  EXPECT_EQ(code_of([&] { ledger.check(plan(100, 40)); }), ErrorCode::budget_exceeded);
  first.spend(leaf(40));
  first.settle(Stopping::data_independent);
  EXPECT_NO_THROW(ledger.check(plan(100, 40)));
}

TEST_F(LedgerTest, TheBudgetIsStoredWithTheLedger) {
  static_cast<void>(Ledger::create(path(), adjacency, Budget{.target = target(0.3, 1e-7), .filter = FilterKind::zcdp}));
  const auto balance = Ledger::open(path()).balance();
  EXPECT_EQ(balance->budget.target.epsilon, Epsilon{0.3});
  EXPECT_EQ(balance->budget.target.delta, Delta{1e-7});
  EXPECT_EQ(balance->budget.filter, FilterKind::zcdp);
  EXPECT_EQ(balance->unit, "rho");
  EXPECT_EQ(balance->spent, Enclosure(0, 0));
}

TEST_F(LedgerTest, ABasicBudgetAddsUpEpsilonsAndDeltas) {
  const Budget budget{.target = target(1, 0.25), .filter = FilterKind::basic};
  auto ledger = Ledger::create(path(), adjacency, budget);
  const auto ask = [](const char* text) { return Plan{.event = parse_event(text, adjacency)}; };
  static_cast<void>(ledger.reserve(ask("compose(laplace(4), approx(0.25, 0.125))")));
  const auto too_much = error_of([&] { static_cast<void>(ledger.reserve(ask("repeat(3, pure(0.25))"))); });
  EXPECT_EQ(too_much.code(), ErrorCode::budget_exceeded);
  EXPECT_STREQ(too_much.what(),
               "the budget epsilon = 1 at delta = 0.25 allows epsilon of at most 1: 0.5 is spent and 'repeat(3, pure(0.25))' asks 0.75");
  const auto too_likely = error_of([&] { static_cast<void>(ledger.reserve(ask("approx(0.125, 0.1875)"))); });
  EXPECT_EQ(too_likely.code(), ErrorCode::budget_exceeded);
  EXPECT_STREQ(too_likely.what(),
               "the budget epsilon = 1 at delta = 0.25 is exceeded in delta: 0.125 is spent and 'approx(0.125, 0.1875)' asks 0.1875");
  EXPECT_EQ(code_of([&] { static_cast<void>(ledger.reserve(ask("gaussian(100)"))); }), ErrorCode::unsupported);
  static_cast<void>(ledger.reserve(ask("approx(0.5, 0.125)")));
  const auto balance = Ledger::open(path()).balance();
  EXPECT_EQ(balance->budget.filter, FilterKind::basic);
  EXPECT_EQ(balance->unit, "epsilon");
  EXPECT_EQ(balance->spent, Enclosure(1, 1));
}

TEST_F(LedgerTest, ABudgetIsSetBeforeTheFirstRunAndOnce) {
  auto ledger = Ledger::create(path(), adjacency);
  ledger.set_budget(small_budget());
  EXPECT_EQ(Ledger::open(path()).budget()->target.epsilon, Epsilon{1});
  EXPECT_EQ(code_of([&] { ledger.set_budget(small_budget()); }), ErrorCode::invalid_argument);

  auto used = Ledger::create(folder() / "used.db", adjacency);
  static_cast<void>(used.reserve(plan(1, 1e6)));
  EXPECT_EQ(code_of([&] { used.set_budget(small_budget()); }), ErrorCode::invalid_argument);
}

TEST_F(LedgerTest, ABudgetMustHaveTheLedgersAdjacency) {
  EXPECT_EQ(code_of([&] { static_cast<void>(Ledger::create(path(), Adjacency::zero_out, small_budget())); }), ErrorCode::invalid_argument);
  EXPECT_FALSE(fs::exists(path()));
  auto ledger = Ledger::create(path(), Adjacency::zero_out);
  EXPECT_EQ(code_of([&] { ledger.set_budget(small_budget()); }), ErrorCode::invalid_argument);
}

TEST_F(LedgerTest, OfProcessesThatReserveAtOnceOnlyAsManyAsFitAreAdmitted) {
  for (int round = 0; round < 10; ++round) {
    const auto run_path = folder() / fmt::format("round{}.db", round);
    static_cast<void>(Ledger::create(run_path, adjacency, small_budget()));
    std::array<int, 2> gate{};
    ASSERT_EQ(::pipe(gate.data()), 0);
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      children.push_back(start_child([&] {
        ::close(gate[1]);
        auto ledger = Ledger::open(run_path);
        char byte = 0;
        static_cast<void>(::read(gate[0], &byte, 1));  // end of file for all at once
        static_cast<void>(ledger.reserve(plan(100, 40)));
        return 0;
      }));
    }
    ::close(gate[0]);
    ::close(gate[1]);
    int admitted = 0;
    for (const pid_t child : children) {
      const int status = status_of(child);
      EXPECT_TRUE(status == 0 || status == refused_with(ErrorCode::budget_exceeded)) << status;
      if (status == 0) ++admitted;
    }
    EXPECT_EQ(admitted, 1);
    EXPECT_EQ(Ledger::open(run_path).runs().size(), 1U);
  }
}

// -------------------------------------------------------------------------------------------------- creating and opening

TEST_F(LedgerTest, CreatingReplacesNothing) {
  static_cast<void>(Ledger::create(path(), adjacency));
  const auto before = bytes_of(path());
  EXPECT_EQ(code_of([&] { static_cast<void>(Ledger::create(path(), adjacency)); }), ErrorCode::invalid_argument);
  EXPECT_EQ(bytes_of(path()), before);
  EXPECT_EQ(files(), 1U);
}

TEST_F(LedgerTest, OpenOrCreateDoesEither) {
  static_cast<void>(Ledger::open_or_create(path(), adjacency).reserve(plan(3, 40)));
  EXPECT_EQ(Ledger::open_or_create(path(), adjacency).runs().size(), 1U);
}

TEST_F(LedgerTest, OpenOrCreateRefusesAnotherAdjacency) {
  static_cast<void>(Ledger::create(path(), Adjacency::zero_out));
  EXPECT_EQ(code_of([&] { static_cast<void>(Ledger::open_or_create(path(), adjacency)); }), ErrorCode::invalid_argument);
}

TEST_F(LedgerTest, ProcessesThatCreateAtOnceShareOneLedger) {
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) {
    children.push_back(start_child([&] {
      static_cast<void>(Ledger::open_or_create(path(), adjacency).reserve(plan(1, 40)));
      return 0;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(status_of(child), 0);
  EXPECT_EQ(describe(*Ledger::open(path()).event()), "repeat(6, gaussian(40))");
  EXPECT_EQ(files(), 1U);
}

TEST_F(LedgerTest, ThreadsEachWithTheirOwnLedgerObjectLoseNoCharge) {
  static_cast<void>(Ledger::create(path(), adjacency));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      auto ledger = Ledger::open(path());
      for (int j = 0; j < 10; ++j) static_cast<void>(ledger.reserve(plan(1, 40)));
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(describe(*Ledger::open(path()).event()), "repeat(40, gaussian(40))");
}

// What was drawn ahead of a reservation may be in a snapshot, and come twice.
TEST_F(LedgerTest, AReservationForgetsWhatWasDrawnAhead) {
  auto ledger = Ledger::create(path(), adjacency);
  DrawnAhead ahead;
  EXPECT_FALSE(ahead.must_be_forgotten());
  const auto one = ledger.reserve(plan(1, 40));
  EXPECT_TRUE(ahead.must_be_forgotten());
  EXPECT_FALSE(ahead.must_be_forgotten());
  const auto once = ledger.reserve_once(plan(1, 40), "ticket 1");
  EXPECT_TRUE(ahead.must_be_forgotten());
}

TEST_F(LedgerTest, WhereThereIsNothingNothingOpens) {
  EXPECT_EQ(code_of([&] { static_cast<void>(Ledger::open(path())); }), ErrorCode::environment);
  EXPECT_EQ(code_of([&] { static_cast<void>(Ledger::open("")); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { static_cast<void>(Ledger::create(folder() / "missing" / "run.db", adjacency)); }), ErrorCode::environment);
  EXPECT_EQ(files(), 0U);
}

TEST_F(LedgerTest, NamesThatAreSpecialToSqliteAreFiles) {
  const auto here = fs::current_path();
  fs::current_path(folder());
  for (const char* name : {":memory:", "file:a?mode=memory", "-b"}) {
    static_cast<void>(Ledger::create(name, adjacency).reserve(plan(1, 40)));
    EXPECT_EQ(Ledger::open(name).runs().size(), 1U);
    EXPECT_TRUE(fs::exists(folder() / name));
  }
  fs::current_path(here);
}

TEST_F(LedgerTest, AJournalLeftFromAnotherDatabaseIsNotPlayedBack) {
  write_bytes(path().string() + "-journal", "anything");
  EXPECT_EQ(code_of([&] { static_cast<void>(Ledger::create(path(), adjacency)); }), ErrorCode::environment);
  EXPECT_EQ(files(), 1U);
}

// ------------------------------------------------------------------------------------------------------- bad and lost files

TEST_F(LedgerTest, AnotherFileIsRefusedAndNotTouched) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"empty", ""},
      {"text", "label,age\n1,30\n"},
      {"long text", std::string(20'000, 'x')},
      {"only the magic of SQLite", std::string{"SQLite format 3\0", 16}},
      {"the magic and rubbish", std::string{"SQLite format 3\0", 16} + std::string(10'000, '\x7f')},
  };
  for (const auto& [what, bytes] : cases) {
    write_bytes(path(), bytes);
    EXPECT_EQ(code_of([&] { static_cast<void>(Ledger::open(path())); }), ErrorCode::damaged_ledger) << what;
    EXPECT_EQ(code_of([&] { static_cast<void>(Ledger::open_or_create(path(), adjacency)); }), ErrorCode::damaged_ledger) << what;
    EXPECT_EQ(bytes_of(path()), bytes) << what;
    EXPECT_EQ(files(), 1U) << what;
  }
}

TEST_F(LedgerTest, AFolderIsNotALedger) {
  EXPECT_EQ(code_of([&] { static_cast<void>(Ledger::open(folder())); }), ErrorCode::damaged_ledger);
  EXPECT_EQ(code_of([&] { static_cast<void>(Ledger::open_or_create(folder(), adjacency)); }), ErrorCode::damaged_ledger);
}

TEST_F(LedgerTest, AnotherProgramsDatabaseIsRefusedAndNotTouched) {
  run_sql(path(), "CREATE TABLE entry (number, content, checksum); INSERT INTO entry VALUES (1, 2, 3)");
  const auto before = bytes_of(path());
  const auto error = error_of([&] { static_cast<void>(Ledger::open(path())); });
  EXPECT_EQ(error.code(), ErrorCode::damaged_ledger);
  EXPECT_EQ(error.what(), fmt::format("'{}' is not an intact ledger: it was written by another program", path().string()));
  EXPECT_EQ(bytes_of(path()), before);
}

TEST_F(LedgerTest, AFutureVersionIsRefused) {
  static_cast<void>(Ledger::create(path(), adjacency));
  run_sql(path(), "PRAGMA user_version = 4");
  const auto error = error_of([&] { static_cast<void>(Ledger::open(path())); });
  EXPECT_EQ(error.code(), ErrorCode::damaged_ledger);
  EXPECT_EQ(error.what(), fmt::format("'{}' is not an intact ledger: its version is 4, must be from 1 to 3", path().string()));
}

TEST_F(LedgerTest, ALostLastEntryIsNoticed) {
  make_history();
  run_sql(path(), "DELETE FROM entry WHERE number = (SELECT max(number) FROM entry)");
  EXPECT_EQ(code_of([&] { static_cast<void>(Ledger::open(path())); }), ErrorCode::damaged_ledger);
}

TEST_F(LedgerTest, AChangedDigitIsNoticed) {
  make_history();
  run_sql(path(), "UPDATE entry SET content = replace(content, '\"count\":7', '\"count\":1')");
  EXPECT_EQ(code_of([&] { static_cast<void>(Ledger::open(path())); }), ErrorCode::damaged_ledger);
}

TEST_F(LedgerTest, AnOpenLedgerNoticesDamageThatComesLater) {
  make_history();
  auto ledger = Ledger::open(path());
  run_sql(path(), "DELETE FROM entry WHERE number = (SELECT max(number) FROM entry)");
  EXPECT_EQ(code_of([&] { static_cast<void>(ledger.event()); }), ErrorCode::damaged_ledger);
  EXPECT_EQ(code_of([&] { static_cast<void>(ledger.reserve(plan(1, 40))); }), ErrorCode::damaged_ledger);
}

TEST_F(LedgerTest, ATruncatedLedgerIsNoticedAtEveryLength) {
  make_history();
  const auto whole = bytes_of(path());
  std::vector<std::size_t> lengths{0, 1, 15, 16, 99, 100, 101, 511, 512, 513, 1023, 1024};
  for (std::size_t length = 0; length < whole.size(); length += 61) lengths.push_back(length);
  for (std::size_t page = 4096; page < whole.size(); page += 4096) lengths.insert(lengths.end(), {page - 1, page, page + 1});
  lengths.push_back(whole.size() - 1);
  for (const auto length : lengths) {
    if (length >= whole.size()) continue;
    write_bytes(path(), whole.substr(0, length));
    try {
      EXPECT_EQ(describe(*Ledger::open(path()).event()), history) << length;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::damaged_ledger) << length << ": " << error.what();
    }
  }
}

TEST_F(LedgerTest, AChangedByteNeverMakesAChargeSmaller) {
  make_history();
  const auto whole = bytes_of(path());
  const auto expect_same_or_noticed = [&](std::size_t place, int flip) {
    auto bytes = whole;
    bytes[place] = static_cast<char>(bytes[place] ^ flip);
    write_bytes(path(), bytes);
    try {
      EXPECT_EQ(describe(*Ledger::open(path()).event()), history) << "byte " << place << " flipped by " << flip;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::damaged_ledger) << "byte " << place << " flipped by " << flip << ": " << error.what();
    }
    EXPECT_EQ(files(), 1U) << "byte " << place;
  };
  // Its lowest bit turns a digit into another digit. Most of a young ledger is empty space, where a change means nothing.
  for (std::size_t place = 0; place < whole.size(); place += thinned) {
    if (whole[place] != 0) expect_same_or_noticed(place, 1);
  }
  std::mt19937_64 random{20260101};
  for (int i = 0; i < 1000 / thinned; ++i) expect_same_or_noticed(random() % whole.size(), static_cast<int>(1 + random() % 255));
}

// ------------------------------------------------------------------------------------------------------- write-ahead logs

/// What a copy of the file alone says.
std::size_t runs_of_a_copy(const fs::path& path, const fs::path& copy) {
  fs::copy_file(path, copy, fs::copy_options::overwrite_existing);
  const auto runs = Ledger::open(copy).runs().size();
  fs::remove(copy);
  return runs;
}

TEST_F(LedgerTest, AWriteAheadLogIsEndedBeforeAnythingIsCharged) {
  static_cast<void>(Ledger::create(path(), adjacency));
  run_sql(path(), "PRAGMA journal_mode = WAL");
  auto opened = Ledger::open(path());
  static_cast<void>(opened.reserve(plan(1, 40)));
  EXPECT_EQ(runs_of_a_copy(path(), folder() / "copy.db"), 1U);
  // And where somebody switches it under an open ledger.
  run_sql(path(), "PRAGMA journal_mode = WAL");
  static_cast<void>(opened.reserve(plan(1, 40)));
  EXPECT_EQ(runs_of_a_copy(path(), folder() / "copy.db"), 2U);
  EXPECT_EQ(files(), 1U) << "no log is left";
}

TEST_F(LedgerTest, RunsInAWriteAheadLogAreTakenIntoTheFile) {
  make_history();
  static_cast<void>(Ledger::create(folder() / "young.db", adjacency));
  // A process that was killed after it had charged four runs into the log that another program had asked for.
  const std::string sql = fmt::format(
      "PRAGMA journal_mode = WAL; ATTACH '{}' AS old; BEGIN; DELETE FROM entry; INSERT INTO entry SELECT * FROM old.entry; REPLACE INTO head SELECT * FROM old.head; COMMIT",
      path().string());
  ASSERT_EQ(run_in_child([&] {
              sqlite3* database = nullptr;
              sqlite3_open((folder() / "young.db").c_str(), &database);
              if (sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return 1;
              ::kill(::getpid(), SIGKILL);
              return 0;
            }),
            1000 + SIGKILL);
  ASSERT_TRUE(fs::exists(folder() / "young.db-wal"));
  EXPECT_EQ(describe(*Ledger::open(folder() / "young.db").event()), history);
  EXPECT_EQ(files(), 2U) << "no log is left";
  EXPECT_EQ(runs_of_a_copy(folder() / "young.db", folder() / "copy.db"), 4U);
}

TEST_F(LedgerTest, AWriteAheadLogInUseIsRefused) {
  make_history();
  auto before = Ledger::open(path());
  std::array<int, 2> in_use{};
  std::array<int, 2> may_end{};
  ASSERT_EQ(::pipe(in_use.data()), 0);
  ASSERT_EQ(::pipe(may_end.data()), 0);
  // Another program: what we close drops locks of our own process, and none of its.
  const pid_t stranger = start_child([&] {
    sqlite3* theirs = nullptr;
    if (sqlite3_open(path().c_str(), &theirs) != SQLITE_OK) return 1;
    if (sqlite3_exec(theirs, "PRAGMA journal_mode = WAL; SELECT * FROM head", nullptr, nullptr, nullptr) != SQLITE_OK) return 2;
    char byte = 'w';
    if (::write(in_use[1], &byte, 1) != 1 || ::read(may_end[0], &byte, 1) != 1) return 3;
    return sqlite3_close(theirs) == SQLITE_OK ? 0 : 4;
  });
  char byte = 0;
  ASSERT_EQ(::read(in_use[0], &byte, 1), 1);
  for (const auto& action : {std::function<void()>{[&] { static_cast<void>(Ledger::open(path())); }},
                             std::function<void()>{[&] { static_cast<void>(before.reserve(plan(1, 40))); }}}) {
    const auto error = error_of(action);
    EXPECT_EQ(error.code(), ErrorCode::environment);
    EXPECT_NE(std::string{error.what()}.find("switched it to a write-ahead log"), std::string::npos) << error.what();
  }
  EXPECT_EQ(::write(may_end[1], &byte, 1), 1);
  EXPECT_EQ(status_of(stranger), 0);
  for (const int end : {in_use[0], in_use[1], may_end[0], may_end[1]}) ::close(end);
  EXPECT_EQ(before.runs().size(), 4U);
  static_cast<void>(before.reserve(plan(1, 40)));
  EXPECT_EQ(runs_of_a_copy(path(), folder() / "copy.db"), 5U);
}

// ------------------------------------------------------------------------------------------------- kills and a refusing machine

/// Creates or opens, reserves, releases and settles without end. Each release is reported after `spend`, as an optimizer
/// would publish it.
int release_until_killed(const fs::path& path, int report) {
  for (;;) {
    auto ledger = Ledger::open_or_create(path, adjacency);
    auto run = ledger.reserve(plan(4, 40));
    for (int i = 0; i < 3; ++i) {
      run.spend(leaf(40));
      if (::write(report, "r", 1) != 1) return 1;
    }
    run.settle(Stopping::data_independent);
  }
}

TEST_F(LedgerTest, AKillAtAnyMomentLosesNoCharge) {
  std::mt19937_64 random{7};
  std::uint64_t released = 0;
  int journals = 0;
  for (int kill = 0; kill < 240 / thinned; ++kill) {
    // A new ledger every eighth time, so that its creation is killed as well.
    const auto current = folder() / fmt::format("{}.db", kill / 8);
    if (kill % 8 == 0) released = 0;
    std::array<int, 2> report{};
    ASSERT_EQ(::pipe(report.data()), 0);
    const pid_t child = start_child([&] { return release_until_killed(current, report[1]); });
    ::close(report[1]);
    // Every other child is first left alone until it has released something, however slow the machine is.
    std::array<char, 4096> buffer{};
    if (kill % 2 == 1) released += static_cast<std::uint64_t>(std::max(ssize_t{0}, ::read(report[0], buffer.data(), buffer.size())));
    ::usleep(static_cast<useconds_t>(random() % 10'000));
    ::kill(child, SIGKILL);
    EXPECT_EQ(status_of(child), 1000 + SIGKILL);
    for (ssize_t count = 0; (count = ::read(report[0], buffer.data(), buffer.size())) > 0;) released += static_cast<std::uint64_t>(count);
    ::close(report[0]);
    if (fs::exists(current.string() + "-journal")) ++journals;

    if (!fs::exists(current)) {
      EXPECT_EQ(released, 0U);
      continue;
    }
    const auto event = Ledger::open(current).event();
    EXPECT_GE(event ? Releases::of(*event).count(leaf(40)) : 0U, released) << "after kill " << kill;
  }
  EXPECT_GT(released, 0U);
  EXPECT_GT(journals, 0) << "no kill met a commit";
}

/// Reserves until the machine refuses, and says how that went: 0 for an error as documented after at least one reservation.
int reserve_until_refused(const fs::path& path) {
  auto ledger = Ledger::open(path);
  const std::size_t before = ledger.runs().size();
  for (std::size_t i = 0; i < 100'000; ++i) {
    try {
      static_cast<void>(ledger.reserve({.event = leaf(40), .note = std::string(3000, 'n')}));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::environment) return refused_with(error.code());
      // Earlier charges are still there, for the process that met the failure and for its successors.
      if (ledger.runs().size() != before + i || Ledger::open(path).runs().size() != before + i) return 2;
      return i > 0 ? 0 : 3;
    }
  }
  return 4;
}

TEST_F(LedgerTest, AFileThatMayNotGrowLosesNoCharge) {
  static_cast<void>(Ledger::create(path(), adjacency));
  static_cast<void>(Ledger::open(path()).reserve(plan(3, 50)));
  ASSERT_EQ(run_in_child([&] {
              ::signal(SIGXFSZ, SIG_IGN);
              const rlimit limit{.rlim_cur = 100'000, .rlim_max = 100'000};
              if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 5;
              return reserve_until_refused(path());
            }),
            0);
  auto ledger = Ledger::open(path());
  EXPECT_GT(ledger.runs().size(), 10U);
  EXPECT_EQ(Releases::of(*ledger.event()).count(leaf(50)), 3U);
  EXPECT_NO_THROW(static_cast<void>(ledger.reserve(plan(1, 40)))) << "with room again, the ledger goes on";
}

TEST_F(LedgerTest, ALedgerThatDoesNotFitIsNotMade) {
  ASSERT_EQ(run_in_child([&] {
              ::signal(SIGXFSZ, SIG_IGN);
              const rlimit limit{.rlim_cur = 5000, .rlim_max = 5000};
              if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 5;
              static_cast<void>(Ledger::open_or_create(path(), adjacency));
              return 0;
            }),
            refused_with(ErrorCode::environment));
  EXPECT_EQ(files(), 0U);
}

TEST_F(LedgerTest, AFullDiskLosesNoCharge) {
  constexpr int cannot_mount = 77;
  const int status = run_in_child([&] {
    // In a mount namespace of its own, so that nothing is left mounted.
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", folder().c_str(), "tmpfs", 0, "size=256k") != 0) {
      return cannot_mount;
    }
    static_cast<void>(Ledger::create(path(), adjacency));
    if (const int refused = reserve_until_refused(path()); refused != 0) return refused;
    const auto runs = Ledger::open(path()).runs().size();
    return runs > 10 ? 0 : 6;
  });
  if (status == cannot_mount) GTEST_SKIP() << "this process may not mount a small file system";
  EXPECT_EQ(status, 0);
}

TEST_F(LedgerTest, AReadOnlyLedgerIsReadAndNotWritten) {
  make_history();
  fs::permissions(path(), fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
  fs::permissions(folder(), fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
  const int status = run_in_child([&] {
    // To the superuser nothing is read-only.
    if (::geteuid() == 0 && ::setuid(65534) != 0) return 77;
    auto ledger = Ledger::open(path());
    if (describe(*ledger.event()) != history) return 1;
    static_cast<void>(ledger.reserve(plan(1, 40)));
    return 0;
  });
  if (status == 77) GTEST_SKIP() << "this process is the superuser and cannot stop being it";
  EXPECT_EQ(status, refused_with(ErrorCode::environment));
  EXPECT_EQ(describe(*Ledger::open(path()).event()), history);
}

TEST_F(LedgerTest, AFolderWithoutPermissionIsAnErrorOfTheEnvironment) {
  fs::permissions(folder(), fs::perms::owner_read | fs::perms::owner_exec);
  const int status = run_in_child([&] {
    if (::geteuid() == 0 && ::setuid(65534) != 0) return 77;
    static_cast<void>(Ledger::open_or_create(path(), adjacency));
    return 0;
  });
  fs::permissions(folder(), fs::perms::owner_all);
  if (status == 77) GTEST_SKIP() << "this process is the superuser and cannot stop being it";
  EXPECT_EQ(status, refused_with(ErrorCode::environment));
}

// -------------------------------------------------------------------------------------------------------------------- laws

RC_GTEST_FIXTURE_PROP(LedgerTest, ChargesAreBetweenWhatWasReleasedAndWhatWasPlanned, ()) {
  fs::remove(path());
  auto ledger = Ledger::create(path(), adjacency);
  Releases released{adjacency};
  Releases planned{adjacency};
  const int runs = *rc::gen::inRange(0, 5);
  for (int i = 0; i < runs; ++i) {
    const auto most = *rc::gen::inRange<std::uint64_t>(1, 6);
    const double multiplier = *rc::gen::element(0.3, 40.0);
    auto run = ledger.reserve(plan(most, multiplier));
    planned.add(Releases::of(run.plan().event));
    const auto count = *rc::gen::inRange<std::uint64_t>(0, most + 1);
    if (count > 0) run.spend(times(count, leaf(multiplier)));
    released.add(run.released());
    if (*rc::gen::arbitrary<bool>()) run.settle(*rc::gen::element(Stopping::data_independent, Stopping::adaptive));
  }
  const auto event = ledger.event();
  const auto charged = event ? Releases::of(*event) : Releases{adjacency};
  RC_ASSERT(released.is_part_of(charged));
  RC_ASSERT(charged.is_part_of(planned));

  Releases listed{adjacency};
  for (const auto& entry : ledger.entries()) listed.add(Releases::of(repeat(entry.count, entry.event)));
  RC_ASSERT(listed == charged);
}

}  // namespace
}  // namespace surety::accounting::ledger_test
