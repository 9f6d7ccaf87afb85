// Counts against exact binomial tails, false alarm 1e-10 per law, seeds fixed. Detected with probability 0.999 at n = 200,000: a shift of
// 0.01 in the probability of a value, which is 2 % of a scale.
#include <surety/mechanisms/additive/scaled_noise.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <boost/math/distributions/normal.hpp>
#include <chrono>
#include <cmath>
#include <random>
#include <span>
#include <vector>

#include <support/exact_counts.h>
#include <support/ideal_tapes.h>
#include <support/real.h>
#include <support/scripted_bits.h>

namespace surety::mechanisms::scaled_noise_test {
namespace {

constexpr auto adjacency = Adjacency::replace_one;
using Scale = std::array<double, 3>;

const ScaledNormal& normal() {
  static const ScaledNormal value;
  return value;
}

std::vector<std::int64_t> draw(std::size_t count, const Scale& scale, ReplayBits& bits) {
  std::vector<std::int64_t> sample(count);
  normal().for_each_block(count, scale, bits, [&](std::size_t first, std::span<const std::int64_t> drawn) {
    std::copy(drawn.begin(), drawn.end(), sample.begin() + static_cast<std::ptrdiff_t>(first));
  });
  return sample;
}

/// Counts of -3 .. 3, in the order of k, and of the rest.
std::vector<std::int64_t> counts(const std::vector<std::int64_t>& sample) {
  std::vector<std::int64_t> result(8, 0);
  for (const auto value : sample) ++result[std::abs(value) <= 3 ? static_cast<std::size_t>(value + 3) : 7];
  return result;
}

/// Of the nearest integer to N(0, sigma^2).
std::vector<double> probabilities(double sigma) {
  const boost::math::normal_distribution<double> law{0, sigma};
  std::vector<double> result;
  double rest = 1;
  for (int k = -3; k <= 3; ++k) {
    result.push_back(boost::math::cdf(law, k + 0.5) - boost::math::cdf(law, k - 0.5));
    rest -= result.back();
  }
  result.push_back(rest);
  return result;
}

TEST(ScaledNormal, HasTheLawOfTheRoundedGaussianAtAnyScale) {
  ReplayBits bits{1};
  std::vector<std::int64_t> sample(200'000);
  for (const auto& scale : {Scale{1, 1, 1}, Scale{0.3, 1, 1}, Scale{3, 0.7, 0.5}, Scale{1e-3, 1000, 2}}) {
    const double sigma = scale[0] * scale[1] * scale[2];
    sample = draw(sample.size(), scale, bits);
    EXPECT_TRUE(testing::counts_fit(counts(sample), probabilities(sigma))) << sigma;
    EXPECT_FALSE(testing::counts_fit(counts(sample), probabilities(sigma * 1.03))) << sigma;
  }
}

// 2^20 steps, and 2^56, the largest scale.
TEST(ScaledNormal, HasTheLawOfTheGaussianOnFineGrids) {
  ReplayBits bits{2};
  for (const auto& [scale, n] : {std::pair{Scale{0x1p10, 0x1p5, 0x1p5}, 200'000}, std::pair{Scale{0x1p16, 0x1p20, 0x1p20}, 20'000}}) {
    std::vector<std::int64_t> sample(static_cast<std::size_t>(n));
    sample = draw(sample.size(), scale, bits);
    std::vector<double> values;
    for (const auto value : sample) values.push_back(static_cast<double>(value) / (scale[0] * scale[1] * scale[2]));
    EXPECT_TRUE(testing::have_law(values, boost::math::normal_distribution<double>{}));
    EXPECT_FALSE(testing::have_law(values, boost::math::normal_distribution<double>{0, 1.1}));
  }
}

// |round(sigma N)| >= j if and only if N >= (j - 1/2) / sigma: at 159 digits of N, and at 64 more where these are those of the limit.
TEST(ScaledNormal, RoundsAtItsThresholds) {
  for (const auto& scale : {Scale{1.1, 2.3, 0x1p2}, Scale{0.7, 1.9, 0x1p50}}) {
    const reference::Real sigma = reference::Real{scale[0]} * scale[1] * scale[2];
    for (const double share : {0.1, 0.3, 0.6, 0.9}) {
      const auto j = static_cast<std::int64_t>(share * sigma.nearest_double()) + 1;
      const testing::IdealDigits limit{(reference::Real{static_cast<double>(j)} - 0.5) / sigma};
      const auto at = [&](const testing::IdealDigits& digits, std::uint64_t sign, std::vector<std::uint64_t> more) {
        auto tape = testing::half_normal_tape(digits.k, digits.f, {0, 0});
        tape.insert(tape.begin(), sign);
        tape.insert(tape.end(), more.begin(), more.end());
        testing::ScriptedBits bits{tape};
        std::int64_t result = 0;
        ScaledNormal::draw(scale, std::span{&result, 1}, bits);
        EXPECT_EQ(bits.used(), tape.size());
        return result;
      };
      EXPECT_EQ(at(limit.moved_by(-1), 0, {}), j - 1);
      EXPECT_EQ(at(limit.moved_by(1), 0, {}), j);
      EXPECT_EQ(at(limit.moved_by(1), 1, {}), -j);
      EXPECT_EQ(at(limit, 0, {limit.next - 1}), j - 1);
      EXPECT_EQ(at(limit, 0, {limit.next + 1}), j);
      EXPECT_EQ(at(limit, 1, {limit.next + 1}), -j);
    }
  }
}

TEST(ScaledNormal, DrawsWhatItsDefinitionSays) {
  std::mt19937_64 random{5};
  for (int i = 0; i < 400; ++i) {
    const Scale scale{std::exp(std::uniform_real_distribution<double>{-5, 34}(random)), 1.3, 0x1p3};
    const std::uint64_t seed = random();
    ReplayBits bits{seed};
    ReplayBits same{seed};
    std::vector<std::int64_t> sample(1 + static_cast<std::size_t>(i) % 20);
    std::vector<std::int64_t> expected(sample.size());
    ScaledNormal::draw(scale, sample, bits);
    ScaledNormal::draw_by_definition(scale, expected, same);
    ASSERT_EQ(sample, expected) << scale[0];
  }
}

TEST(ScaledNoise, FollowsTheSensitivityOfEachRelease) {
  const Grid grid{-20};
  ReplayBits bits{7};
  constexpr std::size_t dimension = 4000;
  const GridVector query{.grid = grid, .steps = std::vector<std::int64_t>(dimension, 0)};
  const auto deviation = [&](const auto& mechanism, auto sensitivity) {
    double squares = 0;
    for (const double value : mechanism.release(query, sensitivity, bits)) squares += value * value;
    return std::sqrt(squares / dimension);
  };
  const ScaledGaussian gaussian{{.multiplier = NoiseMultiplier{3}, .grid = grid, .adjacency = adjacency}};
  const ScaledKNorm<L1Sensitivity> laplace{{.scale = NoiseScale{3}, .grid = grid, .dimension = Count{dimension}, .adjacency = adjacency}};
  const ScaledGeneralizedGaussian generalized{
      {.r = NormExponent{2}, .multiplier = NoiseMultiplier{3}, .grid = grid, .dimension = Count{dimension}, .adjacency = adjacency}};
  for (const double s : {0.01, 0.5, 40.0}) {
    EXPECT_NEAR(deviation(gaussian, L2Sensitivity{s}), 3 * s, 0.2 * s);
    EXPECT_NEAR(deviation(laplace, L1Sensitivity{s}), 3 * std::sqrt(2) * s, 0.5 * s);
    EXPECT_NEAR(deviation(generalized, LrSensitivity{s}), 3 * s, 0.2 * s);
  }
  EXPECT_EQ(describe(gaussian.event()), "gaussian(3)");
}

// The noise in data units does not know of the grid: the same bits on other grids give the same values to within half a step of each, so
// a grid may follow the sensitivity from release to release.
TEST(ScaledNoise, FollowsTheGridOfEachRelease) {
  constexpr std::size_t dimension = 50;  // of one block of trials, whose words are drawn before any further ones
  const auto released = [&](int log2_step, double sensitivity) {
    const Grid grid{log2_step};
    const ScaledGaussian noise{{.multiplier = NoiseMultiplier{3}, .grid = grid, .adjacency = adjacency}};
    ReplayBits bits{7};
    return noise.release({.grid = grid, .steps = std::vector<std::int64_t>(dimension, 1)}, L2Sensitivity{sensitivity}, bits);
  };
  const auto finest = released(-40, 1);
  for (const int log2_step : {-30, -10, -2}) {
    const auto found = released(log2_step, 1);
    const double step = std::ldexp(1.0, log2_step);
    for (std::size_t i = 0; i < dimension; ++i) {
      ASSERT_NEAR(found[i] - step, finest[i] - 0x1p-40, step / 2 + 0x1p-40) << "coordinate " << i << " at step 2^" << log2_step;
      ASSERT_EQ(std::floor(found[i] / step), found[i] / step);
    }
  }
  // Sensitivity and grid halved together halve every value exactly.
  const auto small = released(-130, std::ldexp(1.0, -90));
  for (std::size_t i = 0; i < dimension; ++i) ASSERT_EQ(std::ldexp(small[i], 90), finest[i]);
}

// 100,000 grids take a fraction of a second; with a table for each they would take minutes.
TEST(ScaledNoise, SetsNothingUpForAnotherGrid) {
  ReplayBits bits{7};
  const auto start = std::chrono::steady_clock::now();
  for (int k = 0; k < 100'000; ++k) {
    const Grid grid{-(k % 900)};
    const ScaledGaussian noise{{.multiplier = NoiseMultiplier{2}, .grid = grid, .adjacency = adjacency}};
    ASSERT_EQ(noise.release({.grid = grid, .steps = {0}}, L2Sensitivity{1024 * grid.step()}, bits).size(), 1U);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds{20});
}

TEST(ScaledNoise, RefusesWhatDoesNotFit) {
  const ScaledGaussian noise{{.multiplier = NoiseMultiplier{1}, .grid = Grid{0}, .adjacency = adjacency}};
  ReplayBits bits{7};
  EXPECT_THROW(static_cast<void>(noise.release({.grid = Grid{1}, .steps = {0}}, L2Sensitivity{1}, bits)), Error);
  EXPECT_THROW(static_cast<void>(noise.release({.grid = Grid{0}, .steps = {0}}, L2Sensitivity{0x1p57}, bits)), Error);
}

}  // namespace
}  // namespace surety::mechanisms::scaled_noise_test
