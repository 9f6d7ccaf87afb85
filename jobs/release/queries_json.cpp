#include <surety/jobs/release/queries_json.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/base/numbers/overload.h>
#include <surety/data/condition.h>
#include <surety/jobs/plans/plan_json.h>
#include <surety/jobs/release/queries.h>

namespace surety::jobs {
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

  void operator()(const CountOf&) { object_["function"] = "count"; }
  void operator()(const SumOf& its) { of_numbers("sum", its); }
  void operator()(const MeanOf& its) { of_numbers("mean", its); }
  void operator()(const VarianceOf& its) { of_numbers("variance", its); }
  void operator()(const QuantileOf& its) {
    const bool is_median = its.fractions == Fractions{Fraction::median()};
    of_numbers(is_median ? "median" : "quantile", its);
    for (const auto fraction : is_median ? std::vector<Fraction>{} : its.fractions.all()) object_["fractions"].push_back(fraction.value());
    if (its.candidates) object_["candidates"] = *its.candidates;
  }
  void operator()(const HistogramOf& its) {
    of_column("histogram", its.column);
    add_cells(object_, its.cells, "categories", "bounds", "bins");
  }
  void operator()(const KeysOf& its) {
    object_["most_keys"] = its.most_keys.value();
    if (its.hides_counts) {
      object_["function"] = "distinct";
      object_["column"] = columns_json(columns_of(its));
    } else if (its.beside.empty()) {
      of_column("keys", its.column);
    } else {
      object_["function"] = "count_units";
      of_discovered(its);
    }
  }
  void operator()(const GroupMeansOf& its) {
    of_numbers("mean", its.mean);
    of_discovered(its.keys);
    object_["most_keys"] = its.keys.most_keys.value();
  }
  void operator()(const UnitSumOf& its) {
    of_column("sum", its.column);
    object_["clip_unit_sum"] = json_of(its.clip);
  }
  void operator()(const UnitsOf&) { object_["function"] = "count_units"; }
  void operator()(const DistinctOf& its) {
    of_column("count_distinct", its.column);
    object_["most_keys"] = its.most_keys.value();
  }

 private:
  void of_column(std::string_view function, const std::string& column) {
    object_["function"] = function;
    object_["column"] = column;
  }
  template <class Kind>
  void of_numbers(std::string_view function, const Kind& its) {
    of_column(function, its.column);
    object_["bounds"] = json_of(its.bounds);
  }
  void of_discovered(const KeysOf& its) {
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
  for (const auto& column : statistic.dates) object["types"][column] = "date";
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

}  // namespace

json queries_json(const std::vector<WeightedStatistic>& queries) {
  auto list = json::array();
  for (const auto& query : queries) list.push_back(json_of(query));
  return list;
}

json queries_json(const std::vector<WeightedStatistic>& queries, const QueryContext& context) {
  auto list = queries_json(queries);
  QueryFields again{.grammar = QueryGrammar::plan_2};
  for (const auto& query : list) again.queries.push_back(query.dump(-1, ' ', false, json::error_handler_t::replace));
  if (!(parse_queries(again, context) == queries)) has_no_text("other queries would be read of it");
  return list;
}

}  // namespace surety::jobs
