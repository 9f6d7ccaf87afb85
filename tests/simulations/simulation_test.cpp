#include <surety/simulations/simulation.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include <surety/accounting/calibration/calibrate.h>

#include <support/refusal.h>

namespace surety::simulations::simulation_test {
namespace {

using mechanisms::Factorization;
using mechanisms::ReplayBits;

Simulation simulation(BanditInstance instance, BanditAlgorithm algorithm, std::uint64_t steps = 1000) {
  return {.instance = instance, .algorithm = algorithm, .steps = Count{steps}, .features = Count{10}, .warm_up = Count{20}};
}

TEST(SimulatedUsers, FollowTheirInstance) {
  for (const auto instance : {BanditInstance::sparse, BanditInstance::dense}) {
    SimulatedUsers users{instance, Count{12}, Count{4}, 3};
    for (const auto& theta : users.parameters()) {
      double norm = 0;
      for (const double weight : theta) norm += std::abs(weight);
      EXPECT_NEAR(norm, 1, 1e-12);
    }
    double squares = 0;
    double noise = 0;
    double noise_squares = 0;
    constexpr int count = 20'000;
    for (int t = 0; t < count; ++t) {
      const SimulatedUser user = users.next();
      for (const double x : user.context) {
        ASSERT_TRUE(instance == BanditInstance::dense ? std::abs(x) <= 1 : std::abs(x) == 1);
        squares += x * x;
      }
      for (std::size_t a = 0; a < 4; ++a) {
        double mean = 0;
        for (std::size_t j = 0; j < 12; ++j) mean += users.parameters()[a][j] * user.context[j];
        ASSERT_NEAR(user.means[a], mean, 1e-12);
        noise += user.rewards[a] - user.means[a];
        noise_squares += (user.rewards[a] - user.means[a]) * (user.rewards[a] - user.means[a]);
      }
    }
    // Six standard errors.
    EXPECT_NEAR(std::sqrt(squares / count), typical_norm(instance, Count{12}), instance == BanditInstance::dense ? 0.012 : 1e-9);
    EXPECT_NEAR(noise / (4 * count), 0, 6 * 0.1 / std::sqrt(4.0 * count));
    EXPECT_NEAR(std::sqrt(noise_squares / (4 * count)), 0.1, 6 * 0.1 / std::sqrt(8.0 * count));
  }
  const SimulatedUsers sparse{BanditInstance::sparse, Count{10}, Count{3}, 1};
  EXPECT_EQ(sparse.parameters()[1], (std::vector<double>{-0.2, -0.2, -0.2, -0.2, -0.2, 0, 0, 0, 0, 0}));
  EXPECT_EQ(sparse.parameters()[2], (std::vector<double>{0, 0, 0, 0, 0, 0.2, 0.2, 0.2, 0.2, 0.2}));
}

TEST(SimulatedUsers, FollowTheirSeed) {
  const auto first = [](std::uint64_t seed) { return SimulatedUsers{BanditInstance::dense, Count{5}, Count{2}, seed}.next(); };
  EXPECT_EQ(first(1).context, first(1).context);
  EXPECT_EQ(first(1).rewards, first(1).rewards);
  EXPECT_NE(first(1).context, first(2).context);
  EXPECT_TRUE(refuses([] { SimulatedUsers(BanditInstance::sparse, Count{9}, Count{3}, 1); }, ErrorCode::invalid_argument,
                      {"dimension is 9", "at least 5 for each two of the 3 arms"}));
}

// On the sparse instance two arms differ by 2 |0.2 sum of five signs|, 0.75 on average; random play misses it every other time.
TEST(Simulation, RandomPlayPaysThreeEighthsPerUser) {
  const auto regret = exact_regret(simulation(BanditInstance::sparse, BanditAlgorithm::random, 20'000), 1);
  EXPECT_NEAR(regret.back() / 20'000, 0.375, 6 * 0.5 / std::sqrt(20'000.0));
}

TEST(Simulation, WithoutNoiseLearns) {
  for (const auto instance : {BanditInstance::sparse, BanditInstance::dense}) {
    const auto random = exact_regret(simulation(instance, BanditAlgorithm::random, 2000), 5);
    for (const auto algorithm : {BanditAlgorithm::hdb, BanditAlgorithm::ucb}) {
      const auto found = exact_regret(simulation(instance, algorithm, 2000), 5);
      ASSERT_EQ(found.size(), 2000U);
      EXPECT_LT(found.back(), 0.5 * random.back()) << name(instance) << " " << name(algorithm);
      EXPECT_LT(found[1999] - found[999], 0.25 * (random[1999] - random[999])) << name(instance) << " " << name(algorithm);
      for (std::size_t t = 1; t < found.size(); ++t) ASSERT_GE(found[t], found[t - 1]);
    }
  }
}

TEST(Simulation, NoiseCostsRegretAndFollowsTheBits) {
  const auto settings = simulation(BanditInstance::sparse, BanditAlgorithm::hdb, 2000);
  const auto regret = [&](double multiplier, std::uint64_t bits_seed) {
    ReplayBits bits{bits_seed};
    return private_regret(settings, NoiseMultiplier{multiplier}, 1, bits);
  };
  EXPECT_EQ(regret(3, 1), regret(3, 1));
  EXPECT_NE(regret(3, 1), regret(3, 2));
  EXPECT_LT(regret(0.01, 1).back(), 0.5 * regret(300, 1).back());
}

// The same users with hardly any noise as with none: the stream's block and sign are those of the exact sums.
TEST(Simulation, VanishingNoiseIsNoNoise) {
  for (const auto algorithm : {BanditAlgorithm::hdb, BanditAlgorithm::ucb}) {
    auto settings = simulation(BanditInstance::dense, algorithm, 300);
    settings.exploration = Exploration{0};
    ReplayBits bits{1};
    const double found = private_regret(settings, NoiseMultiplier{1e-4}, 2, bits).back();
    EXPECT_NEAR(found, exact_regret(settings, 2).back(), 0.1 * found + 1);
  }
}

TEST(Simulation, SaysItsEvent) {
  auto settings = simulation(BanditInstance::dense, BanditAlgorithm::hdb, 1000);
  const NoiseMultiplier z{3};
  EXPECT_TRUE(*event(settings, z) == gaussian(z, Adjacency::replace_one));
  settings.factorization = Factorization::tree;
  settings.adjacency = Adjacency::zero_out;
  EXPECT_TRUE(*event(settings, z) == repeat(Count{10}, gaussian(z, Adjacency::zero_out)));
  settings.algorithm = BanditAlgorithm::random;
  EXPECT_FALSE(event(settings, z));
  settings.algorithm = BanditAlgorithm::ucb;
  settings.adjacency = Adjacency::add_or_remove_one;
  EXPECT_TRUE(refuses([&] { static_cast<void>(event(settings, z)); }, ErrorCode::unsupported, {"add-or-remove-one"}));
}

// What the ridge of UCB is computed from: the deviation of prefix sums of nothing, measured over 400 coordinates.
TEST(Simulation, KnowsTheDeviationOfItsNoise) {
  for (const auto factorization : mechanisms::all_factorizations) {
    auto settings = simulation(BanditInstance::dense, BanditAlgorithm::hdb, 63);
    settings.features = Count{200};
    settings.factorization = factorization;
    const auto options = detail::sum_options(settings, NoiseMultiplier{2});
    mechanisms::GaussianContinualSum sum{options};
    ReplayBits bits{9};
    double largest = 0;
    for (int t = 0; t < 63; ++t) {
      double squares = 0;
      for (const double noise : sum.push({.grid = options.grid, .steps = std::vector<std::int64_t>(400)}, bits)) squares += noise * noise;
      largest = std::max(largest, std::sqrt(squares / 400));
    }
    EXPECT_NEAR(largest / detail::largest_deviation(options), 1, 0.15) << name(factorization);
  }
}

TEST(ChargedStream, RefusesMoreThanItsNoiseIsFor) {
  const auto options = detail::sum_options(simulation(BanditInstance::dense, BanditAlgorithm::hdb), NoiseMultiplier{2});
  mechanisms::GaussianContinualSum sum{options};
  ReplayBits bits{1};
  ChargedStream stream{sum, bits, options.sensitivity};
  const GridVector nothing{.grid = options.grid, .steps = std::vector<std::int64_t>(20)};
  EXPECT_EQ(stream.push(nothing, options.sensitivity).size(), 20U);
  EXPECT_TRUE(refuses([&] { static_cast<void>(stream.push(nothing, L2Sensitivity{1.001 * options.sensitivity.value()})); },
                      ErrorCode::internal, {"more sensitive"}));
}

TEST(Bands, SummarizeRunsAtTenths) {
  const auto found = bands(std::vector<std::vector<double>>{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                                            {3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 33, 36, 39, 42, 45}});
  ASSERT_EQ(found.size(), 10U);
  EXPECT_EQ(found[0].users, 2U);
  EXPECT_EQ(found[9].users, 15U);
  EXPECT_DOUBLE_EQ(found[9].mean, 30);
  EXPECT_DOUBLE_EQ(found[9].deviation, std::sqrt(450.0));
  EXPECT_EQ(found[0].least, 2);
  EXPECT_EQ(found[0].largest, 6);
  const auto few = bands(std::vector<std::vector<double>>{{1, 2, 4}});
  ASSERT_EQ(few.size(), 3U);
  EXPECT_EQ(few[2].deviation, 0);
}

}  // namespace
}  // namespace surety::simulations::simulation_test
