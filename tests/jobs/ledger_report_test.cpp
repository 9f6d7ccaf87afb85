// The report of a ledger: its numbers are those of the audit, and nothing that somebody wrote into the ledger is markup.
#include <surety/jobs/report/ledger_report.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/answers/explanation.h>
#include <surety/accounting/events/event.h>
#include <surety/accounting/events/json.h>
#include <surety/accounting/events/unit.h>
#include <surety/accounting/ledger/audit.h>
#include <surety/accounting/ledger/audit_json.h>
#include <surety/accounting/ledger/ledger_contents.h>
#include <surety/accounting/ledger/memory_store.h>
#include <surety/accounting/ledger/standing.h>
#include <surety/jobs/report/html.h>
#include <surety/jobs/report/markdown.h>
#include <surety/jobs/report/report_document.h>

#include <support/markup_names.h>
#include <support/refusal.h>

namespace surety::ledger_report_test {
namespace {

using namespace jobs;
using accounting::Ledger;
using accounting::MemoryStore;
using accounting::Stopping;
using nlohmann::json;

constexpr Adjacency adjacency = Adjacency::replace_one;

Target target(double epsilon, double delta) { return {.epsilon = Epsilon{epsilon}, .delta = Delta{delta}, .adjacency = adjacency}; }

/// A run that releases all of `event`.
void run(Ledger& ledger, const Event& event, const std::string& note, std::optional<Target> promise = std::nullopt,
         bool not_private = false) {
  auto reservation = ledger.reserve({.event = event, .unit = ledger.unit(), .promise = promise, .note = note, .not_private = not_private});
  reservation.spend(event);
  reservation.settle(Stopping::data_independent);
}

Ledger empty_ledger(std::optional<accounting::Budget> budget = std::nullopt, const UnitOfPrivacy& unit = {}) {
  return Ledger::create(std::make_shared<MemoryStore>(), adjacency, budget, unit);
}

json report(const Ledger& ledger, const ReportQuestions& questions = {}) {
  return report_of(ledger, questions, {.program = "surety 0.0.0", .command = "surety report LEDGER", .ledger_sha256 = {}});
}

double upper(const json& enclosure) { return enclosure["upper"].get<double>(); }

TEST(LedgerReport, HasTheNumbersOfTheAuditTheStandingAndTheRisk) {
  auto ledger = empty_ledger(accounting::Budget{.target = target(2, 1e-6)});
  std::vector<double> together;
  for (int k = 0; k < 5; ++k) {
    run(ledger, k % 2 == 0 ? gaussian(NoiseMultiplier{20}, adjacency) : laplace(NoiseScale{8}, adjacency), "run", target(0.5, 1e-6));
    together.push_back(accounting::audit(ledger, Delta{1e-6}).epsilon.upper);
  }
  const auto made = report(ledger);
  const auto audit = accounting::audit(ledger, Delta{1e-6});
  EXPECT_EQ(made["verdict"], "kept");
  EXPECT_EQ(made["promise"]["budget"], accounting::to_json(audit.balance->budget));
  EXPECT_EQ(made["promise"]["delta"], 1e-6);
  EXPECT_EQ(made["promise"]["delta_from"], "budget");
  EXPECT_EQ(made["spent"]["epsilon"], accounting::to_json(audit.epsilon));
  EXPECT_EQ(made["spent"]["independent"]["epsilon"], accounting::to_json(audit.independent));
  EXPECT_EQ(made["spent"]["budget"]["spent"], accounting::to_json(audit.balance->spent));
  EXPECT_EQ(made["spent"]["budget"]["odometer"], accounting::to_json(*audit.balance->odometer));
  const accounting::Standing stands{ledger};
  EXPECT_EQ(made["remaining"]["like_the_last"]["runs"], stands.like_the_last->runs);
  EXPECT_EQ(made["remaining"]["counts"]["runs"], stands.counts->runs);
  EXPECT_EQ(made["risk"], accounting::to_json(accounting::risk(*audit.event), accounting::RiskQuestions{}));
  // The curve holds the number of the audit between its points on either side.
  double before = 0;
  double after = 0;
  for (const auto& point : made["curve"]) {
    if (point["delta"].get<double>() < 0.99e-6) before = upper(point["epsilon"]);
    if (point["delta"] == 1e-6) {
      EXPECT_NEAR(upper(point["epsilon"]), audit.epsilon.upper, 1e-6);
    }
    if (point["delta"].get<double>() > 1.01e-6 && after == 0) after = upper(point["epsilon"]);
  }
  EXPECT_GT(before, audit.epsilon.upper);
  EXPECT_LT(after, audit.epsilon.upper);
  // After each run, what an audit said then.
  ASSERT_EQ(made["growth"].size(), together.size());
  for (std::size_t k = 0; k < together.size(); ++k) {
    EXPECT_EQ(made["growth"][k]["run"], k + 1);
    EXPECT_NEAR(upper(made["growth"][k]["epsilon"]), together[k], 1e-6 * together[k]) << k;
  }
}

TEST(LedgerReport, ShowsTheGrowthOfManyRunsAtTwelveOfThem) {
  auto ledger = empty_ledger();
  for (int k = 0; k < 100; ++k) run(ledger, laplace(NoiseScale{50}, adjacency), "run", target(0.02, 0));
  const auto made = report(ledger, {.delta = Delta{1e-6}});
  ASSERT_EQ(made["growth"].size(), 12U);
  EXPECT_EQ(made["growth"].front()["run"], 1);
  EXPECT_EQ(made["growth"].back()["run"], 100);
  EXPECT_EQ(made["growth"].back()["epsilon"], made["spent"]["epsilon"]);
  for (std::size_t k = 1; k < 12; ++k) {
    EXPECT_GT(made["growth"][k]["run"], made["growth"][k - 1]["run"]);
    EXPECT_GT(upper(made["growth"][k]["epsilon"]), upper(made["growth"][k - 1]["epsilon"]));
  }
  EXPECT_EQ(made["runs"].size(), 100U);
  EXPECT_EQ(made["promise"]["delta_from"], "option");
  EXPECT_TRUE(made["remaining"].is_null());
}

TEST(LedgerReport, SaysWhatIsWrong) {
  const auto verdict = [](const Ledger& ledger) {
    const auto made = report(ledger, {.delta = Delta{1e-6}});
    const auto page = html(document_of(made));
    const bool kept = is_kept(made);
    EXPECT_EQ(page.find("<p class=\"good\">") != std::string::npos, made["verdict"] == "kept" || made["verdict"] == "nothing released");
    EXPECT_EQ(kept, made["verdict"] != "broken" && made["verdict"] != "not private");
    return made;
  };
  auto ledger = empty_ledger();
  EXPECT_EQ(verdict(ledger)["verdict"], "nothing released");
  EXPECT_TRUE(verdict(ledger)["risk"].is_null());
  EXPECT_TRUE(
      refuses([&] { static_cast<void>(report(ledger)); }, ErrorCode::invalid_argument, {"delta", "neither a budget nor a promise"}));
  run(ledger, laplace(NoiseScale{2}, adjacency), "a");
  EXPECT_EQ(verdict(ledger)["verdict"], "no promise");
  run(ledger, laplace(NoiseScale{2}, adjacency), "b", target(0.5, 0));
  EXPECT_EQ(verdict(ledger)["verdict"], "kept");
  EXPECT_EQ(report(ledger)["promise"]["delta"], 0) << "the largest of the promises";
  run(ledger, laplace(NoiseScale{1}, adjacency), "c", target(0.5, 0));
  const auto broken = verdict(ledger);
  EXPECT_EQ(broken["verdict"], "broken");
  EXPECT_EQ(broken["runs"][1]["kept"], true);
  EXPECT_EQ(broken["runs"][2]["kept"], false);
  EXPECT_NE(html(document_of(broken)).find("A promise is BROKEN. Do not publish."), std::string::npos);
  run(ledger, laplace(NoiseScale{1}, adjacency), "d", std::nullopt, true);
  const auto replayed = verdict(ledger);
  EXPECT_EQ(replayed["verdict"], "not private");
  EXPECT_EQ(replayed["spent"]["epsilon"]["upper"], "infinity");
  EXPECT_EQ(replayed["growth"][3]["epsilon"]["upper"], "infinity");
  EXPECT_NE(replayed["growth"][2]["epsilon"]["upper"], "infinity");
  EXPECT_TRUE(replayed["risk"].is_null());
  EXPECT_TRUE(replayed["curve"].is_null());
  EXPECT_NE(html(document_of(replayed)).find("NOT PRIVATE"), std::string::npos);
}

// A ledger that was written by hand: no command would have admitted the run.
TEST(LedgerReport, FindsABudgetThatIsExceeded) {
  const auto store = std::make_shared<MemoryStore>();
  static_cast<void>(Ledger::create(store, adjacency, accounting::Budget{.target = target(0.1, 1e-6)}));
  EXPECT_EQ(report(Ledger::open(store))["verdict"], "nothing released");
  store->transact(accounting::LedgerStore::Access::write, [&] {
    store->append(accounting::entry_after(
        *store->head(),
        accounting::reserve_entry({.event = gaussian(NoiseMultiplier{1}, adjacency), .note = "forged"}, "2026-01-01T00:00:00Z")));
  });
  const auto made = report(Ledger::open(store));
  EXPECT_EQ(made["verdict"], "broken");
  EXPECT_TRUE(made["spent"]["budget"]["admitted_by"].empty());
  EXPECT_NE(html(document_of(made)).find("EXCEEDED"), std::string::npos);
}

// The tags of the page, and all that is outside of code in Markdown, do not depend on what anybody wrote into the ledger.
TEST(LedgerReport, HasNoMarkupOfNotesAndUnits) {
  const auto names = reference::markup_names(200);
  const auto made = [&](const auto& note_of) {
    auto ledger = empty_ledger();
    for (const auto& name : names) run(ledger, laplace(NoiseScale{50}, adjacency), note_of(name), target(0.02, 0));
    auto value = report(ledger);
    // The times of both ledgers may differ.
    for (const char* list : {"runs", "growth"}) {
      for (auto& one : value[list]) one["created"] = "2026-01-01T00:00:00Z";
    }
    return document_of(value);
  };
  const auto hostile = made([](const std::string& name) { return name; });
  const auto harmless = made([](const std::string& /*name*/) { return std::string{"x"}; });
  EXPECT_EQ(reference::tags_of(html(hostile)), reference::tags_of(html(harmless)));
  EXPECT_EQ(reference::outside_code(markdown(hostile)), reference::outside_code(markdown(harmless)));
  EXPECT_EQ(reference::outside_code(markdown(hostile)).find("]("), std::string::npos);

  const auto plain_unit = document_of(report(empty_ledger(std::nullopt, {"x", Count{2}}), {.delta = Delta{1e-6}}));
  const auto tags = reference::tags_of(html(plain_unit));
  const auto words = reference::outside_code(markdown(plain_unit));
  std::size_t units = 0;
  for (const auto& name : names) {
    std::optional<UnitOfPrivacy> unit;
    try {
      unit.emplace(name, Count{2});
    } catch (const Error&) {
      continue;  // not printable, too long, or a row
    }
    ++units;
    const auto page = document_of(report(empty_ledger(std::nullopt, *unit), {.delta = Delta{1e-6}}));
    EXPECT_EQ(reference::tags_of(html(page)), tags) << name;
    EXPECT_EQ(reference::outside_code(markdown(page)), words) << name;
  }
  EXPECT_GT(units, 150U);
}

TEST(LedgerReport, RefusesJsonThatIsNoReport) {
  auto ledger = empty_ledger();
  run(ledger, laplace(NoiseScale{2}, adjacency), "a", target(0.5, 0));
  const auto whole = report(ledger);
  for (const auto& [field, value] : whole.items()) {
    if (field == "version") continue;
    auto changed = whole;
    changed.erase(field);
    EXPECT_TRUE(refuses([&] { static_cast<void>(document_of(changed)); }, ErrorCode::invalid_argument, {field})) << field;
    changed[field] = 7;
    EXPECT_TRUE(refuses([&] { static_cast<void>(document_of(changed)); }, ErrorCode::invalid_argument, {"must be"})) << field;
  }
}

}  // namespace
}  // namespace surety::ledger_report_test
