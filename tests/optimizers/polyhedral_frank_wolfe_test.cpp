#include <surety/optimizers/polyhedral_frank_wolfe.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <surety/accounting/zcdp.h>
#include <surety/optimizers/loss.h>

#include "optimizers/refusal.h"
#include "optimizers/taint.h"

namespace surety::optimizers {
namespace {

PolyhedralFrankWolfeOptions options(std::uint64_t steps, Adjacency adjacency = Adjacency::replace_one) {
  return {.steps = Count{steps},
          .radius = Radius{1.5},
          .noise_multiplier = NoiseMultiplier{3},
          .adjacency = adjacency,
          .clip = LinfClip{0.7},
          .step_scale = StepScaleFactor{1.3}};
}

struct Record {
  std::vector<double> row;
  double label;
};

Dataset assemble(const std::vector<Record>& records) {
  std::vector<double> values;
  std::vector<double> labels;
  for (const auto& record : records) {
    values.insert(values.end(), record.row.begin(), record.row.end());
    labels.push_back(record.label);
  }
  return Dataset::dense(records.front().row.size(), values, labels);
}

std::vector<double> vector_of(std::size_t size, std::mt19937_64& random) {
  std::vector<double> values(size);
  for (auto& value : values) {
    value = std::uniform_real_distribution<double>{-1, 1}(random);
    if (random() % 6 == 0) value *= random() % 2 == 0 ? 1e3 : 1e300;
    if (random() % 6 == 0) value = 0;
  }
  return values;
}

struct Shown {
  std::vector<std::vector<double>> iterates;
  std::vector<ScriptedSelector::Request> requests;
};

Shown run(const PolyhedralFrankWolfeOptions& options, const Dataset& data, const std::vector<std::size_t>& chosen) {
  ScriptedSelector selector{chosen};
  PolyhedralFrankWolfe algorithm{LogisticLoss{}, options, Count{data.features()}};
  Shown result;
  for (std::size_t i = 0; i < data.size(); ++i) {
    algorithm.observe(data.row(i), data.label(i), selector);
    result.iterates.emplace_back(algorithm.weights().begin(), algorithm.weights().end());
  }
  result.requests = selector.log();
  return result;
}

double range_of_changes(const std::vector<double>& a, const std::vector<double>& b) {
  double least = INFINITY;
  double largest = -INFINITY;
  for (std::size_t i = 0; i < a.size(); ++i) {
    least = std::min(least, a[i] - b[i]);
    largest = std::max(largest, a[i] - b[i]);
  }
  return largest - least;
}

// 10,000 streams, each with one record replaced: scores before it do not change, those from it on change by at most their sensitivity,
// and nothing else changes at all.
TEST(PolyhedralFrankWolfe, LeaksNothingAndMovesScoresByAtMostTheirSensitivity) {
  std::mt19937_64 random{20240502};
  double largest = 0;
  double largest_at_first = 0;
  for (int c = 0; c < 10'000; ++c) {
    const std::size_t features = 1 + random() % 4;
    const std::size_t size = 1 + random() % 6;
    const auto adjacency = random() % 2 == 0 ? Adjacency::replace_one : Adjacency::zero_out;
    std::vector<Record> records;
    for (std::size_t i = 0; i < size; ++i) records.push_back({vector_of(features, random), random() % 2 == 0 ? 1.0 : -1.0});
    const std::size_t place = random() % 3 == 0 ? 0 : random() % size;
    auto neighbours = records;
    if (adjacency == Adjacency::zero_out) {
      neighbours[place].row.assign(features, 0.0);
    } else if (random() % 2 == 0) {
      for (auto& value : neighbours[place].row) value = -value;
    } else {
      neighbours[place] = {vector_of(features, random), random() % 2 == 0 ? 1.0 : -1.0};
    }
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < size; ++i) chosen.push_back(random());
    const Shown a = run(options(size, adjacency), assemble(records), chosen);
    const Shown b = run(options(size, adjacency), assemble(neighbours), chosen);
    for (std::size_t t = 0; t < size; ++t) {
      ASSERT_EQ(a.requests[t].sensitivity, b.requests[t].sensitivity);
      ASSERT_TRUE(a.requests[t].event == b.requests[t].event);
      ASSERT_TRUE(same_bits(a.iterates[t], b.iterates[t])) << c;
      if (t < place) {
        ASSERT_TRUE(same_bits(a.requests[t].scores, b.requests[t].scores)) << c;
        continue;
      }
      const double ratio = range_of_changes(a.requests[t].scores, b.requests[t].scores) / a.requests[t].sensitivity.value();
      ASSERT_LE(ratio, 1) << c;
      largest = std::max(largest, ratio);
      if (t == 0) largest_at_first = std::max(largest_at_first, ratio);
    }
  }
  EXPECT_GT(largest, 0.99);
  EXPECT_GT(largest_at_first, 0.99);
  RecordProperty("largest_ratio", std::to_string(largest));
}

TEST(PolyhedralFrankWolfe, PlansEveryChoiceThatItMakes) {
  for (const bool laplace : {false, true}) {
    auto settings = options(13);
    settings.laplace = laplace;
    const auto planned = accounting::Releases::of(plan(settings));
    std::mt19937_64 random{3};
    std::vector<Record> records(13, Record{{0.5, -1}, 1});
    const Shown made = run(settings, assemble(records), std::vector<std::size_t>(13, 2));
    ASSERT_EQ(made.requests.size(), 13U);
    std::vector<Event> asked;
    for (const auto& request : made.requests) asked.push_back(request.event);
    EXPECT_TRUE(accounting::Releases::of(composed(asked)) == planned);
  }
}

// epsilon_t^2 / 8 summed over the choices.
TEST(PolyhedralFrankWolfe, CostsTheSumOfSquaresOfItsChoices) {
  const auto settings = options(1000);
  double rho = 0;
  for (std::uint64_t t = 1; t <= 1000; ++t) {
    const auto first = std::exp2(std::floor(std::log2(static_cast<double>(t))));
    const double epsilon = std::sqrt(first) / (first + 1) / 3;
    rho += epsilon * epsilon / 8;
  }
  const auto found = accounting::zcdp_rho(plan(settings), 128).enclosure();
  EXPECT_NEAR(found.upper, rho, 1e-12 * rho);
}

TEST(PolyhedralFrankWolfe, WithoutNoiseApproachesTheMinimum) {
  // Labels are the sign of the third coordinate: the best point of the ball is its vertex there.
  std::mt19937_64 random{11};
  auto settings = options(4000);
  PolyhedralFrankWolfe algorithm{LogisticLoss{}, settings, Count{5}};
  ExactSelector selector;
  for (int i = 0; i < 4000; ++i) {
    std::vector<double> row(5);
    for (auto& value : row) value = std::uniform_real_distribution<double>{-1, 1}(random);
    const double norm = mechanisms::l2_norm(row);
    algorithm.observe({.indices = {}, .values = row, .norm = norm}, row[2] > 0 ? 1.0 : -1.0, selector);
  }
  EXPECT_GT(algorithm.weights()[2], 1.3);
}

TEST(PolyhedralFrankWolfe, RefusesWhatItHasNoGuaranteeFor) {
  EXPECT_TRUE(refuses([] { static_cast<void>(plan(options(10, Adjacency::add_or_remove_one))); }, ErrorCode::unsupported,
                      {"adjacency is add-or-remove-one"}));
  EXPECT_TRUE(
      refuses([] { static_cast<void>(plan(options((std::uint64_t{1} << 40) + 1))); }, ErrorCode::invalid_argument, {"steps", "2^40"}));
}

}  // namespace
}  // namespace surety::optimizers
