// What defines a unit beside its column and K: a ledger takes runs of one definition alone, and says which. Through the command.
#include <sys/stat.h>

#include <support/surety_process.h>

namespace surety_test::unit_rule_test {
namespace {

const std::filesystem::path kept = SURETY_TEST_DATA "/units_without_rule";

class UnitRule : public CommandTest {
 protected:
  [[nodiscard]] std::string data(const std::string& name, const std::string& text) const {
    write(path(name), text);
    return path(name);
  }
  [[nodiscard]] Words sum_of(const std::string& file, const Words& more, const std::string& unit = "u") const {
    return Words{"release", file, "--query", "sum(a)", "--bounds", "0,5", "--epsilon", "1", "--ledger", path("x.db")} +
           Words{"--unit", unit, "--most", "1"} + more;
  }
  /// The unit of the ledger, as `audit` says it.
  [[nodiscard]] nlohmann::json audited_unit() const { return surety({"audit", path("x.db"), "--delta", "0", "--json"}).json()["unit"]; }
  /// Runs `first`, then each of `others`: they are refused for the part that they differ in, and nothing is charged.
  void expect_one_meaning(const Words& first, const std::vector<Words>& others, const std::string& part) const {
    const auto made = surety(first);
    ASSERT_EQ(made.code, 0) << made.err;
    for (const auto& other : others) {
      expect_refused_untouched(other, 2, {"unit of the plan is one u of at most 1 row", "must be the ledger's", "differ in " + part});
    }
    EXPECT_EQ(surety(first).code, 0) << "the same meaning is taken again";
    EXPECT_EQ(runs_in(path("x.db")), 2U);
  }
  /// Copies the files of older versions here. \return the ledger among them
  [[nodiscard]] std::string of_before() const {
    for (const char* name : {"units.db", "small.csv", "plan.json", "units.json"}) std::filesystem::copy_file(kept / name, path(name));
    return path("units.db");
  }
};

// Neighbours by the first run's partition, whose empty unit is another, are told apart by the second run's public number of units.
TEST_F(UnitRule, RowsWithoutANameMeanOneThingInALedger) {
  for (const std::string text : {"u,a\nA,1\nB,2\n,3\n", "u,a\nA,1\nB,2\n,3\n,4\n,5\n,1\n"}) {
    std::filesystem::remove(path("x.db"));
    const auto file = data("e.csv", text);
    expect_one_meaning(sum_of(file, {"--empty-unit", "one"}), {sum_of(file, {"--empty-unit", "each"})}, "rows without a name");
  }
  std::filesystem::remove(path("x.db"));
  const auto file = path("e.csv");
  const auto each = surety(sum_of(file, {"--empty-unit", "each", "--json"})).json();
  EXPECT_EQ(each["records"], 6);
  EXPECT_EQ(each["unit"]["empty"], "each");
  EXPECT_EQ(audited_unit()["empty"], "each");
  expect_refused_untouched(sum_of(file, {"--empty-unit", "one"}), 2, {"differ in rows without a name"});
}

// By ';' both have three units of one column 'u,a', of which the second names other rows; by ',' the second has a unit less.
TEST_F(UnitRule, TheColumnIsFoundInOneWay) {
  const auto file = data("d.csv", "u,a\nA;x,1\nA;y,2\nB;x,3\n");
  const auto plain = sum_of(file, {});
  const auto by_semicolon = sum_of(file, {"--columns", "u,a", "--delimiter", ";"});
  expect_one_meaning(plain, {by_semicolon, sum_of(file, {"--columns", "u,a"})}, "");
  std::filesystem::remove(path("x.db"));
  expect_one_meaning(
      by_semicolon,
      {plain, sum_of(file, {"--columns", "a,u", "--delimiter", ";"}), sum_of(file, {"--columns", "u,a,b", "--delimiter", ";"})}, "");
  EXPECT_EQ(audited_unit()["place"], (nlohmann::json{{"column", 1}, {"columns", 2}}));
  EXPECT_EQ(audited_unit()["delimiter"], ";");
  // Names of other columns find nobody.
  auto renamed = sum_of(file, {"--columns", "u,b", "--delimiter", ";"});
  *std::find(renamed.begin(), renamed.end(), "sum(a)") = "sum(b)";
  EXPECT_EQ(surety(renamed).code, 0);
  expect_refused_untouched(sum_of(file, {"--columns", "v,a"}), 2, {"--unit is 'u', must be one of the 2 columns"});
}

// A record of more than 64 MiB is damaged, and then nobody's; without limits it is its owner's.
TEST_F(UnitRule, RecordsAreAsLongAsTheyWere) {
  const auto file = data("l.csv", "u,a\nA,1\nB,2\n");
  expect_one_meaning(sum_of(file, {}), {sum_of(file, {"--no-limits"})}, "the longest record");
  EXPECT_EQ(audited_unit()["record_bytes"], 1 << 26);
  std::filesystem::remove(path("x.db"));
  expect_one_meaning(sum_of(file, {"--no-limits"}), {sum_of(file, {})}, "the longest record");
  EXPECT_EQ(audited_unit()["record_bytes"], nullptr);
}

// Beyond so many line ends in quotes a cell's lines are records of their own, each with an owner.
TEST_F(UnitRule, CellsHoldAsManyLineEndsAsTheyDid) {
  const auto file = data("q.csv", "u,a\nA,\"\n\n\"\nB,2\n");
  expect_one_meaning(sum_of(file, {}), {sum_of(file, {"--quoted-lines", "1"})}, "the line ends of a cell");
  EXPECT_EQ(audited_unit()["quoted_lines"], 100);
}

TEST_F(UnitRule, SchemasSayIt) {
  const auto file = data("s.csv", "u;a\nA;1\n;2\n;3\n");
  nlohmann::json schema{{"surety_schema", 1}, {"delimiter", ";"}, {"columns", {{{"name", "u"}}, {{"name", "a"}}}},
                        {"unit", "u"},        {"most", 1},        {"empty_unit", "each"}};
  write(path("s.json"), schema.dump());
  const Words by_schema{"release", file,       "--query",    "sum(a)",   "--bounds",     "0,5",   "--epsilon",
                        "1",       "--ledger", path("x.db"), "--schema", path("s.json"), "--json"};
  const auto said = surety(by_schema).json();
  EXPECT_EQ(said["records"], 3);
  EXPECT_EQ(said["unit"]["empty"], "each");
  EXPECT_EQ(said["unit"]["delimiter"], ";");
  expect_refused_untouched(by_schema + Words{"--empty-unit", "one"}, 2, {"differ in rows without a name"});
  schema["empty_unit"] = nullptr;
  write(path("s.json"), schema.dump());
  EXPECT_EQ(surety(by_schema).json()["unit"]["empty"], "each") << "of the ledger, where nothing says it";
  schema["empty_unit"] = "two";
  write(path("s.json"), schema.dump());
  expect_refused_untouched(by_schema, 3, {"'two', must be one or each"});
  schema["empty_unit"] = "each";
  schema["header"] = false;
  write(path("s.json"), schema.dump());
  expect_refused_untouched(by_schema, 2, {"differ in the place of the column"});
}

TEST_F(UnitRule, StandsInReportsModelsAndPlans) {
  std::string text = "u,x,label\n";
  for (int i = 0; i < 40; ++i)
    text += (i % 3 == 0 ? "" : "p" + std::to_string(i / 2)) + "," + std::to_string(i % 7) + "," + std::to_string(i % 2) + "\n";
  const auto file = data("t.csv", text);
  const Words train{"train", file,       "--label",    "label>0", "--algorithm",  "gradient-descent", "--epsilon", "1",      "--delta",
                    "1e-5",  "--ledger", path("x.db"), "--model", path("m.json"), "--unit",           "u",         "--most", "2"};
  const auto plain = surety(train);
  EXPECT_NE(plain.out.find("\nunit         one u of at most 2 rows (names byte by byte, rows without one: one unit)\n"), std::string::npos)
      << plain.out;
  expect_refused_untouched(train + Words{"--empty-unit", "each"}, 2, {"differ in rows without a name"});
  expect_refused_untouched(train + Words{"--delimiter", ";"}, 2, {"delimiter ';'", "differ in the delimiter"});
  std::filesystem::remove(path("x.db"));
  const auto each = surety(train + Words{"--empty-unit", "each", "--json"}).json()["unit"];
  const nlohmann::json rule{{"name", "u"},      {"most", 2},        {"names", "bytes"},        {"empty", "each"},
                            {"delimiter", ","}, {"place", nullptr}, {"record_bytes", 1 << 26}, {"quoted_lines", 100}};
  EXPECT_EQ(each, rule);
  const auto model = nlohmann::json::parse(contents(path("m.json")));
  EXPECT_EQ(model["guarantee"]["unit"], rule);
  EXPECT_EQ(model["surety_model"], 6);
  EXPECT_EQ(surety({"predict", path("m.json"), file}).code, 0);

  // A plan holds its run to the rule that it says.
  const auto planned = surety(train + Words{"--empty-unit", "each", "--print-plan"});
  EXPECT_EQ(planned.json()["unit"], rule);
  auto plan = planned.json();
  plan["options"]["model"] = path("n.json");
  write(path("plan.json"), plan.dump());
  EXPECT_EQ(surety({"train", "--plan", path("plan.json")}).code, 0);
  plan["unit"]["empty"] = "one";
  write(path("plan.json"), plan.dump());
  expect_refused_untouched({"train", "--plan", path("plan.json")}, 2, {"unit is", "must be"});
  for (const char* field : {"names", "empty"}) {
    auto odd = planned.json();
    odd["unit"][field] = "folded";
    write(path("plan.json"), odd.dump());
    expect_refused_untouched({"train", "--plan", path("plan.json")}, 2, {"unit is", "must be"});
  }
}

TEST_F(UnitRule, IsSaidWhenALedgerIsMade) {
  const Words create{"ledger", "create", path("x.db"), "--adjacency", "replace-one", "--unit", "u", "--most", "1"};
  const auto file = data("c.csv", "A;1\n;2\n;3\n");
  const Words reading{"--empty-unit", "each", "--delimiter", ";", "--columns", "u,a"};
  const auto made = surety(create + reading);
  EXPECT_NE(
      made.out.find(
          "for one u of at most 1 row (names byte by byte, rows without one: each a unit, delimiter ';', column 1 of 2 without a header)"),
      std::string::npos)
      << made.out;
  expect_refused_untouched(sum_of(file, {"--delimiter", ";", "--columns", "u,a", "--empty-unit", "one"}), 2,
                           {"differ in rows without a name"});
  EXPECT_EQ(surety(sum_of(file, reading)).code, 0);
  for (const Words& lone : {Words{"--delimiter", ";"}, Words{"--columns", "u,a"}, Words{"--no-limits"}, Words{"--empty-unit", "each"}}) {
    expect_refused_untouched(Words{"ledger", "create", path("y.db"), "--adjacency", "replace-one"} + lone, 2, {"--unit", "missing"});
  }
}

// They do not say their rule, which is taken for the default: and that is said.
TEST_F(UnitRule, OfOlderLedgersIsTakenForTheDefault) {
  const auto ledger = of_before();
  const std::string said =
      "one patient of at most 2 rows (it does not say its rule, taken for the default: names byte by byte, rows without one: one unit)";
  for (const Words& words : {Words{"audit", ledger, "--delta", "1e-5"}, Words{"ledger", "show", ledger},
                             Words{"ledger", "show", ledger, "1"}, Words{"ledger", "list", ledger}}) {
    EXPECT_NE(surety(words).out.find(said), std::string::npos) << joined(words);
    const auto unit = surety(words + Words{"--json"}).json()["unit"];
    EXPECT_EQ(unit["rule_is_said"], false) << joined(words);
    EXPECT_EQ(unit["empty"], "one") << joined(words);
  }
  const Words release{"release", path("small.csv"), "--query", "mean(x)", "--bounds", "0,10",   "--epsilon",
                      "1",       "--ledger",        ledger,    "--unit",  "patient",  "--most", "2"};
  expect_refused_untouched(release + Words{"--empty-unit", "each"}, 2, {"it does not say its rule", "differ in rows without a name"});
  auto by_semicolon = contents(path("small.csv"));
  std::replace(by_semicolon.begin(), by_semicolon.end(), ',', ';');
  auto other = release;
  other[1] = data("semicolons.csv", by_semicolon);
  expect_refused_untouched(other + Words{"--delimiter", ";"}, 2, {"differ in the delimiter"});
  EXPECT_EQ(contents(ledger).at(63), 2) << "what is added to it leaves it of its version";
  EXPECT_EQ(surety(release).code, 0);
  EXPECT_EQ(contents(ledger).at(63), 2);
  EXPECT_EQ(runs_in(ledger), 3U);
}

TEST_F(UnitRule, OlderPlansAndModelsAreRead) {
  const auto ledger = of_before();
  EXPECT_EQ(surety({"predict", path("units.json"), path("small.csv")}).code, 0);
  const auto folder = path("");
  const auto ran = surety({"release", "--plan", "plan.json"}, {.folder = folder.c_str()});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(runs_in(ledger), 3U);
  auto plan = nlohmann::json::parse(contents(path("plan.json")));
  plan["unit"]["most"] = 3;
  plan["options"]["data"] = path("small.csv");
  plan["options"]["ledger"] = ledger;
  write(path("plan.json"), plan.dump());
  expect_refused_untouched({"release", "--plan", path("plan.json")}, 2, {"unit is", "must be"});
}

// ------------------------------------------------------------------------------------------ what the ledger says is not said again

TEST_F(UnitRule, AndAdjacencyAreThoseOfTheLedger) {
  const auto file = data("o.csv", "who,a,label\nA,1,0\nA,2,1\n,3,1\n,4,0\nB,1,1\nC,0,0\n");
  ASSERT_EQ(
      surety({"ledger", "create", path("x.db"), "--adjacency", "add-or-remove-one", "--unit", "who", "--most", "2", "--empty-unit", "each"})
          .code,
      0);
  const Words count{"release", file, "--query", "count()", "--epsilon", "1", "--ledger", path("x.db")};
  const auto report = surety(count + Words{"--json"}).json();
  EXPECT_EQ(report["adjacency"], "add-or-remove-one");
  EXPECT_EQ(report["unit"]["name"], "who");
  EXPECT_EQ(report["unit"]["most"], 2);
  EXPECT_EQ(report["unit"]["empty"], "each");
  EXPECT_EQ(report["l1_sensitivity"], 2.0);
  EXPECT_EQ(surety(count + Words{"--unit", "who", "--json"}).json()["unit"], report["unit"]) << "the rest of what is said in part";
  const auto planned = surety(count + Words{"--print-plan"}).json();
  EXPECT_EQ(planned["adjacency"], "add-or-remove-one");
  EXPECT_EQ(planned["unit"], report["unit"]);

  expect_refused_untouched(count + Words{"--adjacency", "replace-one"}, 2, {"adjacency of the event is replace-one, must be the ledger's"});
  expect_refused_untouched(count + Words{"--most", "3"}, 2, {"unit of the plan", "differ in how many rows are used"});
  expect_refused_untouched(count + Words{"--unit", "label", "--most", "2"}, 2, {"unit of the plan", "differ in whose rows they are"});
  const auto rows = data("rows.csv", "a\n1\n");
  expect_refused_untouched({"release", rows, "--query", "count()", "--epsilon", "1", "--ledger", path("x.db")}, 3,
                           {"column 'who' is missing"});

  const Words train{"train",   file,   "--label",  "label>0",    "--algorithm", "gradient-descent", "--epsilon",      "1",
                    "--delta", "1e-5", "--ledger", path("x.db"), "--model",     path("m.json"),     "--public-count", "5"};
  const auto trained = surety(train + Words{"--json"}).json();
  EXPECT_EQ(trained["adjacency"], "add-or-remove-one");
  EXPECT_EQ(trained["unit"], report["unit"]);
  auto shaped = train;
  *std::find(shaped.begin(), shaped.end(), "gradient-descent") = "svrg";
  shaped.resize(shaped.size() - 2);  // which does not know --public-count
  expect_refused_untouched(shaped, 2, {"the unit of the ledger is not for svrg"});
  const auto sparse = data("o.libsvm", "1 1:1\n");
  expect_refused_untouched({"train", sparse, "--format", "libsvm", "--features", "3", "--epsilon", "1", "--delta", "1e-5", "--ledger",
                            path("x.db"), "--model", path("m.json"), "--algorithm", "gradient-descent"},
                           2, {"the unit of the ledger is for CSV files"});
  EXPECT_EQ(runs_in(path("x.db")), 3U);
}

TEST_F(UnitRule, OfAColumnNamedRowIsFoundAgain) {
  const auto file = data("r.csv", "row,column row,a\nA,C,1\nB,C,2\n");
  for (const std::string column : {"row", "column row"}) {
    std::filesystem::remove(path("x.db"));
    const auto said = surety(sum_of(file, {"--json"}, column)).json();
    const auto found =
        surety({"release", file, "--query", "sum(a)", "--bounds", "0,5", "--epsilon", "1", "--ledger", path("x.db"), "--json"}).json();
    EXPECT_EQ(found["unit"], said["unit"]) << column;
    EXPECT_EQ(found["records"], said["records"]) << column;
  }
}

TEST_F(UnitRule, AutoTakesThePromiseOfItsLedgerToo) {
  const auto file = small_data();
  ASSERT_EQ(surety({"ledger", "create", path("x.db"), "--adjacency", "zero-out"}).code, 0);
  const Words train{"train", file,       "--label",    "label>0", "--epsilon",    "1",     "--delta",
                    "1e-5",  "--ledger", path("x.db"), "--model", path("m.json"), "--json"};
  EXPECT_EQ(surety(train).json()["adjacency"], "zero-out");
  EXPECT_EQ(surety(train + Words{"--tune", "2"}).json()["adjacency"], "zero-out");
  expect_refused_untouched(train + Words{"--adjacency", "replace-one"}, 2, {"must be the ledger's, zero-out"});
  // A ledger that is the data is seen before it is opened as one.
  expect_refused_untouched({"release", file, "--query", "count()", "--epsilon", "1", "--ledger", file}, 2,
                           {"must be another file than the ledger"});
}

// ------------------------------------------------------------------------------------------ no time after the reservation

/// Seconds and nanoseconds of the last change.
timespec change_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mtim;
}
std::time_t seconds_of(const std::string& utc) {
  std::tm parts{};
  EXPECT_NE(::strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts), nullptr) << utc;
  return ::timegm(&parts);
}

TEST_F(UnitRule, NothingThatARunWritesHoldsATimeAfterItsReservation) {
  const auto file = small_data();
  const auto expect_times = [&](const Words& words, const std::vector<std::string>& outputs) {
    const auto printed = path("printed");
    write(printed, "");
    ASSERT_EQ(surety(words, {.standard_output = printed.c_str()}).code, 0);
    const auto runs = surety({"ledger", "list", path("x.db"), "--json"}).json()["runs"];
    const auto& run = runs.back();
    EXPECT_EQ(run["settled"]["time"], run["created"]);
    const auto reserved = seconds_of(run["created"].get<std::string>());
    for (const auto& output : outputs) {
      EXPECT_EQ(change_of(output).tv_sec, reserved) << output;
      EXPECT_EQ(change_of(output).tv_nsec, 0) << output;
    }
    EXPECT_EQ(change_of(path("x.db")).tv_sec, reserved);
    EXPECT_EQ(change_of(path("x.db")).tv_nsec, 1 + 2 * static_cast<long>(runs.size())) << "the number of entries";
  };
  expect_times({"train", file, "--label", "label>0", "--tune", "3", "--epsilon", "1", "--delta", "1e-5", "--ledger", path("x.db"),
                "--model", path("m.json")},
               {path("m.json"), path("printed")});
  expect_times({"release", file, "--query", "histogram(label)", "--categories", "0,1", "--epsilon", "1", "--ledger", path("x.db"), "--svg",
                path("h.svg")},
               {path("h.svg"), path("printed")});
}

}  // namespace
}  // namespace surety_test::unit_rule_test
