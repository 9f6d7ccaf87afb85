#include <surety/accounting/ledger/audit.h>

#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <limits>
#include <string>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/accountants/zcdp/zcdp.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/accounting/events/format.h>
#include <surety/accounting/ledger/audit_json.h>
#include <surety/accounting/ledger/ledger_report.h>
#include <surety/base/numbers/limit.h>

namespace surety::accounting::audit_test {
namespace {

constexpr auto adjacency = Adjacency::replace_one;

Event noise(double multiplier, std::uint64_t count) { return repeat(Count{count}, gaussian(NoiseMultiplier{multiplier}, adjacency)); }
Target target(double epsilon, double delta) { return {.epsilon = Epsilon{epsilon}, .delta = Delta{delta}, .adjacency = adjacency}; }

class AuditTest : public ::testing::Test {
 protected:
  ~AuditTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_ = std::filesystem::temp_directory_path() / ("surety-audit-" + std::to_string(::getpid()));
  Ledger ledger_ = [this] {
    std::filesystem::create_directory(folder_);
    return Ledger::create(folder_ / "run.db", adjacency);
  }();

  void run(const Plan& plan) {
    auto reservation = ledger_.reserve(plan);
    reservation.spend(plan.event);
    reservation.settle(Stopping::data_independent);
  }
};

/// A ledger of before: law had one order for all releases under replace-one.
TEST_F(AuditTest, SaysWhereARecordedCostWasOfOneOrder) {
  std::filesystem::copy_file(SURETY_TEST_DATA "/law_in_one_order/orders.db", folder_ / "orders.db");
  const auto report = audit(Ledger::open(folder_ / "orders.db"), Delta{0.01});
  ASSERT_EQ(report.runs.size(), 3U);
  EXPECT_FALSE(*report.runs[0].kept);
  EXPECT_GE(report.runs[0].epsilon->lower, 0.479);
  EXPECT_TRUE(report.runs[0].recorded_in_one_order);
  EXPECT_TRUE(*report.runs[1].kept) << "equals its own reverse";
  EXPECT_FALSE(report.runs[1].recorded_in_one_order);
  EXPECT_FALSE(*report.runs[2].kept);
  EXPECT_FALSE(report.runs[2].recorded_in_one_order) << "no law, and no order";
  const auto text = report_text(report, std::nullopt);
  const auto line = text.find("  recorded   the recorded cost is too low: ");
  ASSERT_NE(line, std::string::npos) << text;
  EXPECT_EQ(text.find("  recorded   ", line + 1), std::string::npos) << text;
  const auto json = nlohmann::json::parse(to_json_text(report));
  EXPECT_TRUE(json["runs"][0].contains("recorded"));
  EXPECT_FALSE(json["runs"][1].contains("recorded"));
  EXPECT_FALSE(json["runs"][2].contains("recorded"));
}

TEST_F(AuditTest, NothingReleasedCostsNothingAndIsKept) {
  const auto report = audit(ledger_, Delta{1e-5});
  EXPECT_EQ(report.epsilon, (Enclosure{0, 0}));
  EXPECT_FALSE(report.event);
  EXPECT_TRUE(report.kept);
}

/// What a training that was calibrated to epsilon 1 charged; all accountants at their default width end above 1.
TEST_F(AuditTest, KnowsAllRunsAsWellAsTheirPromise) {
  const Target promise{.epsilon = Epsilon{1}, .delta = Delta{1e-6}, .adjacency = Adjacency::add_or_remove_one};
  const auto event = parse_event("allocated(24, gaussian(1.283073))", promise.adjacency);
  Ledger ledger = Ledger::create(folder_ / "allocated.db", promise.adjacency);
  auto reservation = ledger.reserve({.event = event, .promise = promise});
  reservation.spend(event);
  reservation.settle(Stopping::data_independent);
  const auto report = audit(ledger, promise.delta);
  EXPECT_TRUE(report.kept);
  EXPECT_LT(report.epsilon.upper, 1);
  EXPECT_EQ(report.epsilon.upper, report.runs.front().epsilon->upper) << "one number, told twice";
  EXPECT_GT(audit(ledger, Delta{1.0000001e-6}).epsilon.upper, 1) << "another delta is nobody's promise";
}

TEST_F(AuditTest, AccountsForEverythingChargedAtTheAskedDelta) {
  run({.event = noise(30, 50)});
  static_cast<void>(ledger_.reserve({.event = noise(7, 3)}));  // never settled: counts in full
  const auto report = audit(ledger_, Delta{1e-7});
  const auto all = compose({noise(30, 50), noise(7, 3)});
  EXPECT_TRUE(overlap(report.epsilon, epsilon(ClosedForm{}, all, Delta{1e-7})));
  EXPECT_LT(report.epsilon.width(), 1e-12);
  EXPECT_NE(report.independent_accountant, report.accountant);
  EXPECT_GT(report.independent.upper, report.epsilon.upper);
  // Of all the others', the tightest.
  EXPECT_LT(report.independent.upper, report.epsilon.upper + 1e-4);
  EXPECT_GT(epsilon(Zcdp{}, all, Delta{1e-7}).upper, report.epsilon.upper + 0.1);
}

TEST_F(AuditTest, ARunCalibratedToItsPromiseKeepsIt) {
  const auto found = calibrate([](NoiseMultiplier z) { return repeat(Count{80}, gaussian(z, adjacency)); }, target(0.7, 1e-6));
  run({.event = found.event, .promise = target(0.7, 1e-6)});
  const auto report = audit(ledger_, Delta{1e-5});
  ASSERT_TRUE(report.runs.front().kept);
  EXPECT_TRUE(*report.runs.front().kept);
  EXPECT_LE(report.runs.front().epsilon->upper, 0.7);
  EXPECT_TRUE(report.kept);
}

/// What an audit asks is counted by the polls of a limit: forty runs alike are judged as one.
TEST_F(AuditTest, RunsThatAreAlikeAreJudgedOnce) {
  const auto polls_of_audit = [&] {
    const Limit limit{{}};
    EXPECT_TRUE(audit(ledger_, Delta{1e-5}).kept);
    return limit.polls();
  };
  const Plan plan{.event = repeat(Count{20}, poisson(SamplingRate{0.1}, record_sum(NoiseMultiplier{9}, adjacency))),
                  .promise = target(0.7, 1e-6)};
  run(plan);
  const auto of_one = polls_of_audit();
  EXPECT_GT(of_one, 100U);
  for (int i = 0; i < 39; ++i) run(plan);
  EXPECT_LT(polls_of_audit(), 3 * of_one);
}

TEST_F(AuditTest, ALittleLessNoiseThanPromisedIsABrokenPromise) {
  const auto found = calibrate([](NoiseMultiplier z) { return repeat(Count{80}, gaussian(z, adjacency)); }, target(0.7, 1e-6));
  run({.event = noise(found.value.value() * (1 - 1e-9), 80), .promise = target(0.7, 1e-6)});
  const auto report = audit(ledger_, Delta{1e-5});
  EXPECT_FALSE(*report.runs.front().kept);
  EXPECT_FALSE(report.kept);
}

// Noise as a paper prints it for steps on one of 200,000 records: 75,000 of them draw a record with probability 0.313, and show it.
TEST_F(AuditTest, NoiseThatShowsEveryDrawnRecordBreaksItsPromise) {
  const auto step = without_replacement(Count{200'000}, Count{1}, gaussian(NoiseMultiplier{0.0045}, adjacency));
  run({.event = repeat(Count{75'000}, step), .promise = target(0.2, 1e-3)});
  const auto report = audit(ledger_, Delta{1e-3});
  const auto& audited = report.runs.front();
  EXPECT_FALSE(*audited.kept);
  EXPECT_FALSE(report.kept);
  EXPECT_NEAR(audited.delta->lower, 0.3127, 1e-4);
  EXPECT_NEAR(audited.delta->upper, 0.3127, 1e-4);
  EXPECT_NEAR(audited.epsilon->lower, 74'630, 20);
  EXPECT_NEAR(audited.epsilon->upper, 74'630, 20);
}

TEST_F(AuditTest, EachRunIsHeldToItsOwnPromise) {
  run({.event = noise(100, 1), .promise = target(0.5, 1e-5)});
  run({.event = noise(1, 1), .promise = target(0.5, 1e-5)});
  const auto report = audit(ledger_, Delta{1e-5});
  EXPECT_TRUE(*report.runs[0].kept);
  EXPECT_FALSE(*report.runs[1].kept);
  EXPECT_FALSE(report.kept);
}

TEST_F(AuditTest, ARunWithoutAPromiseBreaksNone) {
  run({.event = noise(0.5, 4)});
  const auto report = audit(ledger_, Delta{1e-5});
  EXPECT_FALSE(report.runs.front().kept);
  EXPECT_TRUE(report.kept);
}

TEST_F(AuditTest, ReplayedNoiseGuaranteesNothing) {
  run({.event = noise(50, 2), .promise = target(1, 1e-5), .not_private = true});
  const auto report = audit(ledger_, Delta{1e-5});
  EXPECT_TRUE(report.not_private);
  EXPECT_FALSE(report.kept);
  EXPECT_FALSE(*report.runs.front().kept);
  EXPECT_EQ(report.epsilon.upper, std::numeric_limits<double>::infinity());
  EXPECT_EQ(report.independent.upper, std::numeric_limits<double>::infinity());
  EXPECT_LT(report.epsilon_of_fresh_noise.upper, 1);
}

TEST_F(AuditTest, NobodyElseClaimsNothing) {
  run({.event = parse_event("repeat(20, poisson(0.01, record_sum(3)))", adjacency)});
  const auto report = audit(ledger_, Delta{1e-5});
  EXPECT_EQ(report.accountant, "privacy-loss");
  EXPECT_EQ(report.independent_accountant, "nobody");
  EXPECT_EQ(report.independent, (Enclosure{0, std::numeric_limits<double>::infinity()}));
}

TEST_F(AuditTest, ShowsWhereTheBudgetStands) {
  auto ledger = Ledger::create(folder_ / "budget.db", adjacency, Budget{.target = target(2, 1e-6), .filter = FilterKind::gaussian});
  auto reservation = ledger.reserve({.event = noise(20, 9)});
  reservation.spend(noise(20, 9));
  reservation.settle(Stopping::data_independent);
  const auto report = audit(ledger, Delta{1e-6});
  ASSERT_TRUE(report.balance);
  EXPECT_TRUE(report.balance->spent.contains(9.0 / 400));
  EXPECT_GT(report.balance->limit.lower, report.balance->spent.upper);
}

}  // namespace
}  // namespace surety::accounting::audit_test
