#include <surety/jobs/release/query_statistic.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <surety/base/text/error.h>
#include <surety/base/text/safe_text.h>
#include <surety/data/reading/condition.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/jobs/release/query_condition.h>
#include <surety/jobs/run/kept_units.h>

namespace surety::jobs {

using namespace data;
using namespace statistics;

namespace {

/// \throws PlanError naming the query for what is no fraction.
Fractions fractions_of(const Query& said) {
  try {
    return Fractions{std::vector<Fraction>(said.asked.fractions.begin(), said.asked.fractions.end())};
  } catch (const Error& error) {
    if (said.place.empty()) throw;
    said.refuse("{}", error.what());
  }
}

std::optional<Groups> groups_of(const Query& said) {
  if (said.by.empty()) {
    if (!said.keys.of_columns.empty() || said.keys.are_discovered)
      said.refuse("{} is given without {}, the column of the groups", "keys"_field, "by"_field);
    if (said.key_bounds) said.refuse("{} is given without {}, the column of the groups", "key-bounds"_field, "by"_field);
    if (said.key_bins) said.refuse("{} is given without {}, the column of the groups", "key-bins"_field, "by"_field);
    if (said.key_edges) said.refuse("{} is given without {}, the column of the groups", "key-edges"_field, "by"_field);
    if (said.most_per_group) said.refuse("{} is given without {}, the column of the groups", "most-per-group"_field, "by"_field);
    return std::nullopt;
  }
  if (std::find(said.by.begin(), said.by.end(), "") != said.by.end()) said.refuse("{} has an empty name, must name columns", "by"_field);
  const bool is_of_several = said.by.size() > 1;
  if (!said.keys.of_columns.empty() || said.keys.are_discovered) {
    if (said.key_bounds || said.key_bins)
      said.refuse("{} and {} are not for {}, must be left out", "key-bounds"_field, "key-bins"_field, "keys"_field);
    if (said.key_edges) said.refuse("{} is not for {}, must be left out", "key-edges"_field, "keys"_field);
    if (said.keys.are_discovered) return std::nullopt;
    if (said.keys.of_columns.size() != said.by.size()) {
      said.refuse("{} has {} lists, must have one for each of the {} columns of {}{}", "keys"_field, said.keys.of_columns.size(),
                  said.by.size(), "by"_field, said.is_object ? "" : ", with ; between two");
    }
    Groups groups{said.by.front(), said.keys.of_columns.front()};
    for (std::size_t k = 1; k < said.by.size(); ++k) groups.beside.push_back({said.by[k], said.keys.of_columns[k]});
    return groups;
  }
  if (is_of_several) {
    if (said.key_bounds || said.key_bins) {
      said.refuse("{} and {} are for one column, must be left out (in JSON keys may be bins: {{\"bounds\": [0, 90], \"bins\": 9}})",
                  "key-bounds"_field, "key-bins"_field);
    }
    if (said.key_edges) {
      said.refuse("{} is for one column, must be left out (in JSON keys may be edges: {{\"edges\": [0, 18, 65]}})", "key-edges"_field);
    }
    said.refuse("{} is missing: the groups are public, a list for each of the {} columns of {}", "keys"_field, said.by.size(), "by"_field);
  }
  if (said.key_edges) {
    if (said.key_bounds || said.key_bins) {
      said.refuse("{} and {} are not for {}, must be left out", "key-bounds"_field, "key-bins"_field, "key-edges"_field);
    }
    return Groups{said.by.front(), *said.key_edges};
  }
  if (!said.key_bounds || !said.key_bins) {
    said.refuse("{} is missing: the groups are public (of numbers, {} and {}, or {})", "keys"_field, "key-bounds"_field, "key-bins"_field,
                "key-edges"_field);
  }
  return Groups{said.by.front(), Bins{*said.key_bounds, *said.key_bins}};
}

/// The columns whose numbers a statistic and its groups read.
std::vector<std::string> all_columns_of_numbers(const Statistic& statistic) {
  std::vector<std::string> columns;
  const auto add = [&](const std::string& column) {
    if (std::find(columns.begin(), columns.end(), column) == columns.end()) columns.push_back(column);
  };
  for (const auto& column : statistics::columns_of_numbers(statistic)) add(column);
  const auto add_bins = [&](const std::string& column, const Cells& keys) {
    if (are_of_numbers(keys)) add(column);
  };
  if (statistic.by) {
    add_bins(statistic.by->column, statistic.by->keys);
    for (const auto& more : statistic.by->beside) add_bins(more.column, more.keys);
  }
  return columns;
}

/// What columns hold: as was said, by the schema, and since a statistic or its groups use their numbers.
ColumnKinds kinds_of(const Statistic& statistic, const std::map<std::string, std::string>& types, const Schema* schema) {
  ColumnKinds kinds;
  for (const auto& [column, type] : types) kinds.emplace(column, kind_of_type(type));
  for (const auto& column : schema != nullptr ? schema->columns : std::vector<SchemaColumn>{}) {
    const auto kind = column.type ? std::optional{kind_of_type(*column.type)} : std::nullopt;
    if (kind == CellKind::date) kinds.emplace(column.name, CellKind::date);
    if (kind == CellKind::text || column.categories) kinds.emplace(column.name, CellKind::text);
    if (kind == CellKind::number || column.bounds) kinds.emplace(column.name, CellKind::number);
  }
  for (const auto& column : all_columns_of_numbers(statistic)) kinds.emplace(column, CellKind::number);
  return kinds;
}

/// Whose rows are whose; nothing where the unit is a row.
std::optional<RowOwner> owner_of(const UnitOfPrivacy& unit) {
  const auto columns = columns_of(unit);
  if (columns.empty()) return std::nullopt;
  return RowOwner{columns.front(), unit.rule().empty == EmptyUnit::each, {columns.begin() + 1, columns.end()}};
}

/// The function of a query and its columns, with checked options.
class AskedStatistic {
 public:
  AskedStatistic(const Query& said, const QueryContext& context) : said_{said}, context_{context} { check(); }

  [[nodiscard]] decltype(Statistic::of) kind() const {
    if (said_.clip_unit_sum) return UnitSumOf{column(), *said_.clip_unit_sum, owner_of(context_.unit)};
    switch (said_.asked.function) {
      case Function::count: return CountOf{};
      case Function::count_units:
        if (said_.keys.are_discovered) return keys_of_by();
        return UnitsOf{owner_of(context_.unit)};
      case Function::count_distinct: return DistinctOf{.column = column(), .most_keys = most_keys(), .owner = owner_of(context_.unit)};
      case Function::sum: return SumOf{column(), bounds()};
      case Function::mean:
        if (said_.keys.are_discovered) return GroupMeansOf{.mean = {column(), bounds()}, .keys = keys_of_by()};
        return MeanOf{column(), bounds()};
      case Function::variance: return VarianceOf{column(), bounds()};
      case Function::median: return QuantileOf{column(), bounds(), Fraction::median(), said_.candidates, said_.interval};
      case Function::quantile: {
        const auto fractions = fractions_of(said_);
        return QuantileOf{column(), bounds(), fractions, said_.candidates, said_.interval};
      }
      case Function::histogram: return histogram();
      case Function::mode: return mode();
      case Function::keys: return KeysOf{.column = column(), .most_keys = most_keys(), .owner = owner_of(context_.unit)};
      case Function::distinct: break;
    }
    const auto& columns = said_.asked.columns;
    return KeysOf{.column = columns.front(),
                  .most_keys = most_keys(),
                  .owner = owner_of(context_.unit),
                  .beside = {columns.begin() + 1, columns.end()},
                  .hides_counts = true};
  }

  [[nodiscard]] std::optional<GroupCap> group_cap() const {
    if (!said_.most_per_group) return std::nullopt;
    return GroupCap{Count{*said_.most_per_group}, owner_of(context_.unit)};
  }

 private:
  [[nodiscard]] const std::string& column() const { return said_.asked.columns.front(); }
  void check() const {
    const auto function = said_.asked.function;
    for_each_option(
        [&](FieldName option, const auto& value) {
          if (option == "most-per-group"_field && said_.by.empty()) return;  // refused with the other options of groups
          const auto unused = is_given(value) ? unused_option(said_, option) : FieldText{};
          if (!unused.empty()) said_.refuse("{} is not for {}(), must be left out", unused, said_.function);
        },
        said_);
    if (said_.keys.are_discovered && function != Function::mean && function != Function::count_units) {
      said_.refuse("{} is {} for {}(), must be a list there: means and count(units) alone are of groups that nobody listed", "keys"_field,
                   discovered, said_.function);
    }
  }
  [[nodiscard]] Bounds bounds() const {
    if (!said_.bounds && said_.asked.expression) {
      said_.refuse("{} is missing: {}() of an expression needs public bounds lower,upper, or bounds of each of its columns", "bounds"_field,
                   said_.function);
    }
    if (!said_.bounds) said_.refuse("{} is missing: {}() needs public bounds lower,upper", "bounds"_field, said_.function);
    return *said_.bounds;
  }
  [[nodiscard]] Count most_keys() const { return Count{said_.most_keys.value_or(context_.unit.most().value())}; }
  [[nodiscard]] KeysOf keys_of_by() const {
    return {.column = said_.by.front(),
            .most_keys = most_keys(),
            .owner = owner_of(context_.unit),
            .beside = {said_.by.begin() + 1, said_.by.end()}};
  }
  [[nodiscard]] ModeOf mode() const {
    if (!said_.categories) said_.refuse("{} is missing: the texts of a mode are public", "categories"_field);
    return {column(), *said_.categories, said_.top.value_or(1)};
  }
  [[nodiscard]] HistogramOf histogram() const {
    if (said_.categories && said_.asked.expression) {
      said_.refuse("{} are texts, must be {} or {} of an expression", "categories"_field, "bins"_field, "edges"_field);
    }
    if (said_.categories) {
      return {column(), *said_.categories};
    }
    if (said_.edges) {
      return {column(), *said_.edges};
    }
    if (!said_.bins) {
      said_.refuse("{}, {} or {} is missing: the cells of a histogram are public", "bins"_field, "edges"_field, "categories"_field);
    }
    return {column(), Bins{bounds(), *said_.bins}};
  }

  const Query& said_;
  const QueryContext& context_;
};

/// By column, as the query or the schema declares them.
std::map<std::string, std::string> declared_types(const Query& said, const Schema* schema) {
  auto types = said.types;
  for (const auto& column : schema != nullptr ? schema->columns : std::vector<SchemaColumn>{}) {
    if (column.type) types.emplace(column.name, *column.type);
  }
  return types;
}

/// The columns whose numbers are days, since the query or the schema declares dates or the condition compares dates: no record has a say.
std::vector<std::string> dates_of(const Query& said, const Statistic& statistic, const Schema* schema) {
  const auto types = declared_types(said, schema);
  const auto compares_dates = [&](const std::string& column) {
    const auto is_date = [&](const CellComparison& asked) { return asked.column == column && asked.kind() == CellKind::date; };
    return statistic.where && std::any_of(statistic.where->comparisons().begin(), statistic.where->comparisons().end(), is_date);
  };
  auto columns = all_columns_of_numbers(statistic);
  std::erase_if(columns, [&](const std::string& column) {
    const auto type = types.find(column);
    return !(type != types.end() && type->second == "date") && !compares_dates(column);
  });
  return columns;
}

/// Whether some cell of a column of this type has this text.
bool may_have_text(const std::string& column, const std::string& type, const std::string& text) {
  // In another format than the usual one, a number may be written otherwise.
  if (text.empty() || (type == "number" && text.find_first_of("0123456789") != std::string::npos)) return true;
  return may_be_met({.column = column, .relation = Relation::equal, .value = text}, type);
}

/// The condition, in which `statistic` says what its columns hold.
Condition condition_of(const Query& said, const Statistic& statistic, const Schema* schema, const CsvFormat& format) {
  const auto kinds = kinds_of(statistic, said.types, schema);
  const auto condition = or_refused([&] { return parse_condition(*said.where, "", kinds); },
                                    [&](const std::string& reason) { said.refuse("{}{}", "where"_field, reason); });
  if (const auto why = why_never(condition, declared_types(said, schema))) said.refuse("{} {}", "where"_field, *why);
  if (const auto why = contradiction_in(condition, format)) {
    said.refuse("{} is '{}', which no record can meet: {}", "where"_field, one_line(*said.where), *why);
  }
  return condition;
}

/// \throws PlanError for a listed text that no cell of its column's declared type can have.
void require_possible_texts(const Query& said, const Statistic& statistic, const Schema* schema) {
  const auto types = declared_types(said, schema);
  if (types.empty()) return;
  const auto check = [&](FieldName field, const std::string& column, const Cells& cells) {
    const auto* const texts = std::get_if<Categories>(&cells);
    const auto type = types.find(column);
    if (texts == nullptr || type == types.end()) return;
    for (const auto& text : texts->names) {
      if (may_have_text(column, type->second, text)) continue;
      said.refuse("{} has '{}', which no cell of column {} can be: it is declared to be of type {}; must be left out", field,
                  one_line(text), in_quotes(column), type->second);
    }
  };
  if (const auto* const histogram = std::get_if<HistogramOf>(&statistic.of)) check("categories"_field, histogram->column, histogram->cells);
  if (const auto* const mode = std::get_if<ModeOf>(&statistic.of)) check("categories"_field, mode->column, mode->categories);
  if (!statistic.by) return;
  check("keys"_field, statistic.by->column, statistic.by->keys);
  for (const auto& more : statistic.by->beside) check("keys"_field, more.column, more.keys);
}

std::optional<Categories> categories_in(const SchemaColumn* column) {
  if (column == nullptr || !column->categories) return std::nullopt;
  return Categories{*column->categories};
}

}  // namespace

std::optional<Bounds> bounds_in(const SchemaColumn* column) {
  if (column == nullptr || !column->bounds) return std::nullopt;
  return Bounds{column->bounds->lower, column->bounds->upper};
}

std::optional<Bounds> derived_bounds(const Query& said, const std::function<std::optional<Bounds>(const std::string&)>& bounds_of_column) {
  std::vector<Bounds> all;
  for (const auto& name : said.asked.expression->columns()) {
    const auto bounds = bounds_of_column(name);
    if (!bounds) return std::nullopt;
    all.push_back(*bounds);
  }
  return or_refused([&] { return said.asked.expression->bounds(all); }, [&](const std::string& reason) { said.refuse("{}", reason); });
}

Query with_schema(Query said, const Schema* schema) {
  if (schema == nullptr) return said;
  const auto function = said.asked.function;
  const auto& expression = said.asked.expression;
  const auto* const column = said.asked.columns.empty() || expression ? nullptr : schema->find(said.asked.columns.front());
  const bool is_histogram = function == Function::histogram;
  if (is_histogram && !said.categories && !said.bins && !said.bounds && !said.edges) said.categories = categories_in(column);
  if (function == Function::mode && !said.categories) said.categories = categories_in(column);
  const bool needs_bounds = function == Function::sum || function == Function::mean || function == Function::variance ||
                            is_quantile(function) || (is_histogram && said.bins);
  const bool has_edges = is_histogram && said.edges.has_value();
  const auto require_numbers = [&](const SchemaColumn* one) {
    if ((needs_bounds || has_edges) && one != nullptr && (one->type == "text" || one->type == "date")) {
      said.refuse("{} is '{}', whose column is a {} by {}, must be one of numbers", "query"_field, one_line(said.text), *one->type,
                  "schema"_field);
    }
  };
  require_numbers(column);
  for (const auto& one : expression ? expression->columns() : std::vector<std::string>{}) require_numbers(schema->find(one));
  if (needs_bounds && !said.bounds && !said.clip_unit_sum) {
    said.bounds =
        expression ? derived_bounds(said, [&](const std::string& name) { return bounds_in(schema->find(name)); }) : bounds_in(column);
  }
  if (said.by.empty()) return said;
  if (said.keys.of_columns.empty() && !said.keys.are_discovered && !said.key_bounds && !said.key_bins && !said.key_edges) {
    for (const auto& by : said.by) {
      if (auto its = categories_in(schema->find(by))) said.keys.of_columns.emplace_back(*std::move(its));
    }
    if (said.keys.of_columns.size() < said.by.size()) said.keys.of_columns.clear();
  }
  if (said.key_bins && !said.key_bounds) said.key_bounds = bounds_in(schema->find(said.by.front()));
  return said;
}

WeightedStatistic statistic_of(const Query& said, const QueryContext& context) {
  const AskedStatistic asked{said, context};
  WeightedStatistic query{
      .statistic = {.of = CountOf{}, .adjacency = context.target.adjacency, .by = groups_of(said), .unit = context.unit},
      .weight = said.weight};
  auto& statistic = query.statistic;
  statistic.of = asked.kind();
  statistic.expression = said.asked.expression;
  statistic.group_cap = asked.group_cap();
  if (said.where) statistic.where = condition_of(said, statistic, context.schema, context.format);
  require_possible_texts(said, statistic, context.schema);
  statistic.dates = dates_of(said, statistic, context.schema);
  if (statistic.expression) {
    // A row whose cells are all there may have no value, and what a missing cell counts as is said of columns.
    const auto& columns = statistic.expression->columns();
    const bool are_complete =
        std::all_of(columns.begin(), columns.end(), [&](const auto& column) { return context.format.complete.contains(column); });
    statistic.missing = are_complete ? MissingCells::promised_complete : MissingCells::left_out;
  } else if (const auto* const read = column_of(statistic)) {
    statistic.missing = context.format.missing.contains(*read)    ? MissingCells::count_as_a_value
                        : context.format.complete.contains(*read) ? MissingCells::promised_complete
                                                                  : MissingCells::left_out;
  }
  try {
    query.validate();
  } catch (const Error& error) {
    if (said.place.empty()) throw;
    said.refuse("{}", error.what());
  }
  return query;
}

void share_delta(std::vector<WeightedStatistic>& queries, Delta delta) {
  const auto keys_of = [](WeightedStatistic& query) {
    auto* const means = std::get_if<GroupMeansOf>(&query.statistic.of);
    return means != nullptr ? &means->keys : std::get_if<KeysOf>(&query.statistic.of);
  };
  const auto sharing = std::count_if(queries.begin(), queries.end(), [&](WeightedStatistic& query) { return keys_of(query) != nullptr; });
  // A query of keys needs a low threshold, and a query of means needs little noise (keys.md#keys): means leave more of delta to the noise.
  const bool asks_for_means = std::any_of(queries.begin(), queries.end(),
                                          [](const auto& query) { return std::holds_alternative<GroupMeansOf>(query.statistic.of); });
  const double parts = asks_for_means ? 10 : 2;
  for (auto& query : queries) {
    auto* const keys = keys_of(query);
    if (keys == nullptr) continue;
    keys->chance = Delta{delta.value() / (parts * static_cast<double>(sharing))};
    // Where no noise needs the rest, all but what calibration needs.
    if (keys->hides_counts) keys->chance_of_selection = queries.size() == 1 ? Delta{delta.value() * (1 - 0x1p-20)} : keys->chance;
  }
}

}  // namespace surety::jobs
