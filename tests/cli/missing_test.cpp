// What becomes of missing cells in `surety release`, through each of its entrances, and how often a mean of the cells that are there is covered.
#include <random>

#include <support/surety_process.h>

namespace surety_test::missing_test {
namespace {

class Missing : public CommandTest {
 protected:
  Missing() { write(path("data"), "x,y,g,day\n500,1,a,2017-05-31\n400,2,a,2017-06-01\n,3,b,2017-06-02\nNA,4,b,\n600,5,a,\n\n"); }
  /// With so little noise that values are exact to their last digits.
  [[nodiscard]] Words release(const std::string& query, const Words& more = {}) const {
    return Words{"release", path("data"), "--query", query, "--epsilon", "1e6", "--ledger", next_ledger(), "--replay-seed", "1"} + more;
  }
  /// Runs of several units and adjacencies have no ledger in common.
  [[nodiscard]] std::string next_ledger() const { return path("run" + std::to_string(++ledgers_) + ".db"); }
  [[nodiscard]] nlohmann::json report(const std::string& query, const Words& more = {}) const {
    const auto words = release(query, more + Words{"--json"});
    const auto outcome = surety(words);
    EXPECT_EQ(outcome.code, 0) << joined(words) << outcome.err;
    return outcome.code == 0 ? outcome.json() : nlohmann::json::object();
  }
  [[nodiscard]] double value(const std::string& query, const Words& more = {}) const {
    const auto found = report(query, more);
    return found.contains("value") ? found["value"].get<double>() : std::nan("");
  }

 private:
  mutable int ledgers_ = 0;
};

const Words bounds{"--bounds", "300,600"};

// The report of a key of several columns looked for a column called "g, y", and the run ended as an internal error after its charge.
TEST_F(Missing, CellsOfATupleCountToo) {
  for (const auto* const query : {"distinct(g, y)", "count(units)"}) {
    const Words groups = std::string{query} == "count(units)" ? Words{"--by", "g,y", "--keys", "discovered"} : Words{};
    const auto found = report(query, groups + Words{"--missing", "g=unknown", "--delta", "1e-3", "--adjacency", "add-or-remove-one"});
    EXPECT_TRUE(found["missing_cells"].get<std::string>().starts_with("count as unknown")) << query;
  }
}

TEST_F(Missing, CellsAreLeftOutUnlessTheyCount) {
  const double far = 0.05;
  EXPECT_NEAR(value("mean(x)", bounds), 500, far);
  EXPECT_NEAR(value("sum(x)", bounds), 1500, far);
  EXPECT_NEAR(value("variance(x)", bounds), 20000 / 3.0, 2);
  EXPECT_NEAR(value("median(x)", bounds), 500, far);
  EXPECT_NEAR(value("mean(x) where y>2", bounds), 600, far);
  const auto groups = report("mean(x)", bounds + Words{"--by", "g", "--keys", "a,b"});
  EXPECT_NEAR(groups["groups"][0]["value"].get<double>(), 500, far);
  EXPECT_GE(groups["groups"][1]["value"].get<double>(), 300) << "of no cell that is there";
  EXPECT_LE(groups["groups"][1]["value"].get<double>(), 600);
  EXPECT_EQ(groups["groups"][1]["interval"], nlohmann::json::parse("[300.0, 600.0]"));

  const Words counted{"--missing", "x=0"};
  EXPECT_NEAR(value("mean(x)", bounds + counted), 2400 / 6.0, far) << "0 clamped, of the damaged record too";
  EXPECT_NEAR(value("sum(x)", bounds + counted), 2400, far);
  EXPECT_NEAR(value("quantile(x, 0.3)", bounds + counted), 300, far);
  EXPECT_NEAR(value("sum(x)", bounds + Words{"--missing", "x=450"}), 2700, far);
  EXPECT_NEAR(value("mean(x)", bounds + Words{"--complete", "x"}), 2400 / 6.0, far);
  EXPECT_NEAR(value("mean(x)", bounds + Words{"--complete", "y,x", "--adjacency", "zero-out"}), 2400 / 6.0, far);

  // The same by a list, a plan and a schema.
  write(path("list.json"), json_text("[{'query': 'mean(x)', 'bounds': [300, 600]}, {'query': 'median(x)', 'bounds': [300, 600]}]"));
  const Words listed{"release",     path("data"),    "--queries", path("list.json"), "--epsilon", "1e6", "--ledger",
                     next_ledger(), "--replay-seed", "1",         "--json"};
  const auto two = surety(listed).json();
  EXPECT_NEAR(two["queries"][0]["value"].get<double>(), 500, far);
  EXPECT_EQ(two["queries"][1]["missing_cells"], "left out");
  write(path("plan.json"), surety(release("mean(x)", bounds + Words{"--complete", "x", "--json", "--print-plan"})).out);
  const auto planned = surety({"release", "--plan", path("plan.json")});
  ASSERT_EQ(planned.code, 0) << planned.err;
  EXPECT_NE(planned.out.find("missing cells: promised complete"), std::string::npos) << planned.out;
  auto schema = nlohmann::json::parse(surety({"schema", path("data")}).out);
  schema["columns"][0]["bounds"] = {300, 600};
  schema["columns"][0]["complete"] = true;
  write(path("schema.json"), schema.dump());
  const Words by_schema{"--schema", path("schema.json")};
  EXPECT_EQ(report("mean(x)", by_schema)["missing_cells"], "promised complete");
  EXPECT_EQ(report("mean(x)", by_schema + Words{"--missing", "x=7"})["missing_cells"], "count as 7 (0 where a whole record is damaged)")
      << "an option takes the place of the schema";
}

TEST_F(Missing, CellsAreNamedInEachAnswer) {
  const auto table = surety(release("mean(x)", bounds)).out;
  EXPECT_NE(table.find("cells        missing cells: left out; numbers are clamped to [300, 600]\n"), std::string::npos) << table;
  EXPECT_EQ(report("mean(x)", bounds)["missing_cells"], "left out");
  EXPECT_EQ(report("mean(x)", bounds)["other_cells"], "numbers are clamped to [300, 600]");
  EXPECT_EQ(report("mean(x)", bounds + Words{"--missing", "x=0"})["missing_cells"], "count as 0");
  EXPECT_EQ(report("mean(x)", bounds + Words{"--complete", "x"})["missing_cells"], "promised complete");
  EXPECT_EQ(report("histogram(g)", {"--categories", "a,b"})["other_cells"], "texts that are not listed are in no cell");
  EXPECT_EQ(report("histogram(x)", bounds + Words{"--bins", "3"})["other_cells"], "numbers beyond [300, 600] are in the outer cells");
  EXPECT_FALSE(report("count()", {"--where", "y>0"}).contains("missing_cells"));
  const auto csv = surety(release("mean(x)", bounds + Words{"--format", "csv"})).out;
  EXPECT_NE(csv.find(",not_private,missing_cells,used,"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",true,left out,"), std::string::npos) << csv;
  const Words of_both{"--bounds", "x=300,600", "--bounds", "y=300,600"};
  const auto several = surety(release("mean(x)", of_both + Words{"--query", "median(x)", "--query", "median(y)"})).out;
  EXPECT_NE(several.find("cells        x: missing cells: left out; numbers are clamped to [300, 600]\n"
                         "cells        y: missing cells: left out; numbers are clamped to [300, 600]\n"),
            std::string::npos)
      << several;
  // How many records there are is public as before, whatever they hold.
  EXPECT_EQ(report("mean(x)", bounds)["records"], 6);
  EXPECT_FALSE(report("mean(x) where y>0", bounds).contains("records"));
}

TEST_F(Missing, CellsCostWhatTheyMayMove) {
  const auto costs = [&](const std::string& query, const Words& more, double l1, double l2) {
    const auto found = report(query, bounds + more);
    EXPECT_NEAR(found["l1_sensitivity"].get<double>(), l1, 1e-3) << query;
    EXPECT_NEAR(found["l2_sensitivity"].get<double>(), l2, 1e-3) << query;
  };
  const Words complete{"--complete", "x"};
  costs("sum(x)", {}, 600, 600);
  costs("sum(x)", complete, 300, 300);
  costs("sum(x)", {"--missing", "x=0"}, 300, 300);
  costs("mean(x)", {}, 300, 300);
  costs("mean(x)", complete, 300, 300);
  costs("mean(x)", {"--delta", "1e-6", "--noise", "gaussian"}, 150 + 150 * std::sqrt(3.0), 300);
  costs("variance(x)", {}, 3.125 * 150, 150 * std::sqrt((71 + 8 * std::sqrt(2.0)) / 16));
  costs("mean(x)", {"--unit", "g", "--most", "2"}, 600, 600);
  costs("sum(x)", {"--unit", "g", "--most", "2"}, 1200, 1200);
  EXPECT_NEAR(report("median(x)", bounds)["rank_error"].get<double>(), report("median(x)", bounds + complete)["rank_error"].get<double>(),
              1e-12);
}

TEST_F(Missing, CellsCanBeAskedFor) {
  EXPECT_EQ(value("count()", {"--where", "missing(x)"}), 1) << "NA is a text";
  EXPECT_EQ(value("count()", {"--where", "missing(x) or x>1e9"}), 2) << "in a column of numbers it is none";
  EXPECT_EQ(value("count()", {"--where", "present(x)"}), 4);
  EXPECT_NEAR(value("sum(y) where missing(x)", {"--bounds", "0,10"}), 3, 1e-3);
  EXPECT_NEAR(value("sum(x) where present(x)", bounds), 1500, 0.05);
  EXPECT_EQ(report("count()", {"--where", "missing( x )"})["query"], "count() where missing(x)");
  auto schema = nlohmann::json::parse(surety({"schema", path("data")}).out);
  schema["columns"][0]["type"] = "number";
  schema["columns"][3]["type"] = "date";
  write(path("schema.json"), schema.dump());
  const Words known{"--schema", path("schema.json")};
  EXPECT_EQ(value("count()", known + Words{"--where", "missing(x)"}), 2);
  EXPECT_EQ(value("count()", known + Words{"--where", "missing(day)"}), 2);
  EXPECT_EQ(value("count()", known + Words{"--where", "day>='2017-06-01'"}), 2);
  EXPECT_EQ(report("count()", known + Words{"--where", "day<2017-06-01"})["query"], "count() where day<'2017-06-01'");
  EXPECT_EQ(value("count()", {"--where", "day>='2017-06-01'"}), 2) << "the literal decides";
  EXPECT_EQ(report("count()", {"--where", "day>='2017-06-01'"})["query"], "count() where day>='2017-06-01'");
  expect_refused(release("count()", {"--where", "day>='1 June'"}), 2, {"texts are compared by", "dates such as '2017-06-01'"});
  expect_refused(release("count()", known + Words{"--where", "x==forty"}), 2, {"--where has 'x==forty'", "no cell of column 'x' can meet"});
  expect_refused(release("count()", known + Words{"--where", "day>='1 June'"}), 2, {"must have a date such as '2017-06-01'"});
  expect_refused(release("mean(day)", known + Words{"--bounds", "0,1"}), 2, {"'mean(day)'", "is a date by --schema"});
  schema["columns"][3]["bounds"] = {0, 1};
  write(path("schema.json"), schema.dump());
  expect_refused(release("count()", known + Words{"--where", "x>1"}), 3, {"'day' is a date with bounds"});
}

TEST_F(Missing, DaysOfATextFileAreReadWhereDatesAreDeclaredOrCompared) {
  write(path("data"), "day,g\n2017-06-01,a\n2017-06-03,b\n2017-06-05T13:30,a\nsoon,a\n,b\n");
  auto schema = nlohmann::json::parse(surety({"schema", path("data")}).out);
  schema["columns"][0]["type"] = "date";
  write(path("schema.json"), schema.dump());
  const Words known{"--schema", path("schema.json"), "--by", "day", "--key-edges", "17318,17320,17324"};
  const auto groups = report("count()", known)["groups"];
  EXPECT_EQ(groups[0]["value"], 1) << groups;
  EXPECT_EQ(groups[1]["value"], 2) << groups;
  const Words later{"--where", "day>='2017-06-02'", "--bounds", "17000,18000"};
  EXPECT_NEAR(value("mean(day)", later), 17321, 1e-2);
  EXPECT_NEAR(value("sum(day)", later), 2 * 17321, 1e-1);
  EXPECT_NEAR(value("mean(day)", later + Words{"--missing", "day=2017-06-04"}), 17321, 1e-2);
  expect_refused(release("mean(day)", later + Words{"--missing", "day=0"}), 2, {"column 'day' counts as '0', must count as a date"});
}

TEST_F(Missing, DecimalCommasAreReadWhereTheyAreSaid) {
  write(path("data"), "x;y\n1,5;1\n2.5;1\n\"3,25\";1\n1.234,5;1\n");
  const Words european{"--delimiter", ";", "--bounds", "0,10"};
  EXPECT_NEAR(value("sum(x)", european), 2.5, 1e-3) << "a cell with a comma is missing";
  EXPECT_NEAR(value("sum(x)", european + Words{"--decimal", ","}), 4.75, 1e-3) << "and here one with a point";
  EXPECT_EQ(value("count()", {"--delimiter", ";", "--decimal", ",", "--where", "x>1.4 and x<=3.25"}), 2) << "options have points";
  EXPECT_NEAR(value("sum(x)", european + Words{"--decimal", ",", "--missing", "x=0.5"}), 5.75, 1e-3);
  expect_refused(release("sum(x)", european + Words{"--decimal", ";"}), 2, {"--decimal is ';', must be '.' or ','"});
  auto schema = nlohmann::json::parse(surety({"schema", path("data"), "--delimiter", ";", "--decimal", ","}).out);
  EXPECT_EQ(schema["decimal"], ",");
  write(path("schema.json"), schema.dump());
  EXPECT_NEAR(value("sum(x)", {"--bounds", "0,10", "--schema", path("schema.json")}), 4.75, 1e-3);
}

TEST_F(Missing, WhatContradictsItselfIsRefused) {
  for (const char* const query : {"median(x)", "quantile(x, 0.9)", "mean(x)", "sum(x)", "variance(x)"}) {
    expect_refused(release(query, bounds + Words{"--missing", "x=foo"}), 2, {"column 'x' counts as 'foo', must count as a number"});
  }
  expect_refused(release("mean(x)", bounds + Words{"--missing", "x=1", "--complete", "x"}), 2,
                 {"--complete and --missing both name column 'x'"});
  expect_refused(release("mean(x)", bounds + Words{"--complete", "z"}), 3, {"column 'z' is missing"});
  expect_refused(release("mean(x)", bounds + Words{"--complete", "x,"}), 2, {"--complete is 'x,'"});
  // Where the form is public the promise is looked at.
  expect_refused(release("mean(x)", bounds + Words{"--complete", "x", "--form-is-public"}), 3, {"row 3", "column 'x'", "empty"});
  auto schema = nlohmann::json::parse(surety({"schema", path("data")}).out);
  schema["columns"][0]["complete"] = true;
  schema["columns"][0]["missing"] = 4;
  write(path("schema.json"), schema.dump());
  expect_refused(release("mean(x)", bounds + Words{"--schema", path("schema.json")}), 3, {"'x' is complete, must say nothing of missing"});
}

// A unit has one row at least, and so has what stands in its place.
TEST_F(Missing, AllRowsOfUnitsAreCountedForWhatTheyMove) {
  const auto sensitivity = [&](const char* most, const Words& more) {
    return report("count()", Words{"--unit", "g", "--most", most} + more)["l1_sensitivity"].get<double>();
  };
  EXPECT_EQ(sensitivity("4", {}), 3);
  EXPECT_EQ(sensitivity("4", {"--where", "y>0"}), 4);
  EXPECT_EQ(sensitivity("4", {"--adjacency", "add-or-remove-one"}), 4);
  EXPECT_EQ(sensitivity("4", {"--adjacency", "zero-out"}), 3) << "however many rows it keeps";
  EXPECT_EQ(surety(release("count()", {"--unit", "g", "--most", "1", "--json"})).json()["event"], "pure(0)");
}

/// Tables of one column, of which a share is empty, no number, or the cell of a damaged record.
struct Table {
  const char* name;
  double missing;
  double lower, upper;
  int rows;
  double (*draw)(std::mt19937_64&);
};

double uniform(std::mt19937_64& bits) { return std::uniform_real_distribution{0.0, 1.0}(bits); }

const Table tables[] = {
    {"ages, 5 %", 0.05, 0, 100, 1500, [](std::mt19937_64& bits) { return std::round(20 + 60 * uniform(bits)); }},
    {"wages far from 0, 20 %", 0.2, 300, 600, 600, [](std::mt19937_64& bits) { return 320 + 100 * uniform(bits) * uniform(bits); }},
    {"skewed and clamped, 35 %", 0.35, 0, 50, 900, [](std::mt19937_64& bits) { return std::exp(4 * uniform(bits)); }},
    {"at the upper bound, 50 %", 0.5, -10, 10, 400, [](std::mt19937_64&) { return 10.0; }},
    {"two values, 60 %", 0.6, 0, 1, 300, [](std::mt19937_64& bits) { return uniform(bits) < 0.3 ? 1.0 : 0.0; }},
};

/// The mean of the cells that are there, clamped.
double written(const Table& table, const std::string& file) {
  std::mt19937_64 bits{20261123};
  std::string text = "u,x\n";
  double sum = 0;
  int there = 0;
  for (int k = 0; k < table.rows; ++k) {
    if (uniform(bits) < table.missing) {
      const char* const damaged[] = {"u%,\n", "u%,NA\n", "u%,\"1,5\"\n", "\n", "u%,1,2\n"};
      text += damaged[bits() % 5];
      continue;
    }
    const double x = table.draw(bits);
    text += "u" + std::to_string(k) + "," + nlohmann::json(x).dump() + "\n";
    sum += std::clamp(x, table.lower, table.upper);
    ++there;
  }
  std::ofstream{file} << text;
  return sum / there;
}

// 300 releases of each table: .95 less three standard errors of .0126. `scripts/missing` makes 2,000 of each, and of other statistics.
TEST_F(Missing, CellsLeaveTheMeanOfTheOthersCovered) {
  constexpr int releases = 300;
  for (const auto& table : tables) {
    const double truth = written(table, path("data"));
    nlohmann::json queries;
    for (int k = 0; k < releases; ++k) queries.push_back({{"query", "mean(x)"}, {"bounds", {table.lower, table.upper}}});
    write(path("list.json"), queries.dump());
    const auto covered = [&](const Words& more) {
      // Each of epsilon 0.2 at delta = 0.
      const Words words = Words{"release",     path("data"),    "--queries", path("list.json"), "--epsilon", "60", "--ledger",
                                next_ledger(), "--replay-seed", "3",         "--json"} +
                          more;
      const auto outcome = surety(words);
      EXPECT_EQ(outcome.code, 0) << outcome.err;
      int count = 0;
      const auto found = outcome.json();
      for (const auto& query : found["queries"]) {
        const auto& interval = query["interval"];
        EXPECT_GE(interval[0].get<double>(), table.lower);
        EXPECT_LE(interval[1].get<double>(), table.upper);
        count += interval[0].get<double>() <= truth && truth <= interval[1].get<double>() ? 1 : 0;
      }
      return static_cast<double>(count) / releases;
    };
    EXPECT_GE(covered({}), 0.912) << table.name;
    // What counted as 0 is about something else.
    EXPECT_LT(covered({"--missing", "x=0"}), 0.85) << table.name;
  }
}

}  // namespace
}  // namespace surety_test::missing_test
