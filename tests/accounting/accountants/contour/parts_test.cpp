// The files of the contour accountant, each by itself.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include <support/refusal.h>
#include <surety/accounting/accountants/contour/decay.h>
#include <surety/accounting/accountants/contour/line.h>

namespace surety::accounting::contour::parts_test {
namespace {

using reference::refusal_of;

Loss loss_of(const std::string& text) { return collect(parse_event(text, Adjacency::add_or_remove_one)); }

TEST(ContourLoss, GathersBatchesOfOneKindAndMergesGaussianReleases) {
  const auto loss = loss_of(
      "compose(gaussian(2), repeat(3, poisson(0.1, gaussian(2))), poisson(0.1, gaussian(2)), poisson(0.2, gaussian(1)), "
      "parallel(gaussian(1), gaussian(2)), poisson(1, gaussian(2)))");
  EXPECT_DOUBLE_EQ(loss.mu_squared, 1.5);
  ASSERT_EQ(loss.parts.size(), 2U);
  EXPECT_EQ(loss.parts[0].rate, 0.1);
  EXPECT_EQ(loss.parts[0].count, 4);
  EXPECT_EQ(loss.parts[0].mu, 0.5);
  EXPECT_EQ(loss.parts[1].count, 1);
}

TEST(ContourLoss, RefusesByNameWhatHasNoDensity) {
  const auto refusal = refusal_of([] { return loss_of("compose(gaussian(2), repeat(3, pure(1)))"); });
  EXPECT_TRUE(refusal.says(ErrorCode::unsupported, "contour has no answer for pure(1)")) << refusal;
  EXPECT_THROW(static_cast<void>(loss_of("poisson(0.1, gaussian(1e-5))")), Unsuitable);
}

TEST(ContourLoss, IsBoundedInOneDirectionAlone) {
  const auto loss = loss_of("repeat(3, poisson(0.1, gaussian(2)))");
  EXPECT_EQ(largest_loss(loss, Direction::remove), infinity);
  EXPECT_NEAR(largest_loss(loss, Direction::add), -3 * std::log(0.9), 1e-15);
  EXPECT_EQ(largest_loss(loss_of("compose(gaussian(9), poisson(0.1, gaussian(2)))"), Direction::add), infinity);
}

/// Lambda(s) of one batch at s = 1 is known: E[r^2] = 1 + q^2 (e^(mu^2) - 1) where the record is removed.
TEST(ContourMoments, AreThoseOfTheBinomialFormula) {
  const auto loss = loss_of("repeat(7, poisson(0.1, gaussian(2)))");
  Cumulants cumulants{loss, Direction::remove, 40};
  const auto found = cumulants(1);
  const double truth = 7 * std::log1p(0.01 * std::expm1(0.25));
  EXPECT_NEAR(found.value, truth, found.error);
  EXPECT_LT(found.error, 1e-12);
  EXPECT_GT(found.variance, 0);
}

TEST(ContourMoments, ARangeThatIsCutIsPaidForByItsError) {
  const SampledReleases part{.rate = 0.1, .mu = 0.5, .count = 1};
  const auto whole = range_of(part, 2, 40);
  EXPECT_LT(range_error(part, 2, whole, 0), 1e-16);
  EXPECT_GT(range_error(part, 2, {whole.low / 4, whole.high / 4}, 0), 1e-3);
}

TEST(ContourSaddle, IsTheLastPointThatIsStillTooSmall) {
  const auto loss = loss_of("gaussian(1)");
  Cumulants cumulants{loss, Direction::remove, 40};
  const auto found = find_saddle(
      cumulants, [](const Saddle& at) { return at.epsilon < 3; }, 0.05);
  EXPECT_LT(found.epsilon, 3);
  EXPECT_GT(found.epsilon, 2);
  EXPECT_EQ(found.variance, 1);
}

TEST(ContourDecay, BoundsTheCharacteristicFunctionOfABatch) {
  const SampledReleases part{.rate = 0.3, .mu = 2, .count = 1};
  NodeGrid grid;
  std::vector<double> weights;
  fill(grid, part, step_for(part.mu, 8, 1, 40), range_of(part, 1, 40));
  const double log_moment = tilt(grid, 1, weights).log_moment;
  NodeGrid other;
  const auto pieces = pieces_of(part, 1, log_moment, other);
  for (const double t : {0.5, 1.0, 3.0, 8.0}) {
    double real = 0;
    double imaginary = 0;
    for (std::size_t j = 0; j < weights.size(); ++j) {
      real += weights[j] * std::cos(t * grid.loss[j]);
      imaginary += weights[j] * std::sin(t * grid.loss[j]);
    }
    EXPECT_LE(std::hypot(real, imaginary), std::exp(log_decay(pieces, t, t * 1.2)) * (1 + 1e-9)) << t;
  }
  EXPECT_LT(log_decay(pieces, 8, 9), -0.05);
}

}  // namespace
}  // namespace surety::accounting::contour::parts_test
