// Columns with names that a parser could take for something else: each command reads the column that was named. A column holds one number in all of its rows, so
// that an answer says which column it is of.
#include <cmath>

#include <fmt/format.h>

#include <support/hostile_names.h>
#include <support/surety_process.h>

namespace surety_test::column_names_test {
namespace {

using surety::reference::hostile_header_names;
using surety::reference::hostile_names;
using surety::reference::quoted_cell;

constexpr std::size_t columns = 1000;
constexpr std::size_t rows = 20;

class ColumnNames : public CommandTest {
 protected:
  /// A table of the columns, of which number k holds k + 1.
  void SetUp() override {
    CommandTest::SetUp();
    std::string header;
    std::string row;
    for (std::size_t k = 0; k < names_.size(); ++k) {
      header += (k > 0 ? "," : "") + quoted_cell(names_[k]);
      row += fmt::format("{}{}", k > 0 ? "," : "", k + 1);
    }
    std::string text = header + "\n";
    for (std::size_t k = 0; k < rows; ++k) text += row + "\n";
    write(path("table.csv"), text);
  }
  /// With so little noise that it does not show.
  [[nodiscard]] Words release(const Words& more) const {
    return Words{"release", path("table.csv"), "--epsilon", "1e9", "--replay-seed", "3", "--ledger", path("run.db")} + more;
  }
  [[nodiscard]] Words bounds_of_each() const {
    Words bounds;
    for (const auto& name : names_) {
      bounds.emplace_back("--bounds");
      bounds.push_back(quoted_cell(name) + "=0,2000");
    }
    return bounds;
  }
  static void expect_each_of_its_column(const nlohmann::json& report, const std::vector<std::string>& names,
                                        const std::vector<std::string>& all) {
    const auto& queries = report["queries"];
    ASSERT_EQ(queries.size(), names.size());
    for (std::size_t k = 0; k < names.size(); ++k) {
      const auto place = std::find(all.begin(), all.end(), names[k]) - all.begin();
      EXPECT_NEAR(queries[k]["value"].get<double>(), static_cast<double>(place + 1), 0.1) << names[k] << ": " << queries[k]["query"];
    }
  }

  const std::vector<std::string> names_ = hostile_header_names(columns);
};

TEST_F(ColumnNames, AreThoseOfTheQueriesAndOfThePlanThatIsPrinted) {
  ASSERT_EQ(names_.size(), columns);
  const auto bounds = bounds_of_each();
  Words queries = bounds;
  for (const auto& name : names_) {
    queries.emplace_back("--query");
    queries.push_back("mean(" + quoted_cell(name) + ")");
  }
  const auto first = surety(release(queries) + Words{"--json"});
  ASSERT_EQ(first.code, 0) << first.err;
  expect_each_of_its_column(first.json(), names_, names_);
  const auto plan = surety(release(queries) + Words{"--print-plan"});
  ASSERT_EQ(plan.code, 0) << plan.err;
  EXPECT_EQ(plan.json()["version"], 2);
  EXPECT_EQ(plan.json()["options"]["query"][0]["column"], names_[0]);
  write(path("plan.json"), plan.out);
  const auto second = surety({"release", "--plan", path("plan.json"), "--json"});
  ASSERT_EQ(second.code, 0) << second.err;
  EXPECT_EQ(second.json()["notes"].size(), 1U) << "of its epsilon alone";
  expect_each_of_its_column(second.json(), names_, names_);
  // What a report shows is a query of the same column.
  Words again = bounds;
  const auto report = second.json();
  for (const auto& query : report["queries"]) {
    again.emplace_back("--query");
    again.push_back(query["query"].get<std::string>());
  }
  const auto third = surety(release(again) + Words{"--json"});
  ASSERT_EQ(third.code, 0) << third.err;
  expect_each_of_its_column(third.json(), names_, names_);
}

TEST_F(ColumnNames, AreThoseOfObjectsConditionsAndGroups) {
  auto queries = nlohmann::json::array();
  for (std::size_t k = 0; k < names_.size(); ++k) {
    // Only rows count that have this column's number in this column: all or none.
    const auto condition = quoted_cell(names_[(k + 1) % names_.size()]) + fmt::format("=={}", (k + 1) % names_.size() + 1);
    queries.push_back({{"function", "mean"}, {"column", names_[k]}, {"bounds", {0, 2000}}, {"where", condition}});
  }
  write(path("queries.json"), queries.dump());
  const auto of_objects = surety(release({"--queries", path("queries.json"), "--json"}));
  ASSERT_EQ(of_objects.code, 0) << of_objects.err;
  expect_each_of_its_column(of_objects.json(), names_, names_);
  queries.clear();
  for (std::size_t k = 0; k < names_.size(); ++k) {
    queries.push_back({{"function", "count"}, {"by", names_[k]}, {"keys", {std::to_string(k + 1)}}});
  }
  write(path("queries.json"), queries.dump());
  const auto of_groups = surety(release({"--queries", path("queries.json"), "--json"}));
  ASSERT_EQ(of_groups.code, 0) << of_groups.err;
  const auto report = of_groups.json();
  for (const auto& query : report["queries"]) EXPECT_EQ(query["groups"][0]["value"], rows) << query["query"];
}

TEST_F(ColumnNames, WithoutQuotesAreNoOtherColumn) {
  // A header's names have no blanks around them; a name in quotes keeps its own, and is then of no column.
  expect_refused_untouched(release({"--query", "mean(\" pad\")", "--bounds", "0,1"}), 3, {"' pad' is missing"});
  expect_refused_untouched(release({"--query", "mean(\"pad\" )x", "--bounds", "0,1"}), 2, {"--query is", "behind the quoted name"});
  const auto outcome = surety(release({"--query", "mean( pad )", "--bounds", "0,2000", "--json"}));
  EXPECT_NEAR(outcome.json()["value"].get<double>(), 1, 0.1);
}

TEST_F(ColumnNames, OfAPlanOfVersionOneAreReadAsBefore) {
  // In the grammar of Surety 0.1.0 a quote is a character of the name.
  write(path("table.csv"), "\"\"\"a\"\"\",a\n1,2\n1,2\n");
  const nlohmann::json plan{
      {"version", 1},
      {"command", "release"},
      {"adjacency", "replace-one"},
      {"target", {{"epsilon", 1e9}, {"delta", 0}}},
      {"options",
       {{"data", path("table.csv")}, {"query", "mean(\"a\")"}, {"bounds", "0,9"}, {"ledger", path("run.db")}, {"replay-seed", 3}}}};
  write(path("plan.json"), plan.dump());
  const auto outcome = surety({"release", "--plan", path("plan.json"), "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NEAR(outcome.json()["value"].get<double>(), 1, 0.1);
  EXPECT_EQ(outcome.json()["query"], "mean(\"\"\"a\"\"\")");
  EXPECT_NE(outcome.json()["notes"].dump().find("the plan is of version 1"), std::string::npos);
  EXPECT_TRUE(surety({"release", "--plan", path("plan.json")}).out.starts_with("note "));
  const auto printed = surety({"release", "--plan", path("plan.json"), "--print-plan"}).json();
  EXPECT_EQ(printed["version"], 2);
  EXPECT_EQ(printed["options"]["query"][0]["column"], "\"a\"");
}

TEST_F(ColumnNames, ThatAreNotUtf8HaveNoPlan) {
  write(path("table.csv"), "\xff,b\n1,2\n");
  expect_refused_untouched(release({"--query", "mean(\xff)", "--bounds", "0,9", "--print-plan"}), 2, {"the plan has no text"});
  expect_refused_untouched(release({"--query", "mean(b)", "--bounds", "0,9", "--missing", "\xff=1", "--print-plan"}), 2,
                           {"the plan has no text", "--missing is not UTF-8"});
  write(path("queries.json"), "[{\"function\": \"mean\", \"column\": \"b\", \"bounds\": [0, 9]}]");
  EXPECT_EQ(surety(release({"--queries", path("queries.json"), "--print-plan"})).code, 0);
}

}  // namespace
}  // namespace surety_test::column_names_test
