// A name of a column is read as it is: in JSON, where it is a value of its own, and in texts, where quotes may stand around it. Texts of plans of version 1 keep
// the grammar of Surety 0.1.0.
#include <surety/jobs/release/query_text.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/data/features/features.h>
#include <surety/data/reading/condition.h>
#include <surety/data/reading/text_reader.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/jobs/plans/text_lists.h>
#include <surety/jobs/release/written_release.h>

#include <support/hostile_names.h>
#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::query_text_test {
namespace {

using nlohmann::json;
using reference::hostile_names;
using reference::refusal_of;
using namespace jobs;

constexpr std::size_t many = 1000;

bool are_equal(const AskedFunction& one, const AskedFunction& other) {
  return one.function == other.function && one.columns == other.columns && one.fractions == other.fractions;
}

TEST(QueryText, InQuotesNamesTheColumnThatItNames) {
  const auto names = hostile_names(many);
  for (std::size_t k = 0; k < names.size(); ++k) {
    for (const auto& [name, function, text_form] : function_forms) {
      AskedFunction asked{.function = function};
      if (function != Function::count && function != Function::count_units) asked.columns = {names[k]};
      if (function == Function::distinct) asked.columns.push_back(names[(k + 1) % names.size()]);
      if (function == Function::quantile) asked.fractions = {0.25, 1 / 3.0};
      const auto text = describe(asked);
      for (const std::string condition : {"", "a>0", "b=='\"x) where y'"}) {
        const auto read = parse_query_text(text + (condition.empty() ? "" : " where " + condition), true);
        EXPECT_TRUE(are_equal(read.asked, asked)) << text << ": " << read.fault.plain();
        EXPECT_EQ(read.where.value_or(""), condition) << text;
      }
      EXPECT_TRUE(are_equal(parse_query_text(text, false).asked, asked)) << text;
    }
  }
}

TEST(QueryText, TakesBlanksWhereTheyAreOfNoName) {
  EXPECT_EQ(parse_query_text("mean( \" pad\" )", true).asked.columns, std::vector<std::string>{" pad"});
  EXPECT_EQ(parse_query_text(" mean( pad ) ", true).asked.columns, std::vector<std::string>{"pad"});
  EXPECT_EQ(parse_query_text("mean(wage (USD), gross)", true).asked.columns, std::vector<std::string>{"wage (USD), gross"});
  EXPECT_EQ(parse_query_text("count( distinct  \"a\" )", true).asked.columns, std::vector<std::string>{"a"});
  const auto quantile = parse_query_text("quantile( \"age, 0.5\" , 0.9 ) where a>0", true);
  EXPECT_EQ(quantile.asked.columns, std::vector<std::string>{"age, 0.5"});
  EXPECT_EQ(quantile.asked.fractions, std::vector<double>{0.9});
}

TEST(QueryText, IsAnExpressionWhereItHasTheSignsOfOne) {
  const auto read = [](const std::string& text) { return parse_query_text(text, true).asked; };
  EXPECT_EQ(read("sum(weight *  income)").expression->text(), "weight * income");
  EXPECT_EQ(read("sum(weight *  income)").columns, std::vector<std::string>{"weight * income"});
  EXPECT_EQ(read("mean(log(a)) where b>0").expression->text(), "log(a)");
  EXPECT_EQ(parse_query_text("mean(log(a)) where log>0", true).where, "log>0");
  EXPECT_EQ(read("quantile(min(a, 2), 0.25, 0.5)").expression->text(), "min(a, 2)");
  EXPECT_EQ(read("quantile(min(a, 2), 0.25, 0.5)").fractions, (std::vector<double>{0.25, 0.5}));
  EXPECT_EQ(read("median(\"a, 0.5\" / 2)").expression->text(), "\"a, 0.5\" / 2");
  EXPECT_EQ(read("mean( \"a) where b\" * \"c) where d\") where e>0").expression->text(), "\"a) where b\" * \"c) where d\"");
  EXPECT_EQ(read("mean(e - \"c) where d\") where e>0").expression->text(), "e - \"c) where d\"");
  EXPECT_EQ(read("variance((a))").expression->text(), "a");
  EXPECT_EQ(read("histogram(-a)").expression->text(), "-a");
  for (const std::string name : {"hours-per-week", "wage (USD)", "a b", "5\" pipe", "2024-01-01", "log"}) {
    EXPECT_FALSE(read("mean(" + name + ")").expression.has_value()) << name;
    EXPECT_EQ(read("mean(" + name + ")").columns, std::vector<std::string>{name});
  }
  // Of functions of texts all are names.
  for (const std::string text : {"keys(a * b)", "mode(a * b)", "distinct(a * b)", "count(distinct a * b)"}) {
    EXPECT_FALSE(read(text).expression.has_value()) << text;
    EXPECT_EQ(read(text).columns, std::vector<std::string>{"a * b"}) << text;
  }
  // What is shown of either is read as the same.
  for (const std::string text : {"mean(\"a * b\")", "mean(a * b)", "mean(log(\"a * b\"))", "quantile(a / b, 0.5)", "sum(\"-a\")"}) {
    EXPECT_EQ(describe(read(text)), text);
  }
}

TEST(QueryText, IsANameWhereAColumnIsKnown) {
  const IsColumn is_column = [](const std::string& name) { return name == "a * b" || name == "log(c)"; };
  for (const std::string name : {"a * b", "log(c)"}) {
    const auto asked = parse_query_text("mean(" + name + ")", true, is_column).asked;
    EXPECT_FALSE(asked.expression.has_value()) << name;
    EXPECT_EQ(asked.columns, std::vector<std::string>{name});
  }
  EXPECT_TRUE(parse_query_text("mean(a  * b)", true, is_column).asked.expression.has_value());
}

TEST(QueryText, OfNoExpressionSaysWhatIsWrong) {
  const auto why = [](const std::string& text) { return parse_query_text(text, true).fault.plain(); };
  EXPECT_EQ(why("mean(km/h)"),
            "query is 'mean(km/h)': expression 'km/h' has 'm/h' between two names or numbers: it needs blanks around it, or double "
            "quotes around one name");
  EXPECT_NE(why("mean(lgo(a))").find("did you mean 'log'? (a column of such a name stands in double quotes)"), std::string::npos);
  for (const std::string text : {"mean(C++)", "mean(a *)", "mean((a)", "mean(log(a)", "sum(1 + 1)", "mean(\"a\" * \"b)", "mean(\"a\" *)",
                                 "quantile(a *, 0.5)", "quantile(a * b)", "mean(log(a) where b)", "mean(a + b))", "mean(rate(%))"}) {
    EXPECT_NE(why(text), "") << text;
    EXPECT_EQ(why(text).find('\n'), std::string::npos) << text;
  }
}

TEST(QueryText, IsRefusedWhereItIsNone) {
  for (const std::string text : {"",
                                 "mean",
                                 "mean(",
                                 "mean(\"a\"",
                                 "mean(\"a",
                                 "mean(\"a\" b)",
                                 "mean(\"a\", 0.5)",
                                 "mean()",
                                 "mean(\"\")",
                                 "count(\"a\")",
                                 "count(a)",
                                 "count(distinct )",
                                 "count(distinct \"\")",
                                 "quantile(\"a\")",
                                 "quantile(\"a\" 0.5)",
                                 "quantile(\"a\", b)",
                                 "quantile(, 0.5)",
                                 "spread(a)",
                                 "mean(\"a\") where",
                                 "mean(a) b",
                                 "distinct()",
                                 "distinct(a,)"}) {
    EXPECT_NE(parse_query_text(text, true).fault.plain(), "") << text;
  }
  EXPECT_THROW(static_cast<void>(parse_query_text("distinct(\"a)", true)), PlanError);
  // Where no condition may stand behind it, all up to the last parenthesis is the name.
  EXPECT_EQ(parse_query_text("mean(a) where b)", false).asked.columns, std::vector<std::string>{"a) where b"});
}

/// What Surety 0.1.0 read of a text, written anew from its source: the function, its column with quotes and all, and the fractions.
struct Old {
  std::string function;
  std::string column;
  std::vector<double> fractions;
  std::optional<std::string> where;
};
std::optional<Old> read_by_0_1_0(std::string text, bool may_have_condition) {
  Old old;
  const auto found = text.find(") where ");
  if (may_have_condition && found != std::string::npos) {
    old.where = text.substr(found + 8);
    text.resize(found + 1);
  }
  const auto open = text.find('(');
  if (open == std::string::npos || !data::trimmed(text).ends_with(')')) return std::nullopt;
  const auto inside = std::string_view{text}.substr(open + 1, text.rfind(')') - open - 1);
  old.function = data::trimmed(std::string_view{text}.substr(0, open));
  old.column = data::trimmed(inside);
  if (old.function == "count") {
    if (old.column.empty()) return old;
    old.function = old.column == "units" ? "count_units" : "count_distinct";
    if (old.column == "units") return old;
    if (!old.column.starts_with("distinct ")) return std::nullopt;
    old.column = data::trimmed(std::string_view{old.column}.substr(9));
    if (old.column.empty()) return std::nullopt;
  }
  if (old.function == "quantile") {
    std::string_view column = old.column;
    for (auto comma = column.rfind(','); comma != std::string_view::npos; comma = column.rfind(',')) {
      const auto number = data::parse_number(column.substr(comma + 1));
      if (number.fault != data::NumberFault::none) break;
      old.fractions.insert(old.fractions.begin(), number.value);
      column = column.substr(0, comma);
    }
    old.column = data::trimmed(column);
    if (old.fractions.empty()) return std::nullopt;
  }
  const auto is_its_name = [&](const auto& one) { return one.name == old.function; };
  const bool is_known = std::any_of(function_forms.begin(), function_forms.end(), is_its_name);
  if (!is_known || old.column.empty()) return std::nullopt;
  return old;
}

// Of quoted names alone the two grammars differ: texts of version 1 mean what they meant, and texts without quotes mean the same in both.
TEST(QueryText, OfVersionOneIsReadAsBefore) {
  std::mt19937_64 words{7};
  const auto names = hostile_names(many);
  std::size_t read = 0;
  std::size_t had_quotes = 0;
  for (int round = 0; round < 20000; ++round) {
    static const std::vector<std::string> functions{"count",    "sum",       "mean", "variance", "median",
                                                    "quantile", "histogram", "keys", "mode",     " mean "};
    const auto& name = names[words() % names.size()];
    std::string text =
        functions[words() % functions.size()] + "(" + (words() % 4 == 0 ? "distinct " : "") + (words() % 8 == 0 ? " " : "") + name;
    if (words() % 2 == 0) text += ", 0.5";
    if (words() % 3 == 0) text += ", 0.75 ";
    if (words() % 16 != 0) text += ")";
    if (words() % 4 == 0) text += " where " + names[words() % names.size()] + ">0";
    for (const bool may_have_condition : {true, false}) {
      const auto old = read_by_0_1_0(text, may_have_condition);
      const auto now = parse_query_text(query_text_of_version_1(text, may_have_condition), may_have_condition);
      ASSERT_EQ(now.fault.empty(), old.has_value()) << text;
      if (!old) continue;
      ++read;
      const auto function = std::find_if(function_forms.begin(), function_forms.end(), [&](const auto& one) {
                              return one.function == now.asked.function;
                            })->name;
      EXPECT_EQ(function, old->function) << text;
      EXPECT_EQ(now.asked.columns.empty() ? "" : now.asked.columns.front(), now.asked.columns.empty() ? "" : old->column) << text;
      EXPECT_EQ(now.asked.fractions, old->fractions) << text;
      EXPECT_EQ(now.where, old->where) << text;
      const bool is_quoted = old->column.starts_with('"');
      had_quotes += is_quoted ? 1 : 0;
      const bool has_signs = statistics::has_signs_of_expression(old->column);
      EXPECT_FALSE(now.asked.expression.has_value()) << text;
      if (!is_quoted && !has_signs) {
        EXPECT_EQ(query_text_of_version_1(text, may_have_condition), text);
      }
    }
  }
  EXPECT_GT(read, 10000U);
  EXPECT_GT(had_quotes, 300U);
}

json plan_of(int version, const json& query) {
  return {{"version", version},
          {"command", "release"},
          {"adjacency", "add-or-remove-one"},
          {"target", {{"epsilon", 1}, {"delta", 1e-5}}},
          {"options", {{"query", query}}}};
}

/// The plan of many queries about names, a few for each place where a name stands.
TEST(HostileNames, StandInPlansAsTheyAre) {
  const auto names = hostile_names(many);
  auto queries = json::array();
  for (std::size_t k = 0; k < names.size(); ++k) {
    const auto& name = names[k];
    const auto& other = names[(k + 1) % names.size()];
    queries.push_back(
        {{"function", "quantile"}, {"column", name}, {"fractions", {0.25, 0.5}}, {"bounds", {0, 1}}, {"by", other}, {"keys", {name}}});
    queries.push_back({{"function", "distinct"}, {"column", {name, other}}});
    queries.push_back({{"function", "mean"}, {"column", name}, {"bounds", {0, 1}}, {"where", data::column_text(other) + ">0"}});
  }
  const auto written = read_release_plan(plan_of(2, queries).dump());
  EXPECT_TRUE(written.notes.empty());
  EXPECT_EQ(read_release_plan(plan_text(written.plan)).plan, written.plan);
  for (std::size_t k = 0; k < names.size(); ++k) {
    const auto& name = names[k];
    const auto& other = names[(k + 1) % names.size()];
    const auto& quantile = written.plan.queries[3 * k].statistic;
    EXPECT_EQ(*statistics::column_of(quantile), name);
    EXPECT_EQ(std::get<statistics::QuantileOf>(quantile.of).fractions.all().size(), 2U);
    EXPECT_EQ(quantile.by->column, other);
    const auto& keys = std::get<statistics::KeysOf>(written.plan.queries[3 * k + 1].statistic.of);
    EXPECT_EQ(statistics::columns_of(keys), (std::vector<std::string>{name, other}));
    const auto& mean = written.plan.queries[3 * k + 2].statistic;
    EXPECT_EQ(*statistics::column_of(mean), name);
    EXPECT_EQ(mean.where->comparisons().at(0).column, other);
    // What a report shows is a query of the same column.
    auto shown = mean;
    shown.where = std::nullopt;
    EXPECT_EQ(parse_query_text(describe(shown), true).asked.columns, std::vector<std::string>{name});
  }
}

TEST(HostileNames, StandInListsConditionsAndLabelsAsTheyAre) {
  for (const auto& name : hostile_names(many)) {
    EXPECT_EQ(parse_values(list_text({name, "x"}), "by"), (std::vector<std::string>{name, "x"}));
    EXPECT_EQ(split_at_column(list_text({name}) + "=1,2", "bounds", "", false).first, name);
    EXPECT_EQ(split_at_column(list_text({name}) + "=a=b", "missing", "", true), (std::pair<std::string, std::string>{name, "a=b"}));
    EXPECT_EQ(split_pair(pair_text(name, "x"), "pairs"), (std::pair<std::string, std::string>{name, "x"}));
    for (const auto& quoted : {data::column_text(name), list_text({name})}) {
      EXPECT_EQ(data::parse_condition(quoted + " > 1 and not (" + quoted + "=='x')").comparisons().at(1).column, name);
      EXPECT_EQ(data::parse_label_rule(quoted + ">0").column, name);
      const auto label = data::parse_label_rule(quoted);
      EXPECT_EQ(label.column, name);
      EXPECT_FALSE(label.test.has_value());
    }
    EXPECT_EQ(data::parse_condition("missing(" + list_text({name}) + ")").comparisons().at(0).column, name);
  }
}

TEST(HostileNames, StandInSchemasAsTheyAre) {
  const TemporaryFolder folder;
  const auto names = hostile_names(many);
  auto columns = json::array();
  auto queries = json::array();
  for (std::size_t k = 0; k < names.size(); ++k) {
    columns.push_back({{"name", names[k]}, {"bounds", {0, 1 + k}}});
    queries.push_back({{"function", "sum"}, {"column", names[k]}});
  }
  auto text = plan_of(2, queries);
  text["options"]["schema"] = folder.write("schema.json", json{{"surety_schema", 1}, {"columns", columns}}.dump()).string();
  const auto written = read_release_plan(text.dump());
  for (std::size_t k = 0; k < names.size(); ++k) {
    EXPECT_EQ(statistics::bounds_of(written.plan.queries[k].statistic)->upper, 1.0 + static_cast<double>(k)) << names[k];
  }
}

TEST(PlanVersions, HaveQueriesOfTheirOwnForm) {
  const auto refused = [](int version, const json& query, const std::string& said) {
    const auto found = refusal_of([&] { return read_release_plan(plan_of(version, query).dump()); });
    EXPECT_TRUE(found.refused && found.message.find(said) != std::string::npos) << found << "\nwanted: " << said;
  };
  refused(2, "count()", "query is 'count()', must be an object with 'function', 'column' and 'fractions' in a plan of version 2");
  refused(2, {{"query", "count()"}}, "field 'query' is for plans of version 1");
  refused(1, {{"function", "count"}}, "unknown field 'function', must be 'query' in a plan of version 1");
  refused(3, {{"function", "count"}}, "version is 3, must be from 1 to 2");
  refused(0, {{"function", "count"}}, "version is 0, must be from 1 to 2");
  refused(2, json::object({{"where", "a>0"}}), "field 'function' is missing");
  refused(2, {{"function", "men"}}, "'function' is 'men', must be count, count_units");
  refused(2, {{"function", "men"}}, "did you mean 'mean'?");
  refused(2, {{"function", "mean"}}, "'column' is missing, must name a column");
  refused(2, {{"function", "mean"}, {"column", ""}}, "'column' is empty, must name a column");
  refused(2, {{"function", "mean"}, {"column", 3}}, "'column' is 3, must be a text");
  refused(2, {{"function", "mean"}, {"column", {"a", "b"}}}, "'column' is a list, must be one text for mean()");
  refused(2, {{"function", "count"}, {"column", "a"}}, "'column' is not for count(), must be left out");
  refused(2, {{"function", "mean"}, {"column", "a"}, {"fractions", {0.5}}}, "'fractions' is not for mean(), must be left out");
  refused(2, {{"function", "quantile"}, {"column", "a"}}, "'fractions' is missing, must be such as [0.25, 0.5, 0.75]");
  refused(2, {{"function", "quantile"}, {"column", "a"}, {"fractions", {"0.5"}}}, "'fractions' is [\"0.5\"], must be a list of numbers");
  refused(2, {{"function", "mean"}, {"column", "a"}}, "query: bounds is missing: mean() needs public bounds");
  refused(2, {{"function", "mean"}, {"expression", "a * b"}}, "query: bounds is missing: mean() of an expression needs public bounds");
  refused(2, {{"function", "mean"}, {"expression", "a * "}}, "query: expression 'a * ' ends where a column or a number must stand");
  refused(2, {{"function", "mean"}, {"expression", ""}}, "query: an expression is empty");
  refused(2, {{"function", "mean"}, {"expression", 3}}, "query: 'expression' is 3, must be a text");
  refused(2, {{"function", "mean"}, {"expression", {"a", "b"}}}, "query: 'expression' is [\"a\",\"b\"], must be a text");
  refused(2, {{"function", "mean"}, {"column", "a"}, {"expression", "a"}}, "'column' is given beside 'expression', must be one of them");
  refused(2, {{"function", "count"}, {"expression", "a"}}, "'expression' is not for count(), must be left out");
  refused(2, {{"function", "keys"}, {"expression", "a"}}, "'expression' is not for keys(), must be left out");
  refused(2, {{"function", "histogram"}, {"expression", "a"}, {"categories", {"1"}}},
          "categories are texts, must be bins or edges of an expression");
  refused(1, {{"query", "count()"}, {"expression", "a"}}, "unknown field 'expression', must be 'query' in a plan of version 1");
  const auto old = read_release_plan(plan_of(1, {{"query", "mean(a * b)"}, {"bounds", {0, 1}}}).dump());
  EXPECT_EQ(*statistics::column_of(old.plan.queries[0].statistic), "a * b");
  EXPECT_FALSE(old.plan.queries[0].statistic.expression.has_value());
  EXPECT_EQ(read_release_plan(plan_text(old.plan)).plan, old.plan);
  const auto now = read_release_plan(plan_of(2, {{"function", "mean"}, {"expression", "a*  (b)"}, {"bounds", {0, 1}}}).dump());
  EXPECT_EQ(now.plan.queries[0].statistic.expression->text(), "a * b");
  EXPECT_FALSE(now.plan == old.plan);
  EXPECT_EQ(read_release_plan(plan_text(now.plan)).plan, now.plan);
  const auto first = read_release_plan(plan_of(1, {{"query", "quantile(\"age, 0.5)"}, {"bounds", {0, 1}}}).dump());
  EXPECT_EQ(*statistics::column_of(first.plan.queries[0].statistic), "\"age");
  ASSERT_EQ(first.notes.size(), 1U);
  EXPECT_NE(first.notes[0].find("version 1"), std::string::npos);
  EXPECT_EQ(read_release_plan(plan_text(first.plan)).plan, first.plan);
}

}  // namespace
}  // namespace surety::query_text_test
