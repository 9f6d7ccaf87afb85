#include <surety/mechanisms/additive/gaussian.h>

#include <gtest/gtest.h>
#include <mpfr.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <support/foreign_floating_point.h>
#include <surety/base/text/error.h>
#include <surety/mechanisms/queries/record_sum.h>

#include <support/additive_checks.h>
#include <support/refusal.h>
#include <support/scripted_bits.h>

namespace surety::mechanisms::gaussian_test {
namespace {

using testing::ScriptedBits;

Gaussian example() {
  return Gaussian{{.multiplier = NoiseMultiplier{1.7}, .sensitivity = L2Sensitivity{3}, .grid = {-4}, .adjacency = Adjacency::replace_one}};
}

/// Whether sigma >= multiplier * sensitivity, and sigma one double lower is not, in exact arithmetic.
bool is_product_rounded_up(double sigma, double multiplier, double sensitivity) {
  mpfr_t product;
  mpfr_init2(product, 200);
  mpfr_set_d(product, multiplier, MPFR_RNDN);
  mpfr_mul_d(product, product, sensitivity, MPFR_RNDN);
  const bool result = mpfr_cmp_d(product, sigma) <= 0 && mpfr_cmp_d(product, std::nextafter(sigma, 0)) > 0;
  mpfr_clear(product);
  return result;
}

TEST(Gaussian, ReleasesTheSameInEveryFloatingPointEnvironment) {
  const Grid grid{-30};
  std::vector<std::vector<double>> records;
  for (int i = 1; i < 200; ++i) records.push_back({1.0 / i, std::exp(-i / 50.0), 1e-310 * i});
  std::vector<double> reals;
  for (int i = 0; i < 2000; ++i) reals.push_back(std::ldexp(i % 7 + 0.5, -30) + i / 3.0);
  // The steps of a sum of clipped records with noise, and of rounded reals with noise.
  const auto made = [&] {
    const Gaussian mechanism{
        {.multiplier = NoiseMultiplier{0.31}, .sensitivity = L2Sensitivity{0.7}, .grid = grid, .adjacency = Adjacency::replace_one}};
    RecordSum sum{{.clip = ClippingNorm{0.7}, .grid = grid, .dimension = 3}};
    for (const auto& record : records) sum.add(record);
    ReplayBits bits{7};
    auto all = reals;
    mechanism.round_and_release_in_place(std::span{all}, bits);
    for (const double value : mechanism.release(sum.sum(), bits)) all.push_back(value);
    for (const double value : to_reals(round_to_nearest(reals, grid))) all.push_back(value);
    return all;
  };
  const auto expected = made();
  for (const auto& environment : reference::foreign_environments()) {
    EXPECT_EQ(reference::in(environment, made), expected) << environment.name;
  }
}

TEST(Gaussian, KnowsItsEvent) { EXPECT_EQ(example().event(), gaussian(NoiseMultiplier{1.7}, Adjacency::replace_one)); }

RC_GTEST_PROP(Gaussian, SigmaIsTheProductRoundedUp, ()) {
  const double multiplier = std::exp(*rc::gen::inRange(-10'000, 10'000) / 1000.0);
  const double sensitivity = std::exp(*rc::gen::inRange(-100'000, 100'000) / 1000.0);
  const Gaussian mechanism{{.multiplier = NoiseMultiplier{multiplier},
                            .sensitivity = L2Sensitivity{sensitivity},
                            .grid = grid_for(L2Sensitivity{sensitivity}, NoiseMultiplier{multiplier}),
                            .adjacency = Adjacency::zero_out}};
  RC_ASSERT(is_product_rounded_up(mechanism.sigma(), multiplier, sensitivity));
}

TEST(Gaussian, RoundsUpAlsoWhatIsBelowTheRangeOfDouble) {
  const Gaussian tiny{
      {.multiplier = NoiseMultiplier{1e-200}, .sensitivity = L2Sensitivity{1e-200}, .grid = {0}, .adjacency = Adjacency::zero_out}};
  EXPECT_EQ(tiny.sigma(), 5e-324);
}

TEST(Gaussian, ReleasesTheQueryPlusTheRoundedNoise) {
  const auto mechanism = example();
  expect_the_query_plus_rounded_noise(mechanism, RoundedGaussian{StepSigma{mechanism.sigma() * 16}});
}

// The heart of the guarantee: the result depends on the query only through query + ideal noise, on each side of every boundary.
RC_GTEST_PROP(Gaussian, ShiftingTheQueryShiftsTheRelease, (std::int32_t shift, std::uint64_t seed)) {
  const auto change = change_of_release(example(), shift, seed);
  RC_ASSERT(change[0] == shift / 16.0);
  RC_ASSERT(change[1] == -shift / 16.0);
}

TEST(Gaussian, SaturatesAsAFunctionOfTheSum) {
  const Gaussian mechanism{
      {.multiplier = NoiseMultiplier{1}, .sensitivity = L2Sensitivity{1}, .grid = {0}, .adjacency = Adjacency::zero_out}};
  const auto release = [&mechanism](std::int64_t steps) {
    // T near 1/4, positive: |noise| = 1.
    ScriptedBits bits{testing::block_of_trials({std::uint64_t{1} << 62})};
    return mechanism.release({Grid{0}, {steps}}, bits).front();
  };
  EXPECT_EQ(release(5), 6);
  EXPECT_EQ(release(largest_sum - 3), 0x1p62);  // the nearest double of 2^62 - 2
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  constexpr auto greatest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(release(greatest), release(largest_sum));
  EXPECT_EQ(release(least), release(-largest_sum));
  EXPECT_EQ(release(largest_sum), 0x1p62);
  EXPECT_EQ(release(-largest_sum), -0x1p62);
}

TEST(Gaussian, RefusesAQueryOnAnotherGridAndNoiseOutOfRange) {
  ReplayBits bits{1};
  EXPECT_EQ(refusal([&] {
              return example().release({Grid{-5}, {0}}, bits);
            }),
            "the query's grid has log2_step -5, must be the mechanism's -4");
  EXPECT_EQ(refusal([] {
              return Gaussian{{NoiseMultiplier{1.5}, L2Sensitivity{1}, Grid{-56}, Adjacency::zero_out}};
            }),
            "sigma is 1.080863910568919e+17 grid steps, must be at most 2^56");
}

TEST(Gaussian, TakesARecordSum) {
  RecordSum sum{{.clip = ClippingNorm{0.5}, .grid = {-30}, .dimension = 2}};
  sum.add(std::array{3.0, 4.0});
  const Gaussian mechanism{{.multiplier = NoiseMultiplier{1e-6},
                            .sensitivity = sum.sensitivity(Adjacency::replace_one),
                            .grid = sum.options().grid,
                            .adjacency = Adjacency::replace_one}};
  SystemBits bits;
  const auto released = mechanism.release(sum.sum(), bits);
  EXPECT_NEAR(released[0], 0.3, 2e-5);  // beyond 20 sigma
  EXPECT_NEAR(released[1], 0.4, 2e-5);
}

RC_GTEST_PROP(GridFor, IsFineEnoughAndCoarseEnough, ()) {
  const double sensitivity = std::exp(*rc::gen::inRange(-300'000, 300'000) / 1000.0);
  const double multiplier = std::exp(*rc::gen::inRange(-30'000, 30'000) / 1000.0);
  const auto grid = grid_for(L2Sensitivity{sensitivity}, NoiseMultiplier{multiplier});
  const double sigma_steps = sensitivity * multiplier / grid.step();
  const double sensitivity_steps = sensitivity / grid.step();
  RC_ASSERT(sensitivity_steps >= 0x1p10 && sensitivity_steps < 0x1p39);
  if (multiplier > 0x1p-8 && multiplier < 0x1p18) RC_ASSERT(sigma_steps >= 0x1p29 && sigma_steps <= 0x1p30);
  RC_ASSERT(sigma_steps <= std::max(0x1p30, multiplier * 0x1p11));
  // Every step accepts the clipping norm that makes this the sensitivity.
  const RecordSum sum{{.clip = ClippingNorm{sensitivity / 2}, .grid = grid, .dimension = 1}};
}

TEST(GridFor, RefusesWhatNoGridHolds) {
  EXPECT_EQ(refusal([] { return grid_for(L2Sensitivity{1e200}, NoiseMultiplier{1e200}); }),
            "sigma is infinite, must be within the range of double");
  EXPECT_EQ(refusal([] { return grid_for(L2Sensitivity{1e-300}, NoiseMultiplier{1}); }),
            "grid exponent log2_step is -1026, must be from -900 to 900");
}

GaussianOnReals example_on_reals() {
  return GaussianOnReals{{.multiplier = NoiseMultiplier{2},
                          .sensitivity = L2Sensitivity{3},
                          .grid = {-4},
                          .dimension = 9,
                          .adjacency = Adjacency::add_or_remove_one}};
}

TEST(GaussianOnReals, ChargesTheRoundingToTheSensitivity) {
  EXPECT_EQ(example_on_reals().sigma(), 2 * (3 + 3.0 / 16));
  EXPECT_EQ(example_on_reals().event(), gaussian(NoiseMultiplier{2}, Adjacency::add_or_remove_one));
}

TEST(GaussianOnReals, RoundsToNearestAndAddsTheNoise) {
  const std::vector<double> query{0.03, 0.04, -0.04, 100, 1e308, std::nan(""), -1e308, -0.0, 7};
  const GridVector rounded{Grid{-4}, {0, 1, -1, 1600, largest_sum, 0, -largest_sum, 0, 112}};
  const auto mechanism = example_on_reals();
  const Gaussian on_grid{{.multiplier = NoiseMultiplier{2},
                          .sensitivity = after_rounding(L2Sensitivity{3}, Grid{-4}, 9),
                          .grid = {-4},
                          .adjacency = Adjacency::add_or_remove_one}};
  ReplayBits bits{1};
  ReplayBits same{1};
  EXPECT_EQ(mechanism.release(query, bits), on_grid.release(rounded, same));
}

// More than a block, so that blocks meet their places.
TEST(GaussianOnReals, ReleasesInPlaceWhatTheGridReleases) {
  constexpr std::size_t dimension = 1000;
  const GaussianOnReals mechanism{{.multiplier = NoiseMultiplier{2},
                                   .sensitivity = L2Sensitivity{1000},
                                   .grid = {-10},
                                   .dimension = dimension,
                                   .adjacency = Adjacency::zero_out}};
  const Gaussian on_grid{{.multiplier = NoiseMultiplier{2},
                          .sensitivity = after_rounding(L2Sensitivity{1000}, Grid{-10}, dimension),
                          .grid = {-10},
                          .adjacency = Adjacency::zero_out}};
  const double infinity = std::numeric_limits<double>::infinity();
  const std::array odd{std::nan(""), infinity,   -infinity,   1e308,        -1e308,       5e-324,
                       -0.0,         0.5 / 1024, -0.5 / 1024, 0x1p52 + 0.5, 0x1p51 + 0.75};
  std::vector<double> query(dimension);
  for (std::size_t i = 0; i < dimension; ++i) query[i] = i % 3 == 0 ? odd[i / 3 % odd.size()] : std::sin(static_cast<double>(i)) * 1e4;
  ReplayBits bits{7};
  ReplayBits same{7};
  ReplayBits also{7};
  const auto expected = on_grid.release(round_to_nearest(query, Grid{-10}), same);
  EXPECT_EQ(mechanism.release(query, also), expected);
  mechanism.release_in_place(query, bits);
  EXPECT_EQ(query, expected);
  EXPECT_EQ(draw_word(bits), draw_word(same));
}

// The same noise as for doubles, within 2^24 steps; results are on the grid, none is rounded, and none is -0.
TEST(GaussianOnReals, ReleasesFloatsThatAreExact) {
  constexpr std::size_t dimension = 1000;
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::array odd{nan, std::numeric_limits<float>::signaling_NaN(), infinity, -infinity, 3e38F, -3e38F, 1e-45F, -0.0F, 0x1p10F};
  // As coarse and as fine as floats allow, and one between.
  for (const int log2_step : {-149, -10, 103}) {
    const Grid grid{log2_step};
    const GaussianOnReals mechanism{{.multiplier = NoiseMultiplier{0.5},
                                     .sensitivity = L2Sensitivity{grid.step()},
                                     .grid = grid,
                                     .dimension = dimension,
                                     .adjacency = Adjacency::zero_out}};
    std::vector<float> query(dimension);
    for (std::size_t i = 0; i < dimension; ++i) {
      query[i] = i % 3 == 0 ? odd[i / 3 % odd.size()] : static_cast<float>(std::sin(static_cast<double>(i)) * 30 * grid.step());
    }
    std::vector<double> doubles(query.begin(), query.end());
    for (const auto& environment : reference::foreign_environments()) {
      auto floats = query;
      auto expected = doubles;
      ReplayBits bits{7};
      ReplayBits same{7};
      reference::in(environment, [&] {
        mechanism.release_in_place(floats, bits);
        mechanism.release_in_place(expected, same);
        return 0;
      });
      for (std::size_t i = 0; i < dimension; ++i) {
        const double steps = expected[i] / grid.step();
        const double kept = std::clamp(steps, -0x1p24, 0x1p24);
        ASSERT_EQ(static_cast<double>(floats[i]), kept * grid.step()) << environment.name << ", step 2^" << log2_step << ", value " << i;
        ASSERT_FALSE(floats[i] == 0 && std::signbit(floats[i])) << i;
      }
      EXPECT_EQ(draw_word(bits), draw_word(same));
    }
  }
}

TEST(GaussianOnReals, RefusesFloatsBeforeItSeesThem) {
  const auto refused = [](double sensitivity, int log2_step) {
    const GaussianOnReals mechanism{{.multiplier = NoiseMultiplier{1},
                                     .sensitivity = L2Sensitivity{sensitivity},
                                     .grid = {log2_step},
                                     .dimension = 2,
                                     .adjacency = Adjacency::zero_out}};
    ReplayBits bits{7};
    ReplayBits untouched{7};
    std::vector<float> query{1, 2};
    const auto message = refusal([&] { mechanism.release_in_place(query, bits); });
    EXPECT_EQ(query, (std::vector<float>{1, 2}));
    EXPECT_EQ(draw_word(bits), draw_word(untouched));
    return message;
  };
  EXPECT_EQ(refused(0x1p-150, -150), "log2_step of the grid is -150, must be from -149 to 103 for floats");
  EXPECT_EQ(refused(0x1p104, 104), "log2_step of the grid is 104, must be from -149 to 103 for floats");
  EXPECT_EQ(refused(0x1p11, -10).substr(0, 31), "the noise is 2097153.4142135624");
}

// Both ways of the addition: in doubles, and in integers for blocks that hold a number too large for that.
TEST(RoundAndAdd, IsTheSumOfTheNearestIntegers) {
  const std::array values{0.0,          -0.0,           0.5,     -0.5, 1.5, -1.5, 2.5, -2.5, 0x1.fffffffffffffp-2, 1e-300,
                          0x1p51 - 0.5, -0x1p51 + 0.75, 3.25e15, 7.75};
  const double nan = std::nan("");
  const std::array<std::int64_t, 8> noises{0,
                                           -1,
                                           5,
                                           (std::int64_t{1} << 51) - 1,
                                           -(std::int64_t{1} << 51),
                                           (std::int64_t{1} << 51) + 1,
                                           std::numeric_limits<std::int64_t>::max(),
                                           -std::numeric_limits<std::int64_t>::max()};
  for (const double large : {0.0, 0x1p51, -0x1p51, 0x1p52 + 1, 1e300, nan}) {
    for (const std::int64_t noise : noises) {
      for (const Grid grid : {Grid{0}, Grid{-3}}) {
        std::vector<double> query{values.begin(), values.end()};
        query.push_back(large);
        for (auto& value : query) value *= grid.step();
        const std::vector<std::int64_t> added(query.size(), noise);
        auto expected = round_to_nearest(query, grid);
        for (auto& steps : expected.steps) steps = saturating_add(steps, noise);
        round_and_add(query, added, grid);
        for (std::size_t i = 0; i < query.size(); ++i) {
          EXPECT_EQ(std::bit_cast<std::uint64_t>(query[i]), std::bit_cast<std::uint64_t>(to_reals(expected)[i]))
              << i << " " << large << " " << noise;
        }
      }
    }
  }
}

TEST(GaussianOnReals, RefusesAnotherDimension) {
  ReplayBits bits{1};
  std::vector<double> two{1.5, 2.5};
  EXPECT_EQ(refusal([&] { example_on_reals().release_in_place(two, bits); }), "the query has 2 coordinates, must have 9");
  EXPECT_EQ(two, (std::vector{1.5, 2.5}));
  EXPECT_EQ(refusal([&] { return example_on_reals().release(std::array{1.0}, bits); }), "the query has 1 coordinates, must have 9");
}

}  // namespace
}  // namespace surety::mechanisms::gaussian_test
