#include <surety/accounting/answers/tradeoff.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <support/gaussian_truth.h>
#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/accountants/composition/composition.h>
#include <surety/accounting/accountants/zcdp/zcdp.h>

namespace surety::accounting::tradeoff_test {
namespace {

using reference::contains;
using reference::Real;

constexpr auto adjacency = Adjacency::replace_one;

PrivacyCurve gaussian_curve(double mu) {
  return [mu](Epsilon at) { return gaussian_delta(Mu{mu}, at); };
}

/// Phi(x - mu) with x = Phi^-1(1 - alpha), from a chosen x: no quantile is needed.
struct Truth {
  double alpha;
  Real beta;
};
Truth gaussian_truth(double x, double mu) {
  const double alpha = static_cast<double>(std::erfc(static_cast<long double>(x) / std::sqrt(2.0L)) / 2);
  // alpha is rounded, so x is corrected by Newton's method in MPFR.
  Real at{x};
  for (int i = 0; i < 5; ++i) {
    const Real density = exp(-at * at / 2.0) / sqrt(2.0 * reference::pi());
    at = at + (0.5 * erfc(at / sqrt(Real{2})) - alpha) / density;
  }
  return {alpha, 0.5 * erfc((mu - at) / sqrt(Real{2}))};
}

TEST(GaussianTradeoff, ContainsTheTruth) {
  for (const double mu : {0.0, 1e-3, 0.37, 2.9, 12.0}) {
    for (const double x : {-3.1, -0.2, 0.0, 0.9, 2.7, 5.5}) {
      const auto [alpha, beta] = gaussian_truth(x, mu);
      const auto found = gaussian_tradeoff(Mu{mu}, Probability{alpha});
      EXPECT_TRUE(contains(found, beta)) << mu << ' ' << x;
      EXPECT_LE(found.width(), 1e-12 * found.upper) << mu << ' ' << x;
    }
  }
}

TEST(GaussianTradeoff, IsInvertedByItsMu) {
  for (const double mu : {1e-3, 0.37, 2.9, 12.0}) {
    for (const double alpha : {1e-4, 0.2, 0.5, 0.9}) {
      const auto beta = gaussian_tradeoff(Mu{mu}, Probability{alpha});
      EXPECT_LE(gaussian_mu(Probability{alpha}, Probability{beta.upper}).lower, mu);
      EXPECT_GE(gaussian_mu(Probability{alpha}, Probability{beta.lower}).upper, mu);
      EXPECT_NEAR(gaussian_mu(Probability{alpha}, Probability{beta.upper}).lower, mu, 1e-11);
    }
  }
  EXPECT_EQ(gaussian_mu(Probability{0.7}, Probability{0.7}), (Enclosure{0, 0}));
}

// The supremum over epsilon of an exact curve is the exact trade-off function.
TEST(Tradeoff, OfTheGaussianCurveIsTheGaussianTradeoff) {
  for (const double mu : {0.05, 0.37, 1.0, 2.9, 6.0}) {
    for (const double x : {-2.3, -0.2, 0.5, 1.4, 4.1}) {
      const auto [alpha, beta] = gaussian_truth(x, mu);
      const auto found = tradeoff(gaussian_curve(mu), Probability{alpha});
      EXPECT_TRUE(contains(found, beta)) << mu << ' ' << x;
      EXPECT_LE(found.width(), 1e-7) << mu << ' ' << x;
    }
  }
}

TEST(Tradeoff, OfAnEventIsWhatItsAccountantProves) {
  const auto event = repeat(Count{9}, gaussian(NoiseMultiplier{6}, adjacency));
  const Probability alpha{0.05};
  const auto exact = gaussian_tradeoff(Mu{0.5}, alpha);
  const auto two_sided = tradeoff(ClosedForm{}, event, alpha);
  const auto one_sided = tradeoff(Zcdp{}, event, alpha);
  EXPECT_TRUE(overlap(two_sided, exact));
  EXPECT_LE(one_sided.lower, exact.upper);
  EXPECT_GT(one_sided.lower, 0.5);
  EXPECT_GE(one_sided.upper, 0.95);
}

// A wide curve gives a wide answer that still contains the truth.
TEST(Tradeoff, ForgivesAWideCurve) {
  for (const double error : {1e-8, 1e-4, 1e-2}) {
    const auto wide = [&](Epsilon at) {
      const auto exact = gaussian_delta(Mu{1}, at);
      return Enclosure{exact.lower * (1 - error), std::min(1.0, exact.upper * (1 + 2 * error))};
    };
    for (const double x : {-1.0, 0.3, 2.0}) {
      const auto [alpha, beta] = gaussian_truth(x, 1);
      const auto found = tradeoff(wide, Probability{alpha});
      EXPECT_TRUE(contains(found, beta)) << error << ' ' << x;
      EXPECT_LE(found.width(), 20 * error) << error << ' ' << x;
    }
  }
}

// Randomized response: the polygon through (0, 1), (1 / (1 + e^epsilon), the same) and (1, 0), shrunk by delta.
TEST(Tradeoff, OfAPromiseIsItsPolygon) {
  const auto event = approx(Epsilon{1.2}, Delta{0.03}, adjacency);
  for (const double alpha : {0.01, 0.2, 0.97 / (1 + std::exp(1.2)), 0.5, 0.9, 0.98}) {
    const double expected = std::max({0.0, 0.97 - std::exp(1.2) * alpha, std::exp(-1.2) * (0.97 - alpha)});
    const auto found = tradeoff(Composition::Optimal{}, event, Probability{alpha});
    EXPECT_LE(found.lower, expected + 1e-15) << alpha;
    EXPECT_GE(found.upper, expected - 1e-15) << alpha;
    EXPECT_LE(found.width(), 1e-4) << alpha;
  }
}

TEST(DeltaOfTradeoff, ComesBackToTheCurve) {
  for (const double mu : {0.2, 1.0, 3.5}) {
    for (const double epsilon : {0.0, 0.1, 1.3, 4.0}) {
      const auto back = delta_of_tradeoff([&](Probability alpha) { return gaussian_tradeoff(Mu{mu}, alpha); }, Epsilon{epsilon});
      EXPECT_TRUE(contains(back, reference::gaussian_delta(mu, epsilon))) << mu << ' ' << epsilon;
      EXPECT_LE(back.width(), 1e-7) << mu << ' ' << epsilon;
    }
  }
}

TEST(MuOfACurve, ComesBackToMu) {
  for (const double mu : {0.2, 1.7}) {
    for (const auto& found : {least_mu_above(gaussian_curve(mu), Epsilon{4}), largest_mu_below(gaussian_curve(mu), Epsilon{4})}) {
      EXPECT_TRUE(found.contains(mu)) << mu;
      EXPECT_LE(found.width(), 0.1 * mu + 0.05) << mu;
    }
  }
}

// A pure release is no Gaussian: some mu lies above its curve and a smaller one below.
TEST(MuOfACurve, BracketsOtherCurves) {
  const auto curve = [](Epsilon at) { return delta(Composition::Optimal{}, pure(Epsilon{1}, adjacency), at); };
  const auto above = least_mu_above(curve, Epsilon{1.5});
  for (int i = 0; i <= 100; ++i) {
    const Epsilon at{0.015 * i};
    EXPECT_GE(gaussian_delta(Mu{above.upper}, at).upper, curve(at).lower) << i;
  }
  EXPECT_LE(largest_mu_below(curve, Epsilon{1.5}).upper, above.lower);
  EXPECT_THROW(static_cast<void>(least_mu_above(curve, Epsilon{1}, 0)), Error);
}

}  // namespace
}  // namespace surety::accounting::tradeoff_test
