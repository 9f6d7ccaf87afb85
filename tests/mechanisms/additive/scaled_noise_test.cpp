// Counts against exact binomial tails, false alarm 1e-10 per law, seeds fixed. Detected with probability 0.999 at n = 200,000: a shift of
// 0.01 in the probability of a value, which is 2 % of a scale.
#include <surety/mechanisms/additive/scaled_noise.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <boost/math/distributions/exponential.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/uniform.hpp>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <stdexcept>
#include <vector>

#include <support/exact_counts.h>
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

template <class Distribution>
::testing::AssertionResult have_law(const std::vector<double>& values, const Distribution& law) {
  std::vector<std::int64_t> below(16, 0);
  for (const double value : values) ++below[std::min<std::size_t>(15, static_cast<std::size_t>(16 * boost::math::cdf(law, value)))];
  return testing::counts_fit(below, std::vector<double>(16, 1.0 / 16));
}

// 2^20 steps, decided by doubles, and 2^56, where a cell is 64 steps long and every sample is decided within its cell.
TEST(ScaledNormal, HasTheLawOfTheGaussianOnFineGrids) {
  ReplayBits bits{2};
  for (const auto& [scale, n] : {std::pair{Scale{0x1p10, 0x1p5, 0x1p5}, 200'000}, std::pair{Scale{0x1p16, 0x1p20, 0x1p20}, 20'000}}) {
    std::vector<std::int64_t> sample(static_cast<std::size_t>(n));
    sample = draw(sample.size(), scale, bits);
    std::vector<double> values;
    for (const auto value : sample) values.push_back(static_cast<double>(value) / (scale[0] * scale[1] * scale[2]));
    EXPECT_TRUE(have_law(values, boost::math::normal_distribution<double>{}));
    EXPECT_FALSE(have_law(values, boost::math::normal_distribution<double>{0, 1.1}));
  }
}

/// The words of a script, then the end.
NextWord script(std::vector<std::uint64_t> words) {
  return [words = std::move(words), used = std::size_t{0}]() mutable {
    if (used == words.size()) throw std::logic_error{"the script has no such word"};
    return words[used++];
  };
}
constexpr std::uint64_t half = std::uint64_t{1} << 63;
/// A word whose -log U is j 2^-64, nearly.
constexpr std::uint64_t minus_log(std::uint64_t j) { return ~std::uint64_t{0} - j; }

TEST(ScaledNormal, PlacesTheSampleUniformlyInItsCell) {
  // A cell of 2^6 steps around 5 x 2^6, whose first place is 5 x 2^6 - 2^5.
  const Scale scale{0x1p56, 1, 1};
  for (const std::int64_t place : {0, 1, 31, 63}) {
    const auto v = (static_cast<std::uint64_t>(place) << 58) + (std::uint64_t{1} << 57);
    // The nearest integer to 5 x 2^6 - 2^5 + place + 1/2: one more word says on which side of 1/2.
    EXPECT_EQ(ScaledNormal::within_cell(5, scale, script({v, half, half})), 5 * 64 - 32 + place + 1);
    EXPECT_EQ(ScaledNormal::within_cell(-5, scale, script({v, half, half})), -(5 * 64 - 32 + place + 1));
    EXPECT_EQ(ScaledNormal::within_cell(5, scale, script({v - 2, half})), 5 * 64 - 32 + place);
    // Cell 0 is of either sign.
    EXPECT_EQ(ScaledNormal::within_cell(0, scale, script({v - 2, half})), -32 + place);
  }
}

// In cell 2^62, at x = 4096, the density falls by the factor exp(-x 2^-50 V) within the cell: for V = 1/2 it is kept where -log U is
// at least 2^-39, which is 2^25 units of 2^-64.
TEST(ScaledNormal, KeepsAPlaceAsOftenAsTheDensitySays) {
  const Scale tiny{1e-9, 1, 1};
  const std::int64_t cell = std::int64_t{1} << 62;
  constexpr std::uint64_t threshold = std::uint64_t{1} << 25;
  EXPECT_EQ(ScaledNormal::within_cell(cell, tiny, script({half, minus_log(threshold + threshold / 1000)})), 0);
  EXPECT_THROW(static_cast<void>(ScaledNormal::within_cell(cell, tiny, script({half, minus_log(threshold - threshold / 1000)}))),
               std::logic_error)
      << "it asks for another place";
  EXPECT_EQ(ScaledNormal::within_cell(cell, tiny, script({half, minus_log(threshold / 2), half / 4, half})), 0);
  // At the near end of the cell everything is kept.
  EXPECT_EQ(ScaledNormal::within_cell(cell, tiny, script({std::uint64_t{1} << 40, minus_log(1 << 10)})), 0);
}

// |N| beyond 8192, from a table that ends there: x0 + E / x0.
TEST(ScaledNormal, HasATailBeyondItsLastCell) {
  ReplayBits bits{3};
  const NextWord next_word = [&bits] { return draw_word(bits); };
  std::vector<double> beyond;
  for (int i = 0; i < 4000; ++i) {
    const auto value = ScaledNormal::within_cell(std::numeric_limits<std::int64_t>::max(), Scale{0x1p40, 1, 1}, next_word);
    beyond.push_back((static_cast<double>(value) * 0x1p-40 - 8192) * 8192);
  }
  EXPECT_TRUE(have_law(beyond, boost::math::exponential_distribution<double>{1}));
  EXPECT_FALSE(have_law(beyond, boost::math::exponential_distribution<double>{1.2}));
}

/// The sample at the near (far) end of its cell, or nothing where the first 64 digits of the place do not tell.
std::optional<std::int64_t> at_end(std::int64_t cell, const Scale& scale, std::uint64_t place) {
  try {
    return ScaledNormal::within_cell(cell, scale, script({place, half}));
  } catch (const std::logic_error&) {
    return std::nullopt;
  }
}

// Where both ends of the cell round to one integer, that is the sample; where not, it is one of the two.
TEST(ScaledNormal, LiesBetweenTheEndsOfItsCell) {
  const RoundedGaussian fine{StepSigma{0x1p50}};
  std::mt19937_64 random{5};
  std::vector<std::int64_t> sample(1);
  int open = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Scale scale{std::exp(std::uniform_real_distribution<double>{-5, 34}(random)), 1.3, 0x1p3};
    const std::uint64_t seed = random();
    ReplayBits bits{seed};
    ReplayBits same{seed};
    sample = draw(sample.size(), scale, bits);
    std::int64_t cell = 0;
    fine.fill(std::span{&cell, 1}, same);
    const auto near = at_end(cell, scale, 0);
    const auto far = at_end(cell, scale, ~std::uint64_t{0});
    if (!near || !far) continue;
    if (*near != *far) ++open;
    ASSERT_GE(sample[0], std::min(*near, *far)) << scale[0];
    ASSERT_LE(sample[0], std::max(*near, *far)) << scale[0];
  }
  EXPECT_GE(open, 20);
}

// A cell of 1.37 / 16 steps holds a half integer with that probability, and then its two ends are different integers: doubles must not
// decide such a cell by its middle.
TEST(ScaledNormal, LeavesOpenWhatItsCellLeavesOpen) {
  std::mt19937_64 random{6};
  const Scale scale{0x1p46, 1.37, 1};
  const auto at = [&](std::uint64_t first, std::uint64_t second, std::uint64_t place) {
    // Eight equal trials, which are accepted; their further words; and those of the cell.
    std::vector<std::uint64_t> script(8, first);
    script.insert(script.end(), 8, second);
    script.insert(script.end(), 8 + 3, 0);
    script.insert(script.end(), {place, half, half, half, half, half});
    testing::ScriptedBits bits{script};
    std::int64_t result = 0;
    normal().for_each_block(1, scale, bits, [&](std::size_t, std::span<const std::int64_t> drawn) { result = drawn[0]; });
    return result;
  };
  constexpr std::int64_t n = 20'000;
  std::int64_t open = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t first = random();
    const std::uint64_t second = random();
    if (std::abs(at(first, second, 0) - at(first, second, ~std::uint64_t{0})) == 1) ++open;
  }
  EXPECT_FALSE(testing::is_rare(open, n, 1.37 / 16, testing::false_alarm)) << open;
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
