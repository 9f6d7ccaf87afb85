#include <surety/jobs/report/ledger_report.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/answers/explanation.h>
#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>
#include <surety/accounting/events/json_values.h>
#include <surety/accounting/events/releases.h>
#include <surety/accounting/ledger/audit.h>
#include <surety/accounting/ledger/audit_json.h>
#include <surety/accounting/ledger/standing.h>
#include <surety/base/text/error.h>
#include <surety/base/text/escaped_text.h>
#include <surety/base/text/safe_text.h>
#include <surety/jobs/report/checklist.h>
#include <surety/jobs/report/file_checksum.h>

namespace surety::jobs {
namespace {

using accounting::Audit;
using nlohmann::json;

constexpr int report_version = 1;

/// Of the curve, two points a decade: doubles whose shortest texts these are, so that what a page shows of them is exact.
constexpr std::array curve_deltas{1e-12, 3e-12, 1e-11, 3e-11, 1e-10, 3e-10, 1e-9, 3e-9, 1e-8, 3e-8, 1e-7, 3e-7,
                                  1e-6,  3e-6,  1e-5,  3e-5,  1e-4,  3e-4,  1e-3, 3e-3, 0.01, 0.03, 0.1};
/// Of the growth over the runs.
constexpr std::size_t most_growth_points = 12;

json or_null(const std::optional<Event>& event) { return event ? json(describe(*event)) : json{}; }

/// Whether a rule of the budget's filter admits what was spent. Only a ledger that was not written by Surety can say otherwise.
bool keeps_budget(const Audit& audit) { return !audit.balance || !accounting::admitting_rules(*audit.balance).empty(); }

std::string_view verdict_of(const Audit& audit) {
  if (audit.runs.empty()) return "nothing released";
  if (audit.not_private) return "not private";
  if (!audit.kept || !keeps_budget(audit)) return "broken";
  const bool has_promise =
      audit.balance || std::any_of(audit.runs.begin(), audit.runs.end(), [](const auto& run) { return run.kept.has_value(); });
  return has_promise ? "kept" : "no promise";
}

json promise_json(const Audit& audit, std::string_view delta_from) {
  auto unit = reported_json(audit.unit);
  unit["words"] = describe(audit.unit);
  return {{"adjacency", name(audit.adjacency)},
          {"unit", std::move(unit)},
          {"budget", audit.balance ? accounting::to_json(audit.balance->budget) : json{}},
          {"delta", audit.delta.value()},
          {"delta_from", delta_from}};
}

json spent_json(const Audit& audit) {
  json independent;
  if (audit.independent_accountant != Audit::nobody) {
    independent = {{"accountant", audit.independent_accountant}, {"epsilon", accounting::to_json(audit.independent)}};
  }
  json budget;
  if (const auto& balance = audit.balance) {
    budget = {{"unit", balance->unit},
              {"spent", accounting::to_json(balance->spent)},
              {"limit", accounting::to_json(balance->limit)},
              {"spent_epsilon", balance->spent_epsilon ? accounting::to_json(*balance->spent_epsilon) : json{}},
              {"admitted_by", accounting::admitting_rules(*balance)},
              {"odometer", balance->odometer ? accounting::to_json(*balance->odometer) : json{}}};
  }
  return {{"event", or_null(audit.event)},
          {"epsilon", accounting::to_json(audit.epsilon)},
          {"accountant", audit.accountant},
          {"independent", std::move(independent)},
          {"budget", std::move(budget)}};
}

json room_json(const std::optional<accounting::Room>& room) {
  if (!room) return nullptr;
  return {{"event", describe(room->event)}, {"runs", room->runs}, {"or_more", room->runs == accounting::Room::most}};
}

json remaining_json(const accounting::Ledger& ledger) {
  const accounting::Standing stands{ledger};
  if (!stands.balance) return nullptr;
  auto counts = room_json(stands.counts);
  if (!counts.is_null()) counts["epsilon"] = accounting::epsilon_of_count(stands.balance->budget);
  return {{"like_the_last", room_json(stands.like_the_last)}, {"counts", std::move(counts)}};
}

/// With a point at `delta`, unless that is 0.
json curve_json(const Event& event, Delta delta) {
  std::set<double> deltas{curve_deltas.begin(), curve_deltas.end()};
  if (delta.value() > 0) deltas.insert(delta.value());
  auto curve = json::array();
  for (const double one : deltas) {
    curve.push_back({{"delta", one}, {"epsilon", accounting::to_json(accounting::quick_epsilon(event, Delta{one}))}});
  }
  return curve;
}

json run_json(const accounting::RunAudit& audited) {
  const auto& run = audited.run;
  json result{{"run", run.id.value},
              {"created", run.created},
              {"note", run.plan.note},
              {"charged", or_null(run.charged())},
              {"settled", run.settlement.has_value()},
              {"stop", run.settlement ? json(name(run.settlement->stopping)) : json{}},
              {"not_private", run.plan.not_private},
              {"promise", nullptr},
              {"epsilon", nullptr},
              {"delta", nullptr},
              {"kept", nullptr}};
  if (run.plan.promise) {
    result["promise"] = accounting::to_json(*run.plan.promise);
    result["epsilon"] = accounting::to_json(*audited.epsilon);
    result["delta"] = accounting::to_json(*audited.delta);
    result["kept"] = *audited.kept;
  }
  return result;
}

/// The epsilon of the first k runs together, for some k up to all of them.
json growth_json(const Audit& audit) {
  auto growth = json::array();
  const auto count = audit.runs.size();
  accounting::Releases charged{audit.adjacency};
  bool is_private = true;
  std::size_t points = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const auto& run = audit.runs[k].run;
    if (const auto event = run.charged()) charged.add(accounting::Releases::of(*event));
    is_private = is_private && !run.plan.not_private;
    // The first run, the last one, and others at equal distances.
    const auto wanted = std::min(count, most_growth_points);
    if (k + 1 < count && k * (wanted - 1) < points * (count - 1)) continue;
    ++points;
    Enclosure epsilon{0, 0};
    if (k + 1 == count) {
      epsilon = audit.epsilon_of_fresh_noise;
    } else if (const auto together = charged.event()) {
      epsilon = accounting::quick_epsilon(*together, audit.delta);
    }
    if (!is_private) epsilon.upper = std::numeric_limits<double>::infinity();
    growth.push_back({{"run", run.id.value}, {"created", run.created}, {"epsilon", accounting::to_json(epsilon)}});
  }
  return growth;
}

std::vector<std::string_view> assumptions_of(const Audit& audit) {
  std::vector<std::string_view> texts{
      "Neighbouring data sets, as stated under the promise, model what is to be protected about one person.",
      "Bounds, categories, groups and other options were chosen without looking at the data.",
      "Every release about these people is in this ledger, and this is its current version.",
      "The program that drew the noise was an unmodified Surety, or charged what it released, on a machine whose random numbers are secret.",
      "The cited theorems hold, and compilers and libraries compute what they document."};
  texts.emplace_back(
      audit.balance
          ? "The total epsilon, the curve and the figures of the attacker hold if no run was chosen by the results of earlier runs. The epsilon and delta of the budget hold for any choice of runs."
          : "The total epsilon, the curve and the figures of the attacker hold if no run was chosen by the results of earlier runs. There is no budget, which would allow such a choice.");
  texts.emplace_back(audit.unit.is_row()
                         ? "Each person has one row. A person with several rows has a weaker promise."
                         : "Each person has one name in the column of the unit. A person with two names is protected as two people.");
  return texts;
}

std::vector<std::string_view> not_covered() {
  return {
      "Releases that were made without this ledger.",
      "A forged ledger, and an older copy of it: the file detects accidental damage and has no signature.",
      "How long a run took, and its use of memory. The time of a search also reveals how many candidates it tried.",
      "Values that a report labels as not private, such as scores on held-out records.",
      "Options that were chosen by looking at the data or at results that are not private.",
      "Who could read the memory, the swap space or the files of the machine that made the releases.",
      "What the releases teach about people in general: they also teach it without the data of any one person.",
  };
}

}  // namespace

json report_of(const accounting::Ledger& ledger, const ReportQuestions& questions, ReportOrigin origin) {
  const auto promised = accounting::promised_delta(ledger);
  if (!questions.delta && !promised) {
    invalid("delta is missing, must be given: the ledger has neither a budget nor a promise, whose delta would be used");
  }
  const auto delta = questions.delta ? *questions.delta : *promised;
  const auto audit = accounting::audit(ledger, delta);
  const auto delta_from = questions.delta ? "option" : audit.balance ? "budget" : "promises";
  auto runs = json::array();
  for (const auto& run : audit.runs) runs.push_back(run_json(run));
  json report{{"about",
               {{"document", "report of a Surety ledger"},
                {"program", std::move(origin.program)},
                {"reproduce", std::move(origin.command)},
                {"ledger_sha256", origin.ledger_sha256.empty() ? json{} : json(std::move(origin.ledger_sha256))}}},
              {"version", report_version},
              {"verdict", verdict_of(audit)},
              {"promise", promise_json(audit, delta_from)},
              {"data", nullptr},
              {"spent", spent_json(audit)},
              {"remaining", remaining_json(ledger)},
              {"risk", nullptr},
              {"curve", nullptr},
              {"runs", std::move(runs)},
              {"growth", growth_json(audit)},
              {"assumptions", assumptions_of(audit)},
              {"not_covered", not_covered()},
              {"checklist", nullptr}};
  if (audit.event && !audit.not_private) {
    report["risk"] = accounting::to_json(accounting::risk(*audit.event, questions.risk), questions.risk);
    report["curve"] = curve_json(*audit.event, delta);
  }
  if (!questions.checklist.empty()) report["checklist"] = checklist_of(report, questions.checklist);
  return report;
}

json report_of_file(const std::filesystem::path& path, const ReportQuestions& questions, ReportOrigin origin) {
  // Opening it plays back what a killed writer left.
  const auto ledger = accounting::Ledger::open(path);
  const auto checksum = sha256_of_file(path);
  origin.ledger_sha256 = checksum;
  auto report = report_of(ledger, questions, std::move(origin));
  if (sha256_of_file(path) != checksum) {
    throw Error{ErrorCode::environment,
                fmt::format("the ledger '{}' changed while it was read, must stay as it is; try again when no run writes to it",
                            one_line(path.string()))};
  }
  return report;
}

bool is_kept(const json& report) {
  const auto verdict = accounting::text_of(accounting::field_of(report, "verdict", "report"), "verdict of a report");
  return verdict != "broken" && verdict != "not private";
}

std::string json_text(const json& report) { return json_for_terminals(report.dump(2, ' ', false, json::error_handler_t::replace)) + "\n"; }

}  // namespace surety::jobs
