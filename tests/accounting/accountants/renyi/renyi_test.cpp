#include <surety/accounting/accountants/renyi/renyi.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <support/mixtures.h>
#include <support/random.h>
#include <support/real.h>
#include <support/refusal.h>
#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/accountants/zcdp/zcdp.h>

namespace surety::accounting::renyi_test {
namespace {

using reference::draw_log_uniform;
using reference::log_uniform;
using reference::Real;
using reference::refusal_of;

constexpr auto add_or_remove = Adjacency::add_or_remove_one;
constexpr auto replace_one = Adjacency::replace_one;
constexpr double infinity = std::numeric_limits<double>::infinity();

Event event_of(const std::string& text, Adjacency adjacency = add_or_remove) { return parse_event(text, adjacency); }
Event sampled(double q, double multiplier) { return poisson(SamplingRate{q}, gaussian(NoiseMultiplier{multiplier}, add_or_remove)); }
RenyiDivergence at_order(const Event& event, double order) { return renyi_divergence(event, RenyiOrder{order}); }
double upper_at(const Event& event, double order) { return at_order(event, order).divergence.upper; }
double epsilon_at(const Event& event, double delta) { return epsilon(Renyi{}, event, Delta{delta}).upper; }
double delta_at(const Event& event, double epsilon) { return delta(Renyi{}, event, Epsilon{epsilon}).upper; }

Real power(const Real& x, const Real& exponent) { return exp(exponent * log(x)); }

/// E[function(x)], x ~ N(0, 1), by the trapezoid rule with so small a step that its error is below 1e-40.
template <class Function>
Real normal_mean(Function function, double low, double high) {
  constexpr mpfr_prec_t bits = 240;
  constexpr double step = 0x1p-4;
  Real sum{0, bits};
  for (int k = static_cast<int>(low / step); k <= static_cast<int>(high / step); ++k) {
    const Real x{k * step, bits};
    sum = sum + exp(-(x * x) / 2.0) * function(x);
  }
  return sum * step / sqrt(2.0 * reference::pi(bits));
}

/// The likelihood ratio of a Poisson-sampled Gaussian release: with the record against without it.
Real mixture_ratio(double q, const Real& mu, const Real& x) { return (1.0 - Real{q, 240}) + q * exp(mu * (x - mu / 2.0)); }

/// D_order of the mixture against N(0, 1) (the record is removed) and the other way round (it is added), by quadrature.
Real truth_removed(double q, double multiplier, double order) {
  const Real mu = 1.0 / Real{multiplier, 240};
  const double far = order / multiplier + 16;
  return log(normal_mean([&](const Real& x) { return power(mixture_ratio(q, mu, x), Real{order, 240}); }, -16, far)) / (order - 1);
}
Real truth_added(double q, double multiplier, double order) {
  const Real mu = 1.0 / Real{multiplier, 240};
  return log(normal_mean(
             [&](const Real& x) {
               return power(mixture_ratio(q, mu, x), Real{1 - order, 240});
             },
             -16 - order / multiplier, 16)) /
         (order - 1);
}

/// The same at an integer order as a finite sum [MTZ19, Section 3.3].
Real truth_by_moments(double q, double multiplier, int order) {
  Real sum{0};
  Real binomial{1};
  const Real rate{q};
  for (int k = 0; k <= order; ++k) {
    Real weight = binomial;
    for (int i = 0; i < k; ++i) weight = weight * rate;
    for (int i = k; i < order; ++i) weight = weight * (1.0 - rate);
    sum = sum + weight * exp(Real{static_cast<double>(k)} * (k - 1.0) / (2.0 * Real{multiplier} * Real{multiplier}));
    binomial = binomial * static_cast<double>(order - k) / (k + 1.0);
  }
  return log(sum) / (order - 1.0);
}

/// Composite Simpson's rule.
double simpson(const std::function<double(double)>& f, double low, double high, int intervals) {
  const double step = (high - low) / intervals;
  double sum = f(low) + f(high);
  for (int i = 1; i < intervals; ++i) sum += f(low + i * step) * (i % 2 == 1 ? 4 : 2);
  return sum * step / 3;
}

/// upper is at or above the truth, and by no more than a relative `slack`.
::testing::AssertionResult tight(double upper, const Real& truth, double slack) {
  if (upper >= truth.rounded_down() && upper <= (truth * (1 + slack)).rounded_up()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << upper << " for the truth " << truth;
}

// ---- the sampled Gaussian ----

void expect_exactly(double q, double multiplier, double order, const Real& truth) {
  const auto found = at_order(sampled(q, multiplier), order);
  EXPECT_TRUE(found.exact);
  EXPECT_TRUE(tight(found.divergence.upper, truth, 1e-9)) << q << ' ' << multiplier << ' ' << order;
}

TEST(RenyiPoisson, IsTheMomentSumAtIntegerOrders) {
  std::mt19937_64 words{8675309};
  for (int i = 0; i < 300; ++i) {
    const double q = log_uniform(words, 1e-9, 0.99);
    const double multiplier = log_uniform(words, 0.3, 30);
    const int order = 2 + static_cast<int>(words() % 60);
    expect_exactly(q, multiplier, order, truth_by_moments(q, multiplier, order));
    EXPECT_EQ(at_order(sampled(q, multiplier), order).divergence.lower, 0);
  }
}

TEST(RenyiPoisson, IsTheQuadratureAtFractionalOrders) {
  std::mt19937_64 words{4242};
  for (int i = 0; i < 60; ++i) {
    const double q = log_uniform(words, 1e-7, 0.95);
    const double multiplier = log_uniform(words, 0.6, 20);
    const double order = 1 + log_uniform(words, 1e-6, 20);
    expect_exactly(q, multiplier, order, truth_removed(q, multiplier, order));
  }
}

// The direction that is left out costs no more [MTZ19, Theorem 5].
TEST(RenyiPoisson, RemovingCostsMoreThanAdding) {
  std::mt19937_64 words{99};
  for (int i = 0; i < 25; ++i) {
    const double q = log_uniform(words, 1e-3, 0.9);
    const double multiplier = log_uniform(words, 0.7, 5);
    const double order = 1 + log_uniform(words, 1e-2, 10);
    EXPECT_GE(upper_at(sampled(q, multiplier), order), truth_added(q, multiplier, order).rounded_down())
        << q << ' ' << multiplier << ' ' << order;
  }
}

// What a wrong curve would do to the tests above.
TEST(RenyiPoisson, OfAMutantIsNotTheTruth) {
  const double found = upper_at(sampled(0.02, 1.25), 7);
  EXPECT_TRUE(tight(found, truth_by_moments(0.02, 1.25, 7), 1e-9));
  EXPECT_FALSE(tight(found, truth_added(0.02, 1.25, 7), 1e-2)) << "the wrong direction";
  EXPECT_FALSE(tight(found, truth_by_moments(0.02, 1.25 / 2, 7), 1e-2)) << "sensitivity off by 2";
  EXPECT_FALSE(tight(found, truth_by_moments(0.02, 1.25, 8), 1e-2)) << "one order off";
  EXPECT_FALSE(tight(
      found,
      log(exp(truth_by_moments(0.02, 1.25, 7) * 6.0) - 21.0 * power(Real{0.98}, Real{5}) * 0.0004 * exp(1.0 / Real{1.25 * 1.25})) / 6.0,
      1e-2))
      << "the binomial term k = 2 dropped";
  EXPECT_FALSE(tight(found, Real{7 / (2 * 1.25 * 1.25)}, 1e-2)) << "no sampling";
}

TEST(RenyiPoisson, OfRateOneIsNoSampling) {
  for (const double order : {1.0001, 2.5, 40.0}) EXPECT_EQ(upper_at(sampled(1, 1.75), order), upper_at(event_of("gaussian(1.75)"), order));
}

// One batch shared by several Gaussians is a batch of one Gaussian of mu^2 = 1/4 + 3/9.
TEST(RenyiPoisson, OfAComposedBatchIsOfOneGaussian) {
  const auto batch = event_of("poisson(0.03, compose(gaussian(2), repeat(3, gaussian(3))))");
  EXPECT_TRUE(tight(upper_at(batch, 5), truth_by_moments(0.03, 1 / std::sqrt(0.25 + 1.0 / 3), 5), 1e-9));
}

TEST(RenyiPoisson, IsStableAtExtremes) {
  for (const double q : {1e-300, 1e-9, 0.5, 1 - 0x1p-53}) {
    for (const double multiplier : {1e-300, 1e-3, 0.05, 1.0, 1e6, 1e300}) {
      double before = 0;
      for (const double order : {1 + 1e-15, 1 + 1e-6, 1.1, 1.9, 2.0, 3.7, 30.0, 1e3, 1e6, 1e15}) {
        const double found = upper_at(sampled(q, multiplier), order);
        EXPECT_FALSE(std::isnan(found)) << q << ' ' << multiplier << ' ' << order;
        EXPECT_LE(found, upper_at(event_of(fmt::format("gaussian({})", multiplier)), order) * (1 + 1e-12));
        EXPECT_GE(found, 0);
        // Where the bound is not rounding (1e-280 over order - 1) it grows with the order.
        if (order < 1.05) continue;
        EXPECT_GE(found * (1 + 1e-7) + 1e-250, before) << q << ' ' << multiplier << ' ' << order;
        before = found;
      }
    }
  }
}

/// At rate 0.01, where the two modes are far apart: E[r^a] is above (1 - q)^a + q^a e^(a (a-1) mu^2 / 2), by hardly anything.
Real truth_of_far_modes(double multiplier, double order) {
  const Real a{order};
  return log(power(1.0 - Real{0.01}, a) + exp(a * log(Real{0.01}) + a * (a - 1.0) / (2.0 * Real{multiplier} * Real{multiplier}))) /
         (a - 1.0);
}

// Where the nodes would be too many, the bound by Minkowski's inequality or by separate modes holds and is said to be a bound.
TEST(RenyiPoisson, WithHardlyAnyNoiseIsABound) {
  for (const double order : {1.001, 1.3, 1.9}) {
    const auto found = at_order(sampled(0.01, 0.002), order);
    EXPECT_FALSE(found.exact);
    const Real truth = truth_of_far_modes(0.002, order);
    EXPECT_TRUE(tight(found.divergence.upper, truth, 1e-6)) << order;
  }
  EXPECT_FALSE(at_order(sampled(0.01, 1.5), 1e5).exact);
}

// Far likelihood ratios overflow a double, the answer does not.
TEST(RenyiPoisson, WithLittleNoiseIsExact) {
  for (double order = 1.0001; order < 1.9; order += 0.013) {
    const auto found = at_order(sampled(0.01, 0.03), order);
    EXPECT_TRUE(found.exact);
    EXPECT_TRUE(tight(found.divergence.upper, truth_of_far_modes(0.03, order), 1e-9)) << order;
  }
}

// Just before the order at which the far mode takes over, the moment's bound is e^40 and more, and its excess over 1 1e-16.
TEST(RenyiPoisson, JustBelowItsTurnIsExact) {
  EXPECT_TRUE(tight(upper_at(sampled(1.5e-10, 1.5625), 109), truth_by_moments(1.5e-10, 1.5625, 109), 1e-9));
  EXPECT_TRUE(tight(upper_at(sampled(6.5e-4, 3.75), 173), truth_by_moments(6.5e-4, 3.75, 173), 1e-9));
}

// Points at which the nodes' own rounding is all that is below the truth: found among some ten thousand.
TEST(RenyiPoisson, IsAboveTheTruthWhereRoundingIsWorst) {
  struct Point {
    double q;
    double multiplier;
    int order;
  };
  for (const auto& [q, multiplier, order] : {Point{0.00054040046099941043, 2, 61}, Point{1.2854977699570321e-99, 0.25, 33},
                                             Point{5.7769807392111174e-110, 0.25, 35}, Point{3.7294905611140916e-129, 0.25, 40}}) {
    expect_exactly(q, multiplier, order, truth_by_moments(q, multiplier, order));
  }
}

// At rates so small that hardly anything but the outcomes between the two modes is left, and too much of both for nodes.
TEST(RenyiPoisson, OfSeparateModesCountsWhatLiesBetween) {
  struct Point {
    double q;
    double multiplier;
    double order;
  };
  for (const auto& [q, multiplier, order] : {Point{1e-60, 0.0625, 1.3}, Point{1e-60, 0.0625, 1.5}, Point{1e-100, 0.0625, 1.9}}) {
    constexpr mpfr_prec_t bits = 900;
    const Real mu = 1.0 / Real{multiplier, bits};
    Real sum{0, bits};
    for (int k = -16 * 32; k <= 32 * 48; ++k) {
      const Real x{k / 32.0, bits};
      const Real r = (1.0 - Real{q, bits}) + q * exp(mu * (x - mu / 2.0));
      sum = sum + exp(-(x * x) / 2.0) * (exp(order * log(r)) - 1.0 - order * (r - 1.0));
    }
    const Real truth = log1p(sum / 32.0 / sqrt(2.0 * reference::pi(bits))) / (order - 1);
    const auto found = at_order(sampled(q, multiplier), order);
    EXPECT_FALSE(found.exact);
    EXPECT_GE(found.divergence.upper, truth.rounded_down()) << q << ' ' << order;
  }
}

TEST(RenyiPoisson, LargeOrdersAreExactOrABound) {
  for (const int order : {100, 300, 700}) {
    const auto found = at_order(sampled(0.01, 3), order);
    EXPECT_TRUE(found.exact);
    EXPECT_TRUE(tight(found.divergence.upper, truth_by_moments(0.01, 3, order), 1e-9)) << order;
  }
}

// ---- fixed-size batches ----

/// D_order from the profile delta(epsilon) = q delta_G(log(1 + (e^epsilon - 1) / q)) [Balle et al. 2018, Theorem 9]:
/// the moment is 1 + the integral over epsilon >= 0 of a (a-1) (e^((a-1) epsilon) + e^(-a epsilon)) delta(epsilon).
double truth_fixed(double q, double multiplier, double order) {
  const double a = order;
  const auto integrand = [&](double u) {
    const double e = 1 + q * std::expm1(u);
    const double slope = q * std::exp(u) / e;
    return a * (a - 1) * (std::pow(e, a - 1) + std::pow(e, -a)) * q * gaussian_delta(Mu{1 / multiplier}, Epsilon{u}).upper * slope;
  };
  const double mu = 1 / multiplier;
  return std::log1p(simpson(integrand, 0, mu * (a * mu + 9), 600)) / (a - 1);
}

// A batch of at most three of nine: zero-out tells how many others stay, add-or-remove-one displaces one of them.
TEST(RenyiTruncated, IsTheMixtureOfItsMoments) {
  constexpr int records = 9;
  constexpr int largest = 3;
  constexpr double rate = 0.2;
  constexpr double multiplier = 1.5;
  double roomy = 0;
  double at = 0;
  double crowded = 0;
  double kept = 0;  // drawn, with `largest` that stay of more
  for (int n = 0; n < records; ++n) {
    const double weight = reference::binomial(records - 1, n, rate);
    (n < largest - 1 ? roomy : n == largest - 1 ? at : crowded) += weight;
    if (n >= largest) kept += weight * rate * largest / (n + 1);
  }
  double eight = 0;  // the same of eight records
  for (int n = largest; n < records - 1; ++n) eight += reference::binomial(records - 2, n, rate) * rate * largest / (n + 1);
  const auto moment = [&](double q, double noise, int order) {
    return exp(truth_by_moments(q, noise, order) * static_cast<double>(order - 1));
  };
  const auto zero_out = parse_event("truncated_poisson(0.2, 3, 9, gaussian(1.5))", Adjacency::zero_out);
  const auto removal = parse_event("truncated_poisson(0.2, 3, 9, gaussian(1.5))", Adjacency::add_or_remove_one);
  for (const int order : {2, 5, 12, 40}) {
    const Real told = moment(rate, multiplier, order) * roomy + moment((at * rate + kept) / (at + kept), multiplier, order) * (at + kept) +
                      Real{crowded - kept};
    EXPECT_TRUE(tight(upper_at(zero_out, order), log(told) / static_cast<double>(order - 1), 1e-9)) << order;
    // As many others as that, or fewer, and all of them opposite to the record that comes.
    double dearest = 0;
    for (int others = 0; others < records; ++others) {
      reference::Mixture with;
      reference::Mixture without;
      for (int n = 0; n <= others; ++n) {
        const double weight = reference::binomial(others, n, rate);
        const double stays = rate * (n < largest ? 1 : static_cast<double>(largest) / (n + 1));
        without[-std::min(n, largest)] += weight;
        with[-std::min(n, largest)] += weight * (1 - stays);
        with[1 - std::min(n, largest - 1)] += weight * stays;
      }
      dearest = std::max({dearest, reference::divergence_of_mixtures(with, without, multiplier, order),
                          reference::divergence_of_mixtures(without, with, multiplier, order)});
    }
    EXPECT_GE(upper_at(removal, order), dearest) << order;
    // Nine records at the chance to stay of eight, and up to eight at the largest there is.
    double crowd_of_eight = 0;
    for (int n = largest; n < records - 1; ++n) crowd_of_eight += reference::binomial(records - 2, n, rate);
    const Real charged = moment(rate, multiplier, order) * (1 - crowded) + moment(eight / crowd_of_eight, multiplier / 2, order) * crowded;
    const Real rest = moment(rate, multiplier, order) * (1 - crowd_of_eight) +
                      moment(rate * largest / (largest + 1), multiplier / 2, order) * crowd_of_eight;
    const Real truth = log(charged.rounded_down() > rest.rounded_down() ? charged : rest) / static_cast<double>(order - 1);
    EXPECT_TRUE(tight(upper_at(removal, order), truth, 1e-8)) << order;
  }
  EXPECT_THROW(static_cast<void>(upper_at(parse_event("truncated_poisson(0.2, 3, 9, record_sum(1.5))", Adjacency::replace_one), 2)), Error);
}

TEST(RenyiFixedSize, IsTheIntegralOfItsProfile) {
  std::mt19937_64 words{1357};
  for (int i = 0; i < 10; ++i) {
    const double multiplier = log_uniform(words, 0.6, 10);
    const double order = 1 + log_uniform(words, 0.05, 15);
    const auto size = static_cast<std::uint64_t>(log_uniform(words, 1, 900));
    const auto event = without_replacement(Count{1000}, Count{size}, gaussian(NoiseMultiplier{multiplier}, replace_one));
    const double truth = truth_fixed(static_cast<double>(size) / 1000, multiplier, order);
    const auto found = at_order(event, order);
    EXPECT_FALSE(found.exact);
    EXPECT_NEAR(found.divergence.upper / truth, 1, 2e-6) << multiplier << ' ' << order << ' ' << size;
  }
}

TEST(RenyiFixedSize, OfTheWholeDataIsNoSampling) {
  EXPECT_EQ(upper_at(event_of("without_replacement(7, 7, gaussian(1.5))", replace_one), 3.5),
            upper_at(event_of("gaussian(1.5)", replace_one), 3.5));
}

// At z = 14.4 and batches of 1000 in 200,000 the bound of Wang, Balle, Kasiviswanathan 2019 proves 0.84; the profile 0.2.
TEST(RenyiFixedSize, IsFarBelowTheMomentBound) {
  EXPECT_LE(epsilon_at(event_of("repeat(75000, without_replacement(200000, 1000, gaussian(14.39)))", replace_one), 1e-3), 0.2302);
}

TEST(RenyiFixedSize, OfPureReleasesIsTwoPoints) {
  // P(l = e^epsilon) = 1 / (1 + e^epsilon) under Q is all that the profile sees: r = 1 + q (e^epsilon - 1).
  const double q = 0.125;
  const double epsilon = 1.5;
  const double order = 4.5;
  const double r = 1 + q * std::expm1(epsilon);
  const double moment = 1 + (std::pow(r, order) + std::pow(r, 1 - order) - 1 - r) / (1 + std::exp(epsilon));
  EXPECT_NEAR(upper_at(event_of("without_replacement(8, 1, pure(1.5))", replace_one), order), std::log(moment) / (order - 1), 1e-12);
}

// ---- single releases ----

TEST(RenyiCurve, OfLinearCurves) {
  for (const double order : {1.000001, 1.5, 2.0, 33.25, 1e6}) {
    EXPECT_TRUE(tight(upper_at(event_of("gaussian(1.25)"), order), Real{order} / (2.0 * Real{1.25 * 1.25}), 1e-14));
    EXPECT_TRUE(tight(upper_at(event_of("zcdp(0.3)"), order), Real{order} * 0.3, 1e-14));
    EXPECT_TRUE(tight(upper_at(event_of("discrete_gaussian(5, 3)"), order), Real{order} * 9.0 / 50.0, 1e-14));
    EXPECT_TRUE(tight(upper_at(event_of("generalized_gaussian(3.5, 9, 2)"), order), Real{order} * 2.5 / 8.0, 1e-14));
  }
}

TEST(RenyiCurve, SaysWhereItIsOnlyABound) {
  for (const std::string text :
       {"gaussian(2)", "laplace(2)", "discrete_laplace(2, 3)", "pure(1)", "zcdp(1)", "exponential(1)", "poisson(0.1, gaussian(2))",
        "compose(gaussian(2), parallel(laplace(1), pure(2)))", "compose(gaussian(2), k_norm(l1, 3, 2))"}) {
    EXPECT_TRUE(at_order(event_of(text), 3).exact) << text;
  }
  for (const std::string text : {"discrete_gaussian(2, 1)", "generalized_gaussian(3, 2, 1)", "k_norm(l2, 3, 2)",
                                 "compose(gaussian(2), k_norm(l2, 3, 2))", "poisson(0.1, generalized_gaussian(3, 2, 1))"}) {
    EXPECT_FALSE(at_order(event_of(text), 3).exact) << text;
  }
  EXPECT_FALSE(at_order(event_of("shuffled(10, 2, gaussian(2))", replace_one), 3).exact);
  EXPECT_TRUE(at_order(event_of("deterministic(10, 2, gaussian(2))", replace_one), 3).exact);
}

TEST(RenyiCurve, OfLaplaceIsItsIntegral) {
  for (const double b : {0.2, 1.0, 7.0}) {
    for (const double order : {1.01, 2.5, 12.0}) {
      // The loss is 1/b left of 0, -1/b right of 1 and linear between.
      const auto density = [&](double x) { return std::exp(-(order * std::abs(x) + (1 - order) * std::abs(x - 1)) / b) / (2 * b); };
      const double moment = std::exp((order - 1) / b) / 2 + simpson(density, 0, 1, 4000) + std::exp(-order / b) / 2;
      EXPECT_NEAR(upper_at(event_of(fmt::format("laplace({})", b)), order), std::log(moment) / (order - 1), 1e-9) << b << ' ' << order;
    }
  }
}

TEST(RenyiCurve, OfDiscreteLaplaceIsItsSum) {
  for (const int s : {1, 2, 7}) {
    for (const double order : {1.01, 2.5, 12.0}) {
      constexpr double b = 2.25;
      Real sum{0, 200};
      for (int k = -400; k <= 400; ++k) sum = sum + exp(-(Real{order, 200} * std::abs(k) + (1.0 - Real{order, 200}) * std::abs(k - s)) / b);
      const Real theta = exp(Real{-1 / b, 200});
      const Real truth = log(sum * (1.0 - theta) / (1.0 + theta)) / (order - 1);
      EXPECT_NEAR(upper_at(event_of(fmt::format("discrete_laplace({}, {})", b, s)), order), truth.nearest_double(), 1e-13)
          << s << ' ' << order;
    }
  }
}

TEST(RenyiCurve, OfRandomizedResponseIsItsSum) {
  for (const double truth : {0.1, 0.5, 0.9}) {
    for (const double order : {1.01, 2.5, 12.0}) {
      const double other = (1 - truth) / 3;
      const double moment =
          std::pow(truth, order) * std::pow(other, 1 - order) + std::pow(other, order) * std::pow(truth, 1 - order) + 2 * other;
      EXPECT_NEAR(upper_at(event_of(fmt::format("randomized_response({}, 4)", truth), replace_one), order), std::log(moment) / (order - 1),
                  1e-11);
    }
  }
}

TEST(RenyiCurve, OfPureIsBinaryRandomizedResponse) {
  for (const double order : {1.01, 2.5, 300.0}) {
    EXPECT_NEAR(upper_at(event_of("pure(1.0986122886681098)"), order),
                upper_at(event_of("randomized_response(0.75, 2)", replace_one), order), 1e-12);
  }
}

TEST(RenyiCurve, OfBoundedRangeIsTheLargestOverItsShift) {
  for (const double epsilon : {0.1, 1.0, 6.0}) {
    for (const double order : {1.01, 2.5, 12.0}) {
      double largest = 0;
      for (int i = 0; i <= 20000; ++i) {
        const double t = epsilon * i / 20000;
        const double weight = (std::exp(-t) - std::exp(-epsilon)) / -std::expm1(-epsilon);
        largest = std::max(largest, std::log(weight * std::exp(order * t) + (1 - weight) * std::exp(order * (t - epsilon))) / (order - 1));
      }
      const double found = upper_at(event_of(fmt::format("exponential({})", epsilon)), order);
      EXPECT_GE(found * (1 + 1e-9), largest);
      EXPECT_LE(found, largest * (1 + 1e-6));
    }
  }
}

// E_Q[(1 - q + q l)^a] of a sampled Laplace release, by quadrature: the binomial sum is exact at integers, its chords above.
TEST(RenyiPoisson, OfLaplaceIsExactAtIntegersAndABoundBetween) {
  const double b = 1.5;
  const double q = 0.05;
  for (const double order : {1.5, 2.0, 2.5, 5.0, 17.0}) {
    const auto density = [&](double x) {
      return std::pow(1 - q + q * std::exp((std::abs(x - 1) - std::abs(x)) / b), order) * std::exp(-std::abs(x - 1) / b) / (2 * b);
    };
    const double ends =
        std::pow(1 - q + q * std::exp(1 / b), order) * std::exp(-1 / b) / 2 + std::pow(1 - q + q * std::exp(-1 / b), order) / 2;
    const double truth = std::log(ends + simpson(density, 0, 1, 4000)) / (order - 1);
    const auto found = at_order(event_of("poisson(0.05, laplace(1.5))"), order);
    EXPECT_GE(found.divergence.upper, truth * (1 - 1e-9)) << order;
    EXPECT_LE(found.divergence.upper, truth * (order == std::floor(order) ? 1 + 1e-9 : 1.5)) << order;
    EXPECT_EQ(found.exact, order == std::floor(order)) << order;
  }
}

// ---- structure ----

TEST(RenyiStructure, OrdersAddUp) {
  const auto event = event_of("compose(repeat(10, gaussian(3)), laplace(4), repeat(2, poisson(0.1, gaussian(2))))");
  for (const double order : {1.5, 4.0}) {
    const double sum =
        10 * upper_at(event_of("gaussian(3)"), order) + upper_at(event_of("laplace(4)"), order) + 2 * upper_at(sampled(0.1, 2), order);
    EXPECT_NEAR(upper_at(event, order), sum, 1e-13);
    EXPECT_GE(upper_at(event, order), sum * (1 - 1e-15));
  }
}

TEST(RenyiStructure, ParallelCostsItsLargestPart) {
  const auto event = event_of("parallel(gaussian(1), pure(0.9), gaussian(1))");
  for (const double order : {1.01, 1.5, 20.0}) {
    EXPECT_EQ(upper_at(event, order), std::max(upper_at(event_of("gaussian(1)"), order), upper_at(event_of("pure(0.9)"), order)));
  }
}

TEST(RenyiStructure, ALastIterateCostsItsGaussianRelease) {
  const auto at = [](const char* text) { return upper_at(event_of(text, replace_one), 3); };
  EXPECT_NEAR(at("last_iterate(4, 1, gaussian(6))"), 3 / 18.0, 1e-14);
  EXPECT_NEAR(at("last_iterate_of_passes(10, 3, 1, record_sum(12))"), 3 / 18.0, 1e-14);
  EXPECT_NEAR(at("last_iterate_of_batches(3, 2, gaussian(1.5))"), 3 / 18.0, 1e-14);
  EXPECT_NEAR(at("users(2, last_iterate(4, 1, gaussian(12)))"), 3 / 18.0, 1e-14);
  EXPECT_NEAR(at("last_iterate_within(4, 99, 1, gaussian(12))"), 3 / 18.0, 1e-14);
  EXPECT_FALSE(at_order(event_of("last_iterate_within(4, 99, 1, gaussian(12))", replace_one), 3).exact);
}

TEST(RenyiStructure, EpochsCostOneBatch) {
  for (const std::string text : {"shuffled(100, 10, gaussian(1.5))", "deterministic(100, 10, gaussian(1.5))"}) {
    EXPECT_EQ(upper_at(event_of(text, replace_one), 4), upper_at(event_of("gaussian(1.5)", replace_one), 4));
  }
}

TEST(RenyiRefusal, NamesTheEvent) {
  const auto cost = [](const std::string& text, Adjacency adjacency) {
    return refusal_of([&] { return epsilon_at(event_of(text, adjacency), 1e-5); });
  };
  constexpr auto unsupported = ErrorCode::unsupported;
  EXPECT_TRUE(
      cost("compose(gaussian(2), approx(1, 1e-6))", add_or_remove).says(unsupported, "no theorem for approx(1, 1e-06); privacy-loss"));
  EXPECT_TRUE(cost("poisson(0.1, approx(1, 1e-6))", add_or_remove).says(unsupported, "no theorem for approx(1, 1e-06)"));
}

TEST(RenyiBatch, WithoutATheoremCostsWhatItIsUsedFor) {
  const auto cost = [](const std::string& text, Adjacency adjacency) { return epsilon_at(event_of(text, adjacency), 1e-5); };
  const std::vector<std::tuple<std::string, std::string, Adjacency>> cases{
      {"poisson(0.1, zcdp(1))", "zcdp(1)", add_or_remove},
      {"poisson(0.1, compose(generalized_gaussian(3, 2, 1), gaussian(1)))", "compose(generalized_gaussian(3, 2, 1), gaussian(1))",
       add_or_remove},
      {"repeat(3375, without_replacement(10, 1, discrete_gaussian(1, 1000)))", "repeat(3375, discrete_gaussian(1, 1000))", replace_one},
      {"without_replacement(10, 2, parallel(gaussian(2), gaussian(3)))", "gaussian(2)", replace_one}};
  for (const auto& [batch, inside, adjacency] : cases) EXPECT_EQ(cost(batch, adjacency), cost(inside, adjacency)) << batch;
}

TEST(RenyiOrder, OutOfRangeIsRefused) {
  for (const double order : {1.0, 0.5, -3.0, infinity, std::nan("")})
    EXPECT_TRUE(refusal_of([&] { return RenyiOrder{order}; }).refused) << order;
}

// ---- the answers ----

TEST(RenyiEpsilon, MeetsThePublishedJobs) {
  const auto job = explain_epsilon(Renyi{}, event_of("repeat(10000, poisson(0.01, gaussian(1)))"), Delta{1e-5});
  EXPECT_LE(job.bound.upper, 6.7128);
  EXPECT_GE(job.bound.upper, 6.187712390);
  EXPECT_TRUE(job.exact_curve);
  EXPECT_FALSE(job.at_end_of_range);
  std::vector<Event> pairs;
  for (int i = 0; i < 1000; ++i) pairs.push_back(repeat(Count{10}, sampled(0.005 + 0.01 * i / 1000, 1 + i / 1000.0)));
  const double different = epsilon_at(compose(std::move(pairs)), 1e-5);
  EXPECT_LE(different, 3.4363);
  EXPECT_GE(different, 3.1631240);
  EXPECT_LE(epsilon_at(event_of("repeat(1000, laplace(10))"), 1e-6), 20.04);
  EXPECT_GE(epsilon_at(event_of("repeat(1000, laplace(10))"), 1e-6), 18.950287368);
}

TEST(RenyiEpsilon, IsAboveTheTruthAtTinyDelta) {
  const auto job = event_of("repeat(10000, poisson(0.01, gaussian(1)))");
  const std::vector<std::pair<double, double>> truths = {
      {1e-10, 9.3161385}, {1e-15, 11.7599785}, {1e-20, 13.8797727}, {1e-30, 17.6350611}, {1e-100, 40.4548447}};
  for (const auto& [delta, truth] : truths) {
    EXPECT_GE(epsilon_at(job, delta), truth);
    EXPECT_LE(epsilon_at(job, delta), truth * 1.05);
  }
}

// For Gaussians the best of all orders has one equation, which zcdp solves.
RC_GTEST_PROP(Renyi, IsZcdpForGaussians, ()) {
  const auto event =
      repeat(Count{*rc::gen::inRange<std::uint64_t>(1, 1000)}, gaussian(NoiseMultiplier{draw_log_uniform(0.5, 1e3)}, replace_one));
  const Delta target{draw_log_uniform(1e-100, 1e-3)};
  const double other = epsilon(Zcdp{}, event, target).upper;
  const auto found = explain_epsilon(Renyi{}, event, target);
  RC_ASSERT(found.bound.upper >= other * (1 - 1e-12));
  RC_ASSERT(found.at_end_of_range || found.bound.upper <= other * (1 + 1e-6) + 1e-9);
}

RC_GTEST_PROP(Renyi, IsNeverBelowTheClosedForm, ()) {
  const auto event =
      repeat(Count{*rc::gen::inRange<std::uint64_t>(1, 10'000)}, gaussian(NoiseMultiplier{draw_log_uniform(1e-2, 1e4)}, replace_one));
  const Delta target{draw_log_uniform(1e-200, 0.5)};
  RC_ASSERT(epsilon(Renyi{}, event, target).upper >= epsilon(ClosedForm{}, event, target).lower);
  const Epsilon at{draw_log_uniform(1e-6, 500)};
  RC_ASSERT(delta(Renyi{}, event, at).upper >= delta(ClosedForm{}, event, at).lower);
}

// One sampled Gaussian has the closed form q delta_G(log(1 + (e^epsilon - 1) / q)) when a record is removed.
RC_GTEST_PROP(Renyi, IsNeverBelowOneSampledGaussian, ()) {
  const double q = draw_log_uniform(1e-4, 0.99);
  const double multiplier = draw_log_uniform(0.05, 20);
  const double at = draw_log_uniform(1e-3, 50);
  const double inner = at > 30 ? at - std::log(q) : std::log1p(std::expm1(at) / q);
  const double truth = q * gaussian_delta(Mu{1 / multiplier}, Epsilon{inner * (1 + 1e-12) + 1e-12}).lower;
  RC_ASSERT(delta_at(sampled(q, multiplier), at) >= truth * (1 - 1e-9));
}

RC_GTEST_PROP(RenyiEpsilon, FallsAsDeltaAndNoiseGrow, ()) {
  const double q = draw_log_uniform(1e-4, 0.9);
  const double multiplier = draw_log_uniform(0.3, 10);
  const double delta = draw_log_uniform(1e-30, 1e-4);
  const double here = epsilon_at(sampled(q, multiplier), delta);
  RC_ASSERT(epsilon_at(sampled(q, multiplier), delta * 3) <= here * (1 + 1e-6));
  RC_ASSERT(epsilon_at(sampled(q, multiplier * 1.2), delta) <= here * (1 + 1e-6));
  RC_ASSERT(epsilon_at(sampled(std::min(1.0, q * 1.1), multiplier), delta) >= here * (1 - 1e-6));
}

RC_GTEST_PROP(RenyiCurve, GrowsWithTheOrder, ()) {
  const auto event = sampled(draw_log_uniform(1e-5, 1), draw_log_uniform(0.3, 10));
  const double order = 1 + draw_log_uniform(1e-5, 100);
  RC_ASSERT(upper_at(event, order) <= upper_at(event, 1 + (order - 1) * draw_log_uniform(1.001, 2)) * (1 + 1e-9));
}

RC_GTEST_PROP(Renyi, DeltaUndoesEpsilon, ()) {
  const auto event = repeat(Count{100}, sampled(draw_log_uniform(1e-3, 0.5), draw_log_uniform(0.5, 5)));
  const double delta = draw_log_uniform(1e-50, 1e-6);
  const auto found = epsilon_at(event, delta);
  RC_PRE(found > 0);
  RC_ASSERT(std::abs(delta_at(event, found) / delta - 1) < 1e-3);
}

TEST(RenyiReport, SaysWhenTheBestOrderIsAtTheEnd) {
  // So much noise that only orders beyond 1e6 would prove the most; so little that only orders at 1 do.
  EXPECT_TRUE(explain_delta(Renyi{}, event_of("gaussian(1e5)"), Epsilon{0.001}).at_end_of_range);
  EXPECT_TRUE(explain_epsilon(Renyi{}, event_of("gaussian(1e-9)"), Delta{1e-5}).at_end_of_range);
  EXPECT_FALSE(explain_epsilon(Renyi{}, event_of("gaussian(2)"), Delta{1e-5}).at_end_of_range);
}

TEST(RenyiExtremes, ProveNothingWrong) {
  EXPECT_EQ(epsilon_at(event_of("gaussian(2)"), 0), infinity);
  EXPECT_EQ(epsilon_at(event_of("gaussian(1e-300)"), 1e-5), infinity);
  EXPECT_EQ(delta_at(event_of("gaussian(1e-300)"), 500), 1);
  EXPECT_EQ(epsilon_at(event_of("gaussian(1e6)"), 0.5), 0);
  EXPECT_GE(epsilon_at(event_of("pure(3)"), 1e-300), 2.99);
  EXPECT_LE(epsilon_at(event_of("pure(3)"), 1e-300), 3.01);
  EXPECT_LE(epsilon_at(event_of("pure(0)"), 1e-5), 0);
  EXPECT_LE(epsilon_at(event_of("repeat(1000000000, poisson(1e-9, gaussian(1)))"), 1e-5), 0.17);
  EXPECT_GT(epsilon_at(event_of("repeat(9007199254740992, laplace(1e-300))"), 1e-5), 1e300);
}

// ---- the moments accountant ----

TEST(Moments, AreRenyiAtIntegerOrders) {
  const std::vector<Event> events = {event_of("repeat(10000, poisson(0.01, gaussian(1)))"), event_of("repeat(30, laplace(3))"),
                                     event_of("gaussian(2)"), event_of("repeat(5, poisson(0.2, gaussian(0.5)))")};
  for (const auto& event : events) {
    double least = infinity;
    for (int order = 2; order <= 40; ++order) {
      const double divergence = upper_at(event, order);
      least = std::min(least, divergence + std::log1p(-1.0 / order) - (std::log(1e-6) + std::log(order)) / (order - 1));
    }
    const Moments moments{.largest_order = Count{40}};
    const auto found = explain_epsilon(moments, event, Delta{1e-6});
    EXPECT_NEAR(found.bound.upper, std::max(0.0, least), 1e-9 * least);
    EXPECT_EQ(found.order.value(), std::floor(found.order.value()));
    EXPECT_GE(found.bound.upper, epsilon_at(event, 1e-6) * (1 - 1e-6));
    EXPECT_NEAR(delta(moments, event, Epsilon{found.bound.upper}).upper, 1e-6, 1e-12);
  }
}

TEST(Moments, SayWhenTheLargestOrderIsTheBest) {
  EXPECT_TRUE(explain_epsilon(Moments{.largest_order = Count{5}}, event_of("gaussian(20)"), Delta{1e-6}).at_end_of_range);
  EXPECT_TRUE(refusal_of([] {
                return epsilon(Moments{.largest_order = Count{1}}, event_of("gaussian(20)"), Delta{1e-6});
              }).says(ErrorCode::invalid_argument, "largest order is 1, must be at least 2"));
}

static_assert(Accountant<Renyi> && Accountant<Moments>);

}  // namespace
}  // namespace surety::accounting::renyi_test
