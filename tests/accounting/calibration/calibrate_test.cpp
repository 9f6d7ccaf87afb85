#include <surety/accounting/calibration/calibrate.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <support/gaussian_truth.h>
#include <support/random.h>
#include <support/refusal.h>
#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/accountants/zcdp/zcdp.h>
#include <surety/accounting/answers/risk.h>

namespace surety::calibrate_test {
namespace {

using accounting::ClosedForm;
using accounting::Zcdp;
using reference::draw_log_uniform;
using reference::Real;
using reference::refusal_of;

constexpr auto adjacency = Adjacency::replace_one;

Target target(double epsilon, double delta) { return {.epsilon = Epsilon{epsilon}, .delta = Delta{delta}, .adjacency = adjacency}; }
Event noise(double multiplier) { return gaussian(NoiseMultiplier{multiplier}, adjacency); }
Event one_release(NoiseMultiplier z) { return gaussian(z, adjacency); }

/// The multiplier is at least the true smallest one, and at most 1e-9 above.
void expect_smallest(const Calibration& found, const Real& truth, const std::string& what) {
  EXPECT_GE(Real{found.value.value()}, truth) << what;
  EXPECT_LE(Real{found.value.value()}, truth * (1 + 1e-9)) << what;
}

/// Both sides of the answer, asked again of the accountant: `value` meets the target and `largest_failing` does not.
template <class A>
bool is_certified(const Calibration& found, const EventTemplate& event, const Target& wanted) {
  const auto cost = delta(A{}, event(found.value), wanted.epsilon);
  const auto failing = delta(A{}, event(NoiseMultiplier{found.largest_failing}), wanted.epsilon);
  return cost.upper <= wanted.delta.value() && failing.upper > wanted.delta.value() && found.largest_failing < found.value.value() &&
         found.value.value() / found.largest_failing - 1 <= 1e-12;
}

TEST(Calibrate, OneReleaseAtEpsilonOneNeedsThePublishedNoise) {
  const auto found = calibrate(one_release, target(1, 1e-5), ClosedForm{});
  EXPECT_NEAR(1 / found.value.value(), 0.268051, 0.5e-6);
  expect_smallest(found, 1.0 / reference::largest_mu(1, 1e-5), "one release");
}

TEST(Calibrate, IsTheSmallestMultiplierOverTheWholeRange) {
  for (const auto& [epsilon, delta] :
       std::vector<std::pair<double, double>>{{0.1, 1e-7}, {4, 1e-3}, {1e-6, 1e-300}, {500, 0.4}, {37.5, 1e-100}}) {
    const auto found = calibrate(one_release, target(epsilon, delta), ClosedForm{});
    expect_smallest(found, 1.0 / reference::largest_mu(epsilon, delta), fmt::format("epsilon = {}, delta = {}", epsilon, delta));
  }
}

TEST(Calibrate, OfRepetitionsGrowsWithTheRootOfTheCount) {
  for (const std::uint64_t count : {std::uint64_t{137}, std::uint64_t{1} << 53}) {
    const auto found =
        calibrate([&](NoiseMultiplier z) { return repeat(Count{count}, gaussian(z, adjacency)); }, target(2.5, 1e-6), ClosedForm{});
    expect_smallest(found, sqrt(Real{static_cast<double>(count)}) / reference::largest_mu(2.5, 1e-6), fmt::format("{} times", count));
  }
}

// 7 releases at z, one at 2.5 z and one fixed at 30: the sum of mu^2 is (7 + 1/6.25) / z^2 + 1/900.
Event mixture(NoiseMultiplier z) { return compose({repeat(Count{7}, gaussian(z, adjacency)), noise(2.5 * z.value()), noise(30)}); }

TEST(Calibrate, OfAMixtureLeavesItsFixedPartAlone) {
  const auto found = calibrate(mixture, target(0.75, 1e-6), ClosedForm{});
  const Real mu = reference::largest_mu(0.75, 1e-6);
  expect_smallest(found, sqrt((7.0 + 1.0 / Real{6.25}) / (mu * mu - 1.0 / Real{900})), "mixture");
  EXPECT_TRUE(found.event == mixture(found.value));
}

TEST(Calibrate, ReportsWhatItsEventCosts) {
  const auto wanted = target(0.75, 1e-6);
  const auto found = calibrate(mixture, wanted, ClosedForm{});
  EXPECT_EQ(found.epsilon, epsilon(ClosedForm{}, found.event, wanted.delta));
  EXPECT_EQ(found.delta, delta(ClosedForm{}, found.event, wanted.epsilon));
  EXPECT_LE(found.epsilon.upper, 0.75);
  EXPECT_LE(found.delta.upper, 1e-6);
  EXPECT_GT(found.epsilon.lower, 0.75 * (1 - 1e-9));
}

RC_GTEST_PROP(Calibrate, IsCertifiedOnBothSides, ()) {
  const auto wanted = target(draw_log_uniform(1e-6, 500), draw_log_uniform(1e-300, 0.5));
  const auto count = *rc::gen::inRange<std::uint64_t>(1, 100'000);
  const EventTemplate event = [&](NoiseMultiplier z) { return repeat(Count{count}, gaussian(z, adjacency)); };
  const auto found = calibrate(event, wanted, ClosedForm{});
  RC_ASSERT(is_certified<ClosedForm>(found, event, wanted));
  RC_ASSERT(found.epsilon.upper <= wanted.epsilon.value());
  RC_ASSERT(found.delta.upper <= wanted.delta.value());
}

// The check above is not empty: a value on the wrong side, or far from the edge, is not certified.
TEST(Calibrate, MovedAnswersAreNotCertified) {
  const auto wanted = target(3, 1e-5);
  auto found = calibrate(one_release, wanted, ClosedForm{});
  ASSERT_TRUE(is_certified<ClosedForm>(found, one_release, wanted));
  const double value = found.value.value();
  found.value = NoiseMultiplier{value * (1 - 1e-11)};
  EXPECT_FALSE(is_certified<ClosedForm>(found, one_release, wanted));
  found.value = NoiseMultiplier{value * (1 + 1e-11)};
  EXPECT_FALSE(is_certified<ClosedForm>(found, one_release, wanted));
  found.value = NoiseMultiplier{value};
  found.largest_failing = value;
  EXPECT_FALSE(is_certified<ClosedForm>(found, one_release, wanted));
}

// ---- all accountants together, which are asked by default ----

TEST(CalibrateBest, OfGaussianReleasesIsWhatTheClosedFormSays) {
  for (const auto& event : {EventTemplate{one_release}, EventTemplate{mixture}}) {
    const auto found = calibrate(event, target(0.75, 1e-6));
    EXPECT_EQ(found.value, calibrate(event, target(0.75, 1e-6), ClosedForm{}).value);
    EXPECT_TRUE(is_certified<ClosedForm>(found, event, target(0.75, 1e-6)));
  }
}

TEST(CalibrateBest, KnowsWhatNoSingleFormulaDoes) {
  const Target wanted{.epsilon = Epsilon{2}, .delta = Delta{1e-5}, .adjacency = Adjacency::add_or_remove_one};
  const EventTemplate event = [](NoiseMultiplier z) {
    return repeat(Count{500}, poisson(SamplingRate{0.02}, gaussian(z, Adjacency::add_or_remove_one)));
  };
  const auto found = calibrate(event, wanted);
  EXPECT_LE(epsilon(accounting::Best{}, found.event, wanted.delta).upper, 2);
  EXPECT_GT(epsilon(accounting::Best{}, event(NoiseMultiplier{found.largest_failing}), wanted.delta).upper, 2);
  EXPECT_EQ(refusal_of([&] { return calibrate(event, wanted, ClosedForm{}); }).code, ErrorCode::unsupported);
  // The same search by name, as the command's.
  const Parameter parameter{.name = "noise multiplier", .lowest = 0x1p-600, .highest = 0x1p600};
  EXPECT_EQ(solve([&](double z) { return event(NoiseMultiplier{z}); }, wanted, parameter).value, found.value.value());
}

// ---- the other accountant ----

RC_GTEST_PROP(CalibrateZcdp, IsCertifiedOnBothSides, ()) {
  const auto wanted = target(draw_log_uniform(1e-3, 100), draw_log_uniform(1e-100, 0.1));
  const auto found = calibrate(one_release, wanted, Zcdp{});
  RC_ASSERT(is_certified<Zcdp>(found, one_release, wanted));
}

RC_GTEST_PROP(CalibrateZcdp, AsksForNoiseThatIsEnoughForTheClosedForm, ()) {
  const auto wanted = target(draw_log_uniform(1e-3, 100), draw_log_uniform(1e-100, 0.1));
  const auto found = calibrate(one_release, wanted, Zcdp{});
  RC_ASSERT(delta(ClosedForm{}, found.event, wanted.epsilon).upper <= wanted.delta.value());
}

TEST(CalibrateZcdp, NeedsThePublishedRho) {
  const double z = calibrate(one_release, target(1, 1e-5), Zcdp{}).value.value();
  EXPECT_NEAR(1 / (2 * z * z), 0.03056, 0.5001e-5);
}

// ---- laws, which hold with any accountant ----

RC_GTEST_PROP(Calibrate, NeedsLessNoiseForALargerBudget, ()) {
  const double epsilon = draw_log_uniform(1e-3, 50);
  const double delta = draw_log_uniform(1e-100, 0.05);
  const double at = calibrate(one_release, target(epsilon, delta), Zcdp{}).value.value();
  // Of small epsilons the total variation x is the bound, which does not depend on epsilon: x log((1 + x) / (1 - x)) = rho = 1 / (2 z^2).
  const double by_total_variation = 1 / std::sqrt(2 * delta * (std::log1p(delta) - std::log1p(-delta)));
  const bool is_by_total_variation = std::abs(at / by_total_variation - 1) < 1e-9;
  const double larger = calibrate(one_release, target(epsilon * draw_log_uniform(1.001, 3), delta), Zcdp{}).value.value();
  // The search ends at the next doubles, on either side.
  RC_ASSERT(larger < at || (is_by_total_variation && larger <= at * (1 + 1e-12)));
  RC_ASSERT(calibrate(one_release, target(epsilon, delta * draw_log_uniform(1.001, 3)), Zcdp{}).value.value() < at);
}

RC_GTEST_PROP(Calibrate, ScalesWithItsTemplate, ()) {
  const auto wanted = target(draw_log_uniform(1e-3, 50), draw_log_uniform(1e-100, 0.1));
  const double factor = draw_log_uniform(1e-6, 1e6);
  const double scaled = calibrate([&](NoiseMultiplier z) { return noise(z.value() * factor); }, wanted, Zcdp{}).value.value();
  RC_ASSERT(std::abs(scaled * factor / calibrate(one_release, wanted, Zcdp{}).value.value() - 1) < 1e-11);
}

// ---- refusals ----

TEST(CalibrateRefuses, EpsilonZero) {
  const auto refusal = refusal_of([] { return calibrate(one_release, target(0, 1e-5)); });
  EXPECT_TRUE(refusal.says(ErrorCode::invalid_argument, "epsilon of the target is 0, must be greater than 0")) << refusal;
}

TEST(CalibrateRefuses, DeltaZeroAsUnreachable) {
  for (const auto& refusal : {refusal_of([] { return calibrate(one_release, target(1.5, 0)); }),
                              refusal_of([] { return calibrate(one_release, target(1.5, 0), Zcdp{}); })}) {
    EXPECT_TRUE(refusal.says(ErrorCode::unreachable, "epsilon = 1.5 at delta = 0 is out of reach for 'gaussian(1)'")) << refusal;
  }
}

TEST(CalibrateRefuses, AFixedPartThatSpendsTheWholeBudget) {
  const auto event = [](NoiseMultiplier z) { return compose({gaussian(z, adjacency), noise(2)}); };
  const auto refusal = refusal_of([&] { return calibrate(event, target(0.5, 1e-6)); });
  EXPECT_TRUE(refusal.says(ErrorCode::unreachable, "is out of reach for 'compose(gaussian(1), gaussian(2))'")) << refusal;
}

TEST(CalibrateRefuses, ATemplateThatDoesNotDependOnItsMultiplier) {
  const auto refusal = refusal_of([] { return calibrate([](NoiseMultiplier) { return noise(50); }, target(1, 1e-5)); });
  EXPECT_TRUE(refusal.says(ErrorCode::unreachable, "so there is no smallest one")) << refusal;
}

TEST(CalibrateRefuses, AnEventOfAnotherAdjacency) {
  const auto event = [](NoiseMultiplier z) { return gaussian(z, Adjacency::add_or_remove_one); };
  const auto refusal = refusal_of([&] { return calibrate(event, target(1, 1e-5)); });
  EXPECT_TRUE(refusal.says(ErrorCode::invalid_argument, "adjacency of the event is add-or-remove-one, must be the target's, replace-one"))
      << refusal;
}

// The advantage of Gaussian noise is 2 Phi(mu / 2) - 1, its true-positive rate Phi(Phi^-1(alpha) + mu).
TEST(CalibrateToRisk, IsTheSmallestMultiplier) {
  const auto advantage = [](double mu) { return std::erf(mu / 2 / std::sqrt(2.0)); };
  for (const double most : {1e-3, 0.1, 0.6, 0.97}) {
    const auto found = calibrate(one_release, RiskTarget{RiskTarget::Advantage{Probability{most}}, adjacency});
    EXPECT_LE(found.risk.upper, most);
    EXPECT_NEAR(advantage(1 / found.value.value()), most, 1e-13 + 1e-12 * most);
    EXPECT_LT(found.largest_failing, found.value.value());
    EXPECT_GT(found.largest_failing, found.value.value() * (1 - 1e-11));
    EXPECT_GT(accounting::advantage(one_release(NoiseMultiplier{found.largest_failing})).upper, most);
  }
  const auto below = [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; };
  const RiskTarget rate{RiskTarget::Rate{Probability{0.05}, Probability{0.01}}, adjacency};
  const auto found = calibrate(one_release, rate);
  // Phi^-1(0.01) = -2.326347874040841
  EXPECT_NEAR(below(1 / found.value.value() - 2.326347874040841), 0.05, 1e-9);
  EXPECT_LE(found.risk.upper, 0.05);
  EXPECT_GT(risk_of(one_release(NoiseMultiplier{found.largest_failing}), rate).upper, 0.05);
}

TEST(CalibrateToRisk, OfBatchesComesBack) {
  const auto training = [](NoiseMultiplier z) {
    return repeat(Count{10'000}, poisson(SamplingRate{0.01}, gaussian(z, Adjacency::add_or_remove_one)));
  };
  for (const auto& most :
       {decltype(RiskTarget::most){RiskTarget::Advantage{Probability{0.1}}}, {RiskTarget::Rate{Probability{0.05}, Probability{0.01}}}}) {
    const RiskTarget wanted{most, Adjacency::add_or_remove_one};
    const auto found = calibrate(training, wanted);
    const double level = std::holds_alternative<RiskTarget::Rate>(most) ? 0.05 : 0.1;
    EXPECT_LE(risk_of(found.event, wanted).upper, level);
    EXPECT_GT(risk_of(found.event, wanted).lower, level * (1 - 1e-7));
    EXPECT_GT(risk_of(training(NoiseMultiplier{found.largest_failing}), wanted).upper, level);
    EXPECT_GT(found.largest_failing, found.value.value() * (1 - 1e-7));
  }
}

/// More records of a user cost more; more records that batches are drawn from cost less.
TEST(CalibrateToRisk, OfAUserRisesWithItsRecords) {
  const Target target{.epsilon = Epsilon{1}, .delta = Delta{1e-6}, .adjacency = Adjacency::replace_one};
  const EventOfNumber event{"users(k, gaussian(10))", target.adjacency, "k"};
  const auto found = solve(event, target, parameter_of(event));
  EXPECT_GT(found.value, 1);
  EXPECT_LE(found.epsilon.upper, 1);
  ASSERT_TRUE(found.failing);
  EXPECT_EQ(*found.failing, found.value + 1);
}

/// A trade-off with a kink at the target.
TEST(CalibrateToRisk, OfLaplaceNoiseIsTight) {
  const RiskTarget wanted{RiskTarget::Rate{Probability{0.000745547}, Probability{4.347e-06}}, Adjacency::zero_out};
  const EventOfNumber event{"laplace(z)", wanted.adjacency, "z"};
  EXPECT_NEAR(solve(event, wanted, parameter_of(event)).value, 1 / std::log(0.000745547 / 4.347e-06), 1e-4);
}

/// Of an event whose curve a grid bounds.
TEST(CalibrateToRisk, OfWideCurvesComesBack) {
  const RiskTarget wanted{RiskTarget::Rate{Probability{0.05}, Probability{0.01}}, Adjacency::add_or_remove_one};
  const EventOfNumber event{"repeat(10, poisson(0.1, laplace(z)))", wanted.adjacency, "z"};
  const auto found = solve(event, wanted, parameter_of(event));
  EXPECT_LE(found.risk.upper, 0.05);
  EXPECT_GT(found.risk.lower, 0.0499);
  ASSERT_TRUE(found.failing && found.failing_is_proved);
  EXPECT_GT(*found.failing, found.value * (1 - 4e-3));
  EXPECT_GT(risk_of(event(*found.failing), wanted).lower, 0.05);
}

TEST(CalibrateToRisk, RefusesWhatIsNoTarget) {
  const RiskTarget guessing{RiskTarget::Rate{Probability{0.05}, Probability{0.05}}, adjacency};
  EXPECT_EQ(refusal_of([&] { return calibrate(one_release, guessing).value.value(); }).code, ErrorCode::invalid_argument);
  const RiskTarget elsewhere{RiskTarget::Advantage{Probability{0.1}}, Adjacency::zero_out};
  EXPECT_EQ(refusal_of([&] { return calibrate(one_release, elsewhere).value.value(); }).code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace surety::calibrate_test
