// surety schema, and --schema: what a user knows of a file, written once.
#include <support/surety_process.h>

namespace surety_test::schema_file_test {
namespace {

class SchemaFile : public CommandTest {
 protected:
  SchemaFile() { write(path("data"), "age;town;smoker;id\n20;a;yes;1\n;b;no;1\n30;;yes;2\n90;c;no;3\n"); }
  /// A schema that is filled in.
  [[nodiscard]] nlohmann::json schema() const {
    auto json = nlohmann::json::parse(surety({"schema", path("data"), "--delimiter", ";"}).out);
    json["columns"][0]["type"] = "number";
    json["columns"][0]["bounds"] = {0, 100};
    json["columns"][0]["missing"] = 40;
    json["columns"][1]["categories"] = {"a", "b"};
    json["columns"][3]["drop"] = true;
    json["label"] = "smoker==yes";
    return json;
  }
  [[nodiscard]] std::string written(const nlohmann::json& json) const {
    write(path("schema.json"), json.dump());
    return path("schema.json");
  }
  [[nodiscard]] Words release(const std::string& query, const Words& more = {}) const {
    return Words{"release", path("data"), "--query", query, "--epsilon", "1e6", "--ledger", path("run.db"), "--replay-seed", "1"} + more;
  }
  [[nodiscard]] nlohmann::json report(const Words& words) const {
    const auto outcome = surety(words + Words{"--json"});
    EXPECT_EQ(outcome.code, 0) << joined(words) << outcome.err;
    return outcome.code == 0 ? outcome.json() : nlohmann::json::object();
  }
};

TEST_F(SchemaFile, IsMadeOfNamesAndFormAlone) {
  const auto made = surety({"schema", path("data"), "--delimiter", ";"});
  ASSERT_EQ(made.code, 0) << made.err;
  const auto json = nlohmann::json::parse(made.out);
  EXPECT_EQ(json["surety_schema"], 1);
  EXPECT_EQ(json["delimiter"], ";");
  EXPECT_EQ(json["header"], true);
  ASSERT_EQ(json["columns"].size(), 4U);
  EXPECT_EQ(json["columns"][1], nlohmann::json::parse(R"({"name": "town", "type": null, "bounds": null, "categories": null, "missing": null,
                                                          "complete": null, "drop": false})"));
  EXPECT_EQ(json["decimal"], ".");
  for (const char* field : {"label", "unit", "most", "empty_unit"}) EXPECT_TRUE(json.contains(field) && json[field].is_null()) << field;
  EXPECT_NE(json["about"].get<std::string>().find("no record was read"), std::string::npos);
  // Whatever the records are, to the last byte.
  for (const std::string& records : Words{"", "1;2;3;4\n", "\"", "secret\n\n;;;;;;;;", std::string(100'000, 'x')}) {
    write(path("data"), "age;town;smoker;id\n" + records);
    EXPECT_EQ(surety({"schema", path("data"), "--delimiter", ";"}).out, made.out);
  }
  // Nothing at all is read where the columns are named.
  const auto named = surety({"schema", path("no such file"), "--columns", "x,\"y, z\"", "--delimiter", "tab"});
  EXPECT_EQ(named.code, 0) << named.err;
  EXPECT_EQ(nlohmann::json::parse(named.out)["columns"][1]["name"], "y, z");
  EXPECT_EQ(nlohmann::json::parse(named.out)["header"], false);
  EXPECT_EQ(nlohmann::json::parse(named.out)["delimiter"], "tab");
  write(path("bytes"), "a,\xff\n");
  expect_refused({"schema", path("bytes")}, 3, {"'\\xff'", "UTF-8"});
}

TEST_F(SchemaFile, SaysWhatOptionsDoNot) {
  const auto file = written(schema());
  EXPECT_NEAR(report(release("sum(age)", {"--schema", file}))["value"].get<double>(), 20 + 40 + 30 + 90, 0.1);
  EXPECT_NEAR(report(release("sum(age)", {"--schema", file, "--bounds", "0,30", "--missing", "age=10"}))["value"].get<double>(),
              20 + 10 + 30 + 30, 0.1);
  EXPECT_EQ(report(release("sum(age)", {"--schema", file}))["missing"], (nlohmann::json{{"age", "40"}}));
  const auto cells = report(release("histogram(town)", {"--schema", file}))["cells"];
  ASSERT_EQ(cells.size(), 2U);
  EXPECT_EQ(cells[0]["value"], 1);
  EXPECT_EQ(report(release("histogram(age)", {"--schema", file, "--bins", "2"}))["cells"][1]["value"], 1);
  EXPECT_EQ(report(release("histogram(town)", {"--schema", file, "--categories", "c"}))["cells"][0]["value"], 1);
  EXPECT_EQ(report(release("count()", {"--schema", file, "--by", "town"}))["groups"].size(), 2U);
  expect_refused(release("sum(id)", {"--schema", file}), 2, {"--bounds is missing"});

  const Words training{"train",    path("data"),     "--schema", file,      "--epsilon",     "1", "--delta",    "1e-5",
                       "--ledger", path("train.db"), "--model",  path("m"), "--replay-seed", "3", "--held-out", "0"};
  ASSERT_EQ(surety(training).code, 0);
  const auto model = contents(path("m"));
  const Words said{"train",     path("data"),   "--delimiter",   ";",           "--bounds",
                   "age=0,100", "--categories", "town=a,b",      "--drop",      "id",
                   "--missing", "age=40",       "--label",       "smoker==yes", "--epsilon",
                   "1",         "--delta",      "1e-5",          "--ledger",    path("train.db"),
                   "--model",   path("m"),      "--replay-seed", "3",           "--held-out",
                   "0"};
  ASSERT_EQ(surety(said).code, 0);
  EXPECT_EQ(contents(path("m")), model);
  EXPECT_EQ(surety({"predict", path("m"), path("data"), "--schema", file}).out,
            surety({"predict", path("m"), path("data"), "--delimiter", ";"}).out);
  // An option overrides what is said of its column, whatever its kind.
  ASSERT_EQ(surety(training + Words{"--drop", "town", "--label", "id==1"}).code, 0);
  const auto other = nlohmann::json::parse(contents(path("m")));
  EXPECT_EQ(other["label"], "id==1");
  EXPECT_EQ(other["features"]["columns"].size(), 2U) << "age, and smoker by itself";
}

TEST_F(SchemaFile, SaysTheUnit) {
  auto json = schema();
  json["unit"] = "id";
  json["most"] = 2;
  const auto file = written(json);
  const auto unit = report(release("sum(age)", {"--schema", file}))["unit"];
  EXPECT_EQ(unit["name"], "id");
  EXPECT_EQ(unit["most"], 2);
  std::filesystem::remove(path("run.db"));
  EXPECT_EQ(report(release("sum(age)", {"--schema", file, "--most", "1"}))["unit"]["most"], 1);
  // A text is one name, whatever it holds, and a list is a combination.
  std::filesystem::remove(path("run.db"));
  json["unit"] = "id,age";
  expect_refused(release("sum(age)", {"--schema", written(json)}), 3, {"column 'id,age' is missing"});
  json["unit"] = {"id", "smoker"};
  EXPECT_EQ(report(release("sum(age)", {"--schema", written(json)}))["unit"]["name"], "column id,smoker");
}

TEST_F(SchemaFile, NamesTheColumnsOfAFileWithoutHeader) {
  auto json = schema();
  json["header"] = false;
  write(path("data"), "20;a;yes;1\n30;b;no;1\n");
  EXPECT_NEAR(report(release("sum(age)", {"--schema", written(json)}))["value"].get<double>(), 50, 0.1);
}

TEST_F(SchemaFile, StandsInThePlanByItsHash) {
  const auto file = written(schema());
  const auto words = release("mean(age)", {"--schema", file});
  const auto plan = surety(words + Words{"--print-plan"});
  ASSERT_EQ(plan.code, 0) << plan.err;
  EXPECT_EQ(plan.json()["schema_sha256"].get<std::string>().size(), 64U);
  write(path("plan.json"), plan.out);
  const Words planned{"release", "--plan", path("plan.json")};
  EXPECT_EQ(surety(planned).code, 0);
  auto changed = schema();
  changed["columns"][0]["missing"] = 41;
  static_cast<void>(written(changed));
  expect_refused_untouched(planned, 2, {"plan.json", "schema_sha256 is", "it has changed"});
  auto without = plan.json();
  without["options"].erase("schema");
  write(path("plan.json"), without.dump());
  expect_refused_untouched(planned, 2, {"schema_sha256 is", "must be null"});
  // The file is an input.
  static_cast<void>(written(schema()));
  expect_refused_untouched(
      {"train", path("data"), "--schema", file, "--epsilon", "1", "--delta", "1e-5", "--ledger", path("x.db"), "--model", file}, 2,
      {"--model", "must be another file than --schema"});
}

TEST_F(SchemaFile, IsReadStrictly) {
  const auto refused = [&](const nlohmann::json& json, const Words& said) {
    expect_refused_untouched(release("sum(age)", {"--schema", written(json)}), 3, Words{"schema.json"} + said);
  };
  const auto with = [&](const char* field, const nlohmann::json& value) {
    auto json = schema();
    json[field] = value;
    return json;
  };
  const auto with_column = [&](const char* field, const nlohmann::json& value) {
    auto json = schema();
    json["columns"][0][field] = value;
    return json;
  };
  refused(with("surprise", 1), {"unknown field 'surprise'"});
  refused(with("surety_schema", 2), {"version is 2, must be 1"});
  refused(with("columns", nlohmann::json::array()), {"must name each column"});
  refused(with("header", "yes"), {"header of the schema is \"yes\", must be true, false"});
  refused(with("label", 3), {"label of the schema is 3"});
  refused(with("most", -1), {"most of the schema is -1"});
  refused(with_column("surprise", 1), {"a column has an unknown field 'surprise'"});
  refused(with_column("name", nullptr), {"a column has no name"});
  refused(with_column("name", "town"), {"column 'town' stands twice"});
  refused(with_column("type", "day"), {"'day'", "number, text, date, integer, boolean or null"});
  refused(with_column("type", "date"), {"'age' is a date with bounds"});
  refused(with("decimal", ";"), {"decimal of the schema is ';', must be a point or a comma"});
  refused(with_column("complete", true), {"'age' is complete, must say nothing of missing cells"});
  refused(with_column("bounds", {3, 1}), {"bounds of column 'age' are [3,1]", "ascending"});
  refused(with_column("bounds", {1}), {"[lower, upper]"});
  refused(with_column("categories", {"a"}), {"both bounds and categories"});
  refused(with_column("type", "text"), {"a text with bounds"});
  refused(with_column("missing", "forty"), {"'forty'", "must count as a number"});
  refused(with_column("drop", 1), {"drop of column 'age' is 1"});
  refused(nlohmann::json::array(), {"no schema"});
  write(path("schema.json"), R"({"surety_schema": 1, "columns": [{"name": "a", "name": "b"}]})");
  expect_refused_untouched(release("sum(age)", {"--schema", path("schema.json")}), 3, {"schema.json", "name"});
  expect_refused_untouched(release("sum(age)", {"--schema", path("nothing")}), 3, {"nothing", "No such file"});
  auto text = with_column("type", "text");
  text["columns"][0].erase("bounds");
  expect_refused(release("sum(age)", {"--schema", written(text)}), 2, {"is a text by --schema"});
  expect_refused(release("sum(age)", {"--schema", written(with("delimiter", ";;"))}), 2, {"delimiter is ';;', must be"});
}

}  // namespace
}  // namespace surety_test::schema_file_test
