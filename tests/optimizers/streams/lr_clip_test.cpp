#include <surety/optimizers/streams/lr_clip.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <surety/mechanisms/queries/record_sum.h>

#include <support/drawn_records.h>
#include <support/refusal.h>

namespace surety::optimizers::lr_clip_test {
namespace {

const Grid grid{.log2_step = -30};

long double lr_norm(const GridVector& vector, double r) {
  long double sum = 0;
  const long double step = vector.grid.step();
  for (const auto steps : vector.steps) sum += std::pow(std::abs(static_cast<long double>(steps)) * step, static_cast<long double>(r));
  return std::pow(sum, 1 / static_cast<long double>(r));
}

// Vectors at, below and far beyond the clip, in norms and factors of every size.
TEST(LrClip, NormsAreAtMostTheClipAndReachIt) {
  std::mt19937_64 random{20240505};
  double largest = 0;
  for (int c = 0; c < 20'000; ++c) {
    const std::size_t features = 1 + random() % 8;
    const double r = std::vector<double>{2, 2.5, 3, 8, 64, 1e4}[random() % 6];
    const double bound = std::vector<double>{0.7, 1, 1e-5}[random() % 3];
    // On the finer grid nothing but the room for rounding errors keeps the norm below the clip.
    const Grid used{.log2_step = random() % 2 == 0 ? -30 : -51};
    const double factor = std::vector<double>{1, -0.3, 1e-300, 1e300, 1e8, 0}[random() % 6];
    const auto row = drawn_vector(features, random);
    const auto clipped = clipped_contribution(factor, {.indices = {}, .values = row, .norm = mechanisms::l2_norm(row)},
                                              {.r = NormExponent{r}, .norm = ClippingNorm{bound}}, used, features);
    const auto ratio = static_cast<double>(lr_norm(clipped, r) / static_cast<long double>(bound));
    ASSERT_LE(ratio, 1) << "case " << c;
    largest = std::max(largest, ratio);
  }
  EXPECT_GT(largest, 1 - 1e-9);
}

TEST(LrClip, KeepsShortVectorsAndDirections) {
  const std::vector<double> row{3, -4, 0.5};
  const RowView view{.indices = {}, .values = row, .norm = 5.1};
  const LrClip clip{.r = NormExponent{3}, .norm = ClippingNorm{1}};
  const auto kept = clipped_contribution(0.125, view, clip, grid, 3);
  EXPECT_EQ(mechanisms::to_reals(kept), (std::vector<double>{0.375, -0.5, 0.0625}));
  const auto clipped = mechanisms::to_reals(clipped_contribution(10, view, clip, grid, 3));
  const double norm = std::cbrt(27 + 64 + 0.125);
  EXPECT_NEAR(clipped[0], 3 / norm, 1e-8);
  EXPECT_NEAR(clipped[1], -4 / norm, 1e-8);
}

TEST(LrClip, CountsWhatHasNoNormAsZero) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const auto& row : {std::vector<double>{infinity, 1}, std::vector<double>{std::nan(""), 1}, std::vector<double>{5e-324, 0}}) {
    for (const double factor : {1.0, 1e308}) {
      const auto clipped =
          clipped_contribution(factor, {.indices = {}, .values = row, .norm = 1}, {.r = NormExponent{3}, .norm = ClippingNorm{1}}, grid, 2);
      EXPECT_EQ(clipped.steps, (std::vector<std::int64_t>{0, 0}));
    }
  }
  const std::vector<std::uint32_t> twice{1, 1};
  const std::vector<double> nine{9, 9};
  const auto once =
      clipped_contribution(1, {.indices = twice, .values = nine, .norm = 12.7}, {.r = NormExponent{3}, .norm = ClippingNorm{1}}, grid, 2);
  EXPECT_LE(lr_norm(once, 3), 1);
  EXPECT_EQ(once.steps[0], 0);
}

// For every d and q the least kappa over a fine grid of exponents; and the figures of d = 1000.
TEST(BestExponent, HasTheLeastKappa) {
  for (const std::uint64_t d : {1U, 2U, 5U, 7U, 8U, 20U, 1000U, 1'000'000U}) {
    for (const double q : {2.0, 3.0, 6.0, 40.0, std::numeric_limits<double>::infinity()}) {
      const LpExponent bound{q};
      const auto best = best_exponent(bound, Count{d});
      EXPECT_LE(best.value(), q);
      const double least = kappa(best, bound, Count{d});
      for (double r = 2; r <= std::min(q, 60.0); r += 0.01) {
        EXPECT_LE(least, kappa(NormExponent{r}, bound, Count{d}) * (1 + 1e-12)) << d << " " << q << " " << r;
      }
    }
  }
  const LpExponent infinite{std::numeric_limits<double>::infinity()};
  EXPECT_NEAR(best_exponent(infinite, Count{1000}).value(), 12.7, 0.05);
  EXPECT_NEAR(kappa(best_exponent(infinite, Count{1000}), infinite, Count{1000}), 34.7, 0.05);
  EXPECT_NEAR(kappa(best_exponent(infinite, Count{5}), infinite, Count{5}), 5, 1e-12);
  EXPECT_TRUE(refuses([] { static_cast<void>(best_exponent(LpExponent{1.5}, Count{10})); }, ErrorCode::invalid_argument, {"q is 1.5"}));
}

}  // namespace
}  // namespace surety::optimizers::lr_clip_test
