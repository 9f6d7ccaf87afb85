// surety show: coefficients in units of the columns, or why there are none.
#include <support/surety_process.h>

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
  ASSERT_EQ(json["coefficients"].size(), 3U);
  const auto& age = json["coefficients"][0];
  EXPECT_EQ(age["column"], "age");
  EXPECT_EQ(age["from"], 20);
  EXPECT_EQ(age["to"], 60);
  EXPECT_TRUE(age["category"].is_null());
  EXPECT_EQ(json["coefficients"][2]["category"], "Oslo");
  EXPECT_TRUE(json["coefficients"][2]["from"].is_null());
  write(path("new.csv"), "age,town\n30,Rome\n60,Oslo\n90,Oslo\n");
  const auto predicted = surety({"predict", path("model.json"), path("new.csv"), "--json"}).json()["predictions"];
  const auto value = [&](std::size_t k) { return json["coefficients"][k]["values"][0].get<double>(); };
  const auto start = json["intercepts"][0].get<double>();
  EXPECT_NEAR(predicted[0].get<double>(), start + 30 * value(0) + value(1), 1e-12);
  EXPECT_NEAR(predicted[1].get<double>(), start + 60 * value(0) + value(2), 1e-12);
  EXPECT_EQ(predicted[2], predicted[1]);

  const auto said = surety({"show", path("model.json")});
  EXPECT_EQ(said.code, 0) << said.err;
  for (const char* part : {"promise      epsilon = 1 at delta = 1e-05", "unit         one row", "of what is predicted", "town=Oslo"}) {
    EXPECT_NE(said.out.find(part), std::string::npos) << part << "\n" << said.out;
  }
  char number[40] = {};
  std::snprintf(number, sizeof number, "%.6g", value(0));
  EXPECT_NE(said.out.find("age          20    60  " + std::string{number} + "\n"), std::string::npos) << said.out;
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
  train({"--label", "y>0", "--rows", "scaled"});
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
  EXPECT_NE(said.out.find("column  at       adds"), std::string::npos) << said.out;
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

TEST_F(Show, RefusesWhatIsNoModel) {
  write(path("none.json"), "{}");
  expect_refused({"show", path("none.json")}, 3, {"not a model of surety"});
}

}  // namespace
}  // namespace surety_test::show_test
