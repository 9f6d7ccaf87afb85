// Options that follow from public numbers: their values, that more budget never takes fewer steps, and that plans keep their fixed defaults.
#include <surety/jobs/automatic/rules.h>

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include <surety/jobs/train/written_plan.h>

namespace surety::rules_test {
namespace {

using namespace jobs;

TrainPlan plan_of(AlgorithmPlan own) {
  return {.target = {Epsilon{1}, Delta{1e-5}, Adjacency::replace_one}, .source = {}, .algorithm = std::move(own)};
}
/// N = 10,000, d = 25.
const RuleNumbers numbers{.records = 40'000, .features = 25, .mu = 0.25};

std::string rules_of(const TrainPlan& plan, const RuleNumbers& known = numbers) {
  std::string text;
  for (const auto& [name, value] : rule_fields(plan, known)) text += (text.empty() ? "" : " ") + name + " " + value;
  return text;
}
std::string rules_of(AlgorithmPlan own) { return rules_of(plan_of(std::move(own))); }

TEST(Rules, AreThoseOfTheHeader) {
  EXPECT_EQ(rules_of(GradientDescentPlan{}), "steps 1000 regularization 0");
  EXPECT_EQ(rules_of(AcceleratedGradientDescentPlan{}), "steps 100 regularization 0");
  EXPECT_EQ(rules_of(DpSgdPlan{}), "epochs 7 regularization 0");
  EXPECT_EQ(rules_of(SvrgPlan{}), "inner-steps 1000 batch-size 120 regularization 0");
  EXPECT_EQ(rules_of(SvrgPlusPlusPlan{}), "inner-steps 714 batch-size 120 regularization 0");
  EXPECT_EQ(rules_of(OutputPerturbationPlan{}), "regularization 0.0008618");
  EXPECT_EQ(rules_of(ObjectivePerturbationPlan{}), "regularization 2.5e-05") << "4 beta / (n epsilon), beta = 1/4";
  EXPECT_EQ(rules_of(OnlineFrankWolfePlan{}), "radius 12.5 clip 1 step-scale 1");
  EXPECT_EQ(rules_of(PolyhedralFrankWolfePlan{}), "radius 25 clip 0.25");
  EXPECT_EQ(rules_of(NoisyFrankWolfePlan{}), "radius 12.5 clip 1 step-scale 0.5 steps 30");
  EXPECT_EQ(rules_of(OnlineToBatchPlan{}), "radius 12.5 clip 1");
  OnlineToBatchPlan curved;
  curved.learner = OnlineLearner::strongly_convex;
  EXPECT_EQ(rules_of(curved), "radius 12.5 clip 1 regularization 0.0002");
  EXPECT_EQ(rules_of(PrivateFtrlPlan{}), "radius 12.5 step-size 0.0375");
  EXPECT_EQ(rules_of(OnePassSgdPlan{}), "radius 12.5 batch-size 1000 step-size 12");
  EXPECT_EQ(rules_of(NoisySgdPlan{}), "radius 25 batch-size 40000 passes 1000 step-size 6");
  GossipPlan four;
  four.learners = 4;
  EXPECT_EQ(rules_of(four), "radius 12.5 batch-size 500 step-size 72");
  EXPECT_EQ(rules_of(ShapedDescentPlan{}), "");
  EXPECT_EQ(rules_of(ConstantPlan{}), "");
}

TEST(Rules, OfMirrorDescentBalanceTheTermsOfItsTheorem) {
  const double beta = 0.25;
  const auto ratio = [&](double steps, double range, double squared_noise) {
    const double noise = 2 * std::sqrt(squared_noise) / 10'000;  // of one step at this budget
    return 2 * noise * std::sqrt(2 * range / 3) / (4 * beta * range / (steps * steps));
  };
  const auto steps_in = [](const TrainPlan& plan) {
    for (const auto& [name, value] : rule_fields(plan, numbers)) {
      if (name == "steps") return std::stod(value);
    }
    return 0.0;
  };
  auto plan = plan_of(MirrorDescentPlan{});
  EXPECT_NEAR(ratio(steps_in(plan), 25 * 25 / 2.0, 25), 12, 0.1);
  std::get<MirrorDescentPlan>(plan.algorithm).geometry = Geometry::l1;
  plan.problem.radius = 7;
  EXPECT_NEAR(ratio(steps_in(plan), 49 * std::log(50), 2 * std::log(50)), 50, 3)
      << "the largest of 25 normal variables is nearly that long";
  std::get<MirrorDescentPlan>(plan.algorithm).geometry = Geometry::simplex;
  plan.problem.radius = {};
  EXPECT_EQ(rules_of(plan), "") << "the sum of weights has a meaning, which no number of records has";
}

TEST(Rules, CountALargerClipAndTheOtherAdjacenciesAsNoise) {
  auto plan = plan_of(GradientDescentPlan{});
  plan.problem.clip = 0.5;
  EXPECT_EQ(rules_of(plan), "steps 2000 regularization 0");
  plan.problem.clip = 4;
  EXPECT_EQ(rules_of(plan), "steps 250 regularization 0");
  auto half = numbers;
  half.adjacency = Adjacency::zero_out;
  half.mu = 0.125;
  EXPECT_EQ(rules_of(plan, half), "steps 250 regularization 0");
}

TEST(Rules, EndWhereNoiseIsSmallerThanSampling) {
  auto free = numbers;
  free.mu = 100;
  EXPECT_EQ(rules_of(plan_of(OnePassSgdPlan{}), free), "radius 12.5 batch-size 200 step-size 12") << "sqrt(40,000) batches";
  EXPECT_EQ(rules_of(plan_of(PrivateFtrlPlan{}), free), "radius 12.5 step-size 0.175");
  GossipPlan four;
  four.learners = 4;
  EXPECT_EQ(rules_of(plan_of(four), free), "radius 12.5 batch-size 100 step-size 72") << "100 of each learner's 10,000";
  EXPECT_EQ(rules_of(plan_of(NoisyFrankWolfePlan{}), free), "radius 12.5 clip 1 step-scale 0.5 steps 300");
  EXPECT_EQ(rules_of(plan_of(GradientDescentPlan{}), free), "steps 2000 regularization 0");
}

TEST(Rules, NeverTakeFewerStepsForMoreBudget) {
  for (const AlgorithmPlan& own : {AlgorithmPlan{GradientDescentPlan{}}, AlgorithmPlan{AcceleratedGradientDescentPlan{}},
                                   AlgorithmPlan{MirrorDescentPlan{}}, AlgorithmPlan{SvrgPlan{}}, AlgorithmPlan{DpSgdPlan{}}}) {
    double last = 0;
    for (double mu = 0.01; mu < 30; mu *= 1.5) {
      auto known = numbers;
      known.mu = mu;
      for (const auto& [name, value] : rule_fields(plan_of(own), known)) {
        if (name == "regularization" || name == "radius" || name == "batch-size") continue;
        EXPECT_GE(std::stod(value), last) << name << " at mu " << mu;
        last = std::stod(value);
      }
    }
    EXPECT_GT(last, 10);
  }
}

TEST(Rules, KnowNothingOfSquaredLossAndOfWhatIsNotPublic) {
  auto squared = plan_of(GradientDescentPlan{});
  squared.problem.loss = Loss::squared;
  squared.problem.label_bound = 1;
  squared.problem.radius = 1;
  EXPECT_EQ(rules_of(squared), "");
  auto nowhere = plan_of(GradientDescentPlan{});
  nowhere.source.path = "/nowhere/at/all.csv";
  EXPECT_TRUE(ruled_fields(nowhere).fields.empty());
  nowhere.source.path = "-";
  EXPECT_TRUE(ruled_fields(nowhere).fields.empty());
}

// What a file says is what runs, whatever its records are: rules are for those who write plans.
TEST(Rules, AreNoPartOfWrittenPlans) {
  for (const char* version : {"1", "2"}) {
    const auto written = read_train_plan(std::string{R"({"version": )"} + version +
                                         R"(, "command": "train", "adjacency": "replace-one", "target": {"epsilon": 1, "delta": 1e-05},
      "options": {"algorithm": "gradient-descent", "data": "x.csv", "label": "y>0"}})");
    const auto& own = std::get<GradientDescentPlan>(written.plan.algorithm);
    EXPECT_EQ(own.steps, 100U);
    EXPECT_EQ(own.regularization, 1e-4);
  }
}

}  // namespace
}  // namespace surety::rules_test
