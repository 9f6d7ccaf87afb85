// What a label is measured in, and from where, does not matter: with the label, its bound, and all that is said in its unit times 2^k, the weights are times 2^k, to the
// last bit, under the same bits of noise; with the label and its bounds shifted, all weights stay.
#include <surety/jobs/train/train_job.h>

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/automatic/automatic.h>
#include <surety/jobs/plans/plan_error.h>

#include <support/needed_fields.h>
#include <support/temporary_folder.h>

namespace surety::label_unit_test {
namespace {

constexpr std::size_t people = 120;

/// A file whose label is a number, times 2^power.
struct Table {
  TemporaryFolder folder;
  std::filesystem::path path;
  mutable int runs = 0;

  explicit Table(int power, double shift = 0) {
    std::string text = "a,b,c,y\n";
    for (std::size_t k = 0; k < people; ++k) {
      const auto i = static_cast<double>(k);
      const double label = std::round(256 * std::sin(i * 0.7)) / 256 + 0.25 * static_cast<double>(k % 7) + shift;
      text += fmt::format("{},{},{},{}\n", k % 7, std::cos(i), k % 11, std::ldexp(label, power));
    }
    path = folder.write("table.csv", text);
  }

  [[nodiscard]] jobs::TrainPlan plan(jobs::AlgorithmPlan algorithm, int power) const {
    return {.target = {Epsilon{1}, Delta{1e-5}, Adjacency::replace_one},
            .source = {.path = path.string(), .label = data::parse_label_rule("y"), .inputs = data::CsvOptions{}},
            .problem = {.loss = jobs::Loss::squared, .label_bound = std::ldexp(2.75, power)},
            .algorithm = std::move(algorithm)};
  }

  [[nodiscard]] std::vector<double> weights(const jobs::TrainPlan& plan) const { return model(plan).weights; }
  [[nodiscard]] optimizers::Model model(const jobs::TrainPlan& plan) const {
    auto ledger = accounting::Ledger::create(folder / fmt::format("{}.db", ++runs), plan.target.adjacency, std::nullopt, plan.unit);
    jobs::RunBits bits{11};
    return jobs::run(jobs::TrainJob{plan}, ledger, bits).model;
  }
};

/// What an algorithm needs, with all that is in the label's unit times 2^power: of squared loss weights are, too.
/// \param bound which of them is said: clip, radius or both
void say_what_it_needs(jobs::TrainPlan& plan, const jobs::Algorithm& algorithm, const std::string& bound, int power) {
  jobs::FieldTable fields;
  algorithm.add_fields(fields, plan.algorithm, plan);
  testing::say_what_is_needed(fields, people);
  if (bound != "radius") testing::say(fields, "clip", fmt::format("{}", std::ldexp(1.5, power)));
  if (bound != "clip") testing::say(fields, "radius", fmt::format("{}", std::ldexp(2.5, power)));
}

TEST(LabelUnit, ChangesNoModelOfAnyAlgorithm) {
  const Table plain{0};
  std::set<std::string> tried;
  for (const auto& algorithm : jobs::all_algorithms()) {
    for (const std::string bound : {"clip", "radius", "both"}) {
      auto plan = plain.plan(algorithm->standard(), 0);
      std::vector<double> expected;
      try {
        say_what_it_needs(plan, *algorithm, bound, 0);
        expected = plain.weights(plan);
      } catch (const Error&) {
        continue;  // knows no squared loss, or no such field
      }
      tried.insert(algorithm->name());
      const int power = bound == "both" ? 30 : -30;
      SCOPED_TRACE(fmt::format("{} with {}, times 2^{}", algorithm->name(), bound, power));
      const Table scaled{power};
      auto changed = scaled.plan(algorithm->standard(), power);
      say_what_it_needs(changed, *algorithm, bound, power);
      const auto found = scaled.weights(changed);
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t j = 0; j < found.size(); ++j) EXPECT_EQ(std::ldexp(found[j], -power), expected[j]) << j;
    }
  }
  EXPECT_EQ(tried.size(), std::variant_size_v<jobs::AlgorithmPlan>) << fmt::format("{}", fmt::join(tried, ", "));
}

TEST(LabelBounds, OfAShiftedLabelLeaveAllWeightsAlone) {
  // Labels between -3 and 5, whose centre is 1; shifted by 2^20 all differences are exact, for labels have few digits. Half of the width is a power of two:
  // so the labels lie on every grid of sums.
  const auto trained = [](const jobs::Algorithm& algorithm, double shift) {
    const Table table{0, shift};
    auto plan = table.plan(algorithm.standard(), 0);
    plan.problem.label_bound.reset();
    plan.problem.label_bounds = fmt::format("{},{}", shift - 3, shift + 5);
    say_what_it_needs(plan, algorithm, "both", 0);
    return table.model(plan);
  };
  std::size_t tried = 0;
  for (const auto& algorithm : jobs::all_algorithms()) {
    SCOPED_TRACE(algorithm->name());
    const auto plain = trained(*algorithm, 0);
    const auto shifted = trained(*algorithm, 0x1p20);
    EXPECT_EQ(plain.weights, shifted.weights);
    EXPECT_EQ(plain.label_centre, 1);
    EXPECT_EQ(shifted.label_centre, 0x1p20 + 1);
    EXPECT_EQ(optimizers::predict(shifted, 0.5), 0x1p20 + 1.5);
    const auto read = optimizers::parse_model(optimizers::write_model(shifted), "model");
    EXPECT_EQ(read.label_centre, shifted.label_centre);
    EXPECT_EQ(read.weights, shifted.weights);
    // Where differences are not exact their last digits move nothing by a step of a coarse grid.
    const auto inexact = trained(*algorithm, 0.1);
    double largest = 0;
    for (const double weight : plain.weights) largest = std::max(largest, std::abs(weight));
    ASSERT_EQ(inexact.weights.size(), plain.weights.size());
    for (std::size_t j = 0; j < plain.weights.size(); ++j) EXPECT_NEAR(inexact.weights[j], plain.weights[j], 1e-9 * largest) << j;
    ++tried;
  }
  EXPECT_EQ(tried, std::variant_size_v<jobs::AlgorithmPlan>);
}

TEST(LabelBounds, AroundZeroAreALabelBound) {
  const Table table{0};
  auto plan = table.plan(jobs::ShapedDescentPlan{}, 0);
  const auto expected = table.weights(jobs::chosen_plan(plan, {}).plan);
  plan.problem.label_bound.reset();
  plan.problem.label_bounds = "-2.75,2.75";
  const auto chosen = jobs::chosen_plan(plan, {}).plan;
  EXPECT_EQ(table.weights(chosen), expected);
  EXPECT_EQ(table.model(chosen).label_centre, 0);
}

TEST(LabelBounds, ThatAreNoneAreRefused) {
  const auto refusal = [](const std::string& bounds, std::optional<double> bound, jobs::Loss loss) {
    jobs::Problem problem{.loss = loss, .label_bound = bound, .label_bounds = bounds};
    try {
      const Table table{0};
      auto plan = table.plan(jobs::GradientDescentPlan{}, 0);
      problem.clip = 1;
      plan.problem = problem;
      static_cast<void>(jobs::TrainJob{plan});
    } catch (const Error& error) {
      return std::string{error.what()};
    }
    return std::string{};
  };
  for (const char* wrong : {"2,1", "1,1", "nan,1", "1,inf", "-inf,1", "1", "1,2,3", "a,b", ""}) {
    EXPECT_NE(refusal(wrong, std::nullopt, jobs::Loss::squared), "") << wrong;
  }
  EXPECT_EQ(refusal("2,1", std::nullopt, jobs::Loss::squared), "label-bounds is 2,1, must be two finite numbers, the lower one first");
  EXPECT_EQ(refusal("1,2", 3, jobs::Loss::squared), "label-bound and label-bounds are both given, must be one of them");
  EXPECT_EQ(refusal("1,2", std::nullopt, jobs::Loss::logistic), "label-bounds is for squared loss, labels of logistic loss are classes");
}

/// What the rule chooses of `inputs` at three budgets has the same weights, in the label's unit; of each \return whether rows have one scale, and how many weights.
std::set<std::pair<bool, std::size_t>> expect_no_other_choice(const data::CsvOptions& inputs) {
  std::set<std::pair<bool, std::size_t>> tried;
  for (const double epsilon : {0.1, 1.0, 8.0}) {
    const auto chosen = [&](const Table& table, int power) {
      auto plan = table.plan(jobs::ShapedDescentPlan{}, power);
      plan.target.epsilon = Epsilon{epsilon};
      plan.source.inputs = inputs;
      return jobs::chosen_plan(std::move(plan), {}).plan;
    };
    const Table plain{0};
    const auto plan = chosen(plain, 0);
    const auto expected = plain.weights(plan);
    for (const int power : {-30, 1, 30}) {
      SCOPED_TRACE(fmt::format("epsilon {}, times 2^{}", epsilon, power));
      const Table scaled{power};
      const auto found = scaled.weights(chosen(scaled, power));
      EXPECT_EQ(found.size(), expected.size());
      for (std::size_t j = 0; j < found.size(); ++j) EXPECT_EQ(std::ldexp(found[j], -power), expected[j]) << j;
    }
    tried.emplace(std::get<data::CsvOptions>(plan.source.inputs).rows_have_common_scale, expected.size());
  }
  return tried;
}

TEST(LabelUnit, ChangesNoChoice) {
  const std::set<std::pair<bool, std::size_t>> asinh{{false, 4}};
  const std::set<std::pair<bool, std::size_t>> asinh_or_ranges{{false, 4}, {true, 4}};
  EXPECT_EQ(expect_no_other_choice({.ranges = data::Ranges::asinh}), asinh);
  EXPECT_EQ(expect_no_other_choice({}), asinh_or_ranges);
}

TEST(LabelUnit, ChangesNoChoiceOfCurves) {
  constexpr std::size_t all = 3 * (1 + data::standard_knots) + 1;
  const data::CsvOptions curves{.bounds = {{"a", {0, 6}}, {"b", {-1, 1}}, {"c", {0, 10}}}, .terms = data::Terms::additive};
  EXPECT_EQ(expect_no_other_choice(curves), (std::set<std::pair<bool, std::size_t>>{{false, all}, {true, all}}))
      << "of the constant, and of a model";
}

}  // namespace
}  // namespace surety::label_unit_test
