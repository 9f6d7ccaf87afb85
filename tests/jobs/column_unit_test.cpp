// What a bounded column is measured in does not matter: with all cells and the bounds of a column times 2^k the model's weights stay, to the last bit, under the same
// bits of noise, and with another unit to nine digits. A column without bounds goes through asinh, which has a unit, so there it does.
#include <surety/jobs/train/train_job.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <surety/jobs/algorithms/algorithms.h>

#include <support/needed_fields.h>
#include <support/temporary_folder.h>

namespace surety::column_unit_test {
namespace {

constexpr std::size_t people = 120;

/// The weights of a model of a file with two columns in units of `unit`.
std::vector<double> weights(const jobs::Algorithm& algorithm, double unit, bool have_bounds, bool have_common_scale = false,
                            bool are_additive = false) {
  const TemporaryFolder folder;
  std::string text = "a,b,y\n";
  for (std::size_t k = 0; k < people; ++k) {
    const auto i = static_cast<double>(k);
    text += fmt::format("{},{},{}\n", unit * static_cast<double>(k % 7), unit * std::cos(i),
                        std::sin(0.7 * i) + 0.25 * static_cast<double>(k % 7) > 0.8 ? 1 : 0);
  }
  const auto path = folder.write("table.csv", text);
  data::CsvOptions columns;
  // Cells beyond them are clamped.
  if (have_bounds) columns.bounds = {{"a", data::Bounds{0, 5 * unit}}, {"b", data::Bounds{-unit, 0.75 * unit}}};
  columns.rows_have_common_scale = have_common_scale;
  if (are_additive) columns.terms = data::Terms::additive, columns.pairs = {{"b", "a"}};
  jobs::TrainPlan plan{.target = {Epsilon{1}, Delta{1e-5}, Adjacency::replace_one},
                       .source = {.path = path.string(), .label = data::parse_label_rule("y>0"), .inputs = columns},
                       .problem = {},
                       .algorithm = algorithm.standard()};
  if (algorithm.name() == jobs::SufficientStatisticsPlan::name) {
    plan.source.label = data::parse_label_rule("y");
    plan.problem = {.loss = jobs::Loss::squared, .label_bound = 1};
  }
  jobs::FieldTable fields;
  algorithm.add_fields(fields, plan.algorithm, plan);
  testing::say_what_is_needed(fields, people);
  testing::say(fields, "radius", "2.5");
  auto ledger = accounting::Ledger::create(folder / "run.db", plan.target.adjacency, std::nullopt, plan.unit);
  jobs::RunBits bits{11};
  return jobs::run(jobs::TrainJob{plan}, ledger, bits).model.weights;
}

TEST(ColumnUnit, ChangesNoModelOfAnyAlgorithm) {
  std::size_t tried = 0;
  for (const auto& algorithm : jobs::all_algorithms()) {
    for (const bool have_common_scale : {false, true}) {
      SCOPED_TRACE(fmt::format("{}{}", algorithm->name(), have_common_scale ? ", rows of one scale" : ""));
      const auto plain = weights(*algorithm, 1, true, have_common_scale);
      EXPECT_EQ(weights(*algorithm, have_common_scale ? 0x1p30 : 0x1p-30, true, have_common_scale), plain);
      if (have_common_scale) continue;
      const auto in_feet = weights(*algorithm, 3.28084, true);
      ASSERT_EQ(in_feet.size(), plain.size());
      for (std::size_t j = 0; j < plain.size(); ++j) EXPECT_NEAR(in_feet[j], plain[j], 1e-9 * std::max(1.0, std::abs(plain[j]))) << j;
    }
    ++tried;
  }
  EXPECT_EQ(tried, std::variant_size_v<jobs::AlgorithmPlan>);
}

// Knots are where the number is once it is scaled to [-1, 1].
TEST(ColumnUnit, ChangesNoModelOfAdditiveTerms) {
  const auto all = jobs::all_algorithms();
  const auto shaped = std::find_if(all.begin(), all.end(), [](const auto& one) { return one->name() == jobs::ShapedDescentPlan::name; });
  for (const bool have_common_scale : {false, true}) {
    const auto plain = weights(**shaped, 1, true, have_common_scale, true);
    EXPECT_EQ(plain.size(), 2 * (1 + data::standard_knots) + 2);
    for (const double unit : {0x1p30, 0x1p-30}) EXPECT_EQ(weights(**shaped, unit, true, have_common_scale, true), plain) << unit;
  }
}

TEST(ColumnUnit, OfAColumnWithoutBoundsMatters) {
  const auto all = jobs::all_algorithms();
  const auto shaped = std::find_if(all.begin(), all.end(), [](const auto& one) { return one->name() == jobs::ShapedDescentPlan::name; });
  EXPECT_NE(weights(**shaped, 4, false), weights(**shaped, 1, false));
}

}  // namespace
}  // namespace surety::column_unit_test
