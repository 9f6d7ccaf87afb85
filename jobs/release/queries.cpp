#include <surety/jobs/release/queries.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/json.h>
#include <surety/accounting/events/json_values.h>
#include <surety/base/text/error.h>
#include <surety/base/text/safe_text.h>
#include <surety/data/reading/text_reader.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/jobs/plans/small_text.h>
#include <surety/jobs/plans/text_lists.h>
#include <surety/jobs/release/query.h>
#include <surety/jobs/release/query_object.h>
#include <surety/jobs/release/query_statistic.h>
#include <surety/jobs/release/query_text.h>
#include <surety/jobs/release/release_plan.h>

namespace surety::jobs {

using namespace data;
using namespace statistics;

namespace {

std::string text_of(const nlohmann::json& query) { return accounting::text_of(query, "query"); }
bool is_object_text(const std::string& query) { return trimmed(query).starts_with('{'); }

Bounds bounds_in(const std::string& text, FieldName option) {
  const auto [lower, upper] = parse_ends(text, option.name);
  return {lower, upper};
}

/// Reads the text of an option beside queries in words.
class OptionText {
 public:
  OptionText(FieldName option, const Query& query) : option_{option}, query_{query} {}

  template <class Value>
  void read(const std::optional<Value>& text, std::optional<Value>& option) const {
    option = text;
  }
  void read(bool text, bool& option) const { option = text; }
  /// Bounds are those of a column, or of all (`SharedBounds`).
  void read(const std::vector<std::string>& /*texts*/, std::optional<Bounds>& /*option*/) const {}
  void read(const std::optional<std::string>& text, std::optional<Bounds>& option) const {
    if (text) option = bounds_in(*text, option_);
  }
  void read(const std::optional<std::string>& text, std::optional<Categories>& option) const {
    if (text) option = Categories{parse_values(*text, option_.name)};
  }
  void read(const std::optional<std::string>& text, std::optional<Edges>& option) const {
    if (!text) return;
    option.emplace();
    for (const auto& number : parse_values(*text, option_.name)) option->numbers.push_back(parse_double(number, option_.name));
  }
  void read(const std::optional<std::string>& text, std::vector<std::string>& option) const {
    if (text) option = parse_values(*text, option_.name);
  }
  void read(const std::optional<std::string>& text, QueryKeys& option) const {
    if (!text) return;
    option.are_discovered = trimmed(*text) == discovered;
    if (option.are_discovered) return;
    if (query_.by.size() > 1) {
      for (auto& list : parse_lists(*text, option_.name)) option.of_columns.emplace_back(Categories{std::move(list)});
    } else {
      option.of_columns.emplace_back(Categories{parse_values(*text, option_.name)});
    }
  }

 private:
  FieldName option_;
  const Query& query_;
};

/// The options beside queries in words, as those of one query.
QueryOptions options_in_words(const QueryFields& fields) {
  Query query;
  for_each_option([&](FieldName option, const auto& text, auto& value) { OptionText{option, query}.read(text, value); }, fields, query);
  return query;
}

/// The column of numbers that is clamped to bounds, or the text of the expression; nothing where there is none.
std::optional<std::string> bounded_column(const Query& said) {
  const auto function = said.asked.function;
  const bool has_bounds = function == Function::sum || function == Function::mean || function == Function::variance ||
                          is_quantile(function) || (function == Function::histogram && !said.categories && !said.edges);
  return has_bounds && !said.asked.columns.empty() ? std::optional{said.asked.columns.front()} : std::nullopt;
}

/// Bounds that were said beside queries in words.
class SharedBounds {
 public:
  explicit SharedBounds(const std::vector<std::string>& texts) {
    for (const auto& text : texts) {
      if (text.find('=') == std::string::npos) {
        if (of_all_) refuse_plan("{} is given twice without a column, must be column=lower,upper for each column", "bounds"_field);
        of_all_ = ends_of(text);
        continue;
      }
      const auto [column, rest] = split_at_column(text, "bounds", "lower,upper or column=lower,upper", false);
      if (!of_column_.emplace(column, ends_of(rest)).second) refuse_plan("{} names column '{}' twice", "bounds"_field, one_line(column));
    }
  }

  /// Gives a query the bounds of its column, those that follow from the columns of its expression, or the bounds for all columns. A clip of the sum of a unit
  /// takes their place. \return whether they are those for all
  bool give(Query& said, const Schema* schema) {
    const auto column = bounded_column(said);
    if (column && said.asked.expression) {
      const auto& columns = said.asked.expression->columns();
      const auto is_named = [&](const std::string& one) { return of_column_.contains(one); };
      const bool are_own = std::any_of(columns.begin(), columns.end(), is_named);
      for (const auto& one : columns) {
        if (is_named(one)) used_.insert(one);
      }
      if (are_own && !said.clip_unit_sum) said.bounds = bounds_by_columns(said, schema);
      if (!are_own) said.bounds = of_all_;
      return !are_own;
    }
    const auto found = column ? of_column_.find(*column) : of_column_.end();
    if (found != of_column_.end()) {
      used_.insert(*column);
      if (!said.clip_unit_sum) said.bounds = found->second;
      return false;
    }
    if (of_all_) said.bounds = of_all_;
    return true;
  }
  [[nodiscard]] bool names(const std::string& column) const { return of_column_.contains(column); }
  void require_used() const {
    for (const auto& [column, bounds] : of_column_) {
      if (!used_.contains(column))
        refuse_plan("{} names column '{}', which none of the queries clamps; leave it out", "bounds"_field, one_line(column));
    }
  }
  [[nodiscard]] const std::optional<Bounds>& of_all() const noexcept { return of_all_; }

 private:
  /// By the bounds that were said or are in the schema. \throws PlanError for a column without
  [[nodiscard]] Bounds bounds_by_columns(const Query& said, const Schema* schema) const {
    return *derived_bounds(said, [&](const std::string& name) -> std::optional<Bounds> {
      if (const auto own = of_column_.find(name); own != of_column_.end()) return own->second;
      auto in_schema = schema != nullptr ? bounds_in(schema->find(name)) : std::nullopt;
      if (!in_schema) {
        said.refuse("{} names columns of '{}' and not '{}', must be given for each of its columns", "bounds"_field,
                    one_line(said.asked.expression->text()), one_line(name));
      }
      return in_schema;
    });
  }
  static Bounds ends_of(std::string_view text) {
    const auto [lower, upper] = parse_ends(text, "bounds");
    return {lower, upper};
  }

  std::optional<Bounds> of_all_;
  std::map<std::string, Bounds> of_column_;
  std::set<std::string> used_;
};

/// What was said once, and of which columns it would then be.
class OnceForAll {
 public:
  void take(const std::string& column, bool is_expression = false) {
    has_expression_ = has_expression_ || is_expression;
    if (std::find(columns_.begin(), columns_.end(), column) == columns_.end()) columns_.push_back(column);
  }
  /// \throws PlanError where it would be of several columns.
  void require_one(std::string_view field) const {
    if (columns_.size() < 2) return;
    if (field == "bounds" && !has_expression_) {
      refuse_plan("{} is given once for {} columns ({}); give each column its own: {} {}=lower,upper {} {}=lower,upper", "bounds"_field,
                  columns_.size(), names(), "bounds"_field, form(columns_[0]), "bounds"_field, form(columns_[1]));
    }
    refuse_plan("{} is given once for {} columns ({}); say each query as a JSON object with its own", FieldName{field}, columns_.size(),
                names());
  }

 private:
  [[nodiscard]] std::string names() const {
    std::string text;
    for (const auto& column : columns_) text += fmt::format("{}'{}'", text.empty() ? "" : ", ", one_line(column));
    return text;
  }
  /// As an option names it.
  static std::string form(const std::string& column) {
    return one_line(column.find_first_of("=,\" ") == std::string::npos ? column : list_text({column}));
  }

  std::vector<std::string> columns_;
  bool has_expression_ = false;
};

/// Takes from a query those of the options of several queries that it has no use for.
void keep_used_options(Query& query) {
  const auto all = query;
  for_each_option(
      [&](FieldName option, auto& value) {
        if (!unused_option(all, option).empty()) value = {};
      },
      query);
}

// What a member of an object is like, behind its name.
std::string form_of_member(const std::optional<Bounds>& /*bounds*/) { return ": [lower, upper]"; }
std::string form_of_member(const std::optional<Categories>& /*texts*/) { return ": [...]"; }
std::string form_of_member(const QueryKeys& /*keys*/) { return ": [...]"; }
std::string form_of_member(const std::optional<Edges>& /*edges*/) { return ": [...]"; }
template <class Value>
std::string form_of_member(const Value& /*value*/) {
  return "";
}

/// The options as members of an object: "where", "bounds": [lower, upper], ...
std::string listed_members() {
  std::vector<std::string> members;
  const QueryOptions options;
  for_each_option(
      [&](const QueryOption& option, const auto& value) {
        members.push_back(fmt::format("\"{}\"{}", member_name(std::string{option.field.name}), form_of_member(value)));
      },
      options);
  return fmt::format("{}", fmt::join(members, ", "));
}

}  // namespace

void QueryFields::add(FieldTable& table) {
  table.add(
      "query", queries,
      field_text(
          "{}. A name with a comma, a quote, a parenthesis or a sign of arithmetic, or with blanks around it, stands in double quotes, each quote inside twice: 'mean(\"age, 0.5\")'. In the place of a column of numbers arithmetic of columns may stand: 'sum(weight * income)', 'mean(log(income + 1))'. Behind it, if need be, a condition: 'count() where age>40'; may be repeated: all are released in one charge, each with noise of its own. Or a JSON object, as in {}",
          listed_functions(&FunctionForm::text, " or, for keys without counts, "), "queries"_field));
  table.add(
      "queries", file,
      field_text(
          "A JSON file of queries for one charge: a list of objects with \"function\" ({}), \"column\" (of distinct also a list) or \"expression\", such as \"weight * income\", and \"fractions\" (of quantile a list), or with \"query\", a text as {} has it, and, as needed, {} (of several columns \"by\": [...] and \"keys\": [[...], {{\"bounds\": [lower, upper], \"bins\": 9}}, {{\"edges\": [0, 18, 65]}}]), and \"weight\": with weight 4 a query has half the noise of one with weight 1",
          listed_functions(&FunctionForm::name), "query"_field, listed_members()));
  for_each_option(
      [&](const QueryOption& option, auto& value) {
        if constexpr (std::is_same_v<std::remove_reference_t<decltype(value)>, bool>) {
          table.add(std::string{option.field.name}, value, help_of(option));
        } else {
          auto& field = table.add(std::string{option.field.name}, value, help_of(option), constraint_of(option));
          if (option.is_of_values) field.is_of_values();
        }
      },
      *this);
}

void QueryFields::take_file() {
  if (!file) return;
  constexpr std::size_t largest = std::size_t{1} << 20;
  const auto text = read_text(*file, largest, "a list of queries");
  const auto refuse = [&](const std::string& reason) { throw Error{ErrorCode::bad_data, fmt::format("{}: {}", one_line(*file), reason)}; };
  nlohmann::json queries_of_file;
  try {
    constexpr int deepest = 5;
    queries_of_file = accounting::parse_strict_json(text, deepest, "list of queries");
  } catch (const Error& error) {
    refuse(error.what());
  }
  if (!queries_of_file.is_array() || queries_of_file.empty()) refuse("is no list of queries, must be a JSON list of objects");
  for (std::size_t k = 0; k < queries_of_file.size(); ++k) {
    if (!queries_of_file[k].is_object()) refuse(fmt::format("query {} must be a JSON object", k + 1));
  }
  file.reset();
  list = std::make_shared<const nlohmann::json>(std::move(queries_of_file));
}

std::vector<WeightedStatistic> parse_queries(const QueryFields& options, const QueryContext& context) {
  const nlohmann::json list = options.list != nullptr ? *options.list : nlohmann::json(options.queries);
  if (list.size() > ReleasePlan::most_queries)
    refuse_plan("there are {} queries, must be at most {}", list.size(), ReleasePlan::most_queries);
  const auto in_words =
      std::count_if(list.begin(), list.end(), [](const nlohmann::json& one) { return one.is_string() && !is_object_text(text_of(one)); });
  const auto shared = options_in_words(options);
  auto unused = shared;
  SharedBounds bounds{options.bounds};
  unused.bounds = bounds.of_all();
  const IsColumn is_column = [&](const std::string& name) {
    return bounds.names(name) || (context.schema != nullptr && context.schema->find(name) != nullptr);
  };
  OnceForAll columns_of_bounds, columns_of_clip, columns_of_edges, columns_of_categories;
  std::vector<WeightedStatistic> queries;
  for (std::size_t k = 0; k < list.size(); ++k) {
    const auto place = list.size() == 1 ? field_text("{}: ", "query"_field) : field_text("query {}: ", k + 1);
    const auto text = list[k].is_string() ? text_of(list[k]) : std::string{};
    if (!list[k].is_string() || is_object_text(text)) {
      constexpr int deepest = 4;
      const auto object = list[k].is_string() ? or_refused([&] { return accounting::parse_strict_json(text, deepest, "the object"); },
                                                           [&](const std::string& reason) { refuse_plan("{}{}", place, reason); })
                                              : list[k];
      queries.push_back(statistic_of(with_schema(query_of(object, place, options.grammar, is_column), context.schema), context));
      continue;
    }
    Query query{shared};
    query.text = options.grammar == QueryGrammar::plan_1 ? query_text_of_version_1(text, true) : text;
    if (in_words > 1) query.place = place;
    if (options.grammar == QueryGrammar::plan_2) {
      query.refuse("{} is '{}', must be an object with 'function', 'column' and 'fractions' in a plan of version 2", "query"_field,
                   one_line(text));
    }
    read_text(query, true, is_column);
    const bool may_be_shared = bounds.give(query, context.schema);
    if (in_words > 1) keep_used_options(query);
    const auto bounded = bounded_column(query);
    const bool has_shared_bounds = query.bounds && may_be_shared;
    if (bounded && has_shared_bounds) columns_of_bounds.take(*bounded, query.asked.expression.has_value());
    if (!query.asked.columns.empty()) {
      if (query.clip_unit_sum) columns_of_clip.take(query.asked.columns.front());
      if (query.edges) columns_of_edges.take(query.asked.columns.front());
      if (query.categories) columns_of_categories.take(query.asked.columns.front());
    }
    for_each_option(
        [&](FieldName option, const auto& used, auto& left) {
          if (option == "bounds"_field ? has_shared_bounds : is_given(used)) left = {};
        },
        query, unused);
    queries.push_back(statistic_of(with_schema(std::move(query), context.schema), context));
  }
  bounds.require_used();
  if (!context.shares_among_columns) {
    columns_of_bounds.require_one("bounds");
    columns_of_clip.require_one("clip-unit-sum");
    columns_of_edges.require_one("edges");
    columns_of_categories.require_one("categories");
  }
  for_each_option(
      [&](FieldName option, const auto& left) {
        if (is_given(left)) refuse_plan("{} is for none of the queries, must be left out (a query in JSON says all itself)", option);
      },
      unused);
  share_delta(queries, context.target.delta);
  return queries;
}

}  // namespace surety::jobs
