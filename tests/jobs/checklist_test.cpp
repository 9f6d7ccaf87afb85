// The checklist of a report: each answer has its evidence in the report, and says the same.
#include <surety/jobs/report/checklist.h>

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/memory_store.h>
#include <surety/jobs/report/html.h>
#include <surety/jobs/report/ledger_report.h>
#include <surety/jobs/report/markdown.h>
#include <surety/jobs/report/report_document.h>

#include <support/markup_names.h>
#include <support/refusal.h>

namespace surety::checklist_test {
namespace {

using accounting::Ledger;
using nlohmann::json;

constexpr Adjacency adjacency = Adjacency::add_or_remove_one;

json report(const Ledger& ledger) {
  return jobs::report_of(ledger, {.delta = Delta{1e-6}, .checklist = std::string{jobs::nist_800_226}},
                         {.program = "surety 0.0.0", .command = "surety report LEDGER", .ledger_sha256 = {}});
}

Ledger ledger_of(const UnitOfPrivacy& unit, bool with_budget) {
  const Target target{.epsilon = Epsilon{2}, .delta = Delta{1e-6}, .adjacency = adjacency};
  return Ledger::create(std::make_shared<accounting::MemoryStore>(), adjacency,
                        with_budget ? std::optional{accounting::Budget{.target = target}} : std::nullopt, unit);
}

void run(Ledger& ledger, double scale, bool replayed = false) {
  const auto event = laplace(NoiseScale{scale}, adjacency);
  const Target promise{.epsilon = Epsilon{0.5}, .delta = Delta{0}, .adjacency = adjacency};
  auto reservation = ledger.reserve({.event = event, .unit = ledger.unit(), .promise = promise, .note = "a", .not_private = replayed});
  reservation.spend(event);
  reservation.settle(accounting::Stopping::data_independent);
}

std::string answer(const json& report, const std::string& question) {
  for (const auto& item : report["checklist"]["items"]) {
    if (item["question"] == question) return item["answer"].get<std::string>();
  }
  return "no such question";
}

TEST(Checklist, HasEvidenceForEachAnswerAndNoneForAnOpenQuestion) {
  for (const bool with_budget : {false, true}) {
    auto ledger = ledger_of({"nr", Count{8}}, with_budget);
    for (int k = 0; k < 3; ++k) {
      const auto made = report(ledger);
      std::size_t answered = 0;
      const auto& items = made["checklist"]["items"];
      for (const auto& item : items) {
        EXPECT_EQ(item["answer"].is_null(), item["evidence"].is_null()) << item;
        if (item["answer"].is_null()) continue;
        ++answered;
        EXPECT_TRUE(made.contains(json::json_pointer(item["evidence"].get<std::string>()))) << item;
      }
      EXPECT_EQ(answered, 9U);
      EXPECT_GT(items.size(), 20U);
      run(ledger, 2);
    }
  }
}

TEST(Checklist, SaysWhatTheLedgerSays) {
  auto ledger = ledger_of({"nr", Count{8}}, true);
  EXPECT_EQ(answer(report(ledger), "Which mechanisms were used?"), "None.");
  EXPECT_EQ(answer(report(ledger), "What does the promise mean for one person?"), "Nothing was released.");
  run(ledger, 2);
  run(ledger, 2);
  const auto kept = report(ledger);
  EXPECT_EQ(answer(kept, "What do all releases cost together?"), "Epsilon at most 0.999997 at delta = 1e-06.");
  EXPECT_EQ(answer(kept, "Was the total limited before the first release?"), "Yes: epsilon = 2 at delta = 1e-06.");
  EXPECT_EQ(answer(kept, "What does the promise mean for one person?"),
            "An attacker is right with probability at most 62.1 %, at a prior of 0.5.");
  EXPECT_EQ(answer(kept, "Does every release keep its promise?"), "2 of 2 promises of single runs are kept.");
  EXPECT_EQ(answer(kept, "Was the noise secret?"), "No run is recorded as a replay of a known seed.");
  auto other = ledger_of({}, false);
  run(other, 2);
  run(other, 1);
  EXPECT_EQ(answer(report(other), "Was the total limited before the first release?"), "No: there is no budget.");
  EXPECT_EQ(answer(report(other), "Does every release keep its promise?"), "1 of 2 promises of single runs are kept.");
  run(other, 2, true);
  EXPECT_EQ(answer(report(other), "Was the noise secret?"), "No: 1 of 3 runs replayed noise from a known seed.");
  EXPECT_EQ(answer(report(other), "What does the promise mean for one person?"), "Nothing limits the gain of an attacker.");
}

TEST(Checklist, HasNoMarkupOfUnits) {
  const auto plain = jobs::document_of(report(ledger_of({"x", Count{2}}, true)));
  const auto tags = reference::tags_of(jobs::html(plain));
  const auto words = reference::outside_code(jobs::markdown(plain));
  std::size_t units = 0;
  for (const auto& name : reference::markup_names(200)) {
    std::optional<UnitOfPrivacy> unit;
    try {
      unit.emplace(name, Count{2});
    } catch (const Error&) {
      continue;  // not printable, too long, or a row
    }
    ++units;
    const auto page = jobs::document_of(report(ledger_of(*unit, true)));
    EXPECT_EQ(reference::tags_of(jobs::html(page)), tags) << name;
    EXPECT_EQ(reference::outside_code(jobs::markdown(page)), words) << name;
  }
  EXPECT_GT(units, 150U);
}

TEST(Checklist, RefusesAnotherName) {
  const auto made = report(ledger_of({}, true));
  EXPECT_TRUE(refuses([&] { static_cast<void>(jobs::checklist_of(made, "gdpr")); }, ErrorCode::invalid_argument, {"gdpr", "nist-800-226"}));
}

}  // namespace
}  // namespace surety::checklist_test
