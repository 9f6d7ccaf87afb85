#include <surety/jobs/release/written_release.h>

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/json.h>
#include <surety/base/numbers/overload.h>
#include <surety/base/text/error.h>
#include <surety/base/text/safe_text.h>
#include <surety/data/condition.h>
#include <surety/jobs/plans/plan_json.h>
#include <surety/jobs/plans/reading_fields.h>
#include <surety/jobs/plans/text_lists.h>
#include <surety/jobs/plans/unit_fields.h>
#include <surety/jobs/release/queries.h>
#include <surety/jobs/release/release_fields.h>

namespace surety::jobs {

WrittenRelease read_release_plan(std::string_view text) {
  const auto json = parse_plan(text, "release");
  ReleaseFields fields;
  SaidFields said;
  for (const auto& [field, value] : json["options"].items()) {
    const auto* const known = fields.table().find(field);
    if (known == nullptr) refuse_unknown_field(field, fields.table());
    set_field(*known, value);
    said.insert(field);
  }
  if (said.contains("query") && said.contains("queries")) refuse_text("options: @query and @queries are both said, must be one of them");
  auto written = fields.written(target_in(json));
  written.said = std::move(said);
  written.text = text;
  return written;
}

void require_follows(const WrittenRelease& written, const Solution& cost) {
  require_follows(written, Follows{.unit = written.plan.unit, .event = cost.event, .noise = cost.value});
}

namespace {

using namespace statistics;
using nlohmann::json;

json json_of(const data::Bounds& bounds) { return {bounds.lower, bounds.upper}; }

void add_types(json& object, const data::Condition& condition) {
  constexpr std::array<std::string_view, 3> types{"number", "text", "date"};  // in the order of CellKind
  for (const auto& comparison : condition.comparisons()) {
    object["types"][comparison.column] = types.at(static_cast<std::size_t>(comparison.kind()));
  }
}

/// One column as its name.
json columns_json(const std::vector<std::string>& columns) { return columns.size() == 1 ? json(columns.front()) : json(columns); }

/// The cells of one of several columns.
json keys_json(const Cells& cells) {
  return std::visit(Overload{[](const data::Categories& its) { return json(its.names); },
                             [](const Bins& its) {
                               return json{{"bounds", json_of(its.bounds)}, {"bins", its.count}};
                             }},
                    cells);
}

void add_cells(json& object, const Cells& cells, const char* texts, const char* bounds, const char* bins) {
  std::visit(Overload{[&](const data::Categories& its) { object[texts] = its.names; },
                      [&](const Bins& its) {
                        object[bounds] = json_of(its.bounds);
                        object[bins] = its.count;
                      }},
             cells);
}

/// What is asked of which column.
class KindJson {
 public:
  explicit KindJson(json& object) : object_{object} {}

  void operator()(const CountOf&) { object_["query"] = "count()"; }
  void operator()(const SumOf& its) { of_numbers("sum", its); }
  void operator()(const MeanOf& its) { of_numbers("mean", its); }
  void operator()(const VarianceOf& its) { of_numbers("variance", its); }
  void operator()(const QuantileOf& its) {
    of_numbers("quantile", its);
    std::string asked = its.column;
    for (const auto fraction : its.fractions.all()) asked += fmt::format(", {}", fraction.value());
    of_column("quantile", asked);
    if (its.candidates) object_["candidates"] = *its.candidates;
  }
  void operator()(const HistogramOf& its) {
    of_column("histogram", its.column);
    add_cells(object_, its.cells, "categories", "bounds", "bins");
  }
  void operator()(const KeysOf& its) {
    object_["most_keys"] = its.most_keys.value();
    if (its.hides_counts) {
      of_column("distinct", list_text(columns_of(its)));
    } else if (its.beside.empty()) {
      of_column("keys", its.column);
    } else {
      of_discovered("count(units)", its);
    }
  }
  void operator()(const GroupMeansOf& its) {
    of_numbers("mean", its.mean);
    of_discovered(fmt::format("mean({})", its.mean.column), its.keys);
    object_["most_keys"] = its.keys.most_keys.value();
  }
  void operator()(const UnitSumOf& its) {
    of_column("sum", its.column);
    object_["clip_unit_sum"] = json_of(its.clip);
  }
  void operator()(const UnitsOf&) { object_["query"] = "count(units)"; }
  void operator()(const DistinctOf& its) {
    object_["query"] = fmt::format("count(distinct {})", its.column);
    object_["most_keys"] = its.most_keys.value();
  }

 private:
  void of_column(std::string_view function, const std::string& column) { object_["query"] = fmt::format("{}({})", function, column); }
  template <class Kind>
  void of_numbers(std::string_view function, const Kind& its) {
    of_column(function, its.column);
    object_["bounds"] = json_of(its.bounds);
  }
  void of_discovered(std::string_view asked, const KeysOf& its) {
    object_["query"] = asked;
    object_["by"] = columns_json(columns_of(its));
    object_["keys"] = discovered;
  }

  json& object_;
};

json json_of(const WeightedStatistic& query) {
  const auto& statistic = query.statistic;
  json object;
  std::visit(KindJson{object}, statistic.of);
  if (statistic.where) {
    object["where"] = describe(*statistic.where);
    add_types(object, *statistic.where);
  }
  if (statistic.by) {
    object["by"] = columns_json(columns_of(*statistic.by));
    if (statistic.by->beside.empty()) {
      add_cells(object, statistic.by->keys, "keys", "key_bounds", "key_bins");
    } else {
      object["keys"] = json::array({keys_json(statistic.by->keys)});
      for (const auto& more : statistic.by->beside) object["keys"].push_back(keys_json(more.keys));
    }
  }
  if (statistic.group_cap) object["most_per_group"] = statistic.group_cap->most.value();
  if (query.weight != 1) object["weight"] = query.weight;
  return object;
}

json options_of(const ReleasePlan& plan) {
  json options{{"query", json::array()}, {"confidence", plan.confidence}, {"noise", name(plan.noise)}};
  for (const auto& query : plan.queries) options["query"].push_back(json_of(query));
  write_reading(options, plan.reading);
  write_unit(options, plan.unit);
  if (!plan.note.empty()) options["note"] = plan.note;
  return options;
}

}  // namespace

std::string plan_text(const ReleasePlan& plan) {
  if (plan.queries.size() > ReleasePlan::most_queries) has_no_text("it has too many queries");
  auto text = plan_json("release", options_of(plan), plan.target).dump(-1, ' ', false, json::error_handler_t::replace);
  if (!(read_release_plan(text).plan == plan)) has_no_text("what would be read of it is another one");
  return text;
}

}  // namespace surety::jobs
