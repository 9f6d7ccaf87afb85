// Plans of releases as JSON: each field is reached, a plan is what its own text says, and what is no plan is refused with its path.
#include <surety/jobs/release/written_release.h>

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/jobs/plans/plan_error.h>
#include <surety/jobs/run/kept_units.h>

#include <support/every_statistic.h>
#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::written_release_test {
namespace {

using nlohmann::json;
using reference::refusal_of;
using namespace statistics;

json plan_of(const json& query) {
  return {{"version", 1},
          {"command", "release"},
          {"adjacency", "add-or-remove-one"},
          {"target", {{"epsilon", 1}, {"delta", 1e-5}}},
          {"options", {{"data", "a.csv"}, {"query", query}}}};
}

const Statistic& only_of(const jobs::WrittenRelease& written) { return written.plan.queries.at(0).statistic; }

TEST(WrittenReleaseText, TakesQueriesInWordsAndAsObjects) {
  auto text = plan_of({"mean(age) where town=='Rome'", {{"query", "keys(town)"}, {"most_keys", 2}, {"weight", 4}}});
  text["options"].update({{"bounds", "18,90"}, {"unit", "person"}, {"most", 3}, {"empty-unit", "each"}});
  const auto written = jobs::read_release_plan(text.dump());
  EXPECT_EQ(written.data, "a.csv");
  const auto& queries = written.plan.queries;
  ASSERT_EQ(queries.size(), 2U);
  EXPECT_EQ(describe(queries[0].statistic), "mean(age) where town==Rome");
  const auto& keys = std::get<KeysOf>(queries[1].statistic.of);
  EXPECT_EQ(keys.most_keys.value(), 2U);
  EXPECT_EQ(keys.chance.value(), 5e-6) << "half of delta";
  EXPECT_EQ(keys.owner, (RowOwner{"person", true}));
  EXPECT_EQ(queries[1].weight, 4);
  EXPECT_EQ(queries[0].statistic.unit, written.plan.unit);
  EXPECT_EQ(written.plan.unit.most().value(), 3U);
}

TEST(WrittenReleaseText, TakesATextAsTheNameOfOneColumn) {
  auto text = plan_of("sum(age)");
  const auto columns_by = [&](const json& unit) {
    text["options"].update({{"bounds", "0,1"}, {"unit", unit}, {"most", 3}});
    const auto plan = jobs::read_release_plan(text.dump()).plan;
    EXPECT_EQ(jobs::read_release_plan(jobs::plan_text(plan)).plan.unit, plan.unit) << unit;
    return columns_of(plan.unit);
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(columns_by("last, first"), Names{"last, first"});
  EXPECT_EQ(columns_by("a|b\"c"), Names{"a|b\"c"});
  EXPECT_EQ(columns_by({"last, first"}), Names{"last, first"});
  EXPECT_EQ(columns_by({"user", "day, hour"}), (Names{"user", "day, hour"}));
}

TEST(WrittenReleaseText, SaysHowRecordsAreReadAndWhereTheRunIsWritten) {
  auto text = plan_of("sum(age)");
  text["options"].update({{"bounds", "0,1"},
                          {"missing", {"age=0.5", "\"a=b\"=2"}},
                          {"complete", "y"},
                          {"delimiter", "tab"},
                          {"decimal", ","},
                          {"thousands", "."},
                          {"columns", "age,y,\"a=b\""},
                          {"quoted-lines", 7},
                          {"form-is-public", true},
                          {"no-limits", true},
                          {"confidence", 0.9},
                          {"noise", "gaussian"},
                          {"ledger", "run.db"},
                          {"note", "the first"},
                          {"ledger-must-exist", true},
                          {"replay-seed", 7},
                          {"svg", "p.svg"},
                          {"where", "y>1"}});
  const auto written = jobs::read_release_plan(text.dump());
  const auto& csv = written.plan.reading.csv;
  EXPECT_EQ(csv.missing, (std::map<std::string, std::string>{{"age", "0.5"}, {"a=b", "2"}}));
  EXPECT_EQ(csv.complete, std::set<std::string>{"y"});
  EXPECT_EQ(csv.delimiter, '\t');
  EXPECT_EQ(csv.decimal, ',');
  EXPECT_EQ(csv.thousands, '.');
  EXPECT_EQ(csv.columns.size(), 3U);
  EXPECT_EQ(csv.quoted_lines, 7U);
  EXPECT_EQ(written.plan.reading.form, data::RecordForm::is_public);
  EXPECT_EQ(written.plan.reading.limits, data::DataLimits::none());
  EXPECT_EQ(written.plan.confidence, 0.9);
  EXPECT_EQ(written.plan.noise, jobs::NoiseChoice::gaussian);
  EXPECT_EQ(only_of(written).missing, MissingCells::count_as_a_value);
  EXPECT_EQ(written.ledger, "run.db");
  EXPECT_TRUE(written.ledger_must_exist);
  EXPECT_EQ(written.note, "the first");
  EXPECT_EQ(written.replay_seed, 7U);
  EXPECT_EQ(written.picture, "p.svg");
  EXPECT_TRUE(written.said.contains("quoted-lines"));
}

TEST(WrittenReleaseText, TakesWhatItsSchemaSays) {
  const TemporaryFolder folder;
  const auto schema = folder.write("schema.json", R"({"surety_schema": 1, "columns": [{"name": "age", "bounds": [0, 9]},
      {"name": "day", "type": "date"}], "unit": "person", "most": 2})");
  auto text = plan_of("mean(age) where day>=2020-02-03");
  text["options"]["schema"] = schema.string();
  const auto written = jobs::read_release_plan(text.dump());
  EXPECT_EQ(bounds_of(only_of(written))->upper, 9);
  EXPECT_EQ(only_of(written).where->comparisons().at(0).kind(), data::CellKind::date);
  EXPECT_EQ(written.plan.unit.most().value(), 2U);
  EXPECT_EQ(written.schema_sha256.value_or("").size(), 64U);
}

TEST(WrittenReleaseText, DeclaresTheDatesWhoseNumbersAreRead) {
  const auto dates_of = [](const json& query, const std::optional<std::string>& schema = std::nullopt) {
    auto text = plan_of(query);
    if (schema) text["options"]["schema"] = *schema;
    const auto plan = jobs::read_release_plan(text.dump()).plan;
    EXPECT_EQ(jobs::read_release_plan(jobs::plan_text(plan)).plan, plan) << query;
    return plan.queries.at(0).statistic.dates;
  };
  using Names = std::vector<std::string>;
  const json declared{{"day", "date"}};
  const json bounds{17000, 18000};
  for (const auto* const of : {"mean(day)", "sum(day)", "variance(day)", "median(day)", "quantile(day, 0.5)"}) {
    EXPECT_EQ(dates_of({{"query", of}, {"bounds", bounds}, {"types", declared}}), Names{"day"}) << of;
    EXPECT_EQ(dates_of({{"query", of}, {"bounds", bounds}}), Names{}) << of;
  }
  EXPECT_EQ(dates_of({{"query", "histogram(day)"}, {"bounds", bounds}, {"bins", 4}, {"types", declared}}), Names{"day"});
  EXPECT_EQ(dates_of({{"query", "histogram(day)"}, {"edges", {16000, 17000, 17500}}, {"types", declared}}), Names{"day"});
  EXPECT_EQ(dates_of({{"query", "sum(day)"}, {"clip_unit_sum", bounds}, {"types", declared}}), Names{"day"});
  EXPECT_EQ(dates_of({{"query", "count()"}, {"by", "day"}, {"key_bounds", bounds}, {"key_bins", 4}, {"types", declared}}), Names{"day"});
  EXPECT_EQ(dates_of({{"query", "mean(day)"}, {"bounds", bounds}, {"where", "day>=2017-01-01"}}), Names{"day"}) << "a date in the query";
  EXPECT_EQ(dates_of({{"query", "mean(day)"}, {"bounds", bounds}, {"where", "day>=17000"}}), Names{}) << "a number in the query";
  EXPECT_EQ(dates_of({{"query", "mean(day)"}, {"bounds", bounds}, {"types", {{"day", "number"}}}}), Names{});
  EXPECT_EQ(dates_of({{"query", "mean(x)"}, {"bounds", bounds}, {"where", "day>=2017-01-01"}, {"types", declared}}), Names{})
      << "no number";
  EXPECT_EQ(dates_of({{"query", "count()"}, {"by", "day"}, {"keys", {"2017-01-01"}}, {"types", declared}}), Names{}) << "a text";
  const TemporaryFolder folder;
  const auto schema = folder.write("schema.json", R"({"surety_schema": 1, "columns": [{"name": "day", "type": "date"}]})").string();
  EXPECT_EQ(dates_of({{"query", "count()"}, {"by", "day"}, {"key_bounds", bounds}, {"key_bins", 4}}, schema), Names{"day"});
}

/// Nothing where that is no statistic.
std::unique_ptr<jobs::ReleasePlan> plan_with(Statistic statistic, const std::optional<Groups>& by) {
  statistic.by = by;
  if (refusal_of([&] {
        statistic.validate();
        return 0;
      }).refused) {
    return nullptr;
  }
  auto plan = std::make_unique<jobs::ReleasePlan>(
      jobs::ReleasePlan{.target = {Epsilon{0.1}, Delta{1e-7}, statistic.adjacency}, .queries = {{statistic, 0.3}, {statistic, 1}}});
  if (statistic.missing == MissingCells::promised_complete) plan->reading.csv.complete.insert("x");
  return plan;
}

// The text says all: also that a column is one of dates, which a schema said.
TEST(PlanText, IsReadAsThePlanThatItWasMadeOf) {
  const data::ColumnKinds kinds{{"day", data::CellKind::date}, {"town", data::CellKind::text}};
  const std::vector<std::string> conditions{"day>=2020-02-03 and not (missing(day) or present(town))", "\"a, b\"<0.1 or town!='it\"s'",
                                            "missing(x) or x<1e300"};
  std::size_t seen = 0;
  for (const auto& condition : conditions) {
    for (const auto& statistic : every_statistic(data::parse_condition(condition, "it", kinds), {{-0.1, 0x1p60}, {0, 1e-3}},
                                                 {HistogramOf{"x", Bins{{-1, 1.0 / 3}, 7}}, HistogramOf{"x", Edges{{-0.1, 1.0 / 3, 1e300}}},
                                                  HistogramOf{"x", data::Categories{{"a", " b", "c,\"d\"", ""}}}})) {
      for (const auto& by :
           {std::optional<Groups>{}, std::optional{Groups{"group, of", data::Categories{{"f", "m"}}}},
            std::optional{Groups{"group", Bins{{0, 0.7}, 3}}}, std::optional{Groups{"group", Edges{{0, 0.1, 0.7}}}},
            std::optional{Groups{"group, of", data::Categories{{"f;", "m"}}, {{"\"", Bins{{0, 0.7}, 3}}, {"b", Edges{{0, 0.1, 7}}}}}}}) {
        const auto plan = plan_with(statistic, by);
        if (!plan) continue;
        const auto text = jobs::plan_text(*plan);
        EXPECT_EQ(jobs::read_release_plan(text).plan, *plan) << text;
        ++seen;
      }
    }
  }
  EXPECT_GT(seen, 300U);
}

TEST(PlanText, HoldsUnitsKeysQuantilesAndHowRecordsAreRead) {
  const auto unit = jobs::unit_of_column("row", Count{3}, {.empty = EmptyUnit::each, .delimiter = ';', .quoted_lines = 5});
  jobs::ReleasePlan plan{.target = {Epsilon{0.7}, Delta{1e-6}, Adjacency::replace_one}, .queries = {}};
  plan.unit = unit;
  plan.noise = jobs::NoiseChoice::laplace;
  plan.confidence = 0.99;
  plan.note = "say \"hello\"";
  plan.reading.form = data::RecordForm::is_public;
  plan.reading.csv.delimiter = ';';
  plan.reading.csv.decimal = ',';
  plan.reading.csv.thousands = ' ';
  plan.reading.csv.quoted_lines = 5;
  plan.reading.csv.missing.emplace("a=\"b", "x, y");
  const auto push = [&](auto of) { plan.queries.push_back({.statistic = {.of = of, .adjacency = plan.target.adjacency, .unit = unit}}); };
  push(KeysOf{.column = "a=\"b", .most_keys = Count{2}, .chance = Delta{1e-6 / 50}, .owner = RowOwner{"row", true}});
  plan.queries.back().statistic.missing = MissingCells::count_as_a_value;
  push(KeysOf{.column = "town", .most_keys = Count{3}, .chance = Delta{1e-6 / 50}, .owner = RowOwner{"row", true}});
  push(QuantileOf{"age", {0, 90}, Fraction{0.123456789}, 77});
  push(QuantileOf{"age, of", {0, 90}, Fraction::median()});
  push(QuantileOf{"age, of", {0, 90}, Fractions{{Fraction{0.1}, Fraction::median(), Fraction{0.9}}}});
  plan.queries.back().statistic.by = Groups{"town, of", data::Categories{{"a", "b"}}};
  push(GroupMeansOf{MeanOf{"age, of", {0, 90}},
                    KeysOf{.column = "town, of", .most_keys = Count{2}, .chance = Delta{1e-6 / 50}, .owner = RowOwner{"row", true}}});
  push(KeysOf{
      .column = "town, of", .most_keys = Count{2}, .chance = Delta{1e-6 / 50}, .owner = RowOwner{"row", true}, .beside = {"sex", "a=\"b"}});
  push(DistinctOf{.column = "town) of", .most_keys = Count{2}, .owner = RowOwner{"row", true}});
  push(UnitsOf{.owner = RowOwner{"row", true}});
  push(KeysOf{.column = "town, of",
              .most_keys = Count{2},
              .chance = Delta{1e-6 / 50},
              .owner = RowOwner{"row", true},
              .beside = {"a=\"b"},
              .hides_counts = true,
              .chance_of_selection = Delta{1e-6 / 50}});
  push(CountOf{});
  plan.queries.back().statistic.by = Groups{"town, of", data::Categories{{"a", "b"}}};
  plan.queries.back().statistic.group_cap = GroupCap{Count{2}, RowOwner{"row", true}};
  push(ModeOf{"town) of", data::Categories{{"a", "b,c", " d"}}});
  push(ModeOf{"town, of", data::Categories{{"a", "b", "c"}}, 2});
  plan.queries.back().statistic.by = Groups{"age", Edges{{0, 18, 65}}};
  push(UnitSumOf{.column = "age, of", .clip = {-1, 90}, .owner = RowOwner{"row", true}});
  EXPECT_EQ(jobs::read_release_plan(jobs::plan_text(plan)).plan, plan);

  const auto refused = [&](const auto& change) {
    auto changed = plan;
    change(changed);
    const auto found = refusal_of([&] { return jobs::plan_text(changed); });
    EXPECT_TRUE(found.says(ErrorCode::unsupported, "the plan has no text")) << found;
  };
  refused([](auto& its) { std::get<KeysOf>(its.queries[0].statistic.of).chance = Delta{2e-7}; });
  refused([](auto& its) { std::get<KeysOf>(its.queries[0].statistic.of).owner->empty_is_each = false; });
  refused([](auto& its) { its.reading.limits.columns = 7; });
  refused([](auto& its) { its.queries[2].statistic.missing = MissingCells::promised_complete; });
  refused([](auto& its) { its.queries[2].statistic.adjacency = Adjacency::zero_out; });
}

TEST(WrittenReleaseText, IsRefusedWithItsPath) {
  const auto refused = [](const auto& change, const std::string& said, ErrorCode code = ErrorCode::bad_data) {
    auto text = plan_of("sum(age)");
    text["options"]["bounds"] = "0,1";
    change(text["options"]);
    const auto found = refusal_of([&] { return jobs::read_release_plan(text.dump()); });
    EXPECT_TRUE(found.says(code, said)) << found << "\nwanted: " << said;
  };
  constexpr auto argument = ErrorCode::invalid_argument;
  refused([](json& its) { its["bound"] = "0,1"; }, "options: unknown field 'bound'; did you mean 'bounds'?");
  refused([](json& its) { its["label"] = "y"; }, "options: unknown field 'label'");
  refused([](json& its) { its["overwrite"] = true; }, "options: unknown field 'overwrite'");
  refused([](json& its) { its.erase("query"); }, "options: query is missing");
  refused([](json& its) { its["queries"] = "q.json"; }, "options: query and queries are both said");
  refused([](json& its) { its["confidence"] = true; }, "options: confidence is true, must be a text or a number");
  refused([](json& its) { its["confidence"] = "much"; }, "confidence is 'much', must be a number", argument);
  refused([](json& its) { its["noise"] = "cauchy"; }, "noise is 'cauchy', must be best or laplace or gaussian", argument);
  refused([](json& its) { its["where"] = {{"a", 1}}; }, "options: where is {\"a\":1}, must be a text");
  refused([](json& its) { its["bins"] = 1; }, "bins is '1', must be a whole number from 2", argument);
  refused([](json& its) { its["key-bins"] = 3; }, "key-bins is given without by, the column of the groups", argument);
  refused([](json& its) { its["where"] = "age>"; }, "where is 'age>'", argument);
  refused([](json& its) { its["query"] = {"sum(age)", "sum(b"}; }, "query 2: query is 'sum(b', must be count()", argument);
  refused([](json& its) { its["query"] = json::object({{"query", "sum(age)"}}); }, "query: bounds is missing", argument);
  refused(
      [](json& its) {
        its["query"] = json::object({{"query", "count()"}, {"most_keys", 3}});
      },
      "query: most_keys is not for count(), must be left out", argument);
  refused([](json& its) { its["query"] = json::object({{"query", "count()"}, {"where", "a<"}}); }, "query: where is 'a<'", argument);
  refused(
      [](json& its) {
        its["query"] = json::object({{"query", "count()"}, {"types", {{"a", "day"}}}});
      },
      "query: 'types' is {\"a\":\"day\"}, must be an object of columns, each number, text, date, integer or boolean", argument);
  refused([](json& its) { its["query"] = "{\"query\": 1"; }, "query: the object", argument);
  refused([](json& its) { its["most"] = 3; }, "unit is missing: most is the number of rows", argument);
}

// The same refusals in the words of the command.
TEST(WrittenReleaseText, IsRefusedInTheWordsOfOptions) {
  const auto in_options = [](const json& options) -> std::string {
    auto text = plan_of("sum(age)");
    text["options"].update(options);
    try {
      static_cast<void>(jobs::read_release_plan(text.dump()));
    } catch (const jobs::PlanError& error) {
      return error.refusal().text.printed([](const std::string& name) { return "--" + name; });
    }
    return "not refused";
  };
  EXPECT_EQ(in_options(json::object()), "--bounds is missing: sum() needs public bounds lower,upper");
  EXPECT_EQ(in_options({{"bounds", "0,1"}, {"where", "a<"}}).substr(0, 16), "--where is 'a<',");
  EXPECT_EQ(in_options({{"query", json::object({{"query", "sum(age)"}, {"key_bins", 3}, {"bounds", {0, 1}}})}}),
            "--query: key_bins is given without by, the column of the groups");
}

TEST(WrittenReleaseText, NeverIsSomethingElseThanItSays) {
  auto text = plan_of("sum(age)");
  text["options"]["bounds"] = "0,1";
  const auto refused = [&](const char* field, const json& value, const std::string& said) {
    auto changed = text;
    changed[field] = value;
    const auto written = jobs::read_release_plan(changed.dump());
    const jobs::ReleaseJob job{written.plan};
    const auto found = refusal_of([&] {
      jobs::require_follows(written, job.cost());
      return 0;
    });
    EXPECT_TRUE(found.says(ErrorCode::invalid_argument, said)) << found;
  };
  refused("noise", 1.5, "noise is 1.5, must be ");
  refused("event", {{"laplace", 1}}, "event is");
  refused("unit", {{"name", "person"}, {"most", 3}}, "unit is");
  const auto written = jobs::read_release_plan(text.dump());
  jobs::require_follows(written, jobs::ReleaseJob{written.plan}.cost());
}

}  // namespace
}  // namespace surety::written_release_test
