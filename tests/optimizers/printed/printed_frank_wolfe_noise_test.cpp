#include <surety/optimizers/printed/printed_frank_wolfe_noise.h>

#include <gtest/gtest.h>

#include <cmath>

#include <surety/accounting/accountants/zcdp/zcdp.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/calibration/calibrate.h>

#include <support/refusal.h>

namespace surety::optimizers::printed_frank_wolfe_noise_test {
namespace {

Target target(std::uint64_t steps, Adjacency adjacency = Adjacency::replace_one) {
  return {.epsilon = Epsilon{1}, .delta = Delta{1 / static_cast<double>(steps)}, .adjacency = adjacency};
}

// Computed independently: the printed sigma over s, its true epsilon for a claim of 1, and how much less is enough.
TEST(PrintedFrankWolfeNoise, CostsAnEighthOfItsClaim) {
  struct Row {
    std::uint64_t steps;
    double multiplier;
    double epsilon;
    double saving;
  };
  for (const auto& row : {Row{1000, 47.4, 0.120, 5.8}, Row{10'000, 73.2, 0.129, 6.1}, Row{100'000, 96.6, 0.135, 6.3}}) {
    const Count steps{row.steps};
    const auto z = printed_noise_multiplier(steps, target(row.steps));
    EXPECT_NEAR(z.value(), row.multiplier, 0.06);
    const auto cost = accounting::best_epsilon(printed_frank_wolfe_noise(steps, target(row.steps)), target(row.steps).delta).value;
    EXPECT_NEAR(cost.upper, row.epsilon, 0.00051);
    EXPECT_NEAR(cost.lower, cost.upper, 1e-9);
    const auto tight =
        calibrate([&](NoiseMultiplier m) { return accounting::tree(steps, gaussian(m, Adjacency::replace_one)); }, target(row.steps));
    EXPECT_NEAR(z.value() / tight.value.value(), row.saving, 0.051);
  }
}

TEST(PrintedFrankWolfeNoise, IsChargedTwiceTheMuForItsFirstStep) {
  const Count steps{1000};
  const auto printed = printed_frank_wolfe_noise(steps, target(1000), PrintedRadius::of_the_proof, FirstStep::as_printed);
  const auto z = printed_noise_multiplier(steps, target(1000));
  // mu = sqrt(levels) 2 / z, as one Gaussian.
  const auto one = gaussian(NoiseMultiplier{z.value() / 2 / std::sqrt(10)}, Adjacency::replace_one);
  const Delta delta = target(1000).delta;
  EXPECT_NEAR(accounting::best_epsilon(printed, delta).value.upper, accounting::best_epsilon(one, delta).value.upper, 1e-9);
}

// kappa = r - 1 in the printed variance is what generalized Gaussian nodes cost more: every r has the cost of a Gaussian in zCDP.
TEST(PrintedFrankWolfeNoise, GrowsWithTheSmoothnessOfTheNorm) {
  const Count steps{1000};
  const auto cost = [&](const Event& node) {
    return accounting::epsilon(accounting::Zcdp{}, accounting::tree(steps, node), target(1000).delta).upper;
  };
  const double plain = cost(gaussian(printed_noise_multiplier(steps, target(1000)), Adjacency::replace_one));
  for (const double r : {2.5, 3.0, 13.0}) {
    const NormExponent exponent{r};
    const auto z = printed_noise_multiplier(steps, target(1000), exponent);
    EXPECT_NEAR(cost(generalized_gaussian(exponent, Count{20}, z, Adjacency::replace_one)), plain, 1e-9) << r;
  }
}

TEST(PrintedFrankWolfeNoise, RefusesTheRadiusOfTheAlgorithm) {
  EXPECT_TRUE(refuses([] { static_cast<void>(printed_frank_wolfe_noise(Count{1000}, target(1000), PrintedRadius::of_the_algorithm)); },
                      ErrorCode::unsupported, {"2 sigma", "2 sigma^2", "sqrt(sigma)"}));
  EXPECT_TRUE(refuses([] { static_cast<void>(printed_frank_wolfe_noise(Count{1000}, target(1000, Adjacency::add_or_remove_one))); },
                      ErrorCode::unsupported, {"adjacency"}));
}

}  // namespace
}  // namespace surety::optimizers::printed_frank_wolfe_noise_test
