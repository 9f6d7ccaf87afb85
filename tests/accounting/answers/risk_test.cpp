#include <surety/accounting/answers/risk.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include <support/gaussian_truth.h>
#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::risk_test {
namespace {

using reference::contains;
using reference::Real;

constexpr auto adjacency = Adjacency::add_or_remove_one;

Event sampled(std::uint64_t times, double rate, double multiplier, Adjacency neighbours = adjacency) {
  const Event sum = record_sum(NoiseMultiplier{multiplier}, neighbours);
  return repeat(Count{times}, poisson(SamplingRate{rate}, sum));
}
Event laplace(double scale) { return laplace(NoiseScale{scale}, adjacency); }

/// Phi(x), by MPFR.
Real phi(const Real& x) { return 0.5 * erfc(-x / sqrt(Real{2})); }

/// The best tests of two laws on finitely many outcomes are thresholds of their ratio: false and true positives of each, from its two sums.
struct Roc {
  std::vector<std::pair<double, double>> vertices;  // by rising false positives

  Roc(std::vector<double> absent, std::vector<double> present) {
    std::vector<std::size_t> order(absent.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return present[i] * absent[j] > present[j] * absent[i]; });
    double fpr = 0;
    double tpr = 0;
    vertices.emplace_back(0, 0);
    for (const std::size_t i : order) vertices.emplace_back(fpr += absent[i], tpr += present[i]);
  }
  [[nodiscard]] double tpr(double at) const {
    for (std::size_t i = 1; i < vertices.size(); ++i) {
      const auto& [x0, y0] = vertices[i - 1];
      const auto& [x1, y1] = vertices[i];
      if (at <= x1 || i + 1 == vertices.size()) return y0 + (y1 - y0) * std::min(1.0, (at - x0) / (x1 - x0));
    }
    return 1;
  }
  [[nodiscard]] double accuracy(double prior) const {
    double best = 0;
    for (const auto& [x, y] : vertices) best = std::max(best, prior * y + (1 - prior) * (1 - x));
    return best;
  }
  /// By bisection of Phi(Phi^-1(x) + mu) >= y at each vertex, with erfc alone.
  [[nodiscard]] double least_mu() const {
    const auto below = [](double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; };
    const auto quantile = [&](double p) {
      double low = -40;
      double high = 40;
      for (int i = 0; i < 200; ++i) (below((low + high) / 2) < p ? low : high) = (low + high) / 2;
      return low;
    };
    double mu = 0;
    for (const auto& [x, y] : vertices) {
      if (x > 0 && y < 1 - 1e-12) mu = std::max(mu, quantile(y) - quantile(x));
    }
    return mu;
  }
};

void expect_near(const Enclosure& found, double truth, double width, double doubt = 1e-12) {
  EXPECT_LE(found.lower, truth + doubt);
  EXPECT_GE(found.upper, truth - doubt);
  EXPECT_LE(found.width(), width);
}

TEST(Risk, OfGaussianNoiseIsItsClosedForm) {
  for (const double z : {0.4, 1.0, 3.7, 200.0}) {
    const Event event = repeat(Count{2}, gaussian(NoiseMultiplier{z}, adjacency));
    const Real mu = sqrt(Real{2}) / Real{z};
    const auto found = risk(event);
    EXPECT_TRUE(contains(found.advantage, 2.0 * phi(mu / 2.0) - 1.0)) << z;
    EXPECT_TRUE(contains(found.accuracy, phi(mu / 2.0))) << z;
    EXPECT_TRUE(contains(found.mu, mu)) << z;
    EXPECT_TRUE(contains(found.mu_above_floor, mu)) << z;
    EXPECT_LE(found.mu.width(), 1e-14) << z;
    EXPECT_LE(found.mu_above_floor.width(), 1e-6 * found.mu.upper) << z;
    ASSERT_EQ(found.rates.size(), 3u);
    for (const auto& [alpha, rate] : found.rates) {
      Real quantile{-2.5};
      for (int i = 0; i < 60; ++i) {
        const Real density = exp(-quantile * quantile / 2.0) / sqrt(2.0 * reference::pi());
        quantile = quantile - (phi(quantile) - alpha.value()) / density;
      }
      EXPECT_TRUE(contains(rate, phi(quantile + mu))) << z << ' ' << alpha.value();
      EXPECT_LE(rate.width(), 1e-8) << z << ' ' << alpha.value();
    }
  }
}

TEST(Risk, OfRandomizedResponseIsThatOfItsTests) {
  for (const auto& [truth, categories] : {std::pair{0.75, 2}, {0.4, 4}}) {
    const Event event = randomized_response(Probability{truth}, Count{static_cast<std::uint64_t>(categories)}, Adjacency::replace_one);
    const double other = (1 - truth) / (categories - 1);
    std::vector<double> absent(static_cast<std::size_t>(categories), other);
    auto present = absent;
    absent[0] = present[1] = truth;
    const Roc roc{absent, present};
    for (const double prior : {0.5, 0.97}) {
      const auto found = risk(event, {.prior = Probability{prior}});
      expect_near(found.accuracy, roc.accuracy(prior), 1e-12);
      expect_near(found.advantage, truth - other, 1e-12);
      expect_near(found.mu, roc.least_mu(), 1e-5, 1e-9);
      for (const auto& [alpha, rate] : found.rates) expect_near(rate, roc.tpr(alpha.value()), 1e-6);
    }
  }
}

// Laplace noise on outcomes cut into cells, whose ends' tests are as good as any: between two ratios of 1e-4 nothing is lost but 1e-8.
TEST(Risk, OfWhatIsConcentratedIsAtMostPinskersBound) {
  for (const auto& [text, most] : {std::pair{"zcdp(0.01)", 0.0707107}, {"zcdp(0.1)", 0.2236069}, {"zcdp(0.5)", 0.5}}) {
    const auto found = advantage(parse_event(text, Adjacency::replace_one));
    EXPECT_LE(found.upper, most * (1 + 1e-6)) << text;
    EXPECT_GT(found.lower, 0.5 * most) << text;
  }
  // Beside others the pair of what is concentrated is no worse than that.
  EXPECT_LE(advantage(parse_event("compose(zcdp(0.1), laplace(1000))", Adjacency::replace_one)).upper, 0.2236069 + 0.0006);
}

TEST(Risk, OfLaplaceNoiseIsThatOfItsTests) {
  for (const double scale : {0.7, 2.0}) {
    const auto below = [&](double x) { return x < 0 ? std::exp(x / scale) / 2 : 1 - std::exp(-x / scale) / 2; };
    std::vector<double> absent{below(0)};
    std::vector<double> present{below(-1)};
    constexpr int cells = 20'000;
    for (int i = 0; i < cells; ++i) {
      absent.push_back(below((i + 1.0) / cells) - below(static_cast<double>(i) / cells));
      present.push_back(below((i + 1.0) / cells - 1) - below(static_cast<double>(i) / cells - 1));
    }
    absent.push_back(1 - below(1));
    present.push_back(1 - below(0));
    const Roc roc{absent, present};
    const auto found = risk(laplace(scale), {.prior = Probability{0.3}});
    expect_near(found.advantage, 1 - std::exp(-1 / (2 * scale)), 1e-12);
    expect_near(found.accuracy, roc.accuracy(0.3), 1e-12, 1e-8);
    expect_near(found.mu, roc.least_mu(), 1e-5, 1e-7);
    for (const auto& [alpha, rate] : found.rates) expect_near(rate, roc.tpr(alpha.value()), 1e-6, 1e-8);
  }
}

TEST(Risk, OfSampledTrainingIsKnownToTenDigits) {
  const auto found = risk(sampled(10'000, 0.01, 1));
  EXPECT_TRUE(overlap(found.rates[1].true_positive_rate, Enclosure{1 - 0.84605468160, 1 - 0.84605468156}));
  EXPECT_TRUE(overlap(found.rates[2].true_positive_rate, Enclosure{1 - 0.49492582933, 1 - 0.49492582925}));
  EXPECT_LE(found.rates[1].true_positive_rate.width(), 1e-10);
  EXPECT_LE(found.rates[2].true_positive_rate.width(), 1e-10);
  EXPECT_LE(found.mu_above_floor.width(), 2e-6);
}

// Whoever is in the batch at all is as exposed as without sampling: far out no smaller mu covers that.
TEST(LeastMu, OfALastIterateIsThatOfItsGaussianRelease) {
  const auto mu = [](const char* text) { return risk(parse_event(text, Adjacency::replace_one)).mu; };
  EXPECT_TRUE(mu("last_iterate(4, 1, gaussian(5))").contains(0.4));
  EXPECT_LE(mu("last_iterate(4, 1, gaussian(5))").width(), 1e-15);
  // Above the last step alone, below (4 + 4)^2 / 4 of it.
  const auto within = mu("last_iterate_within(4, 99, 1, gaussian(5))");
  EXPECT_NEAR(within.lower, 0.2, 1e-9);
  EXPECT_NEAR(within.upper, 0.8, 1e-9);
}

TEST(LeastMu, OfRareBatchesIsThatOfTheWholeData) {
  for (const auto neighbours : {Adjacency::add_or_remove_one, Adjacency::zero_out}) {
    const auto found = least_mu(compose({sampled(9, 0.01, 3, neighbours), sampled(16, 1e-5, 4, neighbours)}));
    EXPECT_TRUE(found.contains(std::sqrt(2.0)));
    EXPECT_LE(found.width(), 1e-14);
  }
  // The proof: mu = 0.75 does not cover one batch where delta is tiny.
  const auto event = sampled(1, 0.01, 1);
  const double log_rate = std::log(0.01);
  const Epsilon far{25};
  const double at_least = 0.01 * gaussian_delta(Mu{1}, Epsilon{25 - log_rate}).lower;
  EXPECT_GT(at_least, gaussian_delta(Mu{0.75}, far).upper);
  EXPECT_LE(at_least, quick_delta(event, far).upper);
  // Between opposite records the noise is half as much, but one of them alone may be as near as nothing.
  const auto replaced = least_mu(sampled(1, 0.01, 1, Adjacency::replace_one));
  EXPECT_LE(replaced.upper, 2);
  EXPECT_GE(replaced.lower, 1);
}

TEST(LeastMu, OfBatchesOfEveryKindIsThatOfWhatTheyMayHold) {
  struct Known {
    const char* text;
    Adjacency adjacency;
    double lower;
    double upper;
  };
  constexpr auto removed = Adjacency::add_or_remove_one;
  constexpr auto zeroed = Adjacency::zero_out;
  constexpr auto replaced = Adjacency::replace_one;
  for (const auto& known :
       {Known{"users(3, repeat(4, poisson(0.1, gaussian(2))))", removed, 3, 3},
        Known{"users(3, repeat(4, poisson(0.1, record_sum(2))))", replaced, 3, 6}, Known{"cyclic(2, 7, 0.1, gaussian(2))", zeroed, 1, 1},
        Known{"repeat(4, allocated(10, gaussian(2)))", zeroed, 1, 1}, Known{"allocated(10, 4, gaussian(2))", zeroed, 1, 1},
        Known{"users(3, allocated(10, 4, gaussian(2)))", zeroed, 3, 3},
        Known{"truncated_poisson(0.1, 5, 100, gaussian(2))", zeroed, 0.5, 0.5},
        Known{"truncated_poisson(0.1, 5, 100, gaussian(2))", removed, 0.5, 1}}) {
    const auto found = least_mu(parse_event(known.text, known.adjacency), {.width = 1e-2}, {.evaluations = 4});
    EXPECT_NEAR(found.lower, known.lower, 1e-12) << known.text;
    EXPECT_NEAR(found.upper, known.upper, 1e-12) << known.text;
  }
}

TEST(LeastMu, IsInfiniteWhereDeltaIsNeverZero) {
  const auto event = approx(Epsilon{1}, Delta{1e-5}, adjacency);
  EXPECT_EQ(least_mu(event), (Enclosure{infinity, infinity}));
  EXPECT_EQ(least_mu_above_floor(event, Delta{1e-10}), (Enclosure{infinity, infinity}));
  // Above 1e-5 it is a pure release, but for what is lost.
  const auto above = least_mu_above_floor(event, Delta{2e-5});
  EXPECT_GT(above.lower, 1.232);
  EXPECT_LT(above.upper, 2);
  EXPECT_EQ(least_mu(zcdp(Rho{0.1}, adjacency)).upper, infinity);
}

TEST(LeastMu, AboveAFloorOfZeroIsTheLeastMu) {
  for (const Event& event : {gaussian(NoiseMultiplier{2}, adjacency), laplace(1), approx(Epsilon{1}, Delta{1e-5}, adjacency)}) {
    const auto everywhere = least_mu(event);
    EXPECT_EQ(least_mu_above_floor(event, Delta{0}), everywhere) << describe(event);
    const auto found = risk(event, {.floor = Delta{0}});
    EXPECT_EQ(found.mu_above_floor, found.mu) << describe(event);
  }
}

TEST(LeastMu, OfPartsIsAtMostTheirSum) {
  const Event both = compose({gaussian(NoiseMultiplier{2}, adjacency), laplace(1)});
  const double alone = least_mu(laplace(1)).upper;
  const auto found = least_mu(both, {.width = 1e-3}, {.evaluations = 8});
  EXPECT_GE(found.lower, 1.08);
  EXPECT_LE(found.upper, std::hypot(0.5, alone) * (1 + 2e-4));
  EXPECT_LE(least_mu(parallel({both, laplace(1)}), {.width = 1e-3}, {.evaluations = 8}).upper, found.upper);
  EXPECT_LE(least_mu(poisson(SamplingRate{0.01}, both), {.width = 1e-2}, {.evaluations = 4}).upper, found.upper);
}

// The chord between two points of a curve lies above it: what is between them is covered, too. A cell that trusts its ends alone misses it.
TEST(Risk, OfNothingIsNoNegativeZero) {
  const auto found = true_positive_rate(parse_event("gaussian(1)", Adjacency::add_or_remove_one), Probability{1e-300});
  EXPECT_EQ(found.lower, 0);
  EXPECT_FALSE(std::signbit(found.lower));
}

// Slopes of chords are far below the range of double there. A batch that shows all but e^-1000 of a record: true positives 0.01 (1 - s) at false positives of
// about 0.01 s e^-1000, so mu is about Phi^-1(0.01) - Phi^-1(e^-1005).
TEST(CoveringMu, IsOfSecondOrderAtHugeLosses) {
  const Event event = parse_event("poisson(0.01, laplace(0.001))", Adjacency::add_or_remove_one);
  const auto found =
      covering_mu([&](Epsilon at) { return quick_delta(event, at, {.width = 1e-3}); }, Epsilon{1000}, {.width = 1e-6, .evaluations = 40});
  EXPECT_NEAR(found.lower, -2.3263 + 44.72, 0.2);
  EXPECT_LE(found.width(), 1e-3);
}

TEST(CoveringMu, CoversBetweenItsPoints) {
  const PrivacyCurve curve = [](Epsilon at) {
    const double x = std::exp(at.value());
    // Randomized response at loss 1, a kink in the middle of each cell.
    const double delta = std::max(0.0, (std::numbers::e - x) / (1 + std::numbers::e));
    return Enclosure{delta * (1 - 1e-15), delta * (1 + 1e-15)};
  };
  const Roc roc{{std::numbers::e / (1 + std::numbers::e), 1 / (1 + std::numbers::e)},
                {1 / (1 + std::numbers::e), std::numbers::e / (1 + std::numbers::e)}};
  for (const int evaluations : {2, 5, 40}) {
    const auto found = covering_mu(curve, Epsilon{1.7}, {.width = 0, .evaluations = evaluations});
    EXPECT_GE(found.upper, roc.least_mu() - 1e-9) << evaluations;
    EXPECT_LE(found.lower, roc.least_mu() + 1e-9) << evaluations;
  }
  // A curve whose mu is largest at 1.1, where no cell ends.
  const PrivacyCurve bump = [](Epsilon at) { return gaussian_delta(Mu{1 - (at.value() - 1.1) * (at.value() - 1.1) / 8}, at); };
  for (const int evaluations : {2, 5, 9, 30}) {
    const auto found = covering_mu(bump, Epsilon{2}, {.width = 0, .evaluations = evaluations});
    EXPECT_GE(found.upper, 1) << evaluations;
    EXPECT_LE(found.lower, 1) << evaluations;
  }
  const auto found = covering_mu(bump, Epsilon{2}, {.width = 1e-5, .evaluations = 100});
  EXPECT_TRUE(found.contains(1));
  EXPECT_LE(found.width(), 1e-4);
  EXPECT_THROW(static_cast<void>(covering_mu(curve, Epsilon{1}, {.evaluations = 1})), Error);
}

TEST(BayesAccuracy, IsAtLeastTheBetterGuess) {
  const auto curve = [](Epsilon at) { return gaussian_delta(Mu{0.5}, at); };
  for (const double prior : {1e-9, 0.1, 0.5, 0.6, 1 - 1e-9}) {
    const auto found = bayes_accuracy(curve, Probability{prior});
    // Threshold log((1 - prior) / prior) of the loss mu x - mu^2 / 2 of N(mu, 1) against N(0, 1).
    const Real threshold = log((Real{1} - Real{prior}) / Real{prior}) / 0.5 + 0.25;
    EXPECT_TRUE(contains(found, Real{prior} * phi(Real{0.5} - threshold) + (Real{1} - Real{prior}) * phi(threshold))) << prior;
    EXPECT_GE(found.upper, std::max(prior, 1 - prior));
    EXPECT_LE(found.width(), 1e-14);
  }
}

}  // namespace
}  // namespace surety::accounting::risk_test
