#include <surety/jobs/release/released_json.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>
#include <surety/base/text/escaped_text.h>

namespace surety::jobs {
namespace {

using namespace statistics;

nlohmann::json json_of(const PartFacts& facts, double number) {
  if (std::isinf(number)) return accounting::json_number(number);
  if (facts.is_whole) return static_cast<std::int64_t>(number);
  return number;
}

nlohmann::json json_of(const PartFacts& facts, const Answer& answer) {
  const auto& estimate = answer.estimate;
  auto object = nlohmann::json::object();
  if (facts.has_values) object["value"] = json_of(facts, estimate.value);
  if (facts.has_values && facts.has_interval) object["interval"] = {json_of(facts, estimate.lower), json_of(facts, estimate.upper)};
  if (answer.rank_error) object["rank_error"] = accounting::json_number(*answer.rank_error);
  return object;
}

nlohmann::json json_of_whole(const Estimate& estimate) {
  const auto whole = [](double number) {
    return std::isinf(number) ? accounting::json_number(number) : nlohmann::json(static_cast<std::int64_t>(number));
  };
  return {{"value", whole(estimate.value)}, {"interval", {whole(estimate.lower), whole(estimate.upper)}}};
}

/// Says in `object` of how many records a number is.
void put_used(nlohmann::json& object, const ReleasedQuery& query, const Answer& answer) {
  if (!answer.used) return;
  auto& used = object["used"] = json_of_whole(answer.used->used);
  if (answer.used->total) used["total"] = json_of_whole(*answer.used->total);
  if (auto warning = warning_of(query, answer); !warning.empty()) used["warning"] = std::move(warning);
}

/// Says in `object` which cell or group it is of. JSON is UTF-8: of another text it holds a spelling, and its bytes beside.
void put_text(nlohmann::json& object, const std::string& field, const std::string& text) {
  if (is_utf8(text)) {
    object[field] = text;
    return;
  }
  object[field] = escaped(text);
  std::string bytes;
  for (const char byte : text) bytes += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  object[field + "_bytes"] = bytes;
}

/// "value" and "interval", or "cells", of answers that are one group's.
nlohmann::json json_of_group(const ReleasedQuery& query, const Answer* first, const Answer* last) {
  const auto& facts = query.facts;
  if (!facts.has_cells) {
    auto object = json_of(facts, *first);
    put_used(object, query, *first);
    return object;
  }
  auto cells = nlohmann::json::array();
  for (; first != last; ++first) {
    auto cell = json_of(facts, *first);
    put_text(cell, "cell", first->cell);
    cells.push_back(std::move(cell));
  }
  return {{"cells", std::move(cells)}};
}

nlohmann::json json_of_query(const ReleasedQuery& query) {
  const auto& facts = query.facts;
  nlohmann::json object{{"query", facts.query}, {"noise", facts.noise}, {"noise_is_on", facts.noise_is_on}};
  const auto set = [&](const char* name, const std::optional<double>& number) {
    if (number) object[name] = *number;
  };
  if (facts.missing_cells) object["missing_cells"] = query.missing_cells;
  if (!facts.other_cells.empty()) object["other_cells"] = facts.other_cells;
  if (!facts.column_units.empty()) object["column_units"] = facts.column_units;
  set("standard_deviation", facts.standard_deviation);
  set("l1_sensitivity", facts.l1_sensitivity);
  set("l2_sensitivity", facts.l2_sensitivity);
  set("grid_step", facts.grid_step);
  if (auto warnings = interval_warnings_of(query); !warnings.empty()) object["warnings"] = std::move(warnings);
  const Answer* answer = query.answers.data();
  const Answer* const end = answer + query.answers.size();
  if (!facts.has_groups) {
    object.update(json_of_group(query, answer, end));
    return object;
  }
  object["groups"] = nlohmann::json::array();
  while (answer != end) {
    const Answer* const next = std::find_if(answer, end, [&](const Answer& other) { return other.group != answer->group; });
    auto group = json_of_group(query, answer, next);
    put_text(group, "group", answer->group);
    for (std::size_t k = 0; k < answer->group_texts.size(); ++k) put_text(group["columns"], facts.group_columns[k], answer->group_texts[k]);
    object["groups"].push_back(std::move(group));
    answer = next;
  }
  return object;
}

}  // namespace

nlohmann::json to_json(const ReleasedStatistics& released, bool always_lists) {
  nlohmann::json object{{"adjacency", name(released.promise.adjacency)},
                        {"promise", {{"epsilon", released.promise.epsilon.value()}, {"delta", released.promise.delta.value()}}},
                        {"event", describe(released.cost.event)},
                        {"epsilon", accounting::to_json(released.cost.epsilon)},
                        {"delta", released.promise.delta.value()},
                        {"confidence", released.confidence},
                        {"not_private", released.not_private},
                        {"run", released.run.value},
                        {"unit", surety::to_json(released.unit)}};
  if (!released.missing.empty()) object["missing"] = released.missing;
  if (released.records) object["records"] = *released.records;
  if (!released.notes.empty()) object["notes"] = released.notes;
  if (released.over_time) object["over_time"] = to_json(*released.over_time);
  if (released.queries.size() == 1 && !always_lists) {
    object.update(json_of_query(released.queries.front()));
    return object;
  }
  object["queries"] = nlohmann::json::array();
  for (const auto& query : released.queries) {
    auto one = json_of_query(query);
    one["weight"] = query.weight;
    one["event"] = describe(query.event);
    object["queries"].push_back(std::move(one));
  }
  return object;
}

std::string json_text(const ReleasedStatistics& released) { return to_json(released).dump(); }

}  // namespace surety::jobs
