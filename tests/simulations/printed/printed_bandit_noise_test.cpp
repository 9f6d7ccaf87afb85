#include <surety/simulations/printed/printed_bandit_noise.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/events/continual.h>

#include <support/refusal.h>

namespace surety::simulations::printed_bandit_noise_test {

using optimizers::BanditProblem;

namespace {

TEST(PrintedBanditOptions, AreThoseOfThePaper) {
  const BanditProblem problem{.steps = Count{10'000}, .dimension = Count{4}, .diameter = 3, .lipschitz = 2};
  const auto printed = printed_options(problem);
  EXPECT_EQ(printed.batch, Count{100});
  EXPECT_NEAR(printed.radius.value(), 3 * 2 / 10.0, 1e-15);
  EXPECT_NEAR(printed.step_size.value(), 3 / (1000 * 2 * 2.0), 1e-18);
  EXPECT_NEAR(printed.losses.width(), 2 * 3.6, 1e-14);
}

// What (lambda, sigma) cost, against the table of sensitivities: levels times sqrt(n) (n / zeta) V over lambda, V = 2 L (D + zeta).
TEST(PrintedBanditNoise, CostsFarLessThanItClaims) {
  struct Case {
    std::uint64_t steps;
    std::uint64_t dimension;
    double laplace;  // epsilon of a lambda that claims 1
    double ratio;    // of the printed sigma to the one needed
  };
  for (const Case c :
       {Case{10'000, 10, 0.200, 263}, Case{10'000, 100, 0.304, 131}, Case{1'000'000, 10, 0.050, 1023}, Case{1'000'000, 100, 0.060, 473}}) {
    const BanditProblem problem{.steps = Count{c.steps}, .dimension = Count{c.dimension}, .diameter = 3, .lipschitz = 2};
    auto o = printed_options(problem);
    const double bound = 2 * (3 + o.radius.value());
    o.losses = {-bound, bound};
    const Target target{.epsilon = Epsilon{1}, .delta = Delta{1e-5}, .adjacency = Adjacency::replace_one};
    const auto laplace = printed_laplace(o, problem, {.epsilon = Epsilon{1}, .delta = Delta{0}, .adjacency = Adjacency::replace_one});
    EXPECT_NEAR(laplace.epsilon.upper, c.laplace, 0.0006) << c.steps << " " << c.dimension;
    const auto printed = printed_gaussian(o, problem, target);
    const double mu = accounting::largest_mu(target.epsilon, target.delta).lower;
    const double needed = std::sqrt(static_cast<double>(accounting::tree_levels(shape(o, Count{1}).steps).value())) / mu;
    EXPECT_NEAR(printed.noise.value() / needed, c.ratio, 0.006 * c.ratio) << c.steps << " " << c.dimension;
    EXPECT_LT(printed.epsilon.upper, 0.01);
  }
}

// The same sigma is twice as much for half the sensitivity.
TEST(PrintedBanditNoise, IsOverTheSensitivityOfTheAdjacency) {
  const BanditProblem problem{.steps = Count{10'000}, .dimension = Count{5}, .diameter = 1, .lipschitz = 1};
  auto o = printed_options(problem);
  const auto multiplier = [&](Adjacency adjacency) {
    o.adjacency = adjacency;
    return printed_gaussian(o, problem, {.epsilon = Epsilon{1}, .delta = Delta{1e-4}, .adjacency = adjacency}).noise.value();
  };
  EXPECT_DOUBLE_EQ(multiplier(Adjacency::zero_out), 2 * multiplier(Adjacency::replace_one));
}

TEST(PrintedBanditNoise, IsRefusedWhereItIsTooLittle) {
  const BanditProblem problem{.steps = Count{100}, .dimension = Count{100}, .diameter = 1, .lipschitz = 1};
  const auto o = printed_options(problem);
  EXPECT_TRUE(refuses(
      [&] {
        static_cast<void>(printed_laplace(o, problem, {.epsilon = Epsilon{1}, .delta = Delta{0}, .adjacency = Adjacency::replace_one}));
      },
      ErrorCode::unsupported, {"the printed noise costs epsilon = 1.1", "must cost at most 1"}));
  EXPECT_TRUE(refuses(
      [&] { static_cast<void>(printed_laplace(o, problem, {.epsilon = Epsilon{1}, .delta = Delta{0}, .adjacency = Adjacency::zero_out})); },
      ErrorCode::invalid_argument, {"adjacency of the target is zero-out", "must be replace-one"}));
}

}  // namespace
}  // namespace surety::simulations::printed_bandit_noise_test
