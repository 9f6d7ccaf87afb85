#include <surety/mechanisms/additive/laplace.h>

#include <gtest/gtest.h>
#include <mpfr.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <surety/base/text/error.h>

#include <support/additive_checks.h>
#include <support/refusal.h>

namespace surety::mechanisms::laplace_test {
namespace {

Laplace with_scale(double scale, Grid grid = {0}) {
  return Laplace{{.scale = NoiseScale{scale}, .sensitivity = L1Sensitivity{1}, .grid = grid, .adjacency = Adjacency::zero_out}};
}

TEST(Laplace, KnowsItsEventAndItsScale) {
  const Laplace mechanism{{.scale = NoiseScale{1.7}, .sensitivity = L1Sensitivity{3}, .grid = {-4}, .adjacency = Adjacency::replace_one}};
  EXPECT_EQ(mechanism.event(), laplace(NoiseScale{1.7}, Adjacency::replace_one));
  EXPECT_GE(mechanism.scale(), 1.7 * 3);
  EXPECT_LE(mechanism.scale(), std::nextafter(1.7 * 3, 9));
}

// n = 1,000,000: a scale that is 2 % wrong is 9 standard errors off where P(|k| >= j) is near 1/e.
TEST(Laplace, HasItsLaw) {
  constexpr int n = 1'000'000;
  for (const double scale : {0.5, 8.0, 1000.7}) {
    ReplayBits bits{20240229};
    const auto noise = with_scale(scale).release({Grid{0}, std::vector<std::int64_t>(n)}, bits);
    const auto frequency = [&](auto holds) { return static_cast<double>(std::count_if(noise.begin(), noise.end(), holds)) / n; };
    const auto expect_share = [&](double found, double p) { EXPECT_NEAR(found, p, 5 * std::sqrt(p * (1 - p) / n)); };
    for (const double j : {1.0, 2.0, 4.0, 9.0, 30.0, 1000.0, 4000.0}) {
      const double p = std::exp(-(j - 0.5) / scale);
      if (p * n < 30) continue;
      expect_share(frequency([&](double k) { return k >= j; }), p / 2);
      expect_share(frequency([&](double k) { return k <= -j; }), p / 2);
    }
  }
}

TEST(Laplace, ReleasesTheQueryPlusTheRoundedNoise) {
  const auto mechanism = with_scale(5.1, {-4});
  expect_the_query_plus_rounded_noise(mechanism, RoundedLaplace{StepScale{mechanism.scale() * 16}});
}

RC_GTEST_PROP(Laplace, ShiftingTheQueryShiftsTheRelease, (std::int32_t shift, std::uint64_t seed)) {
  const auto change = change_of_release(with_scale(5.1, {-4}), shift, seed);
  RC_ASSERT(change[0] == shift / 16.0);
  RC_ASSERT(change[1] == -shift / 16.0);
}

TEST(LaplaceOnReals, ChargesTheRoundingAndReleasesInPlaceWhatTheGridReleases) {
  constexpr std::size_t dimension = 700;
  const LaplaceOnReals mechanism{{.scale = NoiseScale{2},
                                  .sensitivity = L1Sensitivity{3},
                                  .grid = {-10},
                                  .dimension = dimension,
                                  .adjacency = Adjacency::replace_one}};
  EXPECT_EQ(mechanism.scale(), 2 * (3 + 700.0 / 1024));
  EXPECT_EQ(mechanism.event(), laplace(NoiseScale{2}, Adjacency::replace_one));
  const Laplace on_grid{{.scale = NoiseScale{2},
                         .sensitivity = after_rounding(L1Sensitivity{3}, Grid{-10}, dimension),
                         .grid = {-10},
                         .adjacency = Adjacency::replace_one}};
  std::vector<double> query(dimension);
  for (std::size_t i = 0; i < dimension; ++i) query[i] = std::sin(static_cast<double>(i)) * 1e3;
  query[300] = std::nan("");
  ReplayBits bits{7};
  ReplayBits same{7};
  const auto expected = on_grid.release(round_to_nearest(query, Grid{-10}), same);
  mechanism.release_in_place(query, bits);
  EXPECT_EQ(query, expected);
  EXPECT_EQ(draw_word(bits), draw_word(same));
}

TEST(Laplace, RefusesAnotherGridAndNoiseOutOfRange) {
  ReplayBits bits{1};
  EXPECT_EQ(refusal([&] {
              return with_scale(1).release({Grid{-5}, {0}}, bits);
            }),
            "the query's grid has log2_step -5, must be the mechanism's 0");
  EXPECT_EQ(refusal([] { return with_scale(1.5, {-56}); }),
            "the scale of the noise is 1.080863910568919e+17 grid steps, must be at most 2^56");
}

}  // namespace
}  // namespace surety::mechanisms::laplace_test
