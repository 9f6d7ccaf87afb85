// `--algorithm auto`, the default: what it chooses, that it looks at public numbers alone, and what it refuses.
#include <support/surety_process.h>

#include <cmath>
#include <cstddef>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace surety_test::automatic_test {
namespace {

class Automatic : public CommandTest {
 protected:
  /// `rows` records of `features` columns and a label, where x0 is drawn from `seed`.
  [[nodiscard]] std::string data_of(int rows, int features, unsigned seed = 1) const {
    std::string text;
    for (int j = 0; j < features; ++j) text += "x" + std::to_string(j) + ",";
    text += "label\n";
    for (int i = 0; i < rows; ++i) {
      seed = seed * 1664525U + 1013904223U;
      for (int j = 0; j < features; ++j) text += std::to_string(j == 0 ? seed % 1000 : static_cast<unsigned>(i * j % 7)) + ",";
      text += std::to_string((seed >> 20U) % 2) + "\n";
    }
    const auto file = path("data" + std::to_string(rows) + "x" + std::to_string(features) + "_" + std::to_string(seed) + ".csv");
    write(file, text);
    return file;
  }
  /// Columns without bounds enter as asinh(x): for private ranges, whose columns count as ones with bounds, there is ranges_test.
  [[nodiscard]] Words words(const std::string& data, const Words& more = {}, const std::string& epsilon = "1") const {
    return Words{"train", data,       "--label",      "label>0", "--epsilon",        epsilon,    "--delta",
                 "1e-5",  "--ledger", path("run.db"), "--model", path("model.json"), "--ranges", "asinh"} +
           more;
  }
  /// The plan that follows, without the name of the data.
  [[nodiscard]] nlohmann::json plan(const std::string& data, const Words& more = {}, const std::string& epsilon = "1") const {
    const auto outcome = surety(words(data, more, epsilon) + Words{"--print-plan"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    auto json = outcome.json();
    json["options"].erase("data");
    return json;
  }
  [[nodiscard]] std::string chosen(const std::string& data, const Words& more = {}, const std::string& epsilon = "1") const {
    return plan(data, more, epsilon)["options"]["algorithm"].get<std::string>();
  }
};

// nu = 2 d / (n mu) with n four fifths of the file; mu is .268 at epsilon = 1, .142 at .5 and .033 at .1.
TEST_F(Automatic, ChoosesByTheNumbersOfTheRule) {
  const auto many = data_of(3000, 3);  // d = 4 with the constant
  const auto of_few_features = plan(many);
  EXPECT_EQ(of_few_features["options"]["algorithm"], "shaped-descent");
  EXPECT_EQ(of_few_features["options"]["steps"], 28);  // 10 (.1 / .0124)^(1/2)
  EXPECT_EQ(of_few_features["options"]["shrink"], "stein");
  EXPECT_FALSE(of_few_features["options"].contains("ridge"));
  EXPECT_EQ(plan(many, {}, "8")["options"]["steps"], 60);
  const auto wide = data_of(500, 16);
  EXPECT_EQ(plan(wide)["options"]["steps"], 10);
  EXPECT_EQ(plan(wide)["options"]["shrink"], "stein");
  EXPECT_EQ(chosen(wide, {}, "0.3"), "shaped-descent");  // nu = .95
  EXPECT_EQ(chosen(wide, {}, "0.2"), "constant");        // nu = 1.4
  // Under zero-out a record moves half as much.
  const auto wide_and_long = data_of(4000, 16);
  EXPECT_EQ(plan(wide_and_long, {}, "0.5")["options"]["steps"], 12);
  EXPECT_EQ(plan(wide_and_long, {"--adjacency", "zero-out"}, "0.5")["options"]["steps"], 16);
  EXPECT_EQ(chosen(many, {"--loss", "smoothed-hinge"}), "gradient-descent");
}

// One label in a hundred, ten columns with bounds. From the weights 0 the model is worse than the constant: `--start zero` fails this.
TEST_F(Automatic, OfARareClassIsBetterThanTheConstant) {
  std::mt19937_64 random{3};
  std::normal_distribution<double> normal;
  std::string text = "x0,x1,x2,x3,x4,x5,x6,x7,x8,x9,label\n";
  for (int i = 0; i < 20'000; ++i) {
    double score = -5.2;
    for (int j = 0; j < 10; ++j) {
      const double x = normal(random);
      score += (j < 5 ? 0.5 : -0.3) * x;
      text += fmt::format("{:.4f},", x);
    }
    text += std::generate_canonical<double, 53>(random) < 1 / (1 + std::exp(-score)) ? "1\n" : "0\n";
  }
  write(path("rare.csv"), text);
  Words bounds;
  for (int j = 0; j < 10; ++j) bounds = bounds + Words{"--bounds", fmt::format("x{}=-3,3", j)};
  double model = 0;
  double constant = 0;
  for (const char* seed : {"1", "2", "3"}) {
    const auto trained = surety(words(path("rare.csv"), bounds + Words{"--json", "--replay-seed", seed}));
    ASSERT_EQ(trained.code, 0) << trained.err;
    const auto loss = trained.json()["held_out_scores_not_private"]["log_loss"];
    model += loss["model"].get<double>();
    constant += loss["constant"].get<double>();
  }
  EXPECT_LT(model, constant);
}

// The same for algorithms that are named: their options follow from n = 2400, d = 4 and mu = .268, and from no record.
TEST_F(Automatic, OptionsOfNamedAlgorithmsFollowFromPublicNumbers) {
  const auto data = data_of(3000, 3);
  const Words descent{"--algorithm", "gradient-descent"};
  const auto options = plan(data, descent)["options"];
  EXPECT_EQ(options["steps"], 64);
  EXPECT_EQ(options["regularization"], 0);
  EXPECT_EQ(plan(data_of(3000, 3, 77), descent)["options"], options);
  EXPECT_EQ(plan(data, descent, "8")["options"]["steps"], 400);
  EXPECT_EQ(plan(data, descent + Words{"--adjacency", "zero-out"})["options"]["steps"], 129);
  EXPECT_EQ(plan(data, descent + Words{"--held-out", "0"})["options"]["steps"], 80);
  const auto said = plan(data, descent + Words{"--steps", "7", "--regularization", "0.25"})["options"];
  EXPECT_EQ(said["steps"], 7);
  EXPECT_EQ(said["regularization"], 0.25);
  // A number of records that is private, and records that can be read once, say nothing: the fixed defaults hold.
  const Words added{"--adjacency", "add-or-remove-one", "--public-count", "2400"};
  EXPECT_FALSE(plan("-", descent)["options"].contains("steps"));
  EXPECT_EQ(plan(data, descent + added + Words{"--held-out", "0"})["options"]["steps"], 129);
  EXPECT_FALSE(plan(data, descent + Words{"--loss", "squared", "--label-bound", "1", "--radius", "1"})["options"].contains("steps"));
  // What is printed is what runs, and the report says what was chosen.
  const auto text = surety(words(data, descent) + Words{"--print-plan"}).out;
  write(path("plan.json"), text);
  const auto ran = surety({"train", "--plan", path("plan.json"), "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto direct = surety(words(data, descent) + Words{"--overwrite", "--json"}).json();
  EXPECT_EQ(ran.json()["event"], direct["event"]);
  EXPECT_EQ(direct["chosen"], "gradient-descent steps 64 regularization 0: 2400 records, 4 features, mu = 0.268");
  EXPECT_FALSE(ran.json().contains("chosen"));
}

// d = 2 + 1 of linear terms, 2 (1 + knots) + 1 of additive ones; nu of the latter is .059 for 2400 records at epsilon 1, and .48 at .1.
TEST_F(Automatic, TakesAdditiveTermsOfColumnsWithBoundsWhereNoiseIsSmall) {
  const auto data = data_of(3000, 2);
  const Words bounds{"--bounds", "x0=0,1000", "--bounds", "x1=0,6"};
  const auto additive = plan(data, bounds)["options"];
  EXPECT_EQ(additive["algorithm"], "shaped-descent");
  EXPECT_EQ(additive["terms"], "additive");
  EXPECT_EQ(additive["steps"], 13);  // 10 (.1 / .059)^(1/2)
  EXPECT_EQ(plan(data, bounds + Words{"--terms", "auto"})["options"], additive);
  EXPECT_FALSE(plan(data, bounds, "0.1")["options"].contains("terms"));
  EXPECT_EQ(plan(data, bounds + Words{"--terms", "linear"})["options"]["terms"], "linear");
  EXPECT_EQ(plan(data, bounds + Words{"--terms", "additive"}, "0.1")["options"]["terms"], "additive") << "who says it gets it";
  EXPECT_FALSE(plan(data)["options"].contains("terms")) << "no column has bounds";
  EXPECT_FALSE(plan(data, bounds + Words{"--algorithm", "shaped-descent"})["options"].contains("terms"));
}

// On both sides of the limit of nu, which is of all features that there are then: 28.
TEST_F(Automatic, TakesAdditiveTermsOfOtherLossesWhereNoiseIsSmaller) {
  const Words three{"--bounds", "x0=0,1000", "--bounds", "x1=0,6", "--bounds", "x2=0,6"};
  const auto options_of = [&](const Words& own, const std::string& label, const std::string& epsilon) {
    auto asked = words(data_of(3000, 3), three + own + Words{"--print-plan"}, epsilon);
    asked[3] = label;
    const auto outcome = surety(asked);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.json()["options"];
  };
  const Words squared{"--loss", "squared", "--label-bound", "2"};
  const auto curves = options_of(squared, "label", "8");  // nu = .014
  EXPECT_EQ(curves["terms"], "additive");
  EXPECT_EQ(curves["algorithm"], "shaped-descent");
  EXPECT_EQ(curves["rows"], "scaled") << "4 linear features, which are few, though they are 28";
  EXPECT_FALSE(curves.contains("clip")) << "which released residuals choose";
  EXPECT_FALSE(options_of(squared, "label", "7").contains("terms")) << "nu = .016";
  EXPECT_EQ(options_of(squared + Words{"--terms", "linear"}, "label", "8")["algorithm"], "shaped-descent");

  const Words classes{"--classes", "0,1,2"};
  EXPECT_EQ(options_of(classes, "label", "4")["terms"], "additive") << "nu = .025";
  EXPECT_EQ(options_of(classes, "label", "4")["classes-by"], "softmax");
  EXPECT_FALSE(options_of(classes, "label", "3").contains("terms")) << "nu = .033";
  EXPECT_EQ(options_of(classes, "label", "4")["shrink"], "stein") << "which chooses among ridges";
  EXPECT_FALSE(options_of(classes, "label", "4").contains("ridge"));
  const auto of_few_records = [&](int rows, int features) {
    Words said{"--classes", "0,1,2", "--terms", "additive", "--print-plan"};
    for (int j = 0; j < features; ++j) said = said + Words{"--bounds", "x" + std::to_string(j) + "=0,1000"};
    auto asked = words(data_of(rows, features), said, "8");
    asked[3] = "label";
    return surety(asked).json()["options"];
  };
  EXPECT_EQ(of_few_records(2449, 3)["shrink"], "stein");
  EXPECT_EQ(of_few_records(2000, 4)["steps"], 20);
  EXPECT_EQ(of_few_records(4000, 4)["steps"], 30);
  EXPECT_EQ(of_few_records(600, 30)["shrink"], "stein") << "31 linear features";
  // Where few records had a larger ridge, curves begin earlier.
  const auto terms_of = [&](int rows, const std::string& epsilon) {
    Words said{"--classes", "0,1,2", "--print-plan"};
    for (int j = 0; j < 3; ++j) said = said + Words{"--bounds", "x" + std::to_string(j) + "=0,1000"};
    auto asked = words(data_of(rows, 3), said, epsilon);
    asked[3] = "label";
    return surety(asked).json()["options"].value("terms", "linear");
  };
  EXPECT_EQ(terms_of(2449, "0.51"), "additive") << "nu = .198";
  EXPECT_EQ(terms_of(2449, "0.5"), "linear") << "nu = .201";
  EXPECT_EQ(terms_of(2451, "0.51"), "linear") << "1961 are more than 70 of each feature";

  // Rows have one scale however many columns there are, also where curves were asked for by name.
  const auto rows_of = [&](int features) {
    Words given{"--loss", "squared", "--label-bound", "2", "--terms", "additive", "--print-plan"};
    for (int j = 0; j < features; ++j) given = given + Words{"--bounds", "x" + std::to_string(j) + "=0,1000"};
    auto command = words(data_of(4000, features), given, "8");
    command[3] = "label";
    return surety(command).json()["options"].value("rows", "unit");
  };
  EXPECT_EQ(rows_of(3), "scaled");
  EXPECT_EQ(rows_of(26), "scaled");

  const Words owners{"--unit", "x1", "--most", "2", "--records", "3000"};
  EXPECT_FALSE(options_of(owners, "label>0", "8").contains("terms")) << "of owners no gain was seen";
}

// Little noise alone is not enough: 28 features want 336 records.
TEST_F(Automatic, TakesAdditiveTermsWhereThereAreRecordsForThem) {
  const Words three{"--bounds", "x0=0,1000", "--bounds", "x1=0,6", "--bounds", "x2=0,6"};
  EXPECT_EQ(plan(data_of(420, 3), three, "40")["options"]["terms"], "additive");
  EXPECT_FALSE(plan(data_of(418, 3), three, "40")["options"].contains("terms")) << "334 are trained on";
  // And three for each class: 420 of five.
  const auto of_classes = [&](int rows) {
    auto asked = words(data_of(rows, 3), three + Words{"--classes", "0,1,2,3,4", "--print-plan"}, "80");
    asked[3] = "label";
    return surety(asked).json()["options"].value("terms", "auto");
  };
  EXPECT_EQ(of_classes(525), "additive");
  EXPECT_EQ(of_classes(523), "auto") << "418 are trained on";
}

// No threshold of the budget changes the run at once, and the budget alone, without the number of records, says nothing.
TEST_F(Automatic, TakesMoreStepsAsNoiseFalls) {
  const auto data = data_of(1000, 5);
  std::optional<int> before;
  for (double epsilon = 0.125; epsilon <= 8; epsilon *= 1.12) {
    const auto options = plan(data, {}, std::to_string(epsilon))["options"];
    ASSERT_EQ(options["algorithm"], "shaped-descent") << epsilon;
    const int steps = options["steps"].get<int>();
    if (before) {
      EXPECT_TRUE(*before <= steps && steps <= *before + 4) << "from " << *before << " to " << steps << " at " << epsilon;
    }
    before = steps;
  }
  // mu is .142 and .268 for these, and n mu nearly one number.
  EXPECT_EQ(plan(data_of(1887, 5), {}, "0.5")["options"]["steps"], plan(data, {}, "1")["options"]["steps"]);
}

// d <= 15 and d > 15, on both sides of each threshold of nu.
TEST_F(Automatic, ChoosesForSquaredLossByTheNumbersOfTheRule) {
  const auto options_of = [&](const std::string& data, const std::string& epsilon, const Words& more = {}) {
    auto squared = words(data, Words{"--loss", "squared", "--label-bound", "2", "--print-plan"} + more, epsilon);
    squared[3] = "label";
    const auto outcome = surety(squared);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.json()["options"];
  };
  const auto few = data_of(3000, 3);
  EXPECT_EQ(options_of(few, "30")["algorithm"], "sufficient-statistics");  // nu = .0007
  const auto shaped = options_of(few, "8");                                // .002
  EXPECT_EQ(shaped["algorithm"], "shaped-descent");
  EXPECT_FALSE(shaped.contains("steps") || shaped.contains("clip"));
  EXPECT_EQ(options_of(data_of(500, 3), "0.5")["algorithm"], "shaped-descent");  // .14
  EXPECT_EQ(options_of(data_of(500, 3), "0.1")["algorithm"], "constant");        // .6
  const auto many = data_of(4000, 16);
  EXPECT_EQ(options_of(many, "4")["algorithm"], "shaped-descent");
  // Where every column has bounds or categories, rows of one scale.
  const auto bounded = [](int features) {
    Words options{"--terms", "linear"};
    for (int j = 0; j < features; ++j) options = options + Words{"--bounds", "x" + std::to_string(j) + "=0,1000"};
    return options;
  };
  EXPECT_EQ(options_of(few, "30", bounded(3))["algorithm"], "sufficient-statistics");
  EXPECT_EQ(options_of(few, "30", bounded(3))["rows"], "scaled");
  EXPECT_EQ(options_of(few, "1", bounded(3))["rows"], "scaled");
  EXPECT_EQ(options_of(many, "4", bounded(16))["rows"], "scaled");
  EXPECT_FALSE(options_of(few, "4", bounded(2)).contains("rows")) << "a column has no bounds";
  EXPECT_EQ(options_of(few, "4", bounded(2) + Words{"--categories", "x2=0,1,2"})["rows"], "scaled");
  EXPECT_EQ(options_of(few, "4", bounded(3) + Words{"--rows", "unit"})["rows"], "unit");
  EXPECT_EQ(options_of(data_of(4000, 25), "4", bounded(25))["rows"], "scaled") << "26 features";
  // Nothing is divided by their number, so none is said.
  const auto adding = options_of(few, "30", {"--adjacency", "add-or-remove-one", "--records", "3000"});
  EXPECT_EQ(adding["algorithm"], "sufficient-statistics");
}

TEST_F(Automatic, SeesNothingOfRecordsButTheirPublicNumber) {
  const auto one = plan(data_of(400, 3, 1));
  EXPECT_EQ(plan(data_of(400, 3, 99)), one);
  // Rows of other kinds: longer, damaged, empty.
  const auto file = data_of(400, 3, 5);
  auto text = contents(file);
  text.replace(text.find('\n') + 1, 3, "1e9");
  text.insert(text.size() - 1, "junk");
  write(file, text);
  EXPECT_EQ(plan(file), one);
  // Where the number of records is private, it does not see that either.
  const Words adding{"--adjacency", "add-or-remove-one", "--records", "400"};
  EXPECT_EQ(plan(data_of(401, 3, 7), adding), plan(data_of(399, 3, 1), adding));
  EXPECT_EQ(plan(data_of(400, 3), adding)["options"]["public-count"], 320);
}

TEST_F(Automatic, SaysItsChoiceAndIsTheRunThatItNames) {
  const auto data = data_of(600, 3);
  const Words replay{"--replay-seed", "4"};
  const auto people = surety(words(data, replay));
  EXPECT_NE(people.out.find("chosen       shaped-descent --steps 13 --shrink stein"), std::string::npos) << people.out;
  EXPECT_NE(people.out.find("480 records, 4 features, nu = 0.0"), std::string::npos) << people.out;
  const auto model = contents(path("model.json"));
  const auto said = plan(data);
  const auto json = surety(words(data, replay + Words{"--json", "--algorithm", "auto"})).json();
  EXPECT_EQ(json["algorithm"], "shaped-descent");
  EXPECT_EQ(json["chosen"].get<std::string>().substr(0, 24), "shaped-descent steps 13 ");
  EXPECT_EQ(contents(path("model.json")), model);
  EXPECT_EQ(surety(words(data, replay + Words{"--algorithm", "shaped-descent", "--steps", "13", "--start", "share", "--shrink",
                                              said["options"]["shrink"].get<std::string>()}))
                .code,
            0);
  EXPECT_EQ(contents(path("model.json")), model);
}

TEST_F(Automatic, AnOptionThatOneAlgorithmAloneKnowsChoosesIt) {
  const auto data = data_of(600, 3);
  EXPECT_EQ(chosen(data, {"--microbatch", "2", "--records", "600", "--batch-size", "20"}), "dp-sgd");
  EXPECT_EQ(chosen(data, {"--geometry", "l1", "--radius", "2"}), "mirror-descent");
  EXPECT_EQ(plan(data, {"--steps", "7"})["options"]["steps"], 7);  // what was chosen knows it, too
  // It needs what it needs itself.
  const Words adding{"--adjacency", "add-or-remove-one", "--geometry", "l1", "--radius", "2"};
  EXPECT_EQ(chosen(data, adding + Words{"--public-count", "480"}), "mirror-descent");
  expect_refused_untouched(words(data, adding), 2, {"--public-count is missing"});
  // Where the rule's choice does not know an option, its next one that does is taken.
  EXPECT_EQ(chosen(data, {"--iterate", "average"}), "accelerated-gradient-descent");
  const Words squared{"--loss", "squared", "--label-bound", "1"};
  EXPECT_EQ(chosen(data_of(3000, 3), squared, "30"), "sufficient-statistics");
  const auto shaped = plan(data_of(3000, 3), squared + Words{"--steps", "7"}, "30")["options"];
  EXPECT_EQ(shaped["algorithm"], "shaped-descent");
  EXPECT_EQ(shaped["steps"], 7);
  EXPECT_NE(surety(words(data, {"--iterate", "average"})).out.find("; shaped-descent does not know all of the options"), std::string::npos);
  expect_refused_untouched(words(data, {"--epochs", "2", "--records", "600"}), 2,
                           {"--algorithm is missing: auto chose shaped-descent", "dp-sgd"});
  expect_refused_untouched(words(data, {"--microbatch", "2", "--geometry", "l1"}), 2, {"--algorithm is missing: none knows all"});
}

TEST_F(Automatic, RefusesWhereANumberIsNotPublic) {
  const auto data = data_of(600, 3);
  expect_refused_untouched(words(data, {"--adjacency", "add-or-remove-one"}), 2, {"--records is missing", "auto"});
  expect_refused_untouched(words(data, {"--unit", "x0", "--most", "3"}), 2, {"--records is missing", "units"});
  expect_refused_untouched(words("-"), 2, {"data file is -", "auto"});
  auto pure = words(data);
  pure[7] = "0";
  expect_refused_untouched(pure + Words{"--loss", "hinge"}, 6,
                           {"--algorithm auto trains hinge loss with Gaussian noise alone", "--loss smoothed-hinge"});
  expect_refused_untouched(words(data, {"--records", "599"}), 3, {"has 600 records, must have the 599 of --records"});
  expect_refused_untouched(words(data, {"--held-out", "1"}), 2, {"--held-out is 1"});
  expect_refused_untouched(words(data, {"--loss", "squared"}), 2, {"--label-bound is missing"});
}

TEST_F(Automatic, OwnersOfSeveralRowsHaveATheorem) {
  const auto data = data_of(600, 3);
  const Words owners{"--unit", "x0", "--most", "3", "--records", "450"};
  const auto options = plan(data, owners)["options"];  // nu = .06
  EXPECT_EQ(options["algorithm"], "shaped-descent");
  EXPECT_EQ(options["steps"], 15);          // of nu / 3^(1/4)
  EXPECT_EQ(options["clip-share"], 0.173);  // .3 / sqrt 3
  EXPECT_EQ(options["ridge"], 0.3);
  EXPECT_EQ(plan(data, owners + Words{"--adjacency", "add-or-remove-one"}, "0.25")["options"]["public-count"],
            360);  // of owners that are trained on
  EXPECT_EQ(plan(data, owners, "0.1")["options"]["steps"], 10);
  EXPECT_EQ(chosen(data, owners, "0.02"), "constant");
  const auto squared = plan(data, owners + Words{"--loss", "squared", "--label-bound", "2"})["options"];
  EXPECT_EQ(squared["algorithm"], "shaped-descent");
  EXPECT_EQ(squared["clip-share"], 0.577);  // 1 / sqrt 3
  EXPECT_EQ(plan(data, owners + Words{"--loss", "squared", "--label-bound", "2"}, "0.02")["options"]["algorithm"], "constant");
}

// A clip of derivatives that is a fixed part of the label's bound predicts .036 here, the median's side of the mean.
TEST_F(Automatic, SquaredLossPredictsTheMeanOfRareOnes) {
  constexpr std::size_t people = 50'000;
  std::mt19937_64 random{17};
  std::uniform_real_distribution<double> uniform{-1, 1};
  std::string text = "a,b,c,d,e,f,y\n";
  std::vector<double> labels;
  for (std::size_t i = 0; i < people; ++i) {
    double share = 0.1;
    for (int j = 0; j < 6; ++j) {
      const double x = uniform(random);
      share += (j < 3 ? 0.03 : -0.02) * x;
      text += fmt::format("{:.4f},", x);
    }
    labels.push_back((1 + uniform(random)) / 2 < share ? 1 : 0);
    text += labels.back() > 0 ? "1\n" : "0\n";
  }
  write(path("rare.csv"), text);
  Words command{
      "train", path("rare.csv"), "--label", "y",        "--loss",       "squared", "--label-bounds",   "0,1",           "--epsilon",
      "4",     "--delta",        "1e-5",    "--ledger", path("run.db"), "--model", path("model.json"), "--replay-seed", "5"};
  for (const std::string name : {"a", "b", "c", "d", "e", "f"}) command = command + Words{"--bounds", name + "=-1,1"};
  const auto trained = surety(command);
  ASSERT_EQ(trained.code, 0) << trained.err;
  std::istringstream predictions{surety({"predict", path("model.json"), path("rare.csv")}).out};
  double sum = 0;
  double squares = 0;
  double ones = 0;
  for (const double label : labels) {
    double prediction = 0;
    ASSERT_TRUE(predictions >> prediction);
    sum += prediction;
    squares += (label - prediction) * (label - prediction);
    ones += label;
  }
  const double mean = ones / people;
  EXPECT_NEAR(sum / people, mean, 0.005);
  EXPECT_LE(squares / people, 0.995 * mean * (1 - mean));
}

TEST_F(Automatic, SeveralClassesAreToldBySoftmax) {
  const auto options_of = [&](const std::string& data, const Words& more = {}, const std::string& epsilon = "1") {
    auto of_classes = words(data, Words{"--classes", "0,1,2", "--print-plan"} + more, epsilon);
    of_classes[3] = "label";
    const auto outcome = surety(of_classes);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.json()["options"];
  };
  const auto many = data_of(3000, 3);
  const auto options = options_of(many);
  EXPECT_EQ(options["algorithm"], "shaped-descent");
  EXPECT_EQ(options["classes-by"], "softmax");
  EXPECT_EQ(options["steps"], 28);  // nu = .0124
  EXPECT_EQ(options["ridge"], 0.1);
  EXPECT_EQ(options_of(many, {}, "8")["steps"], 60);
  const auto wide = data_of(500, 16);
  EXPECT_EQ(options_of(wide)["steps"], 20);
  EXPECT_EQ(options_of(wide, {}, "0.3")["algorithm"], "shaped-descent");  // nu = .95
  const auto shares = options_of(wide, {}, "0.2");                        // 1.4
  EXPECT_EQ(shares["algorithm"], "constant");
  EXPECT_EQ(shares["classes-by"], "softmax");
  EXPECT_EQ(options_of(wide, {"--class-weight", "0=2"}, "0.2")["algorithm"], "shaped-descent") << "which alone knows that";
  const auto wider = options_of(data_of(500, 31));
  EXPECT_EQ(wider["steps"], 30);
  EXPECT_EQ(wider["ridge"], 0.03);
  EXPECT_EQ(options_of(wide, {"--steps", "7", "--classes-by", "one-against-the-rest"})["steps"], 7);
  EXPECT_EQ(options_of(wide, {"--classes-by", "one-against-the-rest"})["classes-by"], "one-against-the-rest");
  // Where nobody may count them, and nobody says how many there are about.
  const Words counted_by_nobody{"--adjacency", "add-or-remove-one", "--public-count", "2400"};
  EXPECT_EQ(options_of(many, counted_by_nobody)["steps"], 20);
  const auto guessed = options_of(many, {"--adjacency", "add-or-remove-one", "--records", "3000"});
  EXPECT_EQ(guessed["public-count"], 2400);
  EXPECT_FALSE(guessed.contains("records"));
  EXPECT_FALSE(options_of(many, {"--algorithm", "shaped-descent"}).contains("classes-by"));
}

}  // namespace
}  // namespace surety_test::automatic_test
