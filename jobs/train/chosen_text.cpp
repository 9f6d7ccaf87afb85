#include <surety/jobs/train/chosen_text.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/automatic/automatic.h>
#include <surety/jobs/automatic/rules.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/jobs/plans/plan_json.h>
#include <surety/jobs/search/candidates.h>
#include <surety/jobs/train/train_fields.h>
#include <surety/jobs/train/written_plan.h>

namespace surety::jobs {
namespace {

using nlohmann::json;

constexpr auto replaced = json::error_handler_t::replace;

/// What the rule itself is told, which no algorithm need know.
struct RuleFields {
  explicit RuleFields(const json& options) {
    table.group("").add("held-out", plan.held_out, "", AnyNumber{});
    add_records(table, plan.records);
    for (const auto& field : table.groups().front().fields) {
      if (options.contains(field.name())) set_field(field, options[field.name()]);
    }
    plan.says_rows = options.contains("rows");
  }
  RuleFields(const RuleFields&) = delete;
  RuleFields& operator=(const RuleFields&) = delete;

  AutomaticPlan plan;
  FieldTable table;
};

std::vector<std::string> knowing(const json& options, FieldTable& of_rule) {
  std::vector<std::string> names;
  for (const auto& algorithm : all_algorithms()) {
    TrainFields fields{*algorithm};
    bool knows_all = true;
    for (const auto& [name, value] : options.items()) {
      knows_all = knows_all && (name == "algorithm" || of_rule.find(name) != nullptr || fields.table().find(name) != nullptr);
    }
    if (knows_all) names.push_back(algorithm->name());
  }
  if (names.empty()) refuse_plan("{} is missing: none knows all of the options", "algorithm"_field);
  return names;
}

/// The plan as it is but for its algorithm, for which any serves that knows its fields.
TrainPlan plan_but_for_its_algorithm(json plan, const std::string& algorithm, FieldTable& of_rule, std::shared_ptr<GivenRows> rows) {
  for (const auto& field : of_rule.groups().front().fields) plan["options"].erase(field.name());
  plan["options"]["algorithm"] = algorithm;
  auto read = read_train_plan(plan.dump(-1, ' ', false, replaced), NamedRecords::or_given_later).plan;
  if (rows) {
    read.source.rows = std::move(rows);
    read.source.path = read.source.rows->name();
  }
  if (read.source.path.empty())
    refuse_plan("{} is missing: {} auto reads the header of the records first", "data"_field, "algorithm"_field);
  return read;
}

json plan_in(std::string_view text) { return parse_plan(text, "train"); }

}  // namespace

bool is_automatic(std::string_view text) {
  const auto plan = plan_in(text);
  return plan["options"].contains("algorithm") && plan["options"]["algorithm"] == automatic_name;
}

ChosenText chosen_text(std::string_view text, std::shared_ptr<GivenRows> rows) {
  auto json = plan_in(text);
  auto& options = json["options"];
  RuleFields rule{options};
  const auto known = knowing(options, rule.table);
  const auto plan = plan_but_for_its_algorithm(json, known.front(), rule.table, std::move(rows));
  rule.plan.searches = plan.search.tune.has_value();
  const auto choice = choose(plan, rule.plan, known);

  options["algorithm"] = choice.algorithm;
  // What the rule itself knows of records is no number that an algorithm must be told.
  const auto all = all_algorithms();
  const auto& algorithm = **std::find_if(all.begin(), all.end(), [&](const auto& one) { return one->name() == choice.algorithm; });
  if (known.size() != 1 || TrainFields{algorithm}.table().find("records") == nullptr) options.erase("records");
  const auto tried = plan.search.tune ? searched_over(plan, algorithm, {}) : std::vector<std::string>{};
  ChosenText found{.text = {}, .chosen = choice.algorithm};
  for (const auto& [field, value] : choice.fields) {
    const auto is_it = [start = field + "="](const std::string& over) { return over.starts_with(start); };
    const bool is_said = options.contains(field) && options[field] != automatic_name;
    if (is_said || std::any_of(tried.begin(), tried.end(), is_it)) continue;
    options[field] = value;
    found.chosen += field_text(" {} {}", FieldName{field}, value);
  }
  found.chosen += field_text(": {}", choice.why);
  found.text = json.dump(-1, ' ', false, replaced);
  return found;
}

ChosenText ruled_text(std::string_view text, std::shared_ptr<GivenRows> rows) {
  auto plan = read_train_plan(text, NamedRecords::or_given_later).plan;
  if (rows) {
    plan.source.rows = std::move(rows);
    plan.source.path = plan.source.rows->name();
  }
  ChosenText found{.text = std::string{text}, .chosen = {}};
  const auto ruled = ruled_fields(plan);
  if (ruled.fields.empty()) return found;
  auto json = plan_in(text);
  const auto all = all_algorithms();
  const auto& algorithm = **std::find_if(all.begin(), all.end(), [&](const auto& one) { return one->name() == plan.algorithm_name(); });
  const auto tried = plan.search.tune ? searched_over(plan, algorithm, {}) : std::vector<std::string>{};
  FieldText chosen;
  for (const auto& [field, value] : ruled.fields) {
    const auto is_it = [start = field + "="](const std::string& over) { return over.starts_with(start); };
    if (json["options"].contains(field) || std::any_of(tried.begin(), tried.end(), is_it)) continue;
    json["options"][field] = value;
    chosen += field_text(" {} {}", FieldName{field}, value);
  }
  if (chosen.empty()) return found;
  found.chosen = std::string{plan.algorithm_name()};
  found.chosen += chosen;
  found.chosen += field_text(": {}", ruled.why);
  found.text = json.dump(-1, ' ', false, replaced);
  return found;
}

}  // namespace surety::jobs
