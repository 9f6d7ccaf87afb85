// Every input that a type can hold goes through every mechanism: it is completed or clamped as documented, by a rule that looks at it
// alone, and nothing is thrown for what it holds. What has no meaning is refused where options are made, before there is data.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/additive/laplace.h>
#include <surety/mechanisms/additive/lp_noise.h>
#include <surety/mechanisms/choices/randomized_response.h>
#include <surety/mechanisms/choices/selection.h>
#include <surety/mechanisms/choices/sparse_vector.h>
#include <surety/mechanisms/queries/bounded_sum.h>
#include <surety/mechanisms/queries/record_sum.h>

#include <support/refusal.h>

namespace surety::mechanisms::inputs_test {
namespace {

using reference::refusal_of;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double largest = std::numeric_limits<double>::max();
constexpr auto adjacency = Adjacency::zero_out;

/// A hard number, and what it counts as on a grid of step 1/8: +-2^62 steps are its ends.
struct Number {
  double value;
  double counts_as;
};
const std::vector<Number> numbers{
    {std::nan(""), 0}, {-std::nan(""), 0}, {infinity, 0x1p59}, {-infinity, -0x1p59}, {largest, 0x1p59}, {-largest, -0x1p59},
    {0x1p59, 0x1p59},  {0x1p60, 0x1p59},   {-0.0, 0},          {5e-324, 0},          {-5e-324, 0},      {-0x1p-1022, 0},
    {0.0624, 0},       {0.0625, 0.125},    {-0.0625, -0.125},  {0.1875, 0.25},       {1e300, 0x1p59}};

/// What a release of these queries gives, from the same bits.
template <class Release>
void expect_same(Release release, const std::string& what) {
  for (const auto& [value, counts_as] : numbers) {
    ReplayBits bits{11};
    ReplayBits same{11};
    const std::vector<double> released = release(value, bits);
    EXPECT_EQ(released, release(counts_as, same)) << what << " " << value;
    for (const double x : released) EXPECT_TRUE(std::isfinite(x) && !(x == 0 && std::signbit(x))) << what << " " << value;
  }
}

TEST(Inputs, ANumberCountsAsOneOnTheGrid) {
  const Grid grid{-3};
  const GaussianOnReals reals{
      {.multiplier = NoiseMultiplier{1}, .sensitivity = L2Sensitivity{1}, .grid = grid, .dimension = 2, .adjacency = adjacency}};
  expect_same([&](double value, ReplayBits& bits) { return reals.release(std::vector{value, 1.0}, bits); }, "Gaussian on reals");
  const auto query = [&](double value) { return round_to_nearest(std::vector{value, 1.0}, grid); };
  const Laplace laplace{{.scale = NoiseScale{1}, .sensitivity = L1Sensitivity{1}, .grid = grid, .adjacency = adjacency}};
  expect_same([&](double value, ReplayBits& bits) { return laplace.release(query(value), bits); }, "Laplace");
  for (const std::variant<L1Sensitivity, L2Sensitivity, LinfSensitivity> sensitivity :
       {std::variant<L1Sensitivity, L2Sensitivity, LinfSensitivity>{L1Sensitivity{1}}, {L2Sensitivity{1}}, {LinfSensitivity{1}}}) {
    const KNorm norm{{.scale = NoiseScale{1}, .sensitivity = sensitivity, .grid = grid, .dimension = Count{2}, .adjacency = adjacency}};
    expect_same([&](double value, ReplayBits& bits) { return norm.release(query(value), bits); }, "KNorm");
  }
  const GeneralizedGaussian general{{.r = NormExponent{3},
                                     .multiplier = NoiseMultiplier{1},
                                     .sensitivity = LrSensitivity{1},
                                     .grid = grid,
                                     .dimension = Count{2},
                                     .adjacency = adjacency}};
  expect_same([&](double value, ReplayBits& bits) { return general.release(query(value), bits); }, "generalized Gaussian");
}

TEST(Inputs, ABoundedNumberCountsAsOneBetweenItsBounds) {
  const Grid grid{-3};
  for (const auto& [value, counts_as] : numbers) {
    const double clamped = std::isnan(value) ? 0 : std::min(std::max(counts_as, -1.0), 2.0);
    BoundedSum sum{Bounds{-1, 2}, grid};
    BoundedSum same{Bounds{-1, 2}, grid};
    sum.add(value);
    same.add(clamped);
    EXPECT_EQ(sum.sum(), same.sum()) << value;
    BoundedMean mean{Bounds{-1, 2}, grid, adjacency};
    BoundedMean same_mean{Bounds{-1, 2}, grid, adjacency};
    mean.add(value);
    same_mean.add(std::isnan(value) ? mean.centre() : clamped);
    EXPECT_EQ(mean.centred_sum(), same_mean.centred_sum()) << value;
    EXPECT_EQ(mean.public_count(), 1U);
  }
}

TEST(Inputs, ARecordOfHardNumbersContributesWithinItsNorm) {
  for (const auto& one : numbers) {
    for (const auto& other : numbers) {
      RecordSum sum{{.clip = ClippingNorm{1}, .grid = {-3}, .dimension = 2}};
      sum.add(std::vector{one.value, other.value});
      const auto steps = sum.sum().steps;
      EXPECT_LE(steps[0] * steps[0] + steps[1] * steps[1], 64);
      if (!std::isfinite(one.value) || !std::isfinite(other.value)) {
        EXPECT_EQ(steps, (std::vector<std::int64_t>{0, 0}));
      }
    }
  }
}

TEST(Inputs, AScoreCountsAsAFiniteOne) {
  const SelectionOptions options{.epsilon = Epsilon{1},
                                 .sensitivity = ScoreSensitivity{1},
                                 .change = ScoreChange::either_way,
                                 .candidates = Count{3},
                                 .adjacency = adjacency};
  const std::vector<Number> scores{{std::nan(""), -largest}, {-infinity, -largest}, {infinity, largest}, {-0.0, 0},
                                   {5e-324, 5e-324},         {-largest, -largest}};
  const auto expect_same_choice = [&](auto mechanism) {
    for (const auto& a : scores) {
      for (const auto& b : scores) {
        ReplayBits bits{5};
        ReplayBits same{5};
        for (int i = 0; i < 3; ++i) {
          EXPECT_EQ(mechanism.release(std::vector{a.value, 0.5, b.value}, bits),
                    mechanism.release(std::vector{a.counts_as, 0.5, b.counts_as}, same));
        }
      }
    }
  };
  expect_same_choice(ExponentialMechanism{options});
  expect_same_choice(ReportNoisyMax{options, NoiseShape::laplace});
  expect_same_choice(ReportNoisyMax{options, NoiseShape::exponential});
  expect_same_choice(PermuteAndFlip{options});
  for (const auto& [value, counts_as] : scores) {
    const AboveThreshold::Options of{.epsilon = Epsilon{1},
                                     .sensitivity = ScoreSensitivity{1},
                                     .change = ScoreChange::either_way,
                                     .answers = Count{100},
                                     .adjacency = adjacency};
    AboveThreshold one{of};
    AboveThreshold other{of};
    ReplayBits bits{6};
    ReplayBits same{6};
    for (const double threshold : {0.0, largest, -largest})
      EXPECT_EQ(one.release(value, threshold, bits), other.release(counts_as, threshold, same));
  }
}

TEST(Inputs, ACategoryBeyondCountsAsTheLast) {
  const RandomizedResponse mechanism{Probability{0.8}, Count{4}, adjacency};
  for (const std::uint64_t beyond : {std::uint64_t{4}, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    ReplayBits bits{3};
    ReplayBits same{3};
    for (int i = 0; i < 20; ++i) EXPECT_EQ(mechanism.release(beyond, bits), mechanism.release(3, same));
  }
}

TEST(Inputs, OptionsWithoutMeaningAreRefused) {
  const auto refused = [](const std::function<void(double)>& make) {
    for (const double bad : {std::nan(""), infinity, -infinity, -1.0}) {
      EXPECT_TRUE(refusal_of([&] {
                    make(bad);
                    return 0;
                  }).says(ErrorCode::invalid_argument, ""))
          << bad;
    }
  };
  refused([](double x) { NoiseMultiplier{x}; });
  refused([](double x) { NoiseScale{x}; });
  refused([](double x) { L1Sensitivity{x}; });
  refused([](double x) { L2Sensitivity{x}; });
  refused([](double x) { LinfSensitivity{x}; });
  refused([](double x) { LrSensitivity{x}; });
  refused([](double x) { ScoreSensitivity{x}; });
  refused([](double x) { ClippingNorm{x}; });
  refused([](double x) { Epsilon{x}; });
  refused([](double x) { Probability{x}; });
  refused([](double x) { NormExponent{x}; });
  refused([](double x) { Bounds{x, -1}; });
  // The smallest and the largest options that there are: refused or kept, never wrong.
  for (const double extreme : {5e-324, 1e-310, 0x1p-1022, largest}) {
    for (const int log2_step : {-900, 0, 900}) {
      const Grid grid{log2_step};
      const auto laplace = [&] {
        return Laplace{{.scale = NoiseScale{extreme}, .sensitivity = L1Sensitivity{extreme}, .grid = grid, .adjacency = adjacency}};
      };
      const auto refusal = refusal_of(laplace);
      EXPECT_EQ(refusal.refused, extreme == largest) << extreme << " " << log2_step;
      if (refusal.refused) continue;
      ReplayBits bits{1};
      EXPECT_EQ(laplace().release({grid, {7}}, bits)[0], std::ldexp(7.0, log2_step));
      const KNorm norm{{.scale = NoiseScale{extreme},
                        .sensitivity = L2Sensitivity{extreme},
                        .grid = grid,
                        .dimension = Count{1},
                        .adjacency = adjacency}};
      EXPECT_EQ(norm.release({grid, {7}}, bits)[0], std::ldexp(7.0, log2_step));
    }
  }
}

}  // namespace
}  // namespace surety::mechanisms::inputs_test
