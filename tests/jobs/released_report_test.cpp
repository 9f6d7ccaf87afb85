// What is said of released statistics: the same numbers in lines, in CSV and in a picture, and no text that says more than its own.
#include <surety/jobs/release/released_report.h>

#include <gtest/gtest.h>

#include <limits>
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
                    .rank_error = 2.5,
                    .column = column,
                    .missing_cells = statistics::MissingCells::left_out,
                    .other_cells = "numbers are clamped to [0, 4]"},
          .missing_cells = "left out",
          .weight = 1,
          .event = pure(Epsilon{1}, Adjacency::replace_one),
          .answers = {{"", "", {2.25, 0, 0}}}};
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
  EXPECT_EQ(csv(released({count_of({{"=Rome", "a,b", {17, -infinity, infinity}}}, true, true), median("x")})),
            "query,group,cell,value,lower,upper,confidence,noise,noise_standard_deviation,not_private,missing_cells\n"
            "count(),'=Rome,\"a,b\",17,-inf,inf,0.9,laplace,1.5,false,\n"
            "median(x),,,2.25,,,0.9,exponential,,false,left out\n");
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
