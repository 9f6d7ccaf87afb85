#include <surety/accounting/accountants/zcdp/zcdp.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <support/random.h>
#include <support/real.h>
#include <support/refusal.h>
#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/base/numbers/interval.h>

namespace surety::accounting::zcdp_test {
namespace {

using namespace reference;

constexpr auto adjacency = Adjacency::zero_out;
constexpr double infinity = std::numeric_limits<double>::infinity();

Event noise(double multiplier) { return gaussian(NoiseMultiplier{multiplier}, adjacency); }
double delta_at(const Event& event, double epsilon) { return delta(Zcdp{}, event, Epsilon{epsilon}).upper; }
double epsilon_at(const Event& event, double delta) { return epsilon(Zcdp{}, event, Delta{delta}).upper; }

/// The Gaussian release that is rho-zCDP.
Event with_rho(double rho) { return noise(1 / std::sqrt(2 * rho)); }
Real rho_of(double multiplier) { return 1.0 / (2.0 * Real{multiplier, 200} * Real{multiplier, 200}); }

// The published bounds at one order alpha, as printed, with log delta in place of delta [CKS20, Corollary 13]:
//   delta = exp((alpha - 1)(alpha rho - epsilon)) / (alpha - 1) (1 - 1/alpha)^alpha
//   epsilon = alpha rho + (log(1/delta) + alpha log(1 - 1/alpha) - log(alpha - 1)) / (alpha - 1)
Real log_delta_at_order(const Real& order, const Real& rho, double epsilon) {
  return (order - 1.0) * (order * rho - epsilon) - log(order - 1.0) + order * log(1.0 - 1.0 / order);
}
Real epsilon_at_order(const Real& order, const Real& rho, double delta) {
  return order * rho + (order * log(1.0 - 1.0 / order) - log(order - 1.0) - log(Real{delta, 200})) / (order - 1.0);
}

/// The least value over alpha = 1 + e^s by brute force: a coarse scan of s, then the golden section around the best.
template <class Bound>
Real least_over_orders(Bound bound) {
  const auto at = [&](const Real& s) { return bound(1.0 + exp(s)); };
  constexpr double step = 0.25;
  double best = -60;
  Real least = at(Real{best, 200});
  for (double s = best + step; s <= 60; s += step) {
    const Real value = at(Real{s, 200});
    if (value < least) {
      least = value;
      best = s;
    }
  }
  Real low{best - step, 200};
  Real high{best + step, 200};
  const Real golden = (sqrt(Real{5, 200}) - 1.0) / 2.0;
  for (int i = 0; i < 90; ++i) {
    const Real left = high - golden * (high - low);
    const Real right = low + golden * (high - low);
    (at(left) < at(right) ? high : low) = at(left) < at(right) ? right : left;
  }
  const Real value = at((low + high) / 2.0);
  return value < least ? value : least;
}

Real least_epsilon(const Real& rho, double delta) {
  return least_over_orders([&](const Real& order) { return epsilon_at_order(order, rho, delta); });
}
Real least_log_delta(const Real& rho, double epsilon) {
  return least_over_orders([&](const Real& order) { return log_delta_at_order(order, rho, epsilon); });
}

/// x log((1 + x) / (1 - x)) = rho, by halving.
Real total_variation(const Real& rho) {
  Real low{0, 200};
  Real high{1, 200};
  for (int i = 0; i < 180; ++i) {
    const Real x = (low + high) / 2.0;
    (x * log((1.0 + x) / (1.0 - x)) < rho ? low : high) = x;
  }
  return high;
}

/// Against the value at 0 of the Gaussian release of that rho, which is attained, and Pinsker's inequality.
TEST(ZcdpDelta, IsAtMostTheTotalVariationThatRhoAllows) {
  for (const double rho : {0.01, 0.1, 0.5, 1e-6, 1e-30, 4.0, 30.0}) {
    const Event event = zcdp(Rho{rho}, adjacency);
    const double most = delta_at(event, 0);
    const Real variation = total_variation(Real{rho, 200});
    EXPECT_GE(most, variation.rounded_down()) << rho;
    EXPECT_LE(most, (variation * (1 + 1e-14)).rounded_up()) << rho;
    EXPECT_LE(most, std::sqrt(rho / 2) * (1 + 1e-15)) << rho;
    EXPECT_GE(most, delta(ClosedForm{}, with_rho(rho), Epsilon{0}).lower) << rho;
    // A pair of two outcomes whose divergence of order 1 is rho in both directions has it: p against 1 - p.
    const double p = (1 + most) / 2;
    if (rho < 10) {
      EXPECT_NEAR((2 * p - 1) * std::log(p / (1 - p)), rho, 1e-9 * (1 + rho)) << rho;
    }
    // It falls, and from that delta on epsilon is 0.
    EXPECT_LE(delta_at(event, 1e-9), most) << rho;
    EXPECT_EQ(epsilon_at(event, most), 0) << rho;
    EXPECT_GT(epsilon_at(event, 0.9 * most), 0) << rho;
  }
  EXPECT_LE(delta_at(zcdp(Rho{0.1}, adjacency), 0), 0.2219);
  // rho and xi add up.
  EXPECT_LE(delta_at(parse_event("compose(repeat(3, zcdp(0.02)), gaussian(5))", adjacency), 0), std::sqrt(0.04) * (1 + 1e-14));
  EXPECT_LE(delta_at(parse_event("zcdp(0.02, 0.01)", adjacency), 0), std::sqrt(0.015) * (1 + 1e-14));
  EXPECT_EQ(delta_at(zcdp(Rho{1000}, adjacency), 0), 1);
}

TEST(ZcdpEpsilon, IsTheLeastOverAllOrders) {
  std::mt19937_64 words{31337};
  int positive = 0;
  for (int i = 0; i < 40; ++i) {
    const double multiplier = log_uniform(words, 1e-2, 1e4);
    const double delta = log_uniform(words, 1e-300, 0.5);
    const Real least = least_epsilon(rho_of(multiplier), delta);
    const double found = epsilon_at(noise(multiplier), delta);
    if (least <= 0.0) {
      EXPECT_LE(found, 1e-9) << multiplier << ' ' << delta;
      continue;
    }
    ++positive;
    EXPECT_GE(found, least.rounded_down()) << multiplier << ' ' << delta;
    EXPECT_LE(found, (least * (1 + 1e-9)).rounded_up()) << multiplier << ' ' << delta;
  }
  EXPECT_GE(positive, 35);
}

TEST(ZcdpDelta, IsTheLeastOverAllOrders) {
  std::mt19937_64 words{271828};
  int within_double = 0;
  for (int i = 0; i < 40; ++i) {
    const double multiplier = log_uniform(words, 0.1, 1e4);
    const double epsilon = log_uniform(words, 0.1, 30) / multiplier;
    // Or by the total variation.
    const Real by_orders = exp(least_log_delta(rho_of(multiplier), epsilon));
    const Real variation = total_variation(rho_of(multiplier));
    const Real least = by_orders < variation ? by_orders : variation;
    const double found = delta_at(noise(multiplier), epsilon);
    within_double += least > std::numeric_limits<double>::min();
    EXPECT_GE(found, least.rounded_down()) << multiplier << ' ' << epsilon;
    EXPECT_LE(found, (least * (1 + 1e-9)).rounded_up()) << multiplier << ' ' << epsilon;
  }
  EXPECT_GE(within_double, 35);
}

// What a wrong bound would do to the test above: the mutants differ from the truth by more than it allows.
TEST(ZcdpEpsilon, OfAMutantIsNotTheLeast) {
  const Real rho = rho_of(31.5);
  const double found = epsilon_at(noise(31.5), 1e-6);
  const auto fits = [&](const Real& least) { return found >= least.rounded_down() && found <= (least * (1 + 1e-9)).rounded_up(); };
  EXPECT_TRUE(fits(least_epsilon(rho, 1e-6)));
  EXPECT_FALSE(fits(least_epsilon(rho * 2.0, 1e-6))) << "rho = mu^2 instead of mu^2 / 2";
  EXPECT_FALSE(fits(least_epsilon(rho, 1e-6 * (1 + 1e-6)))) << "delta is off";
  EXPECT_FALSE(fits(rho + 2.0 * sqrt(rho * -log(Real{1e-6, 200})))) << "the older conversion rho + 2 sqrt(rho log(1 / delta))";
  EXPECT_FALSE(fits(least_over_orders([&](const Real& order) {
    return order * rho - log(Real{1e-6, 200}) / (order - 1.0);
  }))) << "the Renyi conversion without its logarithmic terms";
}

TEST(ZcdpRho, IsThePublishedTable) {
  struct Row {
    double epsilon;
    double delta;
    double rho;
    double unit;  // of the last printed digit
  };
  for (const auto& [epsilon, delta, rho, unit] : std::vector<Row>{{0.1, 1e-3, 0.001182, 1e-6},
                                                                  {0.1, 1e-5, 0.000433, 1e-6},
                                                                  {0.1, 1e-7, 0.000254, 1e-6},
                                                                  {1, 1e-3, 0.05939, 1e-5},
                                                                  {1, 1e-5, 0.03056, 1e-5},
                                                                  {1, 1e-7, 0.02019, 1e-5},
                                                                  {4, 1e-3, 0.61180, 1e-5},
                                                                  {4, 1e-5, 0.37314, 1e-5},
                                                                  {4, 1e-7, 0.26631, 1e-5}}) {
    EXPECT_LE(delta_at(with_rho(rho - 0.501 * unit), epsilon), delta) << epsilon << ' ' << delta;
    EXPECT_GT(delta_at(with_rho(rho + 0.501 * unit), epsilon), delta) << epsilon << ' ' << delta;
    EXPECT_LE(epsilon_at(with_rho(rho - 0.501 * unit), delta), epsilon) << epsilon << ' ' << delta;
    EXPECT_GT(epsilon_at(with_rho(rho + 0.501 * unit), delta), epsilon) << epsilon << ' ' << delta;
  }
}

TEST(ZcdpRho, AddsUpOverRepetitionAndComposition) {
  const auto event = compose({repeat(Count{10}, compose({noise(5.5), repeat(Count{3}, noise(9))})), noise(2.5)});
  const Real truth = 10.0 * rho_of(5.5) + 30.0 * rho_of(9) + rho_of(2.5);
  const auto found = zcdp_rho(event, 150);
  EXPECT_TRUE(reference::contains(found.enclosure(), truth));
  EXPECT_TRUE(found.agrees_to(140));
}

RC_GTEST_PROP(Zcdp, IsNeverBelowTheClosedForm, ()) {
  const auto event = repeat(Count{*rc::gen::inRange<std::uint64_t>(1, 10'000)}, noise(draw_log_uniform(0.1, 1e4)));
  const Delta delta_target{draw_log_uniform(1e-200, 0.1)};
  RC_ASSERT(epsilon(Zcdp{}, event, delta_target).upper >= epsilon(ClosedForm{}, event, delta_target).lower);
  const Epsilon epsilon_target{draw_log_uniform(1e-6, 500)};
  RC_ASSERT(delta(Zcdp{}, event, epsilon_target).upper >= delta(ClosedForm{}, event, epsilon_target).lower);
}

RC_GTEST_PROP(Zcdp, ProvesOnlyUpperBounds, ()) {
  const auto event = noise(draw_log_uniform(1e-300, 1e300));
  RC_ASSERT(epsilon(Zcdp{}, event, Delta{draw_log_uniform(1e-300, 0.999)}).lower == 0);
  const auto found = delta(Zcdp{}, event, Epsilon{draw_log_uniform(1e-300, 1e300)});
  RC_ASSERT(found.lower == 0);
  RC_ASSERT(found.upper <= 1);
}

RC_GTEST_PROP(ZcdpEpsilon, FallsAsDeltaGrows, ()) {
  const auto event = noise(draw_log_uniform(0.01, 1000));
  const double delta = draw_log_uniform(1e-300, 1e-6);
  RC_ASSERT(epsilon_at(event, delta * draw_log_uniform(1.001, 5)) < epsilon_at(event, delta));
}

RC_GTEST_PROP(ZcdpEpsilon, FallsAsNoiseGrows, ()) {
  const double multiplier = draw_log_uniform(0.01, 1000);
  const double delta = draw_log_uniform(1e-300, 1e-6);
  RC_ASSERT(epsilon_at(noise(multiplier * draw_log_uniform(1.001, 5)), delta) < epsilon_at(noise(multiplier), delta));
}

// The two questions have one answer: delta at the epsilon of delta is delta.
RC_GTEST_PROP(Zcdp, DeltaUndoesEpsilon, ()) {
  const auto event = noise(draw_log_uniform(0.05, 1000));
  const double delta = draw_log_uniform(1e-250, 1e-6);
  RC_ASSERT(std::abs(delta_at(event, epsilon_at(event, delta)) / delta - 1) < 1e-9);
}

TEST(ZcdpExtremes, DeltaZeroProvesNothing) { EXPECT_EQ(epsilon(Zcdp{}, noise(3.5), Delta{0}), (Enclosure{0, infinity})); }

TEST(ZcdpExtremes, DeltaZeroRefusesByNameWhatHasNoRho) {
  for (const char* text : {"approx(1, 0.125)", "poisson(0.5, gaussian(2))"}) {
    const auto event = compose({noise(3.5), parse_event(text, adjacency)});
    for (const double at : {0.0, 1e-5}) {
      const auto refusal = reference::refusal_of([&] { return epsilon(Zcdp{}, event, Delta{at}); });
      EXPECT_TRUE(refusal.says(ErrorCode::unsupported, text)) << refusal;
    }
  }
}

TEST(ZcdpExtremes, AlmostNoNoiseCostsEverything) {
  EXPECT_EQ(delta_at(noise(1e-300), 500), 1);
  EXPECT_EQ(epsilon_at(noise(1e-300), 1e-5), infinity);
}

TEST(ZcdpExtremes, EnormousNoiseCostsAlmostNothing) {
  EXPECT_LE(epsilon_at(noise(1e300), 1e-5), 1e-9);
  EXPECT_LE(delta_at(noise(1e300), 1), 1e-300);
}

TEST(ZcdpExtremes, Epsilon500ContainsTheClosedForm) {
  for (const double multiplier : {0.1, 0.03, 0.0317, 0.02}) {
    EXPECT_GE(delta_at(noise(multiplier), 500), delta(ClosedForm{}, noise(multiplier), Epsilon{500}).lower) << multiplier;
  }
}

}  // namespace
}  // namespace surety::accounting::zcdp_test
