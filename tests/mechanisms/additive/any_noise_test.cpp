#include <surety/mechanisms/additive/any_noise.h>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <surety/mechanisms/bits/random_bits.h>

#include <support/refusal.h>

namespace surety::mechanisms::any_noise_test {
namespace {

using reference::refusal_of;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

const L2Sensitivity one{1};
const NoiseScale tiny{0x1p-9};

/// Noise of some 2^-9 on two numbers, or on one where it takes no more, whose sensitivity is 1; discrete noise of 1 hides less than a clip of 100.
std::vector<AnyNoise> small_noises(Adjacency adjacency) {
  const Grid grid{.log2_step = -20};
  const NoiseMultiplier multiplier{0x1p-9};
  return {AnyNoise{GaussianOnReals{{.multiplier = multiplier, .sensitivity = one, .grid = grid, .dimension = 2, .adjacency = adjacency}}},
          AnyNoise{LaplaceOnReals{{.scale = tiny, .sensitivity = L1Sensitivity{1}, .grid = grid, .dimension = 2, .adjacency = adjacency}}},
          AnyNoise{KNormOnReals{
              {.scale = tiny, .sensitivity = LinfSensitivity{1}, .grid = grid, .dimension = Count{2}, .adjacency = adjacency}}},
          AnyNoise{GeneralizedGaussianOnReals{{.r = NormExponent{3},
                                               .multiplier = multiplier,
                                               .sensitivity = LrSensitivity{1},
                                               .grid = grid,
                                               .dimension = Count{2},
                                               .adjacency = adjacency}}}};
}
std::vector<AnyNoise> integer_noises(Adjacency adjacency) {
  return {
      AnyNoise{DiscreteGaussian{{.sigma = NoiseScale{0.1}, .sensitivity = L2Sensitivity{100}, .adjacency = adjacency}}},
      AnyNoise{DiscreteLaplace{{.scale = NoiseScale{0.02}, .sensitivity = L1Sensitivity{100}, .adjacency = adjacency}}},
      AnyNoise{TruncatedGeometric{
          {.scale = NoiseScale{0.02}, .sensitivity = L1Sensitivity{100}, .range = IntegerRange{-1000, 1000}, .adjacency = adjacency}}},
  };
}

TEST(AnyNoise, ARowMovesAReleasedSumByItsClipWhateverItHolds) {
  SystemBits bits;
  for (const auto& noise : small_noises(Adjacency::zero_out)) {
    for (const double bad : {0.0, 1e30, infinity, -infinity, nan}) {
      auto sum = noise.sum_of_rows(ClippingNorm{1}, 2);
      for (int i = 0; i < 100; ++i) sum.add(std::array{0.5, 0.0});
      const auto without = noise.release<double>(sum, bits);
      sum.add(std::array{0.0, bad});
      const auto with = noise.release<double>(sum, bits);
      EXPECT_NEAR(without[0], 50, 1) << describe(noise.event());
      EXPECT_NEAR(with[0], 50, 1) << "the others are still there: " << bad;
      EXPECT_NEAR(with[1], bad == 1e30 ? 1 : 0, 0.5) << bad;
    }
  }
  for (const auto& noise : integer_noises(Adjacency::zero_out)) {
    auto sum = noise.sum_of_rows(ClippingNorm{100}, 2);
    for (int i = 0; i < 10; ++i) sum.add(std::array<std::int64_t, 2>{50, 0});
    sum.add(std::array<std::int64_t, 2>{0, std::numeric_limits<std::int64_t>::max()});
    const auto released = noise.release<std::int64_t>(sum, bits);
    EXPECT_NEAR(static_cast<double>(released[0]), 500, 5) << describe(noise.event());
    EXPECT_NEAR(static_cast<double>(released[1]), 100, 5);
  }
}

TEST(AnyNoise, AClipIsAtMostWhatTheNoiseHides) {
  for (const auto adjacency : {Adjacency::add_or_remove_one, Adjacency::zero_out, Adjacency::replace_one}) {
    const double share = adjacency == Adjacency::replace_one ? 0.5 : 1;
    for (const auto& noise : small_noises(adjacency)) {
      EXPECT_NO_THROW(static_cast<void>(noise.sum_of_rows(ClippingNorm{share}, 2)));
      EXPECT_TRUE(
          refusal_of([&] { return noise.sum_of_rows(ClippingNorm{share * 1.001}, 2); }).says(ErrorCode::invalid_argument, "clip is"));
      EXPECT_TRUE(
          refusal_of([&] { return noise.sum_of_rows(ClippingNorm{share}, 3); }).says(ErrorCode::invalid_argument, "rows have 3 numbers"));
    }
    for (const auto& noise : integer_noises(adjacency)) {
      EXPECT_NO_THROW(static_cast<void>(noise.sum_of_rows(ClippingNorm{100 * share}, 7)));
      EXPECT_TRUE(
          refusal_of([&] { return noise.sum_of_rows(ClippingNorm{100 * share + 1}, 7); }).says(ErrorCode::invalid_argument, "clip is"));
    }
  }
  const CoordinateSensitivity five{Count{5}};
  const auto adjacency = Adjacency::zero_out;
  for (const AnyNoise& along_one : {AnyNoise{DiscreteGaussian{{.sigma = NoiseScale{3}, .sensitivity = five, .adjacency = adjacency}}},
                                    AnyNoise{Binomial{{.flips = Count{36}, .sensitivity = five, .adjacency = adjacency}}},
                                    AnyNoise{Skellam{{.mean = PoissonMean{4.5}, .sensitivity = five, .adjacency = adjacency}}}}) {
    EXPECT_TRUE(along_one.is_on_integers());
    EXPECT_EQ(along_one.scale(), 3);
    EXPECT_NO_THROW(static_cast<void>(along_one.sum_of_rows(ClippingNorm{5}, 1)));
    EXPECT_TRUE(refusal_of([&] { return along_one.sum_of_rows(ClippingNorm{6}, 1); }).says(ErrorCode::invalid_argument, "clip is 6"));
    EXPECT_TRUE(refusal_of([&] { return along_one.sum_of_rows(ClippingNorm{5}, 2); }).says(ErrorCode::invalid_argument, "must have 1"));
  }
}

// A sum of another noise, or made by hand, is as little hidden as its own clip says.
TEST(AnyNoise, ReleasesNoOtherSum) {
  SystemBits bits;
  const auto noises = small_noises(Adjacency::zero_out);
  const auto integers = integer_noises(Adjacency::zero_out);
  ClippedSum::Options options = noises[0].sum_of_rows(ClippingNorm{1}, 2).options();
  const auto refused = [&](const AnyNoise& noise, const ClippedSum::Options& made) {
    return refusal_of([&] { return noise.release<double>(ClippedSum{made}, bits); });
  };
  EXPECT_FALSE(refused(noises[0], options).refused);
  EXPECT_TRUE(refused(noises[1], options).says(ErrorCode::invalid_argument, "another norm"));
  auto wrong = options;
  wrong.clip = ClippingNorm{1.5};
  EXPECT_TRUE(refused(noises[0], wrong).says(ErrorCode::invalid_argument, "clip is 1.5"));
  wrong = options;
  wrong.grid = {.log2_step = -19};
  EXPECT_TRUE(refused(noises[0], wrong).says(ErrorCode::invalid_argument, "log2_step"));
  wrong = options;
  wrong.dimension = 3;
  EXPECT_TRUE(refused(noises[0], wrong).says(ErrorCode::invalid_argument, "rows have 3"));
  EXPECT_TRUE(refused(integers[0], options).says(ErrorCode::invalid_argument, "must be int64"));
}

TEST(AnyNoise, RefusesBeforehandWhatAReleaseWouldRefuse) {
  SystemBits bits;
  const auto adjacency = Adjacency::zero_out;
  auto all = small_noises(adjacency);
  for (const auto& noise : integer_noises(adjacency)) all.push_back(noise);
  const auto same = [&]<class Value>(const AnyNoise& noise, std::vector<Value> values) {
    const auto beforehand = refusal_of([&] { return noise.require_release_of<Value>(values.size()), 0; });
    const auto then = refusal_of([&] { return noise.release_in_place(std::span<Value>{values}, bits), 0; });
    EXPECT_EQ(beforehand.refused, then.refused) << beforehand << ' ' << then;
    EXPECT_EQ(beforehand.message, then.message);
    return beforehand.refused;
  };
  for (const auto& noise : all) {
    EXPECT_EQ(same(noise, std::vector<double>(2)), noise.is_on_integers());
    EXPECT_EQ(same(noise, std::vector<float>(2)), noise.is_on_integers());
    EXPECT_EQ(same(noise, std::vector<std::int64_t>(2)), !noise.is_on_integers());
    EXPECT_TRUE(same(noise, std::vector<double>(3)));
    EXPECT_EQ(same(noise, std::vector<std::int64_t>(3)), !noise.is_on_integers());
  }
  // Too fine a grid for floats: as the laws themselves refuse it.
  for (const int log2_step : {-40, -30, -21}) {
    const GaussianOnReals law{
        {.multiplier = NoiseMultiplier{1}, .sensitivity = one, .grid = {.log2_step = log2_step}, .dimension = 2, .adjacency = adjacency}};
    EXPECT_TRUE(same(AnyNoise{law}, std::vector<float>(2)));
    std::vector<float> values(2);
    EXPECT_TRUE(refusal_of([&] { return law.release_in_place(std::span{values}, bits), 0; }).refused);
  }
}

}  // namespace
}  // namespace surety::mechanisms::any_noise_test
