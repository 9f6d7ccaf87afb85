// Trainings with delta = 0 through the command: what the rule chooses, what is charged, what the report says, and what is refused.
#include <support/surety_process.h>

#include <algorithm>
#include <random>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace surety_test::pure_test {
namespace {

class Pure : public CommandTest {
 protected:
  /// Labels that follow from two of three columns, of owners with two rows each.
  [[nodiscard]] std::string data_of(int rows) const {
    std::mt19937_64 random{23};
    std::normal_distribution<double> normal;
    std::string text = "owner,a,b,c,cost,kind,y\n";
    for (int i = 0; i < rows; ++i) {
      const double a = normal(random);
      const double b = normal(random);
      const double c = normal(random);
      const double score = 2 * a - b + 0.5 * normal(random);
      text += fmt::format("{},{:.4f},{:.4f},{:.4f},{:.4f},{},{}\n", i / 2, a, b, c, score + 1,
                          score > 1    ? "x"
                          : score < -1 ? "z"
                                       : "w",
                          score > 0 ? 1 : 0);
    }
    const auto file = path("data" + std::to_string(rows) + ".csv");
    write(file, text);
    return file;
  }
  [[nodiscard]] Words words(const std::string& data, const std::string& label, const Words& more = {},
                            const std::string& epsilon = "1") const {
    return Words{"train",       data,       "--label", label,      "--epsilon",    epsilon,    "--adjacency",
                 "replace-one", "--delta",  "0",       "--ledger", path("run.db"), "--model",  path("model.json"),
                 "--json",      "--bounds", "a=-3,3",  "--bounds", "b=-3,3",       "--bounds", "c=-3,3"} +
           more;
  }
  [[nodiscard]] nlohmann::json trained(const Words& asked) const {
    const auto outcome = surety(asked);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.json();
  }
};

const Words of_owners_y{"--drop", "cost", "--drop", "kind"};
const Words of_y = of_owners_y + Words{"--drop", "owner"};
const Words of_cost{"--drop", "owner", "--drop", "y", "--drop", "kind", "--loss", "squared", "--label-bounds", "-8,10"};
const Words of_kind{"--drop", "owner", "--drop", "y", "--drop", "cost", "--classes", "x,w,z"};

TEST_F(Pure, ModelsOfEveryKindKeepTheirPromise) {
  const auto data = data_of(6000);
  struct Case {
    std::string label;
    Words more;
    const char* score;
  };
  for (const auto& [label, more, score] :
       {Case{"y>0", of_y, "log_loss"}, Case{"cost", of_cost, "mean_squared_error"}, Case{"kind", of_kind, "log_loss"}}) {
    const auto found = trained(words(data, label, more + Words{"--replay-seed", "3"}));
    EXPECT_EQ(found["algorithm"], "shaped-descent") << label;
    EXPECT_LE(found["epsilon"]["upper"], 1) << label;
    EXPECT_GE(found["epsilon"]["lower"], 0.999) << label;
    EXPECT_EQ(found["event"].get<std::string>().find("gaussian"), std::string::npos) << found["event"];
    EXPECT_TRUE(found["noise_multiplier"].is_null());
    EXPECT_GT(found["noise_scale"], 1);
    EXPECT_TRUE(found["held_out_score"]["name"].is_null()) << "no release pays for a score";
    const auto& scores = found["held_out_scores_not_private"][score];
    EXPECT_LT(scores["model"].get<double>(), 0.8 * scores["constant"].get<double>()) << label;
  }
}

TEST_F(Pure, AnAuditVerifiesThePromise) {
  static_cast<void>(trained(words(data_of(600), "y>0", of_y)));
  const auto audit = surety({"audit", path("run.db"), "--delta", "0"});
  EXPECT_EQ(audit.code, 0) << audit.out << audit.err;
  EXPECT_NE(audit.out.find("promise    epsilon = 1 at delta = 0: kept"), std::string::npos) << audit.out;
}

TEST_F(Pure, OwnersAndOtherAdjacencies) {
  const auto data = data_of(6000);
  const Words seed{"--replay-seed", "3"};
  const auto owners = trained(words(data, "y>0", of_owners_y + seed + Words{"--unit", "owner", "--most", "2", "--records", "3000"}));
  EXPECT_EQ(owners["algorithm"], "shaped-descent");
  EXPECT_LE(owners["epsilon"]["upper"], 1);
  EXPECT_LT(owners["held_out_scores_not_private"]["log_loss"]["model"].get<double>(),
            0.8 * owners["held_out_scores_not_private"]["log_loss"]["constant"].get<double>());
  for (const std::string adjacency : {"add-or-remove-one", "zero-out"}) {
    auto other = words(data, "y>0", of_y + seed + Words{"--records", "6000"});
    *std::find(other.begin(), other.end(), "replace-one") = adjacency;
    *std::find(other.begin(), other.end(), path("run.db")) = path(adjacency + ".db");
    EXPECT_LE(trained(other)["epsilon"]["upper"], 1) << adjacency;
  }
}

TEST_F(Pure, OfFewRecordsIsTheConstant) {
  const auto found = trained(words(data_of(60), "y>0", of_y, "0.1"));
  EXPECT_EQ(found["algorithm"], "constant");
  EXPECT_EQ(found["event"].get<std::string>().find("gaussian"), std::string::npos) << found["event"];
  EXPECT_LE(found["epsilon"]["upper"], 0.1);
}

TEST_F(Pure, RefusesWhatKeepsNoPromise) {
  const auto data = data_of(600);
  const auto refusal = [&](const Words& more) {
    const auto outcome = surety(words(data, "y>0", of_y + more));
    EXPECT_NE(outcome.code, 0);
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  };
  for (const Words& more : {Words{"--algorithm", "gradient-descent"}, Words{"--tune", "3", "--algorithm", "shaped-descent"}}) {
    EXPECT_NE(refusal(more).find("delta is 0, must be greater than 0 for "), std::string::npos) << refusal(more);
  }
  EXPECT_NE(
      refusal({"--algorithm", "shaped-descent", "--ranges", "private"}).find("need Gaussian noise, which keeps no promise at delta = 0"),
      std::string::npos);
  EXPECT_NE(refusal({"--loss", "hinge"}).find("keeps no promise at delta = 0; give --loss smoothed-hinge"), std::string::npos);
}

}  // namespace
}  // namespace surety_test::pure_test
