// Ranges of columns without bounds that a training releases first: where the rule takes them, what the model and the report hold, and what is refused.
#include <support/surety_process.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace surety_test::ranges_test {
namespace {

class PrivateRanges : public CommandTest {
 protected:
  /// `rows` records of a year, an income, a share and a label that depends on the first two.
  [[nodiscard]] std::string data_of(int rows, const std::string& damaged = {}) const {
    std::mt19937_64 random{17};
    std::normal_distribution<double> normal;
    std::string text = "year,income,share,y\n";
    for (int i = 0; i < rows; ++i) {
      const double year = std::round(1990 + 6 * normal(random));
      const double income = std::exp(10 + normal(random));
      const bool is_one = (year - 1990) / 6 - std::log(income) + 10 + normal(random) > 0;
      text += fmt::format("{},{},{},{}\n", year, income, i % 11 / 10.0, is_one ? 1 : 0);
    }
    const auto file = path("data" + std::to_string(rows) + ".csv");
    write(file, text + damaged);
    return file;
  }
  [[nodiscard]] Words words(const std::string& data, const Words& more = {}, const std::string& epsilon = "1") const {
    return Words{"train",       data,      "--label", "y>0",      "--epsilon",    epsilon,   "--adjacency",
                 "replace-one", "--delta", "1e-5",    "--ledger", path("run.db"), "--model", path("model.json")} +
           more;
  }
  [[nodiscard]] nlohmann::json options(const Words& asked) const {
    const auto outcome = surety(asked + Words{"--print-plan"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.json()["options"];
  }
  [[nodiscard]] std::string refusal(const Words& asked) const {
    const auto outcome = surety(asked);
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    return outcome.err;
  }
};

TEST_F(PrivateRanges, AreTakenByTheRuleWhereCountsHaveLittleNoise) {
  EXPECT_EQ(options(words(data_of(2000)))["ranges"], "private");
  EXPECT_EQ(options(words(data_of(2000), {"--bounds", "year=1970,2010"}))["ranges"], "private") << "of the other columns";
  EXPECT_FALSE(options(words(data_of(150))).contains("ranges")) << "the noise of a count is more than .6 of 120 records";
  const Words known{"--bounds", "year=1970,2010", "--bounds", "income=0,200000", "--bounds", "share=0,1"};
  EXPECT_FALSE(options(words(data_of(2000), known)).contains("ranges"));
  EXPECT_EQ(options(words(data_of(2000), {"--ranges", "asinh"}))["ranges"], "asinh");
  EXPECT_FALSE(options(words(data_of(2000), {"--tune", "3"})).contains("ranges"));
  EXPECT_FALSE(options(words(data_of(2000), {"--unit", "share", "--most", "2", "--records", "11"})).contains("ranges"));
  EXPECT_FALSE(options(words(data_of(2000), {"--algorithm", "shaped-descent"})).contains("ranges")) << "only where the rule chooses";
}

TEST_F(PrivateRanges, StandInTheModelTheReportAndTheEvent) {
  const auto data = data_of(4000, "x,1,1,1\n,,,\n");
  const auto trained = surety(words(data, {"--json", "--bounds", "share=0,1", "--replay-seed", "4", "--missing", "year=1990"}, "2"));
  ASSERT_EQ(trained.code, 0) << trained.err;
  const auto report = trained.json();
  const auto& columns = report["ranges"]["columns"];
  ASSERT_EQ(columns.size(), 2U);
  EXPECT_EQ(columns[0]["column"], "year");
  EXPECT_EQ(columns[1]["column"], "income");
  EXPECT_GT(columns[0]["bounds"][0].get<double>(), 1970);
  EXPECT_LT(columns[0]["bounds"][1].get<double>(), 2010);
  EXPECT_GT(columns[1]["bounds"][0].get<double>(), 1000);
  EXPECT_LT(columns[1]["bounds"][1].get<double>(), 400000);
  const auto event = report["ranges"]["event"].get<std::string>();
  EXPECT_TRUE(event.starts_with("repeat(16, gaussian(")) << event;
  EXPECT_LE(report["epsilon"]["upper"].get<double>(), 2);

  const auto model = nlohmann::json::parse(contents(path("model.json")));
  const auto& maps = model["features"]["columns"];
  for (std::size_t k = 0; k < 2; ++k) {
    EXPECT_EQ(maps[k]["map"]["bounds"], columns[k]["bounds"]) << k;
  }
  EXPECT_EQ(maps[2]["map"]["bounds"], (nlohmann::json{0, 1}));
  const auto predicted = surety({"predict", path("model.json"), data_of(100)});
  EXPECT_EQ(predicted.code, 0) << predicted.err;
  const auto& scores = report["held_out_scores_not_private"]["log_loss"];
  EXPECT_LT(scores["model"].get<double>(), 0.8 * scores["constant"].get<double>());
}

TEST_F(PrivateRanges, OfTheConstantAreNotReleased) {
  const auto trained = surety(words(data_of(300), {"--json", "--algorithm", "constant", "--ranges", "private", "--replay-seed", "4"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_FALSE(trained.json().contains("ranges"));
  EXPECT_EQ(contents(path("model.json")).find("private-range"), std::string::npos);
}

TEST_F(PrivateRanges, AreRefusedWhereTheyCannotBeReleased) {
  const auto data = data_of(200);
  EXPECT_NE(refusal(words(data, {"--algorithm", "gossip", "--ranges", "private", "--records", "200", "--learners", "2"}))
                .find("gossip releases no ranges of columns; give --bounds, or one of the algorithms shaped-descent, "),
            std::string::npos);
  EXPECT_EQ(refusal(words(data, {"--algorithm", "shaped-descent", "--ranges", "private", "--tune", "3"})),
            "surety: error: cannot combine private ranges of columns with --tune; give --bounds\n");
  EXPECT_EQ(refusal(words(data, {"--algorithm", "shaped-descent", "--ranges", "private", "--unit", "share", "--most", "2"})),
            "surety: error: private ranges of columns are for records: with --unit they would count the rows of an owner; give --bounds\n");
  EXPECT_EQ(refusal(words(data, {"--algorithm", "gradient-descent", "--publish", "last", "--ranges", "private"})),
            "surety: error: gradient-descent releases no ranges of columns as it is planned; give --bounds\n");
  const Words known{"--bounds", "year=1970,2010", "--bounds", "income=0,200000", "--bounds", "share=0,1"};
  EXPECT_EQ(refusal(words(data, known + Words{"--algorithm", "shaped-descent", "--ranges", "private"})),
            "surety: error: --ranges is private, must be asinh or auto where every column has --bounds or --categories\n");
  EXPECT_EQ(refusal(words(data, {"--bounds", "year=private", "--bounds", "year=0,1"})),
            "surety: error: --bounds names column 'year' twice\n");
  EXPECT_EQ(refusal(words(data, {"--bounds", "year=private", "--categories", "year=1,2", "--algorithm", "shaped-descent"})),
            "surety: error: column 'year' has two roles, must have one of label, weight, dropped, bounds, categories\n");
  EXPECT_EQ(refusal({"convert", data, path("data.records"), "--label", "y>0", "--ranges", "private"}),
            "surety: error: private ranges of columns are for a training, which charges them; give --bounds\n");
}

}  // namespace
}  // namespace surety_test::ranges_test
