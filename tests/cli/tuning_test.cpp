// `surety train --tune`: what it says, what the ledger is charged, and what it refuses.
#include <chrono>
#include <thread>

#include <support/surety_process.h>

namespace surety_test::tuning_test {
namespace {

class Tuning : public CommandTest {
 protected:
  [[nodiscard]] Words words(const Words& more, int rows = 60) const {
    return Words{"train",   small_data(rows), "--label",  "label>0",      "--epsilon", "1",
                 "--delta", "1e-5",           "--ledger", path("run.db"), "--model",   path("model.json")} +
           more;
  }
  [[nodiscard]] nlohmann::json only_run() const { return surety({"ledger", "list", path("run.db"), "--json"}).json()["runs"].back(); }
};

TEST_F(Tuning, ChargesOneSearchAndSaysItsPrice) {
  const auto json = surety(words({"--tune", "4", "--json"})).json();
  const auto& tuning = json["tuning"];
  EXPECT_EQ(json["algorithm"], "shaped-descent");
  EXPECT_EQ(tuning["candidates"].size(), 6U);
  EXPECT_EQ(tuning["candidates"][1], "steps 10 clip-share 1");
  EXPECT_NE(std::find(tuning["candidates"].begin(), tuning["candidates"].end(), tuning["chosen"]), tuning["candidates"].end());
  EXPECT_EQ(json["event"].get<std::string>().substr(0, 35), "best_of(geometric_runs, 4, gaussian");
  EXPECT_EQ(tuning["runs"], "geometric_runs");
  EXPECT_EQ(tuning["expected_runs"], 4);
  EXPECT_NEAR(tuning["missed"].get<double>(), 5.0 / 9, 1e-12);
  // One run at epsilon 1 and delta 1e-5 has the noise multiplier 3.7304.
  EXPECT_NEAR(json["noise_multiplier"].get<double>() / 3.7304, tuning["noise_factor"].get<double>(), 1e-4);
  EXPECT_NEAR(tuning["noise_factor"].get<double>(), 1.2988, 1e-4);
  EXPECT_LT(tuning["epsilon_of_one_run"].get<double>(), 0.76);
  EXPECT_LE(json["epsilon"]["upper"].get<double>(), 1);
  const double noise = json["noise_multiplier"].get<double>();
  EXPECT_EQ(
      only_run()["charged"]["event"],
      (nlohmann::json{{"best_of", {{"runs", "geometric_runs"}, {"mean", 4.0}, {"event", {{"gaussian", {{"noise_multiplier", noise}}}}}}}}));
  EXPECT_EQ(only_run()["state"], "settled");
  EXPECT_EQ(surety({"audit", path("run.db"), "--delta", "1e-5"}).code, 0);
  const auto model = nlohmann::json::parse(contents(path("model.json")));
  EXPECT_NE(model.dump().find("geometric_runs"), std::string::npos);
}

TEST_F(Tuning, SplitsTheBudgetWhereThatIsCheaper) {
  const auto people = surety(words({"--tune", "100", "--algorithm", "gradient-descent", "--tune-over", "step-size=1,4"})).out;
  EXPECT_NE(people.find("of 2 of 2 candidates, each of which is missed with probability 0.00"), std::string::npos) << people;
  EXPECT_NE(people.find("noise is 1.414 times that of a run without a search"), std::string::npos) << people;
  EXPECT_NE(people.find("released     repeat(2, gaussian("), std::string::npos) << people;
  EXPECT_EQ(only_run()["charged"]["event"]["repeat"]["count"], 2);
}

// No filter knows the best of several runs, so a ledger with a budget holds a search of which all is paid.
TEST_F(Tuning, SplitsTheBudgetWhereALedgerHoldsNothingElse) {
  ASSERT_EQ(surety({"ledger", "create", path("run.db"), "--adjacency", "replace-one", "--epsilon", "2", "--delta", "1e-4"}).code, 0);
  const auto people = surety(words({"--tune", "4"}));
  EXPECT_EQ(people.code, 0) << people.err;
  EXPECT_NE(people.out.find("the ledger's budget holds no random number of runs"), std::string::npos) << people.out;
  EXPECT_NE(people.out.find("repeat(4, gaussian("), std::string::npos) << people.out;
  expect_refused(words({"--tune", "4", "--tune-by", "random"}), 2, {"best_of(geometric_runs"});
}

TEST_F(Tuning, SplitsTheBudgetWhereThatIsAskedFor) {
  ASSERT_EQ(surety({"ledger", "create", path("run.db"), "--adjacency", "replace-one", "--epsilon", "3", "--delta", "1e-4"}).code, 0);
  const Words search{"--tune", "4", "--algorithm", "gradient-descent", "--tune-over", "step-size=1,4,16,64,256"};
  expect_refused_untouched(words(search + Words{"--tune-by", "random"}), 2,
                           {"no filter of kind renyi is proved for best_of(geometric_runs, 4"});
  const auto json = surety(words(search + Words{"--tune-by", "split", "--json"})).json();
  EXPECT_EQ(json["tuning"]["count"], 4);
  EXPECT_NEAR(json["tuning"]["missed"].get<double>(), 0.2, 1e-12);
  EXPECT_NEAR(json["tuning"]["noise_factor"].get<double>(), 2, 1e-9);
}

// A run that is killed after its charge stays charged with the whole search.
TEST_F(Tuning, StaysChargedWhenItIsKilled) {
  const Words endless{"--tune", "1000", "--algorithm", "gradient-descent", "--tune-over", "steps=9000001,9000002"};
  Process process{words(endless)};
  const auto runs = [&] {
    const auto listed = Process{{"ledger", "list", path("run.db"), "--json"}}.finish();
    return listed.code == 0 ? listed.json()["runs"] : nlohmann::json::array();
  };
  for (int k = 0; runs().empty(); ++k) {
    ASSERT_LT(k, 6000) << "the charge does not come";
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  process.kill();
  EXPECT_EQ(process.finish().signal, SIGKILL);
  EXPECT_EQ(only_run()["charged"]["event"]["repeat"]["count"], 2);
  EXPECT_NE(only_run()["state"], "settled");
}

TEST_F(Tuning, TriesWhatIsNotSaid) {
  const auto plan = surety(words({"--tune", "100", "--steps", "7", "--print-plan"}));
  EXPECT_EQ(plan.json()["options"]["steps"], 7);
  EXPECT_FALSE(plan.json()["options"].contains("clip-share"));
  // A plan says a search, and runs as one.
  write(path("plan.json"), plan.out);
  const auto json = surety({"train", "--plan", path("plan.json"), "--json"}).json();
  EXPECT_EQ(json["tuning"]["candidates"], (nlohmann::json{"clip-share 0.3", "clip-share 1"}));
  EXPECT_EQ(json["tuning"]["runs"], "each");
}

TEST_F(Tuning, RefusesWhatHasNoCommonEvent) {
  const auto refused = [&](const Words& more, const Words& said) { expect_refused_untouched(words(more), 2, said); };
  const Words shaped{"--algorithm", "shaped-descent", "--tune", "4"};
  refused({"--algorithm", "dp-sgd", "--tune", "4"}, {"--tune is for shaped-descent, gradient-descent, ", "not for dp-sgd"});
  refused({"--algorithm", "constant", "--tune", "4"}, {"--tune is for shaped-descent, ", "not for constant"});
  refused(shaped + Words{"--tune-over", "held-out=.1,.2"}, {"names 'held-out', must name an option of the algorithm's own"});
  refused(shaped + Words{"--tune-over", "epsilon=1,2"}, {"names 'epsilon'"});
  refused(shaped + Words{"--tune-over", "threads=1,2"}, {"names 'threads', by which no model differs"});
  refused(shaped + Words{"--tune-over", "steps=5,10,5"}, {"has 5 of --steps twice"});
  refused(shaped + Words{"--tune-over", "public-count=1,2"}, {"names 'public-count'"});
  refused(shaped + Words{"--unit", "x", "--most", "2"}, {"--unit is not for"});
  auto of_classes = words(shaped + Words{"--classes", "0,1"});
  *std::find(of_classes.begin(), of_classes.end(), "label>0") = "label";
  expect_refused_untouched(of_classes, 2, {"--tune is for one model"});
  refused(
      {"--algorithm", "gradient-descent", "--tune", "4", "--tune-over", "steps=1,2", "--unit", "x", "--most", "2", "--public-count", "9"},
      {"--unit is not for --tune"});
  refused(shaped + Words{"--held-out", "0"}, {"--held-out is 0, must be greater than 0 with --tune"});
}

TEST_F(Tuning, RefusesWhatSaysNoCandidates) {
  const auto refused = [&](const Words& more, const Words& said) { expect_refused_untouched(words(more), 2, said); };
  const Words shaped{"--algorithm", "shaped-descent", "--tune", "4"};
  refused({"--tune", "1"}, {"--tune is '1'", "from 2 to 1000"});
  refused({"--algorithm", "gradient-descent", "--tune", "4"}, {"--tune-over is missing"});
  refused({"--algorithm", "gradient-descent", "--tune-over", "steps=1,2"}, {"--tune is missing"});
  refused({"--algorithm", "gradient-descent", "--tune-by", "split"}, {"--tune is missing"});
  refused(shaped + Words{"--tune-by", "luck"}, {"--tune-by is 'luck', must be cheapest or random or split"});
  refused(shaped + Words{"--tune-over", "steps"}, {"--tune-over is 'steps', must be option=value,value,..."});
  refused(shaped + Words{"--tune-over", "steps=10"}, {"has one combination"});
  refused(shaped + Words{"--tune-over", "steps=10,,20"}, {"has an empty value of --steps"});
  refused(shaped + Words{"--tune-over", "steps=10,x"}, {"--steps is 'x'"});
  refused(shaped + Words{"--tune-over", "steps=1,2", "--tune-over", "steps=3,4"}, {"names --steps twice"});
  refused(shaped + Words{"--tune-over", "steps=1,2", "--steps", "3"}, {"--steps is given, must not be beside --tune-over"});
  std::string many = "steps=1";
  for (int k = 2; k < 40; ++k) many += "," + std::to_string(k);
  refused(shaped + Words{"--tune-over", many, "--tune-over", "ridge" + many.substr(5)}, {"more than 1000 combinations"});
}

}  // namespace
}  // namespace surety_test::tuning_test
