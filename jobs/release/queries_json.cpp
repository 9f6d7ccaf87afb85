#include <surety/jobs/release/queries_json.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/base/numbers/overload.h>
#include <surety/data/reading/condition.h>
#include <surety/jobs/plans/plan_json.h>
#include <surety/jobs/release/queries.h>
#include <surety/jobs/release/query.h>
#include <surety/jobs/release/query_object.h>

namespace surety::jobs {
namespace {

using namespace statistics;
using nlohmann::json;

/// Writes the function of a statistic, its columns and their options into a query.
class KindOfQuery {
 public:
  explicit KindOfQuery(Query& query) : query_{query} {}

  void operator()(const CountOf&) { query_.asked.function = Function::count; }
  void operator()(const SumOf& its) { of_numbers(Function::sum, its); }
  void operator()(const MeanOf& its) { of_numbers(Function::mean, its); }
  void operator()(const VarianceOf& its) { of_numbers(Function::variance, its); }
  void operator()(const QuantileOf& its) {
    const bool is_median = its.fractions == Fractions{Fraction::median()};
    of_numbers(is_median ? Function::median : Function::quantile, its);
    for (const auto fraction : is_median ? std::vector<Fraction>{} : its.fractions.all())
      query_.asked.fractions.push_back(fraction.value());
    query_.candidates = its.candidates;
    query_.interval = its.has_interval;
  }
  void operator()(const HistogramOf& its) {
    of_column(Function::histogram, its.column);
    std::visit(Overload{[&](const data::Categories& texts) { query_.categories = texts; },
                        [&](const Bins& bins) {
                          query_.bounds = bins.bounds;
                          query_.bins = bins.count;
                        },
                        [&](const Edges& edges) { query_.edges = edges; }},
               its.cells);
  }
  void operator()(const ModeOf& its) {
    of_column(Function::mode, its.column);
    query_.categories = its.categories;
    if (its.top != 1) query_.top = its.top;
  }
  void operator()(const KeysOf& its) {
    query_.most_keys = its.most_keys.value();
    if (its.hides_counts) {
      query_.asked = {.function = Function::distinct, .columns = columns_of(its)};
    } else if (its.beside.empty()) {
      of_column(Function::keys, its.column);
    } else {
      query_.asked.function = Function::count_units;
      of_discovered(its);
    }
  }
  void operator()(const GroupMeansOf& its) {
    of_numbers(Function::mean, its.mean);
    of_discovered(its.keys);
    query_.most_keys = its.keys.most_keys.value();
  }
  void operator()(const UnitSumOf& its) {
    of_column(Function::sum, its.column);
    query_.clip_unit_sum = its.clip;
  }
  void operator()(const UnitsOf&) { query_.asked.function = Function::count_units; }
  void operator()(const DistinctOf& its) {
    of_column(Function::count_distinct, its.column);
    query_.most_keys = its.most_keys.value();
  }

 private:
  void of_column(Function function, const std::string& column) { query_.asked = {.function = function, .columns = {column}}; }
  template <class Kind>
  void of_numbers(Function function, const Kind& its) {
    of_column(function, its.column);
    query_.bounds = its.bounds;
  }
  void of_discovered(const KeysOf& its) {
    query_.by = columns_of(its);
    query_.keys.are_discovered = true;
  }

  Query& query_;
};

void add_types(Query& query, const data::Condition& condition) {
  constexpr std::array<std::string_view, 3> types{"number", "text", "date"};  // in the order of CellKind
  for (const auto& comparison : condition.comparisons()) {
    query.types[comparison.column] = types.at(static_cast<std::size_t>(comparison.kind()));
  }
}

Query query_of(const WeightedStatistic& weighted) {
  const auto& statistic = weighted.statistic;
  Query query;
  std::visit(KindOfQuery{query}, statistic.of);
  query.asked.expression = statistic.expression;
  if (statistic.where) {
    query.where = describe(*statistic.where);
    add_types(query, *statistic.where);
  }
  for (const auto& column : statistic.dates) query.types[column] = "date";
  if (statistic.by) {
    query.by = columns_of(*statistic.by);
    const bool is_of_one = statistic.by->beside.empty();
    const auto* const bins = std::get_if<Bins>(&statistic.by->keys);
    const auto* const edges = std::get_if<Edges>(&statistic.by->keys);
    if (bins != nullptr && is_of_one) {
      query.key_bounds = bins->bounds;
      query.key_bins = bins->count;
    } else if (edges != nullptr && is_of_one) {
      query.key_edges = *edges;
    } else {
      query.keys.of_columns.push_back(statistic.by->keys);
      for (const auto& more : statistic.by->beside) query.keys.of_columns.push_back(more.keys);
    }
  }
  if (statistic.group_cap) query.most_per_group = statistic.group_cap->most.value();
  query.weight = weighted.weight;
  return query;
}

}  // namespace

json queries_json(const std::vector<WeightedStatistic>& queries) {
  auto list = json::array();
  for (const auto& query : queries) list.push_back(json_of(query_of(query)));
  return list;
}

json queries_json(const std::vector<WeightedStatistic>& queries, const QueryContext& context) {
  auto list = queries_json(queries);
  const QueryFields again{.grammar = QueryGrammar::plan_2, .list = std::make_shared<const json>(list)};
  if (!(parse_queries(again, context) == queries)) has_no_text("other queries would be read of it");
  return list;
}

}  // namespace surety::jobs
