#include <surety/jobs/report/checklist.h>

#include <fmt/format.h>

#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include <surety/base/text/error.h>
#include <surety/base/text/safe_text.h>
#include <surety/jobs/report/report_values.h>

namespace surety::jobs {
namespace {

using namespace report_values;
using nlohmann::json;

class Items {
 public:
  void topic(const char* name) { topic_ = name; }
  void answered(const char* question, std::string answer, const char* evidence, json quoted = nullptr) {
    items_.push_back(
        {{"topic", topic_}, {"question", question}, {"answer", std::move(answer)}, {"quoted", std::move(quoted)}, {"evidence", evidence}});
  }
  void open(const char* question) {
    items_.push_back({{"topic", topic_}, {"question", question}, {"answer", nullptr}, {"quoted", nullptr}, {"evidence", nullptr}});
  }
  [[nodiscard]] json finish() && { return std::move(items_); }

 private:
  std::string topic_;
  json items_ = json::array();
};

std::string kept_words(const json& report) {
  std::size_t promises = 0;
  std::size_t kept = 0;
  for (const auto& run : list_at(report, "runs")) {
    if (at(run, "kept").is_null()) continue;
    ++promises;
    if (is_true_at(run, "kept")) ++kept;
  }
  return fmt::format("{} of {} promises of single runs are kept.", kept, promises);
}

std::string replay_words(const json& report) {
  std::size_t replayed = 0;
  for (const auto& run : list_at(report, "runs")) {
    if (is_true_at(run, "not_private")) ++replayed;
  }
  return replayed == 0 ? std::string{"No run is recorded as a replay of a known seed."}
                       : fmt::format("No: {} of {} runs replayed noise from a known seed.", replayed, list_at(report, "runs").size());
}

}  // namespace

json checklist_of(const json& report, std::string_view name) {
  if (name != nist_800_226) invalid(fmt::format("checklist is '{}', must be {}", one_line(name), nist_800_226));
  const auto& promise = at(report, "promise");
  const auto& spent = at(report, "spent");
  const auto& budget = at(promise, "budget");
  const auto& independent = at(spent, "independent");
  const auto& risk = at(report, "risk");
  const auto delta = plain(number_at(promise, "delta"));
  Items items;

  items.topic("Epsilon and delta");
  items.answered("What do all releases cost together?",
                 fmt::format("Epsilon {} at delta = {}.", upper_words(enclosure_at(spent, "epsilon")), delta), "/spent/epsilon");
  items.answered("Was the total limited before the first release?",
                 budget.is_null() ? std::string{"No: there is no budget."} : fmt::format("Yes: {}.", target_words(budget)),
                 "/promise/budget");
  items.answered("What does the promise mean for one person?",
                 risk.is_null() ? std::string{text_at(report, "verdict") == "not private" ? "Nothing limits the gain of an attacker."
                                                                                          : "Nothing was released."}
                                : fmt::format("An attacker is right with probability at most {}, at a prior of {}.",
                                              percent_at_most(enclosure_at(risk, "accuracy").upper), plain(number_at(risk, "prior"))),
                 "/risk");
  items.open("Is delta far below one over the number of people?");
  items.open("Is this risk acceptable for the harm that a right guess does?");

  items.topic("Unit of privacy");
  items.answered("What is the unit of privacy?", "The ledger states:", "/promise/unit", text_at(at(promise, "unit"), "words"));
  items.answered("Which data sets are neighbours?", adjacency_words(text_at(promise, "adjacency")), "/promise/adjacency");
  items.open("Does the unit cover all data of one person, in all releases and over time?");
  items.open("Does the column of the unit have one name for each person?");

  items.topic("Algorithms and correctness");
  if (at(spent, "event").is_null()) {
    items.answered("Which mechanisms were used?", "None.", "/spent/event");
  } else {
    items.answered("Which mechanisms were used?", "The ledger was charged for:", "/spent/event", text_at(spent, "event"));
  }
  items.answered("Does every release keep its promise?", kept_words(report), "/runs");
  items.answered("Does an independent computation confirm the total?",
                 independent.is_null() ? std::string{"No."}
                                       : fmt::format("Yes: epsilon {} by {}.", upper_words(enclosure_at(independent, "epsilon")),
                                                     text_at(independent, "accountant")),
                 "/spent/independent");
  items.open("Were bounds, categories, groups and options chosen without looking at the data?");
  items.open("Were queries chosen by the results of earlier ones?");

  items.topic("Implementation");
  items.answered("Was the noise secret?", replay_words(report), "/runs");
  items.open("Which program drew the noise, and is its sampling free of rounding errors? Surety's is, by proof.");
  items.open("Could anybody see how long the runs took, or other side channels?");

  items.topic("Utility and bias");
  items.open("How accurate are the results, and is that enough for their use?");
  items.open("How much larger are the errors for small groups, and whom do they harm?");

  items.topic("Trust and access");
  items.open("Who sees the data before noise is added?");
  items.open("Who could write the ledger, or restore an older copy?");
  items.open("Are there releases about these people without this ledger?");

  items.topic("Data collection");
  items.open("Were only necessary data collected, and how long are they stored?");
  return {{"name", name},
          {"title", "NIST SP 800-226, Guidelines for Evaluating Differential Privacy Guarantees (2025)"},
          {"items", std::move(items).finish()}};
}

}  // namespace surety::jobs
