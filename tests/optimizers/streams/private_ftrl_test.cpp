#include <surety/optimizers/streams/private_ftrl.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/testing/stream.h>

#include <support/drawn_cases.h>
#include <support/drawn_records.h>
#include <support/refusal.h>
#include <support/stream_taint.h>

namespace surety::optimizers::private_ftrl_test {
namespace {

const Grid grid{.log2_step = -30};
const L2Ball ball{Radius{2}};

PrivateFtrlOptions options(std::uint64_t steps, Adjacency adjacency = Adjacency::replace_one) {
  return {.steps = Count{steps}, .adjacency = adjacency, .clip = ClippingNorm{0.7}, .step_size = StepSize{0.4}};
}

auto run(const PrivateFtrlOptions& options) {
  return [=](const Dataset& data, auto& stream) {
    return iterates_of(PrivateFtrl{LogisticLoss{}, ball, options, std::vector<double>(data.features(), 0.0)}, data, stream);
  };
}

TEST(PrivateFtrl, WithoutNoiseIsTheMeanOfDualAveraging) {
  const Dataset data = assemble({{{0.6, -0.1}, 1}, {{-0.3, 0.4}, -1}, {{0.2, 0.7}, 1}});
  PrivateFtrl algorithm{LogisticLoss{}, ball, options(3), {0.0, 0.5}};
  testing::ExactStream stream{grid};
  std::vector<double> sum(2, 0.0);
  std::vector<double> total(2, 0.0);
  std::vector<double> w{0.0, 0.5};
  for (std::size_t i = 0; i < 3; ++i) {
    add_gradient(LogisticLoss{}, data.row(i), data.label(i), w, sum);
    for (std::size_t j = 0; j < 2; ++j) total[j] += w[j];
    w = {0.0 - 0.4 * sum[0], 0.5 - 0.4 * sum[1]};
    ball.project(w);
    algorithm.observe(data.row(i), data.label(i), stream);
    EXPECT_NEAR(algorithm.weights()[0], total[0] / (static_cast<double>(i) + 1), 1e-7);
    EXPECT_NEAR(algorithm.weights()[1], total[1] / (static_cast<double>(i) + 1), 1e-7);
  }
}

TEST(PrivateFtrl, StaysInItsDomain) {
  const Dataset data = assemble({{{0.6, -0.1}, 1}, {{-0.3, 0.4}, -1}, {{0.2, 0.7}, 1}});
  PrivateFtrl algorithm{LogisticLoss{}, ball, options(3), {0.0, 0.0}};
  testing::ScriptedStream<> stream{grid, {{1e9, 0}, {1e9, 1e9}, {-1e9, 0}}};
  for (std::size_t i = 0; i < 3; ++i) {
    algorithm.observe(data.row(i), data.label(i), stream);
    EXPECT_LE(mechanisms::l2_norm(algorithm.weights()), ball.radius.value() * (1 + 1e-12));
  }
  EXPECT_NE(algorithm.weights()[0], 0);
}

// 10,000 streams, each with one record replaced: ordinary, beyond the clip, opposite, at the first step.
TEST(PrivateFtrl, LeaksNothingAndMovesOnePushByAtMostItsSensitivity) {
  expect_all_within_sensitivity(20240602, [](std::mt19937_64& random) {
    const auto [features, size, adjacency, drawn, released] = drawn_stream(6, random);
    return stream_difference(run(options(size, adjacency)), drawn.data, drawn.neighbour, drawn.place, grid, released);
  });
}

/// The next weights from a sum of raw gradients, or gradients that are not clipped.
enum class Mistake { weights_of_exact_sum, no_clip };

auto run_with(Mistake mistake) {
  return [=](const Dataset& data, auto& stream) {
    std::vector<double> weights(data.features(), 0.0);
    std::vector<double> exact(data.features(), 0.0);
    std::vector<std::vector<double>> iterates;
    for (std::size_t i = 0; i < data.size(); ++i) {
      const double factor = LogisticLoss{}.derivative(data.row(i).dot(weights), data.label(i));
      const ClippingNorm clip{mistake == Mistake::no_clip ? 10 : 0.7};
      const auto contribution = clipped_contribution(factor, data.row(i), clip, grid, data.features());
      auto sum = stream.push(contribution, L2Sensitivity{1.4});
      const auto added = mechanisms::to_reals(contribution);
      for (std::size_t j = 0; j < exact.size(); ++j) exact[j] += added[j];
      if (mistake == Mistake::weights_of_exact_sum) sum = exact;
      for (std::size_t j = 0; j < weights.size(); ++j) weights[j] = -0.4 * sum[j];
      ball.project(weights);
      iterates.push_back(weights);
    }
    return iterates;
  };
}

TEST(PrivateFtrl, PlantedViolationsAreCaught) {
  const auto difference = [](Mistake mistake) { return planted_difference(run_with(mistake), grid); };
  EXPECT_GT(difference(Mistake::no_clip).ratio, 1);
  EXPECT_FALSE(difference(Mistake::weights_of_exact_sum).untainted);
}

TEST(PrivateFtrl, RefusesWhatHasNoFixedPlacesOrNoCoordinates) {
  EXPECT_EQ(shape(options(5), Count{3}).sensitivity, L2Sensitivity{1.4});
  EXPECT_EQ(shape(options(5, Adjacency::zero_out), Count{3}).sensitivity, L2Sensitivity{0.7});
  EXPECT_TRUE(refuses([] { static_cast<void>(shape(options(5, Adjacency::add_or_remove_one), Count{3})); }, ErrorCode::unsupported,
                      {"adjacency is add-or-remove-one"}));
  EXPECT_TRUE(refuses([] { PrivateFtrl{LogisticLoss{}, ball, options(5), {}}; }, ErrorCode::invalid_argument, {"no coordinates"}));
}

}  // namespace
}  // namespace surety::optimizers::private_ftrl_test
