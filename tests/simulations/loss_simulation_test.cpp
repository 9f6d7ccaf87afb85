#include <surety/simulations/loss_simulation.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <variant>
#include <vector>

#include <support/refusal.h>

#include <surety/accounting/events/format.h>

namespace surety::simulations::loss_simulation_test {
namespace {

using mechanisms::Factorization;
using mechanisms::ReplayBits;

LossSimulation simulation(LossInstance instance, LossNoise noise = LossNoise::gaussian) {
  return {.instance = instance, .steps = Count{1000}, .dimension = Count{6}, .rank = Count{2}, .noise = noise};
}
Target target(double delta, Adjacency adjacency = Adjacency::replace_one) {
  return {.epsilon = Epsilon{1}, .delta = Delta{delta}, .adjacency = adjacency};
}

TEST(SimulatedLosses, AreMagnitudesOfTheDistanceAlongUniformDirections) {
  const std::vector<double> best{0.2, 0.3, 0.5};
  SimulatedLosses losses{best, 7};
  for (int t = 0; t < 10; ++t) EXPECT_EQ(losses.next(best), 0);
  const std::vector<double> point{1.2, 2.3, 2.5};  // at distance 3: losses are uniform on [0, 3] (Archimedes)
  double mean = 0;
  double squares = 0;
  constexpr int count = 20'000;
  for (int t = 0; t < count; ++t) {
    const double loss = losses.next(point);
    ASSERT_LE(loss, 3 + 1e-12);
    mean += loss / count;
    squares += loss * loss / count;
  }
  EXPECT_NEAR(mean, 1.5, 6 * std::sqrt(0.75 / count));
  EXPECT_NEAR(squares, 3, 6 * std::sqrt(7.2 / count));
}

TEST(DrawnPoint, LiesInTheDomain) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto simplex = drawn_point(Simplex{Quantity<ScaleRule>{1}}, 6, seed);
    EXPECT_NEAR(std::accumulate(simplex.begin(), simplex.end(), 0.0), 1, 1e-12);
    const auto base = drawn_point(BasePolytope{UniformMatroid{{.size = 6, .rank = 4}}}, 6, seed);
    EXPECT_NEAR(std::accumulate(base.begin(), base.end(), 0.0), 4, 1e-12);
    for (std::size_t j = 0; j < 6; ++j) {
      EXPECT_GE(simplex[j], 0);
      EXPECT_GE(base[j], 0);
      EXPECT_LE(base[j], 1 + 1e-12);
    }
  }
}

TEST(CalibratedNoise, MeetsTheTargetWithTheEventOfItsSum) {
  for (const auto instance : {LossInstance::simplex, LossInstance::uniform_matroid}) {
    for (const auto noise : {LossNoise::gaussian, LossNoise::laplace, LossNoise::paper}) {
      for (const auto adjacency : {Adjacency::replace_one, Adjacency::zero_out}) {
        for (const double delta : {0.0, 1e-5}) {
          if (noise == LossNoise::gaussian && delta == 0) continue;
          auto run = simulation(instance, noise);
          run.adjacency = adjacency;
          const auto calibrated = calibrated_noise(run, target(delta, adjacency));
          EXPECT_LE(calibrated.epsilon.upper, 1);
          EXPECT_EQ(calibrated.event.adjacency(), adjacency);
          const bool is_laplace = noise == LossNoise::laplace || (noise == LossNoise::paper && delta == 0);
          ASSERT_EQ(std::holds_alternative<NoiseScale>(calibrated.amount), is_laplace);
          ReplayBits bits{1};
          const auto sums = private_regret(run, calibrated, 3, bits);
          ASSERT_EQ(sums.size(), 1000U);
          for (std::size_t t = 1; t < sums.size(); ++t) ASSERT_GE(sums[t], sums[t - 1]);
        }
      }
    }
  }
}

TEST(CalibratedNoise, LaplaceIsPureAtEveryEpsilon) {
  auto run = simulation(LossInstance::simplex, LossNoise::laplace);
  run.steps = Count{1024};  // 6 levels: 6 / epsilon alone would not do at epsilon = 1
  for (double epsilon = 0.125; epsilon <= 8; epsilon += 0.125) {
    const auto noise = calibrated_noise(run, {.epsilon = Epsilon{epsilon}, .delta = Delta{0}, .adjacency = Adjacency::replace_one});
    EXPECT_LE(noise.epsilon.upper, epsilon);
    EXPECT_GT(noise.epsilon.upper, epsilon * (1 - 1e-14));
  }
}

TEST(CalibratedNoise, RefusesWhatIsNoRun) {
  auto point = simulation(LossInstance::uniform_matroid);
  point.rank = Count{6};
  EXPECT_TRUE(refuses([&] { require_possible(point); }, ErrorCode::invalid_argument, {"rank is 6", "less than the dimension, 6"}));
  auto line = simulation(LossInstance::simplex);
  line.dimension = Count{1};
  EXPECT_TRUE(refuses([&] { require_possible(line); }, ErrorCode::invalid_argument, {"dimension is 1"}));
  auto added = simulation(LossInstance::simplex);
  added.adjacency = Adjacency::add_or_remove_one;
  EXPECT_TRUE(refuses([&] { require_possible(added); }, ErrorCode::unsupported, {"adjacency"}));
}

TEST(LossRegret, RefusesNoiseThatWasNotCharged) {
  for (const auto kind : {LossNoise::gaussian, LossNoise::laplace}) {
    const auto run = simulation(LossInstance::simplex, kind);
    auto noise = calibrated_noise(run, target(1e-5));
    if (kind == LossNoise::laplace) {
      noise.amount = NoiseScale{std::get<NoiseScale>(noise.amount).value() / 2};
    } else {
      noise.amount = NoiseMultiplier{std::get<NoiseMultiplier>(noise.amount).value() / 2};
    }
    ReplayBits bits{1};
    EXPECT_TRUE(refuses([&] { static_cast<void>(private_regret(run, noise, 1, bits)); }, ErrorCode::internal, {"as charged"}));
  }
}

TEST(LossRegret, IsLessWithoutNoiseAndFollowsItsSeed) {
  auto run = simulation(LossInstance::simplex, LossNoise::paper);
  run.steps = Count{1 << 14};
  const auto noise = calibrated_noise(run, target(1e-5));
  ReplayBits bits{1};
  double exact = 0;
  double noisy = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    exact += exact_regret(run, seed).back();
    noisy += private_regret(run, noise, seed, bits).back();
  }
  EXPECT_LT(exact, 0.7 * noisy);  // the printed noise drowns the losses
  EXPECT_EQ(exact_regret(run, 1), exact_regret(run, 1));
  EXPECT_NE(exact_regret(run, 1), exact_regret(run, 2));
}

}  // namespace
}  // namespace surety::simulations::loss_simulation_test
