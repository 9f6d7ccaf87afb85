// surety show: coefficients in units of the columns, or why there are none.
#include <support/surety_process.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace surety_test::show_test {
namespace {

class Show : public CommandTest {
 protected:
  /// Trains on 300 rows of age from 20 to 69, a town and whether y > 0, of which the classes are 0, 1, 2.
  void train(const Words& more) {
    std::string text = "age,town,y\n";
    for (int i = 0; i < 300; ++i) {
      text += std::to_string(20 + i * 7 % 50) + (i % 2 == 0 ? ",Rome," : ",Oslo,") + std::to_string(i * i % 3) + "\n";
    }
    write(path("data.csv"), text);
    const auto trained = surety(Words{"train", path("data.csv"), "--epsilon", "1", "--delta", "1e-5", "--ledger", path("run.db"), "--model",
                                      path("model.json"), "--categories", "town=Rome,Oslo"} +
                                more);
    ASSERT_EQ(trained.code, 0) << trained.err;
  }
  [[nodiscard]] nlohmann::json shown() const { return surety({"show", path("model.json"), "--json"}).json(); }
};

// Of every cell within its bounds, and of those beyond, which count as the bound.
TEST_F(Show, SaysWhatPredictAddsUp) {
  train({"--label", "y", "--loss", "squared", "--label-bounds", "0,4", "--bounds", "age=20,60", "--rows", "scaled"});
  const auto before = contents(path("run.db"));
  const auto json = shown();
  EXPECT_EQ(contents(path("run.db")), before) << "nothing is charged";
  EXPECT_TRUE(json["why_not_linear"].is_null());
  EXPECT_EQ(json["label_centre"], 2);
  ASSERT_EQ(json["coefficients"].size(), 2U);
  const auto& age = json["coefficients"][0];
  EXPECT_EQ(age["column"], "age");
  EXPECT_EQ(age["from"], 20);
  EXPECT_EQ(age["to"], 60);
  EXPECT_TRUE(age["category"].is_null());
  EXPECT_EQ(json["coefficients"][1]["category"], "Oslo against Rome");
  EXPECT_TRUE(json["coefficients"][1]["from"].is_null());
  write(path("new.csv"), "age,town\n30,Rome\n60,Oslo\n90,Oslo\n");
  const auto predicted = surety({"predict", path("model.json"), path("new.csv"), "--json"}).json()["predictions"];
  const auto value = [&](std::size_t k) { return json["coefficients"][k]["values"][0].get<double>(); };
  const auto start = json["intercepts"][0].get<double>();
  EXPECT_NEAR(predicted[0].get<double>(), start + 30 * value(0) - value(1), 1e-12);
  EXPECT_NEAR(predicted[1].get<double>(), start + 60 * value(0) + value(1), 1e-12);
  EXPECT_EQ(predicted[2], predicted[1]);

  const auto said = surety({"show", path("model.json")});
  EXPECT_EQ(said.code, 0) << said.err;
  for (const char* part :
       {"promise      epsilon = 1 at delta = 1e-05", "unit         one row", "of what is predicted", "town=Oslo against Rome"}) {
    EXPECT_NE(said.out.find(part), std::string::npos) << part << "\n" << said.out;
  }
  char number[40] = {};
  std::snprintf(number, sizeof number, "%.6g", value(0));
  EXPECT_NE(said.out.find("age                     20    60  " + std::string{number} + "\n"), std::string::npos) << said.out;
}

TEST_F(Show, HasACoefficientForEachClass) {
  train({"--label", "y", "--classes", "0,1,2", "--bounds", "age=20,60", "--rows", "scaled"});
  const auto json = shown();
  EXPECT_EQ(json["classes_by"], "softmax");
  EXPECT_EQ(json["intercepts"].size(), 3U);
  for (const auto& one : json["coefficients"]) {
    ASSERT_EQ(one["values"].size(), 3U);
    EXPECT_NEAR(one["values"][0].get<double>() + one["values"][1].get<double>() + one["values"][2].get<double>(), 0, 1e-9);
  }
  const auto said = surety({"show", path("model.json")}).out;
  EXPECT_NE(said.find("in whose softmax differences alone count"), std::string::npos) << said;
}

TEST_F(Show, SaysWhatIsNotLinear) {
  train({"--label", "y>0", "--bounds", "age=20,60"});
  EXPECT_TRUE(shown()["coefficients"].is_null());
  EXPECT_EQ(shown()["why_not_linear"], "each row is divided by its norm, where rows are not scaled");
  const auto said = surety({"show", path("model.json")});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_NE(said.out.find("coefficients none: each row is divided by its norm"), std::string::npos) << said.out;
}

TEST_F(Show, SaysWhichColumnIsNotLinear) {
  train({"--label", "y>0", "--rows", "scaled", "--ranges", "asinh"});
  EXPECT_EQ(shown()["why_not_linear"], "column 'age' has no bounds and enters as asinh(x)");
}

TEST_F(Show, HasAShapeForEachColumnOfAdditiveTerms) {
  train({"--label", "y>0", "--bounds", "age=20,60", "--terms", "additive"});
  const auto json = shown();
  EXPECT_EQ(json["why_not_linear"], "each row is divided by its norm, where rows are not scaled");
  ASSERT_EQ(json["shapes"].size(), 1U);
  const auto& shape = json["shapes"][0];
  EXPECT_EQ(shape["column"], "age");
  EXPECT_EQ(shape["at"].front(), 20);
  EXPECT_EQ(shape["at"].back(), 60);
  EXPECT_EQ(shape["values"][0].size(), shape["at"].size());
  EXPECT_TRUE(shape["missing"].is_null());
  EXPECT_EQ(json["pairs"], nlohmann::json::array());
  const auto said = surety({"show", path("model.json"), "--svg", path("shapes.svg")});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_NE(said.out.find("what a cell adds, before a row is divided by its norm"), std::string::npos) << said.out;
  const auto picture = contents(path("shapes.svg"));
  EXPECT_TRUE(picture.starts_with("<svg")) << picture;
  EXPECT_NE(picture.find("age"), std::string::npos);
  EXPECT_NE(picture.find("polyline"), std::string::npos);
  EXPECT_EQ(picture.find("polygon"), std::string::npos);
  EXPECT_NE(picture.find("No bands: this model holds no standard errors. sufficient-statistics gives them"), std::string::npos) << picture;
  EXPECT_EQ(surety({"show", path("model.json"), "--svg", path("shapes.svg")}).code, 0) << "a picture takes a picture's place";
  expect_refused({"show", path("model.json"), "--svg", path("model.json")}, 2, {"--svg"});
  train({"--label", "y>0", "--bounds", "age=20,60", "--terms", "linear"});
  expect_refused({"show", path("model.json"), "--svg", path("none.svg")}, 2, {"shapes are of models with additive terms"});
  EXPECT_FALSE(std::filesystem::exists(path("none.svg")));
}

TEST_F(Show, HasBandsWhereTheReleaseKnowsWhatWeightsMissTheirLawBy) {
  std::string text = "who,age,y\n";
  for (int i = 0; i < 4000; ++i) {
    const int age = 20 + i * 7 % 41;
    text += std::to_string(i / 2) + ',' + std::to_string(age) + ',' + std::to_string(age < 40 ? 1 : 3) + (i % 3 == 0 ? ".2\n" : "\n");
  }
  write(path("data.csv"), text);
  const auto train_on_it = [&](const Words& more, const std::string& epsilon = "8", const std::string& ledger = "bands.db") {
    return surety(Words{"train",           path("data.csv"),
                        "--label",         "y",
                        "--loss",          "squared",
                        "--label-bounds",  "0,4",
                        "--bounds",        "age=20,60",
                        "--epsilon",       epsilon,
                        "--delta",         "1e-5",
                        "--terms",         "additive",
                        "--algorithm",     "sufficient-statistics",
                        "--ledger",        path(ledger),
                        "--overwrite",     "--model",
                        path("model.json")} +
                  more);
  };
  const Words rows{"--drop", "who", "--rows", "scaled"};
  const auto trained = train_on_it(rows);
  ASSERT_EQ(trained.code, 0) << trained.err;
  const auto said = surety({"show", path("model.json"), "--svg", path("shapes.svg")});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_NE(said.out.find("column  importance  at       adds"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("about 95 % for each point alone, over noise and sampling, where records are independent"), std::string::npos)
      << said.out;
  const auto picture = contents(path("shapes.svg"));
  EXPECT_NE(picture.find("<polygon fill=\"#2166ac\" fill-opacity=\"0.25\""), std::string::npos) << picture;
  EXPECT_NE(picture.find("Bands: about 95 % for each point alone"), std::string::npos) << picture;
  const auto shape = shown()["shapes"][0];
  auto model = nlohmann::json::parse(contents(path("model.json")));
  ASSERT_EQ(model["standard_errors"].size(), 8U);
  ASSERT_EQ(shape["half_widths"].size(), 8U);
  for (std::size_t k = 0; k < 8; ++k) {
    EXPECT_NEAR(shape["half_widths"][k].get<double>(), 1.96 * model["standard_errors"][k].get<double>(), 1e-4);
    EXPECT_GT(shape["half_widths"][k], 0.001);
    EXPECT_LT(shape["half_widths"][k], 1);
  }
  model["standard_errors"][2] = -1;
  write(path("model.json"), model.dump());
  expect_refused({"show", path("model.json")}, 3, {"model: one of standard_errors is negative or not finite"});
  // Where there are no intervals for the population.
  const auto expect_none = [&](const Words& more, const std::string& epsilon, const std::string& ledger) {
    const auto others = train_on_it(more, epsilon, ledger);
    ASSERT_EQ(others.code, 0) << others.err;
    EXPECT_FALSE(nlohmann::json::parse(contents(path("model.json"))).contains("standard_errors"));
    EXPECT_FALSE(shown()["shapes"][0].contains("half_widths"));
  };
  expect_none(rows + Words{"--adjacency", "add-or-remove-one"}, "8", "another.db");
  expect_none({"--unit", "who", "--most", "2", "--rows", "scaled"}, "8", "owners.db");
  expect_none(rows, "0.01", "bands.db");
}

/// What `predict` says of one row.
class Effects : public Show {
 protected:
  [[nodiscard]] double predicted(const std::string& age, const std::string& town) const {
    write(path("one.csv"), "age,town\n" + age + "," + town + "\n");
    return surety({"predict", path("model.json"), path("one.csv"), "--json"}).json()["predictions"][0].get<double>();
  }
  [[nodiscard]] double odds(const std::string& age, const std::string& town) const {
    const double chance = predicted(age, town);
    return chance / (1 - chance);
  }
  [[nodiscard]] static nlohmann::json of(const nlohmann::json& shown, const std::string& column) {
    for (const auto& effect : shown["effects"]) {
      if (effect["column"] == column) return effect;
    }
    return {};
  }
  static void expect_interval(const nlohmann::json& interval, double one, double other) {
    ASSERT_EQ(interval.size(), 2U);
    EXPECT_NEAR(interval[0].get<double>(), std::min(one, other), 1e-9);
    EXPECT_NEAR(interval[1].get<double>(), std::max(one, other), 1e-9);
  }
};

// Rows of the least and the greatest norm have the bounds of the interval, so both are as tight as they can be.
TEST_F(Effects, OddsOfRowsOfUnitNormHoldForAllRows) {
  for (const char* const terms : {"linear", "additive"}) {
    train({"--label", "y>0", "--bounds", "age=20,60", "--terms", terms});
    const auto json = shown();
    const auto age = of(json, "age");
    const auto town = of(json, "town");
    EXPECT_TRUE(age["per_unit"].is_null());
    EXPECT_EQ(age["odds"].front(), nlohmann::json({1, 1}));
    EXPECT_EQ(town["categories"], nlohmann::json({"Rome", "Oslo"}));
    // Of another town both features of it are 0.
    const double least = odds("60", "Bern") / odds("20", "Bern");
    const double most = odds("60", "Rome") / odds("20", "Rome");
    EXPECT_GT(std::abs(least - most), 1e-4);
    expect_interval(age["odds"].back(), least, most);
    const double of_town_at_bound = odds("20", "Oslo") / odds("20", "Rome");
    if (std::string{terms} == "linear") {
      expect_interval(town["odds"][1], odds("40", "Oslo") / odds("40", "Rome"), of_town_at_bound);
    } else {
      EXPECT_TRUE(age["odds"][3].is_null()) << "the norm of the row changes with the cell";
      EXPECT_NEAR(town["odds"][1][of_town_at_bound > 1 ? 0 : 1].get<double>(), of_town_at_bound, 1e-9);
    }
    const auto said = surety({"show", path("model.json")});
    EXPECT_NE(said.out.find("importance  at"), std::string::npos) << said.out;
    EXPECT_NE(said.out.find(" to "), std::string::npos) << said.out;
  }
}

TEST_F(Effects, OddsOfScaledRowsAreThoseOfPredictions) {
  train({"--label", "y>0", "--bounds", "age=20,60", "--rows", "scaled", "--terms", "linear"});
  const auto json = shown();
  const auto age = of(json, "age");
  EXPECT_EQ(age["at"], nlohmann::json({20, 60}));
  EXPECT_NEAR(age["odds_per_unit"].get<double>(), odds("41", "Oslo") / odds("40", "Oslo"), 1e-9);
  EXPECT_NEAR(age["per_unit"][0].get<double>(), json["coefficients"][0]["values"][0].get<double>(), 1e-12);
  const double factor = odds("60", "Rome") / odds("20", "Rome");
  expect_interval(age["odds"][1], factor, factor);
  EXPECT_NEAR(age["importance"].get<double>(), std::abs(std::log(factor)), 1e-9);
  const double of_town = odds("33", "Oslo") / odds("33", "Rome");
  expect_interval(of(json, "town")["odds"][1], of_town, of_town);
  char row[80] = {};
  std::snprintf(row, sizeof row, "age=%.6g", age["odds_per_unit"].get<double>());
  const auto said = surety({"show", path("model.json")}).out;
  EXPECT_NE(said.find("x " + std::string{row + 4} + "\n"), std::string::npos) << said;
}

TEST_F(Effects, OfSquaredLossAreInUnitsOfTheLabelAndSortedByImportance) {
  train({"--label", "y", "--loss", "squared", "--label-bounds", "0,4", "--bounds", "age=20,60", "--rows", "scaled", "--terms", "additive"});
  const auto json = surety({"show", path("model.json"), "--json=2"}).json()["result"];
  const auto age = of(json, "age");
  EXPECT_TRUE(age["odds"].is_null());
  ASSERT_EQ(age["at"].size(), 8U);
  const double start = predicted("20", "Rome");
  double least = 0;
  double most = 0;
  for (std::size_t k = 0; k < 8; ++k) {
    const double change = predicted(age["at"][k].dump(), "Rome") - start;
    expect_interval(age["changes"][0][k], change, change);
    least = std::min(least, change);
    most = std::max(most, change);
  }
  EXPECT_NEAR(age["importance"].get<double>(), most - least, 1e-9);
  const auto& list = json["effects"];
  ASSERT_EQ(list.size(), 2U);
  EXPECT_GE(list[0]["importance"].get<double>(), list[1]["importance"].get<double>());
}

TEST_F(Show, RefusesWhatIsNoModel) {
  write(path("none.json"), "{}");
  expect_refused({"show", path("none.json")}, 3, {"not a model of surety"});
}

}  // namespace
}  // namespace surety_test::show_test
