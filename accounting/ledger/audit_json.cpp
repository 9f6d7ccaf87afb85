#include <surety/accounting/ledger/audit_json.h>

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace surety::accounting {
namespace {

std::string describe_or_nothing(const std::optional<Event>& event) { return event ? describe(*event) : "nothing"; }

}  // namespace

nlohmann::json to_json(const Target& target) { return {{"epsilon", target.epsilon.value()}, {"delta", target.delta.value()}}; }

nlohmann::json to_json(const Budget& budget) {
  auto object = to_json(budget.target);
  object["filter"] = name(budget.filter);
  if (budget.order) object["order"] = budget.order->value();
  return object;
}

std::vector<std::string_view> admitting_rules(const Balance& balance) {
  std::vector<std::string_view> rules;
  if (!(balance.spent.lower > balance.limit.upper)) rules.push_back(balance.unit);
  if (balance.spent_epsilon && !(balance.spent_epsilon->lower > balance.budget.target.epsilon.value())) rules.push_back("epsilon");
  return rules;
}

nlohmann::json to_json(const Balance& balance) {
  auto object = to_json(balance.budget);
  object["unit"] = balance.unit;
  object["spent"] = to_json(balance.spent);
  object["limit"] = to_json(balance.limit);
  if (balance.spent_epsilon) object["spent_epsilon"] = to_json(*balance.spent_epsilon);
  object["admitted_by"] = admitting_rules(balance);
  if (balance.odometer) object["odometer"] = {{"epsilon", to_json(*balance.odometer)}, {"delta", balance.budget.target.delta.value()}};
  return object;
}

nlohmann::json to_json(const RunAudit& audited) {
  const auto& run = audited.run;
  nlohmann::json result{{"run", run.id.value},
                        {"created", run.created},
                        {"state", run.settlement ? "settled" : "reserved"},
                        {"planned", describe(run.plan.event)},
                        {"charged", describe_or_nothing(run.charged())},
                        {"note", run.plan.note},
                        {"not_private", run.plan.not_private}};
  if (run.plan.promise) {
    result["promise"] = to_json(*run.plan.promise);
    result["epsilon"] = to_json(*audited.epsilon);
    result["delta"] = to_json(*audited.delta);
    result["kept"] = *audited.kept;
    if (audited.recorded_in_one_order) result["recorded"] = RunAudit::in_one_order;
  }
  return result;
}

nlohmann::json to_json(const Audit& report) {
  auto runs = nlohmann::json::array();
  for (const auto& run : report.runs) runs.push_back(to_json(run));
  nlohmann::json object{{"adjacency", name(report.adjacency)},
                        {"unit", reported_json(report.unit)},
                        {"event", describe_or_nothing(report.event)},
                        {"epsilon", to_json(report.epsilon)},
                        {"epsilon_of_fresh_noise", to_json(report.epsilon_of_fresh_noise)},
                        {"delta", report.delta.value()},
                        {"accountant", report.accountant},
                        {"independent", {{"accountant", report.independent_accountant}, {"epsilon", to_json(report.independent)}}},
                        {"runs", std::move(runs)},
                        {"not_private", report.not_private},
                        {"kept", report.kept}};
  if (report.balance) object["budget"] = to_json(*report.balance);
  return object;
}

std::string to_json_text(const Audit& report) {
  auto object = to_json(report);
  object["version"] = 1;
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace surety::accounting
