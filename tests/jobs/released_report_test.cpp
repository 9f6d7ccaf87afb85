// What is said of released statistics: the same numbers in lines, in CSV and in a picture, and no text that says more than its own.
#include <surety/jobs/release/released_report.h>

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <surety/accounting/events/releases.h>

namespace surety::released_report_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

jobs::ReleasedQuery count_of(std::vector<statistics::Answer> answers, bool has_groups, bool has_cells) {
  return {.facts = {.query = "count()",
                    .noise = "laplace",
                    .standard_deviation = 1.5,
                    .noise_is_on = "the count",
                    .l1_sensitivity = 1,
                    .l2_sensitivity = 1,
                    .grid_step = 1,
                    .is_whole = true,
                    .has_groups = has_groups,
                    .has_cells = has_cells},
          .missing_cells = "",
          .weight = 1,
          .event = pure(Epsilon{1}, Adjacency::replace_one),
          .answers = std::move(answers)};
}

jobs::ReleasedQuery median(const std::string& column) {
  return {.facts = {.query = "median(" + column + ")",
                    .noise = "exponential",
                    .standard_deviation = std::nullopt,
                    .noise_is_on = "the choice among 3 candidates",
                    .l1_sensitivity = std::nullopt,
                    .l2_sensitivity = std::nullopt,
                    .grid_step = std::nullopt,
                    .is_whole = false,
                    .has_groups = false,
                    .has_cells = false,
                    .has_rank_error = true,
                    .has_interval = false,
                    .column = column,
                    .missing_cells = statistics::MissingCells::left_out,
                    .other_cells = "numbers are clamped to [0, 4]"},
          .missing_cells = "left out",
          .weight = 1,
          .event = pure(Epsilon{1}, Adjacency::replace_one),
          .answers = {{"", "", {2.25, 0, 0}, {}, std::nullopt, 2.5}}};
}

jobs::ReleasedStatistics released(std::vector<jobs::ReleasedQuery> queries) {
  const auto event = pure(Epsilon{1}, Adjacency::replace_one);
  return {.promise = {Epsilon{1}, Delta{1e-6}, Adjacency::replace_one},
          .unit = {},
          .confidence = 0.9,
          .cost = {.value = 1, .event = event, .epsilon = Enclosure{1, 1}, .delta = Enclosure{0, 0}, .failing = {}},
          .run = accounting::RunId{3},
          .not_private = false,
          .missing = {},
          .records = {},
          .queries = std::move(queries)};
}

TEST(ReleasedReport, OfOneNumberIsAListOfWhatIsPromised) {
  EXPECT_EQ(report_text(released({count_of({{"", "", {17, 12, 22}}}, false, false)}), "run.db (new), run 3"),
            "query        count()\n"
            "value        17\n"
            "interval     [12, 22] with confidence 0.9, over the noise alone\n"
            "adjacency    replace-one\n"
            "unit         one row\n"
            "promise      epsilon = 1 at delta = 1e-06\n"
            "released     pure(1)\n"
            "epsilon      in [1, 1] at delta = 1e-06\n"
            "noise        laplace, standard deviation 1.5 on the count\n"
            "ledger       run.db (new), run 3\n");
  auto of_days = median("day");
  of_days.facts.column_units = {{"day", "days since 1970-01-01"}};
  const auto text = report_text(released({of_days, median("x"), of_days}), "run.db, run 3");
  EXPECT_NE(text.find("\ndates        day is in days since 1970-01-01\nadjacency "), std::string::npos) << text;
  EXPECT_NE(json_text(released({of_days})).find(R"("column_units":{"day":"days since 1970-01-01"})"), std::string::npos);
  auto replayed = released({median("x")});
  replayed.not_private = true;
  replayed.missing = {{"x", "0"}};
  EXPECT_EQ(report_text(replayed, "run.db, run 3"),
            "query        median(x)\n"
            "value        2.25\n"
            "rank error   fewer than 2.5 records with confidence 0.9, over the choice alone\n"
            "cells        missing cells: left out; numbers are clamped to [0, 4]\n"
            "missing      x=0\n"
            "adjacency    replace-one\n"
            "unit         one row\n"
            "promise      epsilon = 1 at delta = 1e-06\n"
            "released     pure(1)\n"
            "epsilon      in [1, 1] at delta = 1e-06\n"
            "noise        exponential on the choice among 3 candidates\n"
            "ledger       run.db, run 3\n"
            "NOT PRIVATE  the noise was replayed from a known seed\n");
}

TEST(ReleasedReport, OfSeveralQueriesIsATable) {
  const auto report = report_text(released({count_of({{"Rome", "", {17, 12, 22}}, {"Oslo ", "", {-3, -8, 2}}}, true, false), median("x")}),
                                  "run.db, run 3");
  EXPECT_NE(report.find("queries      2, each with its own noise, in one charge\ncells        x: missing cells: left out; "),
            std::string::npos)
      << report;
  const std::string table =
      "\nIntervals have confidence 0.9 for each number alone, over the noise.\n"
      "query       group             value   interval                             noise\n"
      "count()     Rome                 17   [12, 22]                             laplace, standard deviation 1.5 on the count\n"
      "count()     Oslo\\x20             -3   [-8, 2]\n"
      "median(x)                      2.25   rank error: fewer than 2.5 records   exponential on the choice among 3 candidates\n";
  EXPECT_EQ(report.substr(report.find("\nIntervals")), table);
}

TEST(ReleasedReport, OfOneHistogramHasALineForEachCell) {
  const auto report =
      report_text(released({count_of({{"", "Rome", {17, 12, 22}}, {"", "a\nb", {4, -1, 9}}}, false, true)}), "run.db, run 3");
  EXPECT_EQ(report.substr(report.find("\ncell")),
            "\ncell          count   interval with confidence 0.9 for each cell alone, over the noise\n"
            "Rome             17   [12, 22]\n"
            "a\\x0ab            4   [-1, 9]\n");
  EXPECT_EQ(report.find("\nvalue"), std::string::npos);
}

TEST(ReleasedCsv, HasALineForEachNumber) {
  EXPECT_EQ(
      csv(released({count_of({{"=Rome", "a,b", {17, -infinity, infinity}}}, true, true), median("x")})),
      "query,group,cell,value,lower,upper,confidence,noise,noise_standard_deviation,not_private,missing_cells,used,used_lower,used_upper,total,warning,rank_error,rank_error_share\n"
      "count(),'=Rome,\"a,b\",17,-inf,inf,0.9,laplace,1.5,false,,,,,,,,\n"
      "median(x),,,2.25,,,0.9,exponential,,false,left out,,,,,,2.5,0\n");
}

jobs::ReleasedQuery mean(std::vector<statistics::Answer> answers, bool has_groups) {
  auto query = count_of(std::move(answers), has_groups, false);
  query.facts.query = "mean(x)";
  query.facts.is_whole = false;
  query.facts.column = "x";
  query.facts.missing_cells = statistics::MissingCells::left_out;
  query.facts.other_cells = "numbers are clamped to [0, 4]";
  query.missing_cells = "left out";
  return query;
}

statistics::Answer answer(const std::string& group, double used, std::optional<double> total) {
  statistics::Answer one{group, "", {1.5, 1, 2}, {}, statistics::UsedRecords{.used = {used, used - 10, used + 10}}};
  if (total) one.used->total = statistics::Estimate{*total, *total, *total};
  return one;
}

// A mean of a fifth of the records says so, in each form of the report, and of nearly all of them it warns of nothing.
TEST(ReleasedReport, SaysOfHowManyRecordsAMeanIs) {
  const std::string fact = "at most 410 of 2000 records have a number in 'x': check how its numbers are written ";
  const std::string warning = fact + "(<decimal>, <thousands>, <missing>)";
  const auto print_name = [](const std::string& name) { return "<" + name + ">"; };
  const auto few = released({mean({answer("", 400, 2000)}, false)});
  const auto text = report_text(few, "run.db, run 3", print_name);
  EXPECT_NE(text.find("interval     [1, 2] with confidence 0.9, over the noise alone\nused         400 in [390, 410] of 2000 records\n"
                      "WARNING      " +
                      warning + "\n"),
            std::string::npos)
      << text;
  const auto lines = csv(few, print_name);
  EXPECT_NE(lines.find(",left out,400,390,410,2000,\"" + warning + "\",,\n"), std::string::npos) << lines;
  EXPECT_NE(json_text(few).find(R"("used":{"interval":[390,410],"total":{"interval":[2000,2000],"value":2000},"value":400,"warning":")" +
                                fact + "(decimal, thousands, missing)\"}"),
            std::string::npos)
      << json_text(few);
  for (const auto& enough : {answer("", 1790, 2000), answer("", 400, std::nullopt)}) {
    const auto one = released({mean({enough}, false)});
    EXPECT_EQ(report_text(one, "").find("WARNING"), std::string::npos);
    EXPECT_EQ(json_text(one).find("warning"), std::string::npos);
    EXPECT_TRUE(warnings_of(one).empty());
  }
  // Of groups there is a column, and one line for all that warn.
  const auto groups = released({mean({answer("a", 5, 5), answer("b\n", 5, 900), answer("c", 5, 900)}, true), median("y")});
  EXPECT_EQ(warnings_of(groups).size(), 1U);
  EXPECT_EQ(warnings_of(groups).front().find("group b : at most 15 of 900 records have a number in 'x'"), 0U)
      << warnings_of(groups).front();
  EXPECT_NE(warnings_of(groups).front().find("; likewise 1 more"), std::string::npos);
  const auto table = report_text(groups, "");
  EXPECT_NE(table.find("interval                             used                   noise\n"), std::string::npos) << table;
  EXPECT_NE(table.find("5 in [-5, 15] of 900"), std::string::npos) << table;
}

TEST(ReleasedPicture, HasABarForEachNumber) {
  auto of_two = released({count_of({{"Rome", "a", {17, 12, infinity}}, {"Oslo", "", {-3, -8, 2}}}, true, true), median("x")});
  const auto picture = picture_of(of_two);
  EXPECT_EQ(picture.title, "Released with epsilon = 1 at delta = 1e-06 for one row, replace-one");
  EXPECT_EQ(picture.note, "Lines: intervals with confidence 0.9, each for itself, over the noise alone.");
  ASSERT_EQ(picture.panels.size(), 2U);
  ASSERT_EQ(picture.panels[0].bars.size(), 2U);
  EXPECT_EQ(picture.panels[0].across.text, "records");
  const auto& bar = picture.panels[0].bars.front();
  EXPECT_EQ(bar.name, "Rome, a");
  EXPECT_TRUE(bar.value == 17 && bar.lower == 12 && bar.upper == infinity && bar.has_interval);
  EXPECT_EQ(picture.panels[0].bars[1].name, "Oslo");
  EXPECT_EQ(picture.panels[1].title, "median(x), rank error: fewer than 2.5 records");
  EXPECT_FALSE(picture.panels[1].bars.front().has_interval) << "a rank error is no interval of the value";
  of_two.not_private = true;
  EXPECT_TRUE(picture_of(of_two).title.ends_with("; NOT PRIVATE: the noise was replayed from a known seed"));
}

}  // namespace
}  // namespace surety::released_report_test
