#include <surety/optimizers/streams/noisy_oco.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <surety/optimizers/problem/loss.h>
#include <surety/testing/stream.h>

#include <support/drawn_cases.h>
#include <support/drawn_records.h>
#include <support/refusal.h>
#include <support/stream_taint.h>

namespace surety::optimizers::noisy_oco_test {
namespace {

const Grid grid{.log2_step = -30};

Simplex simplex() { return Simplex{Quantity<ScaleRule>{1}}; }

NoisyOcoOptions options(std::uint64_t steps, std::uint64_t batch, Adjacency adjacency = Adjacency::replace_one) {
  return {.steps = Count{steps}, .batch = Count{batch}, .clip = ClippingNorm{0.7}, .step_size = StepSize{0.3}, .adjacency = adjacency};
}

/// All decisions of a run with full information.
template <class Sensitivity, class Map>
auto run(const Map& map, const NoisyOcoOptions& options) {
  return [=](const Dataset& data, auto& stream) {
    return iterates_of(FullInformation<LogisticLoss, Map, Sensitivity>{LogisticLoss{}, map, options, Count{data.features()}}, data, stream);
  };
}

TEST(NoisyOco, WithoutNoiseIsLazyGradientDescentOverBatches) {
  const Dataset data = assemble({{{0.6, -0.1}, 1}, {{-0.3, 0.4}, -1}, {{0.2, 0.7}, 1}, {{0.5, 0.5}, -1}, {{0.1, 0.1}, 1}});
  testing::ExactStream stream{grid};
  const ProjectionMap<L2Ball> map{L2Ball{Radius{0.05}}};
  FullInformation<LogisticLoss, ProjectionMap<L2Ball>> algorithm{LogisticLoss{}, map, options(5, 2), Count{2}};
  std::vector<double> sum(2);
  std::vector<double> decision(2);
  for (std::size_t i = 0; i < 5; ++i) {
    add_gradient(LogisticLoss{}, data.row(i), data.label(i), decision, sum);
    algorithm.observe(data.row(i), data.label(i), stream);
    if (i % 2 == 1) {
      decision = {-0.3 * sum[0], -0.3 * sum[1]};
      L2Ball{Radius{0.05}}.project(decision);
    }
    EXPECT_NEAR(algorithm.weights()[0], decision[0], 1e-8) << i;
    EXPECT_NEAR(algorithm.weights()[1], decision[1], 1e-8) << i;
  }
  EXPECT_NE(decision[0], 0);
}

TEST(NoisyOco, MapsAgreeOnWhatTheyMinimise) {
  std::mt19937_64 random{1};
  std::normal_distribution<double> normal;
  for (int c = 0; c < 200; ++c) {
    std::vector<double> costs(4);
    for (double& cost : costs) cost = normal(random);
    const auto projected = ProjectionMap<Simplex>{simplex()}(costs, {});
    const auto by_oracle = ConditionalGradientMap<Simplex>{simplex(), Count{3000}}(costs, {});
    // The entropic map: <costs, x> + sum x log x is no smaller at points around.
    const auto weights = EntropicMap{simplex()}(costs, {});
    const auto value = [&](const std::vector<double>& x) {
      double sum = 0;
      for (std::size_t j = 0; j < 4; ++j) sum += x[j] * (costs[j] + std::log(x[j]));
      return sum;
    };
    for (std::size_t j = 0; j < 4; ++j) {
      ASSERT_NEAR(by_oracle[j], projected[j], 0.02);
      auto moved = weights;
      moved[j] += 0.01 * weights[(j + 1) % 4];
      moved[(j + 1) % 4] *= 0.99;
      ASSERT_GT(value(moved), value(weights));
    }
  }
}

TEST(NoisyOco, MapsTakeAnyCosts) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> costs{infinity, std::numeric_limits<double>::quiet_NaN(), -1e308, 1e308};
  const auto check = [&](const std::vector<double>& point) {
    EXPECT_NEAR(point[2], 1, 1e-12);
    for (const double x : point) EXPECT_TRUE(x >= 0 && x <= 1);
  };
  check(ProjectionMap<Simplex>{simplex()}(costs, {}));
  check(ConditionalGradientMap<Simplex>{simplex(), Count{10}}(costs, {}));
  check(EntropicMap{simplex()}(costs, {}));
}

TEST(NoisyOco, DropsTheLastIncompleteBatchAndRefusesMoreThanItsHorizon) {
  const Dataset data = assemble(std::vector<DrawnRecord>(8, DrawnRecord{{0.6, -0.1}, 1}));
  FullInformation<LogisticLoss, ProjectionMap<Simplex>> algorithm{LogisticLoss{}, {simplex()}, options(8, 3), Count{2}};
  testing::ScriptedStream<> stream{grid, {{1, 2}, {3, 4}}};
  for (std::size_t i = 0; i < 8; ++i) algorithm.observe(data.row(i), 1, stream);
  EXPECT_EQ(stream.log().size(), 2U);
  EXPECT_EQ(shape(options(8, 3), Count{2}).steps, Count{2});
  EXPECT_TRUE(refuses([&] { algorithm.observe(data.row(0), 1, stream); }, ErrorCode::invalid_argument, {"step is 9", "horizon 8"}));
}

// 10,000 streams for each kind of noise, each with one record replaced: ordinary, beyond the clip, opposite.
template <class Sensitivity>
void expect_all_within(std::uint64_t seed) {
  expect_all_within_sensitivity(seed, [c = 0](std::mt19937_64& random) mutable {
    const std::size_t features = 1 + random() % 4;
    const std::size_t batch = 1 + random() % 3;
    const std::size_t size = batch * drawn_length(3, random) + random() % batch;
    const auto adjacency = drawn_adjacency(random);
    auto records = drawn_records(size, features, random);
    const std::size_t place = random() % size;
    auto neighbours = records;
    if (random() % 2 == 0) {
      for (auto& value : neighbours[place].row) value = value < 0 ? -1 : 1;  // where l1 norms are largest
      records[place] = neighbours[place];
      records[place].label = 1;
      neighbours[place].label = -1;
    } else {
      neighbours[place] = drawn_record(features, random);
    }
    if (adjacency == Adjacency::zero_out) neighbours[place].row.assign(features, 0.0);
    const auto released = drawn_script(size / batch, features, random);
    const auto o = options(size, batch, adjacency);
    const auto difference = [&](const auto& map) {
      return stream_difference<Sensitivity>(run<Sensitivity>(map, o), assemble(records), assemble(neighbours), place / batch, grid,
                                            released);
    };
    switch (c++ % 3) {
      case 0: return difference(ProjectionMap<Simplex>{simplex()});
      case 1: return difference(ConditionalGradientMap<Simplex>{simplex(), Count{5}});
      default: return difference(EntropicMap{simplex()});
    }
  });
}

TEST(NoisyOco, LeaksNothingAndMovesOnePushByAtMostItsL2Sensitivity) { expect_all_within<L2Sensitivity>(20240701); }

TEST(NoisyOco, LeaksNothingAndMovesOnePushByAtMostItsL1Sensitivity) { expect_all_within<L1Sensitivity>(20240702); }

// What is kept between pushes must be gone after each of them, the last of a power of two too.
TEST(NoisyOco, LeaksNothingInStreamsOfAsManyPushesAsAPowerOfTwoAndOneMoreOrLess) {
  std::mt19937_64 random{20261123};
  for (const std::size_t power : {4, 8, 16, 32, 64, 128}) {
    for (const std::size_t pushes : {power - 1, power, power + 1}) {
      const std::size_t batch = 1 + pushes % 2;
      const auto records = drawn_records(batch * pushes, 2, random);
      const auto released = drawn_script(pushes, 2, random);
      const auto o = options(batch * pushes, batch);
      for (const std::size_t place : {std::size_t{0}, batch * (power / 2 - 1), batch * pushes / 2, batch * pushes - 1}) {
        auto neighbours = records;
        neighbours[place] = {{0.5, -0.5}, -records[place].label};
        const auto found = stream_difference<L2Sensitivity>(run<L2Sensitivity>(ProjectionMap<Simplex>{simplex()}, o), assemble(records),
                                                            assemble(neighbours), place / batch, grid, released);
        ASSERT_TRUE(found.untainted) << pushes << " pushes, place " << place;
        ASSERT_LE(found.ratio, 1);
      }
    }
  }
}

}  // namespace
}  // namespace surety::optimizers::noisy_oco_test
