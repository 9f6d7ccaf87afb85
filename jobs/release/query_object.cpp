#include <surety/jobs/release/query_object.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/json_values.h>
#include <surety/accounting/events/words.h>
#include <surety/base/numbers/overload.h>
#include <surety/base/text/safe_text.h>
#include <surety/data/reading/text_reader.h>

namespace surety::jobs {

using namespace data;
using namespace statistics;

void read_text(Query& said, bool may_have_condition, const IsColumn& is_column) {
  auto text = parse_query_text(said.text, may_have_condition, is_column);
  if (!text.fault.empty()) said.refuse("{}", text.fault);
  if (text.where) {
    if (said.where) said.refuse("'{}' has a condition, so {} must be left out", one_line(said.text), "where"_field);
    said.where = std::move(text.where);
  }
  said.asked = std::move(text.asked);
  said.function = trimmed(std::string_view{said.text}.substr(0, said.text.find('(')));
}

namespace {

/// A field of an object, checked.
class Member {
 public:
  Member(const Query& said, std::string_view name, const nlohmann::json& value) : said_{said}, name_{name}, value_{value} {}

  [[nodiscard]] std::string text() const {
    if (!value_.is_string()) refuse("a text");
    return accounting::text_of(value_, name_);
  }
  [[nodiscard]] double number() const {
    if (!value_.is_number()) refuse("a number");
    return accounting::number_of(value_, name_);
  }
  [[nodiscard]] std::uint64_t whole() const {
    if (!value_.is_number_unsigned()) refuse("a whole number");
    return accounting::whole_number_of(value_, name_);
  }
  [[nodiscard]] Bounds bounds() const {
    if (!value_.is_array() || value_.size() != 2 || !value_[0].is_number() || !value_[1].is_number()) refuse("[lower, upper]");
    return {accounting::number_of(value_[0], name_), accounting::number_of(value_[1], name_)};
  }
  [[nodiscard]] Categories texts() const {
    const auto is_text = [](const nlohmann::json& one) { return one.is_string(); };
    if (!value_.is_array() || !std::all_of(value_.begin(), value_.end(), is_text)) refuse("a list of texts");
    return {accounting::texts_of(value_, name_)};
  }
  void read(bool& option) const {
    if (!value_.is_boolean()) refuse("true or false");
    option = accounting::truth_of(value_, name_);
  }
  void read(std::optional<std::string>& option) const { option = text(); }
  void read(std::optional<std::uint64_t>& option) const { option = whole(); }
  void read(std::optional<Bounds>& option) const { option = bounds(); }
  void read(std::optional<Categories>& option) const { option = texts(); }
  void read(std::optional<Edges>& option) const { option = Edges{numbers()}; }
  void read(std::vector<std::string>& option) const {
    option = names();
    if (option.empty()) said_.refuse("'{}' is an empty list, must name a column", name_);
  }
  void read(QueryKeys& option) const {
    option.are_discovered = value_ == discovered;
    if (!option.are_discovered) option.of_columns = keys();
  }

  /// A text, or a list of texts.
  [[nodiscard]] std::vector<std::string> names() const { return value_.is_array() ? texts().names : std::vector{text()}; }
  [[nodiscard]] std::vector<double> numbers() const {
    const auto is_number = [](const nlohmann::json& one) { return one.is_number(); };
    if (!value_.is_array() || !std::all_of(value_.begin(), value_.end(), is_number)) refuse("a list of numbers");
    return accounting::numbers_of(value_, name_);
  }
  /// One list of texts; or, of several columns, such a list, bins or edges for each.
  [[nodiscard]] std::vector<Cells> keys() const {
    const auto is_of_columns = value_.is_array() && !value_.empty() &&
                               std::none_of(value_.begin(), value_.end(), [](const nlohmann::json& one) { return one.is_string(); });
    if (!is_of_columns) return {texts()};
    std::vector<Cells> all;
    for (const auto& one : value_) {
      const bool has_bins = one.is_object() && one.size() == 2 && one.contains("bounds") && one.contains("bins");
      const bool has_edges = one.is_object() && one.size() == 1 && one.contains("edges");
      if (!has_bins && !has_edges && !one.is_array()) {
        refuse("a list of texts, or of lists of texts, of {\"bounds\": [lower, upper], \"bins\": count} and of {\"edges\": [...]}");
      }
      if (has_bins) {
        all.emplace_back(Bins{Member{said_, "bounds", one["bounds"]}.bounds(), Member{said_, "bins", one["bins"]}.whole()});
      } else if (has_edges) {
        all.emplace_back(Edges{Member{said_, "edges", one["edges"]}.numbers()});
      } else {
        all.emplace_back(Member{said_, name_, one}.texts());
      }
    }
    return all;
  }
  [[nodiscard]] std::map<std::string, std::string> types() const {
    const auto is_known = [&](const nlohmann::json& one) {
      return one.is_string() && std::find(column_types.begin(), column_types.end(), accounting::text_of(one, name_)) != column_types.end();
    };
    if (!value_.is_object() || !std::all_of(value_.begin(), value_.end(), is_known)) {
      refuse("an object of columns, each number, text, date, integer or boolean");
    }
    std::map<std::string, std::string> types;
    for (const auto& [column, type] : value_.items()) types.emplace(column, accounting::text_of(type, name_));
    return types;
  }

 private:
  [[noreturn]] void refuse(std::string_view needed) const {
    said_.refuse("'{}' is {}, must be {}", name_, one_line(value_.dump()), needed);
  }
  const Query& said_;
  std::string_view name_;
  const nlohmann::json& value_;
};

/// The function of an object, which has it as a value of its own with its column and fractions, or on the command line and in plans of version 1
/// as the text of a query. \throws PlanError for another form than the grammar has, and for columns or fractions that the function does not take.
void read_function(Query& said, const nlohmann::json& object, QueryGrammar grammar, const IsColumn& is_column) {
  if (grammar == QueryGrammar::plan_1) {
    for (const auto* const field : {"function", "column", "expression", "fractions"}) {
      if (object.contains(field)) said.refuse("unknown field '{}', must be 'query' in a plan of version 1", field);
    }
    if (!object.contains("query")) said.refuse("field 'query' is missing");
  }
  if (object.contains("query")) {
    if (grammar == QueryGrammar::plan_2) {
      said.refuse("field 'query' is for plans of version 1, must be 'function' with 'column' and 'fractions' in version 2");
    }
    for (const auto* const field : {"function", "column", "expression", "fractions"}) {
      if (object.contains(field)) said.refuse("'{}' is given beside 'query', must be one of them", field);
    }
    if (grammar == QueryGrammar::plan_1) said.text = query_text_of_version_1(said.text, false);
    return read_text(said, false, is_column);
  }
  if (!object.contains("function")) said.refuse("field 'function' is missing");
  const auto known = std::find_if(function_forms.begin(), function_forms.end(), [&](const auto& one) { return one.name == said.function; });
  if (known == function_forms.end()) {
    std::vector<std::string_view> names;
    for (const auto& form : function_forms) names.push_back(form.name);
    said.refuse("'function' is '{}', must be {}{}", one_line(said.function), fmt::format("{}", fmt::join(names, ", ")),
                did_you_mean(said.function, names));
  }
  said.asked.function = known->function;
  if (object.contains("expression")) {
    if (object.contains("column")) said.refuse("'column' is given beside 'expression', must be one of them");
    if (!takes_expression(said.asked.function)) said.refuse("'expression' is not for {}(), must be left out", said.function);
  }
  said.text = describe(said.asked);
  const auto& [function, columns, fractions, expression] = said.asked;
  const bool has_column = function != Function::count && function != Function::count_units;
  if (!has_column && object.contains("column")) said.refuse("'column' is not for {}(), must be left out", said.function);
  if (has_column && (columns.empty() || std::find(columns.begin(), columns.end(), "") != columns.end())) {
    said.refuse("'column' is {}, must name a column", object.contains("column") ? "empty" : "missing");
  }
  if (columns.size() > 1 && function != Function::distinct) said.refuse("'column' is a list, must be one text for {}()", said.function);
  if (function == Function::quantile && fractions.empty()) said.refuse("'fractions' is missing, must be such as [0.25, 0.5, 0.75]");
  if (function != Function::quantile && object.contains("fractions")) {
    said.refuse("'fractions' is not for {}(), must be left out", said.function);
  }
}

}  // namespace

Query query_of(const nlohmann::json& object, const FieldText& place, QueryGrammar grammar, const IsColumn& is_column) {
  Query said;
  said.place = place;
  said.is_object = true;
  if (!object.is_object()) said.refuse("must be a JSON object");
  std::vector<std::string> known{"function", "column", "expression", "fractions", "query", "types", "weight"};
  for_each_option([&](FieldName option, const auto&) { known.push_back(member_name(std::string{option.name})); }, said);
  for (const auto& [name, value] : object.items()) {
    const Member member{said, name, value};
    if (name == "query") {
      said.text = member.text();
    } else if (name == "function") {
      said.function = member.text();
    } else if (name == "column") {
      said.asked.columns = member.names();
    } else if (name == "expression") {
      const auto text = member.text();
      said.asked.expression =
          or_refused([&] { return Expression::parse(text); }, [&](const std::string& reason) { said.refuse("{}", reason); });
    } else if (name == "fractions") {
      said.asked.fractions = member.numbers();
    } else if (name == "types") {
      said.types = member.types();
    } else if (name == "weight") {
      said.weight = member.number();
    } else if (std::find(known.begin(), known.end(), name) == known.end()) {
      said.refuse("unknown field '{}'{}", one_line(name), did_you_mean(name, std::vector<std::string_view>(known.begin(), known.end())));
    }
  }
  for_each_option(
      [&](FieldName option, auto& place_of_option) {
        const auto name = member_name(std::string{option.name});
        if (object.contains(name)) Member{said, name, object[name]}.read(place_of_option);
      },
      said);
  if (said.asked.expression && said.asked.columns.empty()) said.asked.columns = {said.asked.expression->text()};
  read_function(said, object, grammar, is_column);
  return said;
}

namespace {

using nlohmann::json;

json json_of(const std::string& text) { return text; }
json json_of(std::uint64_t count) { return count; }
json json_of(bool flag) { return flag; }
json json_of(const Bounds& bounds) { return {bounds.lower, bounds.upper}; }
json json_of(const Categories& texts) { return texts.names; }
json json_of(const Edges& edges) { return edges.numbers; }
json json_of(const Cells& cells) {
  return std::visit(Overload{[](const Categories& its) { return json_of(its); },
                             [](const Bins& its) {
                               return json{{"bounds", json_of(its.bounds)}, {"bins", its.count}};
                             },
                             [](const Edges& its) {
                               return json{{"edges", json_of(its)}};
                             }},
                    cells);
}
template <class Value>
json json_of(const std::optional<Value>& option) {
  return json_of(*option);
}
json json_of(const std::vector<std::string>& columns) { return columns.size() == 1 ? json(columns.front()) : json(columns); }
json json_of(const QueryKeys& keys) {
  if (keys.are_discovered) return discovered;
  if (keys.of_columns.size() == 1) return json_of(keys.of_columns.front());
  auto list = json::array();
  for (const auto& one : keys.of_columns) list.push_back(json_of(one));
  return list;
}

}  // namespace

json json_of(const Query& query) {
  json object;
  const auto& [function, columns, fractions, expression] = query.asked;
  object["function"] = std::find_if(function_forms.begin(), function_forms.end(), [&, &asked = function](const auto& one) {
                         return one.function == asked;
                       })->name;
  if (expression) {
    object["expression"] = expression->text();
  } else if (!columns.empty()) {
    object["column"] = json_of(columns);
  }
  if (!fractions.empty()) object["fractions"] = fractions;
  for_each_option(
      [&](FieldName option, const auto& value) {
        if (is_given(value)) object[member_name(std::string{option.name})] = json_of(value);
      },
      query);
  for (const auto& [column, type] : query.types) object["types"][column] = type;
  if (query.weight != 1) object["weight"] = query.weight;
  return object;
}

}  // namespace surety::jobs
