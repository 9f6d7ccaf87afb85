// The first tries of somebody who has not read the manual: each is refused before the charge, or its note or warning is printed.
#include <fmt/format.h>

#include <support/surety_process.h>

namespace surety_test::slips_test {
namespace {

class Slips : public CommandTest {
 protected:
  Slips() {
    std::string table = "visits,coins,idp,health\n";
    std::string decimals = "visits;coins\n";
    for (int i = 0; i < 1200; ++i) {
      table += fmt::format("{},{}.5,{},{}\n", i * 7 % 5 % 4 * (i % 3), i % 90, 100 * i, i % 4 / 3);
      decimals += fmt::format("{};{},5\n", i % 5, i % 90);
    }
    std::string panel = "nr,year,hours,wage\n";
    for (int i = 0; i < 800; ++i) panel += fmt::format("{},{},{},{}\n", i / 8, 1980 + i % 8, 1500 + i % 900, 1 + i % 3);
    write(path("visits.csv"), table);
    write(path("decimals.csv"), decimals);
    write(path("panel.csv"), panel);
  }

  [[nodiscard]] Words to_train(const std::string& label, const Words& more = {}) const {
    return Words{"train",        path("visits.csv"), "--label",      label,           "--ledger",
                 path("run.db"), "--model",          path("m.json"), "--replay-seed", "1"} +
           more;
  }
  [[nodiscard]] Words to_release(const std::string& table, const std::string& query, const Words& more) const {
    return Words{"release", path(table), "--query", query, "--ledger", path("run.db"), "--replay-seed", "3"} + more;
  }
  /// The run is charged, and what it prints holds each of `words`.
  void expect_said(const std::string& slip, const Words& arguments, const Words& words) const {
    std::filesystem::remove(path("run.db"));
    std::filesystem::remove(path("m.json"));
    const auto outcome = surety(arguments);
    EXPECT_EQ(outcome.code, 0) << slip << outcome.err;
    for (const auto& word : words) {
      EXPECT_NE((outcome.out + outcome.err).find(word), std::string::npos) << slip << ": " << word << "\n" << outcome.out << outcome.err;
    }
  }
};

const Words usual{"--epsilon", "1", "--delta", "1e-5"};
const Words few_steps = Words{"--algorithm", "gradient-descent", "--steps", "3", "--epsilon", "5", "--delta", "1e-5"};

TEST_F(Slips, AreRefusedBeforeTheCharge) {
  struct Slip {
    const char* what;
    Words arguments;
    int code;
    Words said;
  };
  const std::vector<Slip> slips{
      {"a column is no label of two classes",
       to_train("visits", usual),
       2,
       {"--label is visits, a column without a comparison", "'visits>0'", "'visits==yes'", "--classes"}},
      {"nor is it one of another loss",
       to_train("visits", Words{"--loss", "hinge", "--algorithm", "gradient-descent"} + usual),
       2,
       {"hinge loss has two classes"}},
      {"one pair of bounds for two columns",
       to_release("panel.csv", "mean(hours)", Words{"--query", "mean(wage)", "--bounds", "0,5000"} + usual),
       2,
       {"--bounds"}},
      {"one equals sign", to_train("visits=1", usual), 2, {"visits=1"}},
      {"a text behind an order", to_train("visits>'many'", usual), 2, {"many"}},
      {"a unit without its rows",
       to_release("panel.csv", "mean(hours)", Words{"--unit", "nr", "--bounds", "0,5000"} + usual),
       2,
       {"--most"}},
      {"a name that is misspelled", to_train("visitz>0", usual), 3, {"column 'visitz' is missing", "visits"}},
      {"another delimiter",
       to_release("decimals.csv", "mean(coins)", Words{"--bounds", "0,100"} + usual),
       3,
       {"column 'coins' is missing", "set the delimiter to that"}},
      {"no delta under auto", to_train("visits>0", {"--epsilon", "1"}), 2, {"--delta"}},
      {"a delta that the noise needs",
       to_train("visits>0", Words{"--algorithm", "gradient-descent", "--epsilon", "1", "--delta", "0"}),
       6,
       {"delta is 0, must be greater than 0 for gradient-descent"}},
      {"a condition that contradicts itself",
       to_release("visits.csv", "count()", Words{"--where", "visits>5 and visits<3", "--epsilon", "1"}),
       2,
       {"no cell meets both"}},
  };
  for (const auto& slip : slips) {
    SCOPED_TRACE(slip.what);
    expect_refused_untouched(slip.arguments, slip.code, slip.said);
  }
}

TEST_F(Slips, AreRefusedWhereASchemaShowsThem) {
  write(
      path("schema.json"),
      json_text(
          "{'surety_schema': 1, 'columns': [{'name': 'visits', 'type': 'integer'}, {'name': 'coins', 'type': 'number', 'bounds': [0, 100]},"
          " {'name': 'idp', 'drop': true}, {'name': 'health', 'type': 'integer', 'bounds': [0, 1]}]}"));
  const Words schema{"--schema", path("schema.json")};
  expect_refused_untouched(to_train("visits==\"a\"", usual + schema), 2,
                           {"--label has 'visits==a', which no cell of column 'visits' can meet"});
  expect_refused_untouched(to_train("visits==0.5", usual + schema), 2, {"--label has 'visits==0.5'"});
  expect_refused_untouched(to_train("visits", usual + schema + Words{"--classes", "a,b,c"}), 2, {"--classes has 'visits==a'"});
  expect_refused_untouched(to_release("visits.csv", "histogram(health)", usual + schema + Words{"--categories", "yes,no"}), 2,
                           {"--categories has 'yes', which no cell of column 'health' can be"});
  expect_refused_untouched(to_release("visits.csv", "count()", usual + schema + Words{"--by", "health", "--keys", "yes,no"}), 2,
                           {"--keys has 'yes'"});
  expect_said("possible", to_train("visits>0", few_steps + schema), {"clamped", "coins to [0, 100]"});
}

TEST_F(Slips, AreNamedWhereNoPublicRuleShowsThem) {
  struct Slip {
    const char* what;
    Words arguments;
    Words said;
  };
  const std::vector<Slip> slips{
      {"decimal commas",
       to_release("decimals.csv", "mean(coins)", Words{"--delimiter", ";", "--bounds", "0,100"} + usual),
       {"WARNING", "check how its numbers are written"}},
      {"a delta of one half", to_train("visits>0", {"--epsilon", "1", "--delta", "0.5"}), {"note: delta = 0.5 is at least 1/960"}},
      {"a large epsilon and delta",
       to_release("visits.csv", "mean(visits)", {"--bounds", "0,9", "--epsilon", "50", "--delta", "0.1"}),
       {"note: epsilon = 50", "note: delta = 0.1 is at least 1/1200"}},
      {"a huge epsilon", to_release("visits.csv", "mean(visits)", {"--bounds", "0,9", "--epsilon", "1e6"}), {"note: epsilon = 1000000"}},
      {"a tiny epsilon",
       to_release("visits.csv", "mean(visits)", {"--bounds", "0,9", "--epsilon", "1e-9"}),
       {"WARNING", "the interval is as wide as [0, 9]"}},
      {"a tiny epsilon of a count",
       to_release("visits.csv", "count()", {"--where", "visits>0", "--epsilon", "1e-9"}),
       {"WARNING", "the interval holds 0"}},
      {"bounds of another column", to_release("visits.csv", "mean(visits)", {"--bounds", "0,1", "--epsilon", "1"}), {"clamped to [0, 1]"}},
      {"texts that are not in the column",
       to_release("visits.csv", "histogram(health)", {"--categories", "yes,no", "--epsilon", "1"}),
       {"WARNING", "every interval holds 0"}},
      {"a condition that no record meets",
       to_release("visits.csv", "count()", {"--where", "health=='yes'", "--epsilon", "1"}),
       {"WARNING", "the interval holds 0"}},
      {"years for persons",
       to_release("panel.csv", "mean(hours)",
                  Words{"--unit", "year", "--most", "8", "--adjacency", "add-or-remove-one", "--bounds", "0,5000"} + usual),
       {"WARNING", "the interval is as wide as [0, 5000]"}},
      {"a number that nobody has", to_train("visits>1000", few_steps), {"WARNING", "check the comparison or the classes of the label"}},
      {"a text that nobody has", to_train("visits==\"a\"", few_steps), {"WARNING", "check the comparison or the classes of the label"}},
      {"a bound that cuts labels",
       to_train("visits", Words{"--loss", "squared", "--label-bound", "1", "--clip", "1"} + few_steps),
       {"clamped", "labels to [-1, 1]"}},
      {"bounds of a name", to_train("visits>0", Words{"--bounds", "idp=0,1000"} + few_steps), {"clamped", "idp to [0, 1000]"}}};
  for (const auto& slip : slips) expect_said(slip.what, slip.arguments, slip.said);
}

TEST_F(Slips, OfClassesThatNobodyHasStopTheRun) {
  const auto outcome = surety(to_train("visits", Words{"--classes", "a,b,c"} + usual));
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.err.find("records trained on are usable"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("Check the label"), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(path("m.json")));
}

TEST_F(Slips, OfAPlanOfVersion1MeanWhatTheyDid) {
  auto plan = nlohmann::json::parse(surety(to_train("visits>0", few_steps + Words{"--print-plan"})).out);
  EXPECT_EQ(plan["version"], 2);
  for (const char* const field : {"event", "noise", "unit"}) plan.erase(field);
  plan["options"]["label"] = "health";
  write(path("two.json"), plan.dump());
  expect_refused_untouched({"train", "--plan", path("two.json")}, 2, {"health, a column without a comparison"});
  plan["version"] = 1;
  write(path("one.json"), plan.dump());
  expect_said("version 1", {"train", "--plan", path("one.json")}, {"note: the plan is of version 1"});
  const auto report = surety({"train", "--plan", path("one.json"), "--json", "--overwrite"});
  EXPECT_EQ(report.code, 0) << report.err;
  ASSERT_EQ(report.json()["notes"].size(), 1U);
  const auto printed = surety({"train", "--plan", path("one.json"), "--print-plan"});
  EXPECT_EQ(printed.json()["version"], 1) << printed.err;
}

TEST_F(Slips, OfRecordFilesAreRefusedToo) {
  ASSERT_EQ(surety({"convert", path("visits.csv"), path("v.records"), "--label", "visits"}).code, 0);
  expect_refused_untouched(
      Words{"train", path("v.records"), "--format", "records", "--ledger", path("run.db"), "--model", path("m.json")} + usual, 2,
      {"the label of the record file is visits", "convert it again"});
}

TEST_F(Slips, AreInJsonAsWell) {
  const auto wide = surety(to_release("visits.csv", "mean(visits)", {"--bounds", "0,9", "--epsilon", "1e-9", "--json"}));
  ASSERT_EQ(wide.code, 0) << wide.err;
  EXPECT_EQ(wide.json()["warnings"].size(), 1U);
  std::filesystem::remove(path("run.db"));
  const auto large = surety(to_release("visits.csv", "mean(visits)", {"--bounds", "0,9", "--epsilon", "50", "--json"}));
  ASSERT_EQ(large.code, 0) << large.err;
  EXPECT_EQ(large.json()["notes"].size(), 1U);
  EXPECT_FALSE(large.json().contains("warnings"));
  std::filesystem::remove(path("run.db"));
  const auto sheet = surety(to_release("visits.csv", "histogram(health)", {"--categories", "yes,no", "--epsilon", "1", "--format", "csv"}));
  EXPECT_NE(sheet.out.find("every interval holds 0"), std::string::npos) << sheet.out << sheet.err;
}

}  // namespace
}  // namespace surety_test::slips_test
