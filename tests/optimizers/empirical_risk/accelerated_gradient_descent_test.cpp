#include <surety/optimizers/empirical_risk/accelerated_gradient_descent.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/data/csv/libsvm.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/empirical_risk/gradient_descent.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/testing/releaser.h>

#include <support/full_gradient_checks.h>
#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::optimizers::accelerated_gradient_descent_test {

using namespace data;

namespace {

constexpr std::size_t few = 4;

AcceleratedGradientDescentOptions few_steps(Adjacency adjacency, Momentum momentum = Momentum::growing) {
  return {.noise_multiplier = NoiseMultiplier{3},
          .adjacency = adjacency,
          .steps = Count{few},
          .regularization = Regularization{0.03},
          .momentum = momentum,
          .step_size = StepSize{1.7},
          .clip = ClippingNorm{0.8},
          .public_count = Count{11}};
}

/// An elastic net that shows the points that it is asked to map to a watched domain.
template <class D>
struct Shown final : Regularizer {
  Shown(ElasticNet inner, const D& shown_to) : net{inner}, watched{shown_to} {}
  ElasticNet net;
  const D& watched;
  [[nodiscard]] double value(std::span<const double> weights) const override { return net.value(weights); }
  void proximal(double step, std::span<double> target) const override {
    net.proximal(step, target);
    watched.project(target);
  }
  [[nodiscard]] double strong_convexity() const override { return net.strong_convexity(); }
};

auto accelerated(const AcceleratedGradientDescentOptions& options) {
  return [=](const Dataset& data, const auto& domain, auto& releaser) {
    const Shown<std::remove_cvref_t<decltype(domain)>> shown{ElasticNet{{.l1 = Regularization{0.01}, .l2 = Regularization{0.2}}}, domain};
    return accelerated_gradient_descent(data, LogisticLoss{}, shown, options, releaser).weights;
  };
}

TEST(AcceleratedGradientDescent, OneRecordMovesNothingButItsQueries) {
  const auto make = [](Adjacency adjacency, std::mt19937_64& random) {
    auto options = few_steps(adjacency, random() % 2 == 0 ? Momentum::growing : Momentum::constant);
    if (random() % 2 == 0) options.returned = AverageIterate{.of_last = Count{2}};
    return accelerated(options);
  };
  expect_nothing_but_queries_moved(check_neighbours(make, few, optimized ? 12'000 : 1000, 1), "largest_ratio");
}

/// Accelerated descent with a planted leak; all but the first two are usual in programs without privacy.
enum class Leak {
  none,
  exact_gradient_ahead,  // momentum from the exact gradient
  half_sensitivity,      // one record's gradient, not the difference of two
  restart_on_loss,       // momentum starts again when the loss rises
  backtracking,          // the step is halved until the loss falls enough
  smoothness_from_rows,  // eta from the largest row
  best_iterate,          // the iterate of smallest loss
};

auto leaky(Leak leak) {
  return [leak](const Dataset& data, const auto& domain, auto& releaser) {
    const LogisticLoss objective;
    const Event event = gaussian(NoiseMultiplier{3}, Adjacency::replace_one);
    const auto loss_at = [&](std::span<const double> w) { return regularized_loss(objective, data, w, Regularization{0.03}); };
    double step = 1.7;
    if (leak == Leak::smoothness_from_rows) {
      for (std::size_t i = 0; i < data.size(); ++i) step = std::min(step, 4 / (data.row(i).norm * data.row(i).norm));
    }
    std::vector<double> weights(data.features(), 0.0);
    std::vector<double> ahead = weights;
    std::vector<double> best = weights;
    MomentumSchedule momentum{Momentum::growing, StepSize{1.7}, Regularization{0.03}, 0};
    for (std::size_t t = 0; t < few; ++t) {
      mechanisms::RecordSum sum{{.clip = ClippingNorm{0.8}, .grid = {.log2_step = -20}, .dimension = data.features()}};
      add_gradients(data, objective, ahead, sum);
      const auto exact = mechanisms::to_reals(sum.sum());
      const auto gradient = releaser.release(sum.sum(), L2Sensitivity{leak == Leak::half_sensitivity ? 0.8 : 1.6}, event);
      auto next = ahead;
      for (std::size_t j = 0; j < next.size(); ++j) next[j] -= step * (gradient[j] / 11 + 0.03 * ahead[j]);
      if (leak == Leak::backtracking && loss_at(next) > loss_at(ahead)) {
        for (std::size_t j = 0; j < next.size(); ++j) next[j] = (next[j] + ahead[j]) / 2;
      }
      domain.project(next);
      double beta = momentum.next();
      if (leak == Leak::restart_on_loss && loss_at(next) > loss_at(weights)) beta = 0;
      for (std::size_t j = 0; j < next.size(); ++j) {
        ahead[j] = next[j] + beta * (next[j] - weights[j]);
        if (leak == Leak::exact_gradient_ahead) ahead[j] -= beta * exact[j] / 11;
      }
      weights = next;
      if (loss_at(weights) < loss_at(best)) best = weights;
    }
    return leak == Leak::best_iterate ? best : weights;
  };
}

TEST(AcceleratedGradientDescent, PlantedViolationsAreCaught) {
  const std::vector<std::vector<double>> script{{0.5, -0.25}, {1, 2}, {-3, 0.125}, {-4, -3}};
  expect_planted_leaks_caught<Leak>(leaky, {{-1.5, -2.5}, 1}, script,
                                    {Leak::exact_gradient_ahead, Leak::restart_on_loss, Leak::backtracking, Leak::best_iterate});
  // A longer row in the same direction: the same clipped gradient, another smoothness.
  const DrawnRecord first{{0.6, 0.1}, -1};
  EXPECT_FALSE(full_gradient_difference(leaky(Leak::smoothness_from_rows), assemble({first, {{1.5, 2.5}, 1}}),
                                        assemble({first, {{15, 25}, 1}}), script)
                   .untainted);
}

// What is charged is what the worst pair shows.
TEST(AcceleratedGradientDescent, LosesNoMoreThanItIsCharged) {
  constexpr std::size_t steps = 3;
  constexpr double delta = 1e-3;
  const AcceleratedGradientDescentOptions options{.noise_multiplier = NoiseMultiplier{std::sqrt(3.0)},  // mu = 1
                                                  .steps = Count{steps},
                                                  .regularization = Regularization{0},
                                                  .step_size = StepSize{0.5},
                                                  .clip = ClippingNorm{0.5}};
  const auto run = [&](const Dataset& data, auto& releaser) {
    static_cast<void>(accelerated_gradient_descent(data, LinearLoss{}, NoRegularizer{}, options, releaser));
  };
  const double lower = attacked_epsilon(run, steps, 0.5, options.noise_multiplier, delta, optimized ? 60'000 : 6000, 7);
  expect_charged(lower, accounting::best_epsilon(plan(options), Delta{delta}).value.upper, optimized ? 0.6 : 0.3);
}

TEST(AcceleratedGradientDescent, PlansAndSpendsWhatItAsksFor) {
  const auto options = few_steps(Adjacency::zero_out);
  expect_plan_spent(options, few, [&](const Dataset& data, auto& releaser) {
    static_cast<void>(accelerated_gradient_descent(data, LogisticLoss{}, NoRegularizer{}, options, releaser));
  });
}

TEST(AcceleratedGradientDescent, TakesTheStepsOfTheFormula) {
  const Dataset data = Dataset::dense(1, {0.5}, {1});
  const std::vector<double> released{2, 0.5, -3, 1};
  testing::ScriptedReleaser releaser{{{2}, {0.5}, {-3}, {1}}};
  const auto options = few_steps(Adjacency::replace_one, Momentum::constant);
  const L2Regularizer h{Regularization{0.2}};
  const auto found = accelerated_gradient_descent(data, LogisticLoss{}, h, options, releaser).weights[0];
  // beta by [CP16] Algorithm 5 at its fixed point k = 1 / sqrt(q).
  const double q = 1.7 * 0.23 / (1 + 1.7 * 0.2);
  const double k = 1 / std::sqrt(q);
  const double beta = (k - 1) / k * (1 + 1.7 * 0.2 - k * 1.7 * 0.23) / (1 - 1.7 * 0.03);
  double w = 0;
  double v = 0;
  for (const double g : released) {
    const double next = (v - 1.7 * (g / 11 + 0.03 * v)) / (1 + 1.7 * 0.2);
    v = next + beta * (next - w);
    w = next;
  }
  EXPECT_NEAR(found, w, 1e-15);
}

TEST(AcceleratedGradientDescent, DefaultsFollowFromPublicConstants) {
  const Dataset data = Dataset::dense(2, {0.6, 0.8, 0, 1}, {-1, 1});
  AcceleratedGradientDescentOptions options{
      .noise_multiplier = NoiseMultiplier{1}, .steps = Count{3}, .regularization = Regularization{0.5}};
  const auto run = [&] {
    testing::ScriptedReleaser releaser{{{2, -1}, {0.5, 1}, {-3, 0.1}}};
    auto weights = accelerated_gradient_descent(data, LogisticLoss{}, NoRegularizer{}, options, releaser).weights;
    EXPECT_EQ(releaser.log()[0].sensitivity.value(), 2);  // 2 G, G = 1
    return weights;
  };
  const auto found = run();
  options.step_size = StepSize{1 / (0.25 + 0.5)};
  options.clip = ClippingNorm{1};
  options.public_count = Count{2};
  EXPECT_EQ(found, run());
}

TEST(MomentumSchedule, IsThatOfNesterov) {
  // Without strong convexity: k_1 = 1, k_(t+1) = (1 + sqrt(1 + 4 k_t^2)) / 2, beta = (k_t - 1) / k_(t+1).
  MomentumSchedule plain{Momentum::growing, StepSize{4}, Regularization{0}, 0};
  double k = 1;
  for (int t = 1; t <= 50; ++t) {
    const double next = (1 + std::sqrt(1 + 4 * k * k)) / 2;
    EXPECT_NEAR(plain.next(), (k - 1) / next, 1e-14) << t;
    k = next;
  }
  // In the smooth part alone: (1 - sqrt q) / (1 + sqrt q), at once or in the limit.
  const double root = std::sqrt(4 * 0.01);
  MomentumSchedule constant{Momentum::constant, StepSize{4}, Regularization{0.01}, 0};
  MomentumSchedule growing{Momentum::growing, StepSize{4}, Regularization{0.01}, 0};
  double last = -1;
  for (int t = 1; t <= 200; ++t) {
    EXPECT_NEAR(constant.next(), (1 - root) / (1 + root), 1e-13);
    const double beta = growing.next();
    EXPECT_GE(beta, last - 1e-15);
    EXPECT_LE(beta, 1);
    last = beta;
  }
  EXPECT_NEAR(last, (1 - root) / (1 + root), 1e-12);
  EXPECT_TRUE(refuses([] { MomentumSchedule({}, StepSize{4}, Regularization{0.25}, 0); }, ErrorCode::invalid_argument,
                      {"step size x regularization is 1", "less than 1"}));
  EXPECT_TRUE(refuses([] { MomentumSchedule(Momentum::constant, StepSize{4}, Regularization{0}, 0); }, ErrorCode::invalid_argument,
                      {"strong convexity is 0"}));
}

// Without noise it must reach the minimum, with every kind of strong convexity, and faster than plain descent does.
TEST(AcceleratedGradientDescent, WithoutNoiseItIsFastAndRight) {
  const Dataset data = logistic_problem(200, 4, 3);
  const LogisticLoss loss;
  const auto options = [](double lambda, std::uint64_t steps, Momentum momentum) {
    return AcceleratedGradientDescentOptions{
        .noise_multiplier = NoiseMultiplier{1}, .steps = Count{steps}, .regularization = Regularization{lambda}, .momentum = momentum};
  };
  const auto check = [&](double lambda, const auto& h, Momentum momentum, std::uint64_t steps) {
    testing::ExactReleaser exact;
    const auto value = [&](const std::vector<double>& w) { return regularized_loss(loss, data, w, Regularization{lambda}) + h.value(w); };
    const double best =
        value(minimum_of(loss, data, lambda, 0.25 + lambda, 4000, [&](double step, std::span<double> w) { h.proximal(step, w); }));
    const double fast = value(accelerated_gradient_descent(data, loss, h, options(lambda, steps, momentum), exact).weights) - best;
    const double slow =
        value(gradient_descent(data, loss, h,
                               {.noise_multiplier = NoiseMultiplier{1}, .steps = Count{steps}, .regularization = Regularization{lambda}},
                               exact)
                  .weights) -
        best;
    EXPECT_GE(fast, -1e-9);
    EXPECT_LE(fast, slow / 5 + 1e-9);
    // [CP16] (4.29) at mu = 0: 2 ||w*||^2 / (eta (T + 1)^2), with ||w*|| <= 6 here.
    EXPECT_LE(fast, 2 * 36 * (0.25 + lambda) / (static_cast<double>(steps + 1) * static_cast<double>(steps + 1)));
  };
  for (const Momentum momentum : {Momentum::growing, Momentum::constant}) {
    check(0.01, NoRegularizer{}, momentum, 30);
    check(0.01, L1Regularizer{Regularization{0.01}}, momentum, 30);
    check(0, L2Regularizer{Regularization{0.01}}, momentum, 30);
    check(0.005, ElasticNet{{.l1 = Regularization{0.002}, .l2 = Regularization{0.01}}}, momentum, 30);
    check(0.01, Indicator{L2Ball{Radius{1}}}, momentum, 12);
  }
  check(0, NoRegularizer{}, Momentum::growing, 30);
  check(0, Indicator{LpBall{LpExponent{1}, Radius{2}}}, Momentum::growing, 12);
}

TEST(AcceleratedGradientDescent, RefusesBeforeTheFirstRelease) {
  testing::ScriptedReleaser nothing{{}};
  const auto refused = refusal_of_run([&](const Dataset& data, const AcceleratedGradientDescentOptions& options) {
    return accelerated_gradient_descent(data, LogisticLoss{}, NoRegularizer{}, options, nothing);
  });
  auto options = few_steps(Adjacency::replace_one);
  expect_bad_data_refused(refused, options);
  options.public_count = std::nullopt;
  options.step_size = StepSize{40};
  EXPECT_TRUE(refused(worst_record(1), options, "step size x regularization is 1.2"));
  options.step_size = std::nullopt;
  options.returned = IterateAt{5};
  EXPECT_TRUE(refused(worst_record(1), options, "index of the returned iterate is 5"));
  options.returned = LastIterate{};
  EXPECT_TRUE(
      refuses([&] { static_cast<void>(accelerated_gradient_descent(worst_record(1), HingeLoss{}, NoRegularizer{}, options, nothing)); },
              ErrorCode::unsupported, {"smoothness of hinge loss"}));
}

/// min F within 1e-7 by exact steps, as the gradient certifies: F - min F <= ||gradient||^2 / (2 lambda).
double certified_optimum(const Dataset& data, Regularization lambda) {
  const LogisticLoss loss;
  testing::ExactReleaser exact;
  const auto weights =
      accelerated_gradient_descent(
          data, loss, NoRegularizer{},
          {.noise_multiplier = NoiseMultiplier{1}, .steps = Count{40}, .regularization = lambda, .momentum = Momentum::constant}, exact)
          .weights;
  std::vector<double> gradient(data.features(), 0.0);
  for (std::size_t i = 0; i < data.size(); ++i) add_gradient(loss, data.row(i), data.label(i), weights, gradient);
  double squares = 0;
  for (std::size_t j = 0; j < gradient.size(); ++j) {
    const double g = gradient[j] / static_cast<double>(data.size()) + lambda.value() * weights[j];
    squares += g * g;
  }
  EXPECT_LT(squares / (2 * lambda.value()), 1e-7);
  return regularized_loss(loss, data, weights, lambda);
}

// The job it is for: fewer steps than gradient descent, and no worse. On a9a, delta = 1e-3, add-or-remove-one, lambda = 0.01.
TEST(AcceleratedGradientDescent, ComesCloseToTheOptimumOnAdult) {
  const char* const folder = std::getenv("SURETY_DATA_DIR");
  if (folder == nullptr) GTEST_SKIP() << "SURETY_DATA_DIR is not set: the data set a9a is not at hand";
  const LogisticLoss loss;
  const Regularization lambda{0.01};
  const Dataset data = encode_labels(
      loss, read_libsvm(std::filesystem::path{folder} / "a9a.gz", {.inputs = SparseFeatures{123}, .intercept = false, .unit_norm = true}));
  const double best = certified_optimum(data, lambda);
  constexpr int seeds = optimized ? 4 : 1;
  double excess = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    AcceleratedGradientDescentOptions options{.noise_multiplier = NoiseMultiplier{1},
                                              .adjacency = Adjacency::add_or_remove_one,
                                              .regularization = lambda,
                                              .public_count = Count{data.size()}};
    const double mu = accounting::largest_mu(Epsilon{1}, Delta{1e-3}).lower;
    options.noise_multiplier = NoiseMultiplier{std::sqrt(static_cast<double>(options.steps.value())) / mu};
    mechanisms::ReplayBits bits{static_cast<std::uint64_t>(seed)};
    ReplayedReleaser releaser{bits};
    const auto weights = accelerated_gradient_descent(data, loss, NoRegularizer{}, options, releaser).weights;
    excess += (regularized_loss(loss, data, weights, lambda) - best) / seeds;
  }
  RecordProperty("excess", std::to_string(excess));
  EXPECT_GE(excess, 1e-5);
  EXPECT_LE(excess, 1.2e-4);
}

}  // namespace
}  // namespace surety::optimizers::accelerated_gradient_descent_test
