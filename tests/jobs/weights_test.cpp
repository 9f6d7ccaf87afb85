// Weights of records in trainings: which algorithms take them, what they change, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <surety/accounting/ledger/ledger.h>
#include <surety/data/features/features.h>
#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/automatic/automatic.h>
#include <surety/jobs/train/train_job.h>
#include <surety/jobs/train/written_plan.h>
#include <surety/optimizers/models/model.h>

#include <support/needed_fields.h>
#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::weights_of_trainings_test {
namespace {

constexpr std::size_t people = 240;

class WeightsOfTrainings : public ::testing::Test {
 protected:
  [[nodiscard]] jobs::TrainPlan plan_of(jobs::AlgorithmPlan algorithm, const std::string& weight = "w") const {
    jobs::TrainPlan plan{.target = {Epsilon{1}, Delta{1e-5}, Adjacency::replace_one},
                         .source = {.path = table_.string(),
                                    .label = data::parse_label_rule("y>0"),
                                    .inputs = data::CsvOptions{.drop = {"four", "w", "bad", "text"}}},
                         .algorithm = std::move(algorithm)};
    if (weight.empty()) return plan;
    plan.source.weight = weight;
    plan.source.weight_bound = 4;
    return plan;
  }
  /// With all that an algorithm needs to be said.
  [[nodiscard]] jobs::TrainPlan ready(const jobs::Algorithm& algorithm, const std::string& weight = "w") const {
    auto plan = plan_of(algorithm.standard(), weight);
    jobs::FieldTable fields;
    algorithm.add_fields(fields, plan.algorithm, plan);
    testing::say_what_is_needed(fields, people);
    if (const auto* radius = fields.find("radius"); radius != nullptr && radius->standard() == "needed") radius->set("2");
    if (algorithm.name() == "sufficient-statistics") {
      plan.problem.loss = jobs::Loss::squared;
      plan.problem.label_bound = 1;
      plan.source.label = data::parse_label_rule("y");
    }
    return plan;
  }
  [[nodiscard]] jobs::TrainedModel run(const jobs::TrainPlan& plan) const {
    auto ledger = accounting::Ledger::create(folder_ / fmt::format("{}.db", ++ledgers_), plan.target.adjacency, std::nullopt, plan.unit);
    jobs::RunBits bits{7};
    return jobs::run(jobs::TrainJob{plan}, ledger, bits);
  }
  static void expect_refused(const jobs::TrainPlan& plan, ErrorCode code, const std::vector<std::string_view>& words) {
    EXPECT_TRUE(refuses([&] { static_cast<void>(jobs::TrainJob{plan}); }, code, words));
  }

  TemporaryFolder folder_;
  std::filesystem::path table_ = folder_.write("table.csv", [] {
    std::string text = "a,b,four,w,bad,text,y\n";
    for (std::size_t k = 0; k < people; ++k)
      text += fmt::format("{},{},4,{},{},x,{}\n", k % 7, k % 11, k % 5, k % 4 == 0 ? "5" : "2", k % 3 == 0 ? 1 : -1);
    return text;
  }());
  mutable int ledgers_ = 0;
};

std::vector<std::string> taking() {
  std::vector<std::string> names;
  for (const auto& one : jobs::all_algorithms()) {
    if (one->takes_weights()) names.push_back(one->name());
  }
  return names;
}

TEST_F(WeightsOfTrainings, AreForSumsOfClippedVectors) {
  EXPECT_EQ(taking(), (std::vector<std::string>{"shaped-descent", "gradient-descent", "accelerated-gradient-descent", "mirror-descent",
                                                "dp-sgd", "sufficient-statistics", "constant"}));
  for (const auto& algorithm : jobs::all_algorithms()) {
    const auto plan = ready(*algorithm);
    if (!algorithm->takes_weights()) {
      expect_refused(plan, ErrorCode::unsupported, {"weight is not for " + algorithm->name(), "shaped-descent"});
      continue;
    }
    SCOPED_TRACE(algorithm->name());
    const auto plain = ready(*algorithm, "");
    const auto weighted = run(plan);
    const auto unweighted = run(plain);
    // The same event, other numbers.
    EXPECT_EQ(weighted.noise.event, unweighted.noise.event);
    EXPECT_NE(weighted.model.weights, unweighted.model.weights);
    EXPECT_EQ(weighted.model.features, unweighted.model.features);
    EXPECT_EQ(weighted.model.record_weights, (data::WeightRule{.column = "w", .bound = 4}));
    EXPECT_EQ(unweighted.model.record_weights, std::nullopt);
  }
}

// All weights are the largest one: nothing is multiplied, and what follows from that is the same but for what divides sums.
TEST_F(WeightsOfTrainings, OfTheBoundAreNoWeights) {
  for (const auto& algorithm : jobs::all_algorithms()) {
    if (!algorithm->takes_weights() || algorithm->name() == "shaped-descent" || algorithm->name() == "constant") continue;
    SCOPED_TRACE(algorithm->name());
    const auto weighted = run(ready(*algorithm, "four"));
    const auto plain = run(ready(*algorithm, ""));
    ASSERT_EQ(weighted.model.weights.size(), plain.model.weights.size());
    for (std::size_t j = 0; j < plain.model.weights.size(); ++j) {
      EXPECT_NEAR(weighted.model.weights[j], plain.model.weights[j], 1e-6 * (1 + std::abs(plain.model.weights[j])));
    }
  }
}

TEST_F(WeightsOfTrainings, AreNoFeatureThoughNobodyDropsTheirColumn) {
  auto plan = plan_of(jobs::GradientDescentPlan{});
  std::get<data::CsvOptions>(plan.source.inputs).drop = {"four", "bad", "text"};
  EXPECT_EQ(run(plan).model.features, run(plan_of(jobs::GradientDescentPlan{})).model.features);
}

// A weight beyond the bound makes the record one of zeros, as a text does.
TEST_F(WeightsOfTrainings, ThatCannotBeUsedMakeDamagedRecords) {
  for (const auto& [column, damaged] : {std::pair{"bad", people / 4}, std::pair{"text", people}, std::pair{"w", std::size_t{0}}}) {
    auto plan = plan_of(jobs::GradientDescentPlan{}, column);
    std::get<jobs::GradientDescentPlan>(plan.algorithm).no_count_records = true;
    const auto json = nlohmann::json::parse(json_text(run(plan)));
    EXPECT_EQ(json["damaged_records_not_private"], damaged) << column;
  }
}

TEST_F(WeightsOfTrainings, AreRefusedInOneLine) {
  const auto plan = plan_of(jobs::ShapedDescentPlan{});
  const auto with = [&](const auto& change) {
    auto changed = plan;
    change(changed);
    return changed;
  };
  const auto source = [&](const auto& change) { return with([&](auto& its) { change(its.source); }); };
  expect_refused(source([](auto& its) { its.weight_bound.reset(); }), ErrorCode::invalid_argument, {"weight-bound is missing"});
  expect_refused(source([](auto& its) { its.weight.reset(); }), ErrorCode::invalid_argument, {"weight is missing"});
  for (const double bound : {0.0, -1.0, HUGE_VAL, std::nan("")}) {
    expect_refused(source([&](auto& its) { its.weight_bound = bound; }), ErrorCode::invalid_argument,
                   {"weight-bound is", "greater than 0"});
  }
  expect_refused(source([](auto& its) { its.weight = "y"; }), ErrorCode::invalid_argument, {"weight is 'y'", "label"});
  expect_refused(source([](auto& its) { its.weight = "\xff"; }), ErrorCode::invalid_argument, {"UTF-8"});
  expect_refused(source([](auto& its) { its.inputs = data::SparseFeatures{3}; }), ErrorCode::invalid_argument, {"weight is for CSV files"});
  expect_refused(with([](auto& its) {
                   its.unit = UnitOfPrivacy{"a", Count{2}};
                 }),
                 ErrorCode::unsupported, {"cannot combine weight with unit"});
  expect_refused(with([](auto& its) { its.search.tune = 3; }), ErrorCode::unsupported, {"cannot combine weight with tune"});
  auto last = plan_of(jobs::GradientDescentPlan{});
  std::get<jobs::GradientDescentPlan>(last.algorithm).publish = jobs::Publish::last;
  last.problem.radius = 2;
  expect_refused(last, ErrorCode::unsupported, {"cannot combine weight with publish last"});
  auto missing = plan;
  missing.source.weight = "nowhere";
  EXPECT_TRUE(refuses([&] { static_cast<void>(run(missing)); }, ErrorCode::bad_data, {"nowhere"}));
}

TEST_F(WeightsOfTrainings, AreTakenByWhateverAutoChooses) {
  for (const auto& [epsilon, loss] :
       {std::pair{1.0, jobs::Loss::logistic}, std::pair{1e-3, jobs::Loss::logistic}, std::pair{50.0, jobs::Loss::squared},
        std::pair{1e-3, jobs::Loss::squared}, std::pair{1.0, jobs::Loss::smoothed_hinge}}) {
    auto plan = plan_of({});
    plan.target.epsilon = Epsilon{epsilon};
    plan.problem.loss = loss;
    if (loss == jobs::Loss::squared) {
      plan.problem.label_bound = 1;
      plan.source.label = data::parse_label_rule("y");
    }
    const auto chosen = jobs::chosen_plan(plan, {});
    SCOPED_TRACE(chosen.why);
    const auto names = taking();
    EXPECT_NE(std::find(names.begin(), names.end(), chosen.plan.algorithm_name()), names.end());
    EXPECT_TRUE(run(chosen.plan).model.record_weights.has_value());
  }
}

TEST_F(WeightsOfTrainings, AreInThePlanAndInTheModel) {
  const auto plan = plan_of(jobs::ShapedDescentPlan{});
  const auto text = jobs::plan_text(plan);
  const auto options = nlohmann::json::parse(text)["options"];
  EXPECT_EQ(options["weight"], "w");
  EXPECT_EQ(options["weight-bound"], 4);
  EXPECT_TRUE(jobs::read_train_plan(text).plan == plan);
  const auto trained = run(plan);
  const auto json = nlohmann::json::parse(json_text(trained));
  EXPECT_EQ(json["record_weights"], (nlohmann::json{{"column", "w"}, {"bound", 4.0}}));
  const auto written = optimizers::write_model(trained.model);
  EXPECT_EQ(nlohmann::json::parse(written)["surety_model"], 11);
  EXPECT_EQ(optimizers::parse_model(written, "model").record_weights, trained.model.record_weights);
  EXPECT_EQ(optimizers::write_model(optimizers::parse_model(written, "model")), written);
  for (const char* const wrong : {R"({"column":"w","bound":0})", R"({"column":"w","bound":-1})", R"({"column":"w"})", "3"}) {
    auto changed = nlohmann::json::parse(written);
    changed["record_weights"] = nlohmann::json::parse(wrong);
    EXPECT_TRUE(
        refuses([&] { static_cast<void>(optimizers::parse_model(changed.dump(), "model")); }, ErrorCode::bad_data, {"record_weights"}));
  }
}

// Their errors have not one variance.
TEST_F(WeightsOfTrainings, HaveNoIntervalsForAPopulation) {
  for (const auto& algorithm : jobs::all_algorithms()) {
    if (algorithm->name() != "sufficient-statistics") continue;
    const auto json = nlohmann::json::parse(json_text(run(ready(*algorithm))));
    EXPECT_EQ(json["population_intervals"]["why_not"], "records have weights");
  }
}

}  // namespace
}  // namespace surety::weights_of_trainings_test
