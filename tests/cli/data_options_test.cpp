// How files of records are written, what their missing cells count as, and which of them count: through the commands that read them.
#include <support/surety_process.h>

#include <fmt/format.h>

namespace surety_test::data_options_test {
namespace {

class DataOptions : public CommandTest {
 protected:
  [[nodiscard]] Words release(const std::string& text, const std::string& query, const Words& more = {}) const {
    write(path("data"), text);
    return Words{"release", path("data"), "--query", query, "--epsilon", "1e6", "--ledger", path("run.db"), "--replay-seed", "1"} + more;
  }
  /// The released value, whose noise is far below 1.
  [[nodiscard]] double value(const std::string& text, const std::string& query, const Words& more = {}) const {
    const auto outcome = surety(release(text, query, more) + Words{"--json"});
    EXPECT_EQ(outcome.code, 0) << joined(more) << outcome.err;
    return outcome.code == 0 ? std::round(outcome.json()["value"].get<double>() * 100) / 100 : -1;
  }
  [[nodiscard]] Words train(const std::string& text, const std::string& label, const Words& more = {}) const {
    write(path("data"), text);
    return Words{"train",    path("data"),   "--label", label,     "--epsilon",     "1", "--delta",    "1e-5",
                 "--ledger", path("run.db"), "--model", path("m"), "--replay-seed", "3", "--held-out", "0"} +
           more;
  }
};

const std::string people = "age,class,smoker\n17,A,yes\n40,\"New York, NY\",no\n41,A,yes\n,B,\n\n";

TEST_F(DataOptions, Conditions) {
  const Words counts[] = {
      {"1", "smoker==yes and age>=40"}, {"1", "class=='New York, NY'"},  {"2", "class==\"New York, NY\" or not (age>=18)"},
      {"3", "class!=\"New York, NY\""}, {"0", "not (age<100)"},          {"2", "not smoker==no"},
      {"3", "age>0 or not age>0"},      {"1", "'age'==40 and class!=A"}, {"0", "age=='forty'"}};
  for (const auto& count : counts) {
    EXPECT_EQ(value(people, "count()", {"--where", count[1]}), std::stod(count[0])) << count[1];
  }
  for (const char* const wrong : {"age", "age=1", "age>x", "smoker==yes and", "(age>1", "town==New York", "age==1,5", "class==''"}) {
    expect_refused_untouched(release(people, "count()", {"--where", wrong}), 2, {"--where is", "must"});
  }
  expect_refused(release(people, "count()", {"--where", "town==x"}), 3, {"column 'town' is missing"});
}

TEST_F(DataOptions, LabelsOfTexts) {
  const auto outcome = surety(train(people, "smoker==yes", {"--drop", "class", "--json"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.json()["damaged_records_not_private"], 2) << "an empty cell is no text, and an empty line no record with one";
  const auto model = nlohmann::json::parse(contents(path("m")));
  EXPECT_EQ(model["surety_model"], 2);
  EXPECT_EQ(model["label"], "smoker==yes");
  // The same records with numbers make the same model, of the version that every Surety reads.
  const auto weights = model["weights"];
  ASSERT_EQ(surety(train("age,class,smoker\n17,A,1\n40,x,0\n41,A,1\n,B,\n\n", "smoker==1", {"--drop", "class"})).code, 0);
  const auto numbers = nlohmann::json::parse(contents(path("m")));
  EXPECT_EQ(numbers["weights"], weights);
  EXPECT_EQ(numbers["surety_model"], 1);
  expect_refused(train(people, "smoker<yes"), 2, {"label is 'smoker<yes'", "must have a number behind <"});
  expect_refused(train(people, "smoker==yes and age>1"), 2, {"label is"});
  expect_refused(train(people, "smoker==y\xffs", {"--drop", "class"}), 2, {"UTF-8"});
}

TEST_F(DataOptions, Delimiters) {
  std::string text = people;
  text.replace(text.find("\"New York, NY\""), 14, "New York, NY");
  const auto with = [&](const std::string& delimiter) {
    std::string result;
    for (std::size_t k = 0; k < text.size(); ++k) result += text[k] == ',' && text[k + 1] != ' ' ? delimiter : text.substr(k, 1);
    return result;
  };
  for (const auto& [delimiter, name] :
       std::vector<std::pair<std::string, std::string>>{{";", ";"}, {"\t", "tab"}, {"\t", "\t"}, {"|", "|"}}) {
    EXPECT_EQ(value(with(delimiter), "sum(age)", {"--bounds", "0,100", "--where", "class=='New York, NY'", "--delimiter", name}), 40)
        << name;
    ASSERT_EQ(surety(train(with(delimiter), "smoker==yes", {"--drop", "class", "--delimiter", name})).code, 0) << name;
    write(path("new"), "age" + delimiter + "x\n30" + delimiter + "1\n");
    EXPECT_EQ(surety({"predict", path("m"), path("new"), "--delimiter", name}).code, 0) << name;
  }
  // A decimal comma makes no number, whatever stands between cells.
  EXPECT_EQ(value("x;y\n1,5;1\n2;1\n", "sum(x)", {"--bounds", "0,9", "--delimiter", ";"}), 2);
  for (const std::string wrong : {"", "\"", "\n", "ab", "\xc3\xa9", "\xff"}) {
    expect_refused_untouched(release(people, "count()", {"--where", "age>1", "--delimiter", wrong}), 2, {"--delimiter is", "must be"});
  }
  const Words libsvm{"--format", "libsvm", "--features", "2"};
  auto words = train("1 1:1\n", "x", libsvm + Words{"--delimiter", ";"});
  words.erase(words.begin() + 2, words.begin() + 4);
  expect_refused(words, 2, {"--delimiter", "CSV"});
}

// The amounts 2.5 i, as spreadsheets write them: 1,600 of 2,000 have a comma for thousands.
std::string amounts_of_a_spreadsheet() {
  std::string text = "amount\n";
  for (int i = 0; i < 2000; ++i) {
    const double amount = 2.5 * i;
    text += amount < 1000
                ? fmt::format("{:.2f}\n", amount)
                : fmt::format("\"{},{:06.2f}\"\n", static_cast<int>(amount / 1000), amount - 1000 * static_cast<int>(amount / 1000));
  }
  return text;
}

TEST_F(DataOptions, ThousandsAreReadOrCountedAsLeftOut) {
  const auto text = amounts_of_a_spreadsheet();
  const auto report = [&](const Words& more) {
    const auto outcome = surety(release(text, "mean(amount)", Words{"--bounds", "0,5000", "--json"} + more));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.json();
  };
  const auto most = report({"--thousands", ","});
  EXPECT_NEAR(most["value"].get<double>(), 2498.75, 1);
  EXPECT_EQ(most["used"]["value"], 2000);
  EXPECT_FALSE(most["used"].contains("warning"));
  const auto few = report({});
  EXPECT_NEAR(few["value"].get<double>(), 498.75, 1);
  EXPECT_EQ(few["used"]["value"], 400);
  EXPECT_EQ(few["used"]["total"]["value"], 2000);
  EXPECT_LE(few["used"]["interval"][0].get<double>(), 400);
  EXPECT_GE(few["used"]["interval"][1].get<double>(), 400);
  EXPECT_EQ(few["used"]["warning"].get<std::string>().find("at most 40"), 0U) << few["used"];
  const auto printed = surety(release(text, "mean(amount)", {"--bounds", "0,5000"})).out;
  EXPECT_NE(printed.find("400 in ["), std::string::npos) << printed;
  EXPECT_NE(printed.find("WARNING"), std::string::npos) << printed;
  const auto csv = surety(release(text, "mean(amount)", {"--bounds", "0,5000", "--format", "csv"})).out;
  EXPECT_NE(csv.find(",used,used_lower,used_upper,total,warning,rank_error,rank_error_share\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",2000,\"at most"), std::string::npos) << csv;
  // No count is measured of a column that is promised to be complete, so none is printed.
  EXPECT_FALSE(report({"--complete", "amount"}).contains("used"));
  // What is public of the whole file says nothing of some of its records; a count beside the mean does.
  EXPECT_FALSE(report({"--where", "amount>=0"})["used"].contains("total"));
  const auto beside = report({"--where", "missing(amount) or amount>=0", "--query", "count()", "--query", "variance(amount)"});
  EXPECT_EQ(beside["queries"][0]["used"]["value"], 400);
  EXPECT_EQ(beside["queries"][0]["used"]["total"],
            (nlohmann::json{{"value", beside["queries"][1]["value"]}, {"interval", beside["queries"][1]["interval"]}}));
  EXPECT_EQ(beside["queries"][2]["used"]["value"], 400);
  // A comparison and a label read a number in the same way.
  EXPECT_EQ(value(text, "count()", {"--where", "amount>=2500", "--thousands", ","}), 1000);
  const auto points = "amount;y\n1.234,5;1\n12,5;0\n1.5;1\n";
  EXPECT_EQ(value(points, "sum(amount)", {"--bounds", "0,2000", "--delimiter", ";", "--decimal", ",", "--thousands", "."}), 1247);
  for (const std::string wrong : {"", ";", "x", "1", ",,", "\"", "\t"}) {
    expect_refused_untouched(release(people, "count()", {"--where", "age>1", "--thousands", wrong}), 2, {"--thousands must be", "got '"});
  }
  expect_refused_untouched(release(people, "count()", {"--where", "age>1", "--thousands", "."}), 2, {"--thousands must differ"});
}

TEST_F(DataOptions, FilesWithoutHeader) {
  const std::string text = "17,A\n40,B\n41,A\n";
  EXPECT_EQ(value(text, "sum(age)", {"--bounds", "0,100", "--columns", "age,class"}), 98);
  EXPECT_EQ(value(text, "sum(age)", {"--bounds", "0,100", "--columns", "age, \"a, b\"", "--where", "a, b==A"}), 58);
  ASSERT_EQ(surety(train(text, "class==A", {"--columns", "age,class"})).code, 0);
  EXPECT_EQ(surety({"predict", path("m"), path("data"), "--columns", "age,class"}).code, 0);
  for (const char* const wrong : {"", "a,,b", "a,b,a", "\"a"}) {
    expect_refused_untouched(release(text, "count()", {"--where", "a>1", "--columns", wrong}), 2, {"--columns"});
  }
  const auto outcome = surety(release(text, "count()", {"--where", "x>1", "--columns", "age,class"}));
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.err.find("column 'x' is missing, the names given are age, class"), std::string::npos);
  EXPECT_EQ(outcome.err.find("17"), std::string::npos) << "nothing of a record is shown";
}

TEST_F(DataOptions, WhatMissingCellsCountAs) {
  const std::string text = "age,town\n20,a\n,b\nx,\n1e999,b\n\n1\n";
  EXPECT_EQ(value(text, "sum(age)", {"--bounds", "0,100"}), 20);
  EXPECT_EQ(value(text, "sum(age)", {"--bounds", "0,100", "--missing", "age=40"}), 140) << "two damaged records stay zero";
  EXPECT_EQ(value(text, "sum(age)", {"--bounds", "0,30", "--missing", "age=40"}), 110) << "clamped as any number";
  EXPECT_EQ(value(text, "count()", {"--where", "age>=40", "--missing", "age=40"}), 3);
  EXPECT_EQ(value(text, "count()", {"--where", "not (age<40)", "--missing", "age=40"}), 3) << "a damaged record meets no condition";
  EXPECT_EQ(value(text, "count()", {"--where", "town=='not known'", "--missing", "town=not known"}), 1);
  const auto report = surety(release(text, "sum(age)", {"--bounds", "0,100", "--missing", "age=40", "--missing", "town=\"x, y\""}));
  EXPECT_NE(report.out.find("missing      age=40, town=x, y\n"), std::string::npos) << report.out;
  const auto json = surety(release(text, "sum(age)", {"--bounds", "0,100", "--missing", "age=40", "--json"})).json();
  EXPECT_EQ(json["missing"], (nlohmann::json{{"age", "40"}}));

  const std::string training = "age,town,y\n20,a,1\n,b,0\n30,,1\n\n";
  const Words how{"--categories", "town=a,b", "--bounds", "age=0,100", "--missing", "age=40", "--missing", "town=b"};
  const auto outcome = surety(train(training, "y==1", how + Words{"--json"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.json()["damaged_records_not_private"], 1);
  EXPECT_EQ(outcome.json()["missing"], (nlohmann::json{{"age", "40"}, {"town", "b"}}));
  const auto model = nlohmann::json::parse(contents(path("m")));
  EXPECT_EQ(model["surety_model"], 3);
  EXPECT_EQ(model["features"]["columns"][0]["missing"], "40");
  // The filled file says the same.
  const auto weights = model["weights"];
  write(path("filled"), "age,town\n40,b\n");
  write(path("empty"), "age,town\n,\n");
  EXPECT_EQ(surety({"predict", path("m"), path("empty")}).out, surety({"predict", path("m"), path("filled")}).out);
  ASSERT_EQ(surety(train("age,town,y\n20,a,1\n40,b,0\n30,b,1\n\n", "y==1", {"--categories", "town=a,b", "--bounds", "age=0,100"})).code, 0);
  EXPECT_EQ(nlohmann::json::parse(contents(path("m")))["weights"], weights);

  expect_refused(release(text, "sum(age)", {"--bounds", "0,1", "--missing", "age=forty"}), 2, {"'age'", "'forty'", "a number"});
  expect_refused(release(text, "sum(age)", {"--bounds", "0,1", "--missing", "height=1"}), 3, {"column 'height' is missing"});
  for (const char* const wrong : {"age", "age=", "=3", "age=1,2", "age= "}) {
    expect_refused_untouched(release(text, "sum(age)", {"--bounds", "0,1", "--missing", wrong}), 2, {"--missing is", "column=value"});
  }
  expect_refused(release(text, "sum(age)", {"--bounds", "0,1", "--missing", "age=1", "--missing", "age=2"}), 2, {"'age' twice"});
  std::filesystem::remove(path("run.db"));
  expect_refused(release(text, "sum(age)", {"--bounds", "0,1", "--missing", "town=1", "--unit", "town", "--most", "1"}), 2,
                 {"--empty-unit"});
}

TEST_F(DataOptions, RowsOfOneScale) {
  const std::string text = "age,town,y\n20,a,1\n40,b,0\n30,b,1\n";
  const Words mapped{"--bounds", "age=0,40",    "--categories",         "town=a,b", "--loss", "squared", "--label-bound",
                     "1",        "--algorithm", "sufficient-statistics"};
  ASSERT_EQ(surety(train(text, "y", mapped + Words{"--rows", "scaled"})).code, 0);
  const auto model = nlohmann::json::parse(contents(path("m")));
  const auto scale = model["features"]["row_scale"].get<double>();
  EXPECT_NEAR(scale, 1 / std::sqrt(3), 1e-15);  // two columns and the constant
  EXPECT_EQ(model["features"]["unit_norm"], false);
  // Age 30 goes to 0.5, town a to -1.
  write(path("new"), "age,town\n30,a\n");
  const auto weights = model["weights"].get<std::vector<double>>();
  EXPECT_NEAR(std::stod(surety({"predict", path("m"), path("new")}).out), scale * (0.5 * weights[0] - weights[1] + weights[2]), 1e-12);
  ASSERT_EQ(surety(train(text, "y", mapped + Words{"--rows", "unit"})).code, 0);
  EXPECT_FALSE(nlohmann::json::parse(contents(path("m")))["features"].contains("row_scale"));
  // Sparse text, whose numbers of features is said.
  write(path("sparse"), "1 1:0.5\n-1 3:1\n1 2:1\n");
  ASSERT_EQ(surety({"train",   path("sparse"), "--format",    "libsvm",           "--features", "3",        "--rows",
                    "scaled",  "--epsilon",    "1",           "--delta",          "1e-5",       "--ledger", path("run.db"),
                    "--model", path("m"),      "--algorithm", "gradient-descent", "--steps",    "2"})
                .code,
            0);
  EXPECT_EQ(nlohmann::json::parse(contents(path("m")))["features"]["row_scale"], 0.5);
  expect_refused(train(text, "y", {"--rows", "long"}), 2, {"--rows is 'long'", "unit"});
}

// A model's answer is what its weights say of the number, its hat functions, what is missing and the pair, however the record comes.
TEST_F(DataOptions, AStartAtTheShareIsOfTwoClasses) {
  const std::string text = "x,y\n1,0\n2,1\n3,2\n4,0\n5,1\n6,2\n";
  const Words start{"--algorithm", "shaped-descent", "--start", "share"};
  const std::string refused = "--start is share, must be zero unless the loss is logistic and the label has two classes";
  expect_refused(train(text, "y", start + Words{"--classes", "0,1,2"}), 2, {refused});
  expect_refused(train(text, "y", start + Words{"--loss", "squared", "--label-bound", "2"}), 2, {refused});
  const Words shrink{"--algorithm", "shaped-descent", "--shrink", "stein"};
  const std::string of_classes = "--shrink is stein, must be none unless the loss is logistic";
  expect_refused(train(text, "y", shrink + Words{"--loss", "squared", "--label-bound", "2"}), 2, {of_classes});
}

TEST_F(DataOptions, AdditiveTermsAndPairs) {
  std::string text = "age,size,y\n";
  for (int k = 0; k < 60; ++k) {
    text +=
        (k % 9 == 4 ? std::string{} : std::to_string(k % 8 * 10)) + "," + std::to_string(k % 5) + "," + std::to_string(k % 3 % 2) + "\n";
  }
  const Words mapped{"--bounds", "age=0,60", "--bounds", "size=-1,3", "--missing", "age=20",
                     "--terms",  "additive", "--pairs",  "size:age",  "--rows",    "scaled"};
  const Words learned{"--algorithm", "shaped-descent"};
  ASSERT_EQ(surety(train(text, "y>0", mapped + learned)).code, 0);
  const auto model = nlohmann::json::parse(contents(path("m")));
  EXPECT_EQ(model["surety_model"], 9);
  EXPECT_EQ(model["features"]["pairs"], nlohmann::json::parse(R"([["size", "age"]])"));
  const auto knots = model["features"]["columns"][0]["knots"].get<std::size_t>();
  EXPECT_NEAR(model["features"]["row_scale"].get<double>(), 1 / std::sqrt(7), 1e-15);  // two numbers, two of hats, missing, pair, constant
  const auto weights = model["weights"].get<std::vector<double>>();
  ASSERT_EQ(weights.size(), 2 * (1 + knots) + 1 + 1 + 1);
  const auto part = [&](double number, std::size_t first) {
    const double place = (number + 1) / 2 * static_cast<double>(knots - 1);
    double sum = number * weights[first];
    for (std::size_t k = 0; k < knots; ++k) sum += std::max(0.0, 1 - std::abs(place - static_cast<double>(k))) * weights[first + 1 + k];
    return sum;
  };
  const auto answer = [&](double age, bool is_missing, double size) {
    const double score = part(age, 0) + (is_missing ? weights[1 + knots] : 0) + part(size, 2 + knots) +
                         age * size * weights[weights.size() - 2] + weights.back();
    return 1 / (1 + std::exp(-score / std::sqrt(7)));
  };
  write(path("new"), "age,size\n45,0\n,2\n20,2\n200,-7\n60,-1\n");
  const auto predicted = surety({"predict", path("m"), path("new"), "--json"}).json()["predictions"];
  EXPECT_NEAR(predicted[0].get<double>(), answer(0.5, false, -0.5), 1e-12);
  EXPECT_NEAR(predicted[1].get<double>(), answer(-1.0 / 3, true, 0.5), 1e-12);
  EXPECT_NEAR(predicted[2].get<double>(), answer(-1.0 / 3, false, 0.5), 1e-12);
  EXPECT_EQ(predicted[3], predicted[4]) << "beyond its bounds a cell is what it is at them";
  // A record file holds the same rows, to the bit.
  const Words converted{"convert", path("data"), path("records"), "--label", "y>0"};
  ASSERT_EQ(surety(converted + mapped).code, 0);
  ASSERT_EQ(surety({"train", path("records"), "--format", "records", "--epsilon", "1", "--delta", "1e-5", "--ledger", path("run.db"),
                    "--model", path("m"), "--replay-seed", "3", "--held-out", "0", "--algorithm", "shaped-descent"})
                .code,
            0);
  EXPECT_EQ(nlohmann::json::parse(contents(path("m")))["weights"].get<std::vector<double>>(), weights);

  const auto refused = [&](const Words& more, const std::string& words) {
    expect_refused(train("age,size,y\n1,2,1\n", "y>0", Words{"--bounds", "age=0,60"} + learned + more), 2, {words});
  };
  refused({"--pairs", "age:age"}, "--pairs is 'age:age', must be of two columns");
  refused({"--pairs", "age"}, "--pairs is 'age', must be first:second");
  refused({"--pairs", "age:height"}, "pair 'age:height' names 'height', must name two features");
  refused({"--pairs", "age:size"}, "pair 'age:size' names 'size', must name two columns with bounds");
  refused({"--terms", "spline"}, "--terms is 'spline', must be linear or additive or auto");
  expect_refused(train("age,y\n1,1\n", "y>0", learned + Words{"--terms", "additive"}), 2,
                 {"terms are additive, must be linear where no column has bounds"});
  const auto without_columns = [&](const std::string& format, const Words& more) {
    return Words{"train",   path("records"), "--format", format,         "--epsilon", "1",
                 "--delta", "1e-5",          "--ledger", path("run.db"), "--model",   path("m")} +
           more;
  };
  expect_refused(without_columns("records", {"--terms", "additive"}), 2, {"--terms", "when the record file was converted"});
  expect_refused(without_columns("libsvm", {"--features", "3", "--terms", "additive"}), 2,
                 {"--terms additive, --pairs and --ranges are for CSV files"});
  expect_refused(without_columns("libsvm", {"--features", "3", "--pairs", "a:b"}), 2,
                 {"--terms additive, --pairs and --ranges are for CSV files"});
}

TEST_F(DataOptions, NamesWithEveryCharacter) {
  const std::string text = "\"a=b\",\"c, d\",y\n1,x,1\n2,z,0\n";
  const auto outcome = surety(train(text, "y==1", {"--bounds", "\"a=b\"=0,2", "--categories", "c, d=x,\"z\"", "--missing", "\"a=b\"=1"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto columns = nlohmann::json::parse(contents(path("m")))["features"]["columns"];
  EXPECT_EQ(columns[0]["name"], "a=b");
  EXPECT_EQ(columns[0]["map"]["bounds"], (nlohmann::json{0.0, 2.0}));
  EXPECT_EQ(columns[1]["map"]["categories"], (nlohmann::json{"x", "z"}));
}

// A quote that nobody closes, in the middle of 400 records: for every reader all others are what they were.
TEST_F(DataOptions, AQuoteThatNobodyClosesTakesInNoMoreLinesThanSaid) {
  const auto text = [](bool is_closed) {
    std::string records = "x,y\n";
    for (int k = 1; k <= 400; ++k) records += k == 200 ? (is_closed ? "\"1\",1\n" : "\"1,1\n") : "1," + std::to_string(k % 2) + "\n";
    return records;
  };
  const auto records = [&](bool is_closed, const Words& more) {
    const auto outcome = surety(release(text(is_closed), "sum(x)", Words{"--bounds", "0,1", "--json"} + more));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.json()["records"].get<int>();
  };
  EXPECT_EQ(records(true, {}), 400);
  EXPECT_EQ(records(false, {}), 400);
  EXPECT_EQ(records(false, {"--quoted-lines", "0"}), 400);
  EXPECT_EQ(records(false, {"--quoted-lines", "1000"}), 200);
  EXPECT_EQ(value(text(false), "sum(x)", {"--bounds", "0,1"}), 399);
  EXPECT_EQ(value(text(false), "count()", {"--where", "x==1"}), 399);
  std::filesystem::remove(path("run.db"));  // whose unit is a row
  EXPECT_EQ(value(text(false), "sum(x)", {"--bounds", "0,1", "--unit", "y", "--most", "1000"}), 399);
  std::filesystem::remove(path("run.db"));
  const auto damaged = [](const Outcome& outcome) {
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const auto json = outcome.json();
    return std::pair{json["training_records"].get<int>(), json["damaged_records_not_private"].get<int>()};
  };
  const Words json{"--algorithm", "gradient-descent", "--steps", "1", "--json"};
  EXPECT_EQ(damaged(surety(train(text(true), "y>0", json))), (std::pair{400, 0}));
  EXPECT_EQ(damaged(surety(train(text(false), "y>0", json))), (std::pair{400, 1}));
  EXPECT_EQ(damaged(surety(train(text(false), "y>0", json + Words{"--quoted-lines", "300"}))), (std::pair{200, 1}));
  const auto converted = surety({"convert", path("data"), path("records"), "--label", "y>0", "--json"});
  ASSERT_EQ(converted.code, 0) << converted.err;
  EXPECT_EQ(converted.json()["records_not_private"], 400);
  EXPECT_EQ(converted.json()["damaged_not_private"], 1);
  const auto predicted = Process{{"predict", path("m"), path("data"), "--json"}, {}}.finish();
  EXPECT_EQ(predicted.code, 3);
  EXPECT_EQ(predicted.json()["records"], 400);
  EXPECT_EQ(predicted.json()["damaged"], 1);
  EXPECT_NE(predicted.err.find("row 200 (line 201) has a quote that is never closed"), std::string::npos) << predicted.err;
  // In a file that says its form, and in its header.
  expect_refused(release(text(false), "sum(x)", {"--bounds", "0,1", "--form-is-public"}), 3, {"row 200 (line 201)", "never closed"});
  expect_refused(release("\"" + text(true), "sum(x)", {"--bounds", "0,1"}), 3, {"header (line 1)", "never closed"});
  for (const char* const wrong : {"-1", "1.5", "many"}) {
    expect_refused(release(text(true), "sum(x)", {"--bounds", "0,1", "--quoted-lines", wrong}), 2, {"--quoted-lines", "whole number"});
  }
}

}  // namespace
}  // namespace surety_test::data_options_test
