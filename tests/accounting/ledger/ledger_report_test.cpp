// What a ledger says to people: nothing that is kept better than it is, and no text that says more than its own.
#include <surety/accounting/ledger/ledger_report.h>

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>

#include <surety/accounting/events/releases.h>

namespace surety::accounting::ledger_report_test {
namespace {

constexpr auto adjacency = Adjacency::add_or_remove_one;
const Target promise{.epsilon = Epsilon{1.25}, .delta = Delta{1e-6}, .adjacency = adjacency};

Event noise(double multiplier) { return gaussian(NoiseMultiplier{multiplier}, adjacency); }

class LedgerReport : public ::testing::Test {
 protected:
  LedgerReport() { std::filesystem::create_directory(folder_); }
  ~LedgerReport() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] Ledger made(const std::optional<Budget>& budget = {}) const {
    return Ledger::create(folder_ / "run.db", adjacency, budget);
  }
  [[nodiscard]] static Budget budget() {
    return {.target = {.epsilon = Epsilon{3}, .delta = Delta{1e-5}, .adjacency = adjacency}, .filter = FilterKind::gaussian};
  }
  std::filesystem::path folder_ = std::filesystem::temp_directory_path() / ("surety-ledger-report-" + std::to_string(::getpid()));
};

void expect_holds(const std::string& report, const std::string& words) {
  EXPECT_NE(report.find(words), std::string::npos) << words << "\nin\n" << report;
}

TEST_F(LedgerReport, OfAnAuditEndsInItsVerdict) {
  auto ledger = made(budget());
  EXPECT_TRUE(report_text(audit(ledger, Delta{1e-6})).ends_with("\nverdict      nothing was released\n"));
  ledger.reserve({.event = noise(9), .promise = promise, .note = "the first\x1b[2J\nverdict      kept"}).settle(Stopping::data_independent);
  static_cast<void>(ledger.reserve({.event = noise(9), .promise = promise, .note = "the second"}));
  const auto found = audit(ledger, Delta{1e-6});
  const auto report = report_text(found);
  EXPECT_TRUE(report.starts_with("adjacency    add-or-remove-one\nunit         one row\nreleased     gaussian(9)\nepsilon      in ["))
      << report;
  expect_holds(report, "  the first [2J verdict      kept\n  charged    nothing (settled, stop ");
  expect_holds(
      report,
      "  the second\n  charged    gaussian(9) (not settled: running or killed, counts in full)\n  promise    epsilon = 1.25 at delta = 1e-06: kept, ");
  expect_holds(report, "\nbudget       epsilon = 3 at delta = 1e-05; ");
  expect_holds(report, " (gaussian filter)\nverdict      each of 2 promises is kept by itself; together the 2 runs cost epsilon <= ");
  EXPECT_TRUE(is_kept(found, std::nullopt) && is_kept(found, Epsilon{1.25}));
}

TEST_F(LedgerReport, NeverSaysThatABrokenPromiseIsKept) {
  auto ledger = made();
  static_cast<void>(ledger.reserve({.event = noise(9), .promise = promise}));
  const auto kept = audit(ledger, Delta{1e-6});
  EXPECT_TRUE(report_text(kept, Epsilon{1.25}).ends_with("asked        epsilon <= 1.25: kept\nverdict      every promise is kept\n"));
  EXPECT_TRUE(report_text(kept, Epsilon{0.01}).ends_with("asked        epsilon <= 0.01: BROKEN\nverdict      a promise is BROKEN\n"));
  EXPECT_FALSE(is_kept(kept, Epsilon{0.01}));
  static_cast<void>(ledger.reserve({.event = noise(9), .promise = promise, .not_private = true}));
  const auto replayed = report_text(audit(ledger, Delta{1e-6}));
  expect_holds(replayed, "  NOT PRIVATE: its noise was replayed from a known seed\n");
  EXPECT_TRUE(replayed.ends_with("\nverdict      NOT PRIVATE: noise was replayed from a known seed\n")) << replayed;
  auto broken = kept;
  broken.runs.front().kept = false;
  broken.kept = false;
  expect_holds(report_text(broken), " at delta = 1e-06: BROKEN, epsilon in ");
  EXPECT_TRUE(report_text(broken).ends_with("\nverdict      a promise is BROKEN\n"));
}

TEST_F(LedgerReport, OfWhatIsLeftSaysNoMoreThanTheBudgetAdmits) {
  EXPECT_TRUE(
      report_text(Standing{made()}).ends_with("runs         0\nbudget       none: nothing bounds what later runs may cost together\n"));
  std::filesystem::remove(folder_ / "run.db");
  auto ledger = made(budget());
  static_cast<void>(ledger.reserve({.event = noise(2)}));
  const Standing stands{ledger};
  const auto report = report_text(stands);
  expect_holds(report, "\nruns         1\nbudget       epsilon = 3 at delta = 1e-05 (gaussian filter)\nspent        ");
  ASSERT_TRUE(stands.like_the_last);
  const auto runs = stands.like_the_last->runs;
  expect_holds(report, "\nleft         " + std::to_string(runs) + " more run" + (runs == 1 ? "" : "s") + " like the last");
  auto most = stands;
  most.like_the_last->runs = Room::most;
  expect_holds(report_text(most), "\nleft         at least 1000000 more runs like the last");
  EXPECT_EQ(filter_words({.target = promise, .filter = FilterKind::renyi, .order = RenyiOrder{21.98452}}), "renyi filter at order 21.9845");
}

TEST_F(LedgerReport, OfARunSaysWhetherItIsSettled) {
  auto ledger = made();
  ledger.reserve({.event = noise(9), .promise = promise, .note = "a\nb"}).settle(Stopping::data_independent);
  static_cast<void>(ledger.reserve({.event = noise(9), .not_private = true}));
  RunCosts costs;
  const auto runs = ledger.runs();
  const auto settled = report_text(runs[0], costs);
  EXPECT_TRUE(settled.starts_with("run          1\nnote         a b\ncreated      ")) << settled;
  expect_holds(settled, "\nplanned      gaussian(9)\nsettled      yes\nreleased     nothing\nstop         ");
  expect_holds(settled, "\npromise      epsilon = 1.25 at delta = 1e-06\nepsilon      in [0, 0] at delta = 1e-06\nnoise        fresh\n");
  const auto open = report_text(runs[1], costs);
  expect_holds(open, "\nsettled      no: running or killed, counts in full\nnoise        NOT PRIVATE: replayed from a known seed\n");
  expect_holds(line_of(runs[0], costs), "  settled   nothing  epsilon <= 0 at delta = 1e-06  # a b\n");
  expect_holds(line_of(runs[1], costs), "  reserved  gaussian(9)  NOT PRIVATE  # \n");
}

}  // namespace
}  // namespace surety::accounting::ledger_report_test
