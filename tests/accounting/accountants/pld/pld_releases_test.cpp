// The laws of single releases as the accountant composes them, against brute force in MPFR.
#include <surety/accounting/answers/asked.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/accountants/renyi/renyi.h>
#include <surety/accounting/answers/best.h>

#include <support/real.h>
#include <support/refusal.h>

namespace surety::accounting::pld_releases_test {
namespace {

using reference::Real;
using Curve = std::function<Real(double epsilon)>;

constexpr auto add_remove = Adjacency::add_or_remove_one;
constexpr auto replace = Adjacency::replace_one;

Enclosure delta_of(const std::string& text, double epsilon, Adjacency adjacency = add_remove, double width = 1e-4) {
  return delta(Pld{.width = width}, parse_event(text, adjacency), Epsilon{epsilon});
}
Enclosure epsilon_of(const std::string& text, double delta, Adjacency adjacency = add_remove, double width = 1e-4) {
  return epsilon(Pld{.width = width}, parse_event(text, adjacency), Delta{delta});
}
void expect_contains(const Enclosure& found, const Real& truth, const std::string& what) {
  EXPECT_TRUE(truth * (1 + 1e-12) >= found.lower) << what << ": " << found.lower << " to " << found.upper << ", truth " << truth;
  EXPECT_TRUE(truth * (1 - 1e-12) <= found.upper) << what << ": " << found.lower << " to " << found.upper << ", truth " << truth;
}

// ---- integers: all sums of `count` releases, one by one ----

std::vector<Real> convolved(const std::vector<Real>& a, const std::vector<Real>& b) {
  std::vector<Real> sums(a.size() + b.size() - 1, Real{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) sums[i + j] = sums[i + j] + a[i] * b[j];
  }
  return sums;
}

/// Losses first, first + step, ..., each of a P-mass, `count` times.
Curve lattice_curve(const Real& first, const Real& step, const std::vector<Real>& masses, unsigned count) {
  std::vector<Real> all = masses;
  for (unsigned i = 1; i < count; ++i) all = convolved(all, masses);
  return [=](double epsilon) {
    Real total{0};
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Real above = first * count + static_cast<double>(i) * step - epsilon;
      if (above > 0.0) total = total - all[i] * expm1(-above);
    }
    return total;
  };
}

Curve discrete_gaussian(double sigma, int shift, unsigned count) {
  const int most = static_cast<int>(30 * sigma) + 4;
  const Real variance = Real{sigma} * Real{sigma};
  std::vector<Real> masses;
  Real norm{0};
  for (int k = -most; k <= most; ++k) {
    masses.push_back(exp(-(Real{static_cast<double>(k)} * k) / (2.0 * variance)));
    norm = norm + masses.back();
  }
  for (auto& mass : masses) mass = mass / norm;
  const Real slope = static_cast<double>(shift) / variance;
  return lattice_curve(slope * (0.5 * shift - most), slope, masses, count);
}

Curve discrete_laplace(double scale, int shift, unsigned count) {
  const Real y = exp(-1.0 / Real{scale});
  std::vector<Real> masses{exp(static_cast<double>(-shift) / Real{scale}) / (1.0 + y)};
  for (int k = 1; k < shift; ++k) masses.push_back((1.0 - y) / (1.0 + y) * exp(static_cast<double>(k - shift) / Real{scale}));
  masses.push_back(1.0 / (1.0 + y));
  return lattice_curve(static_cast<double>(-shift) / Real{scale}, 2.0 / Real{scale}, masses, count);
}

void expect_delta(const std::string& text, double at, const Real& truth) {
  const auto found = delta_of(text, at);
  expect_contains(found, truth, fmt::format("{} at {}", text, at));
  EXPECT_LT(found.width(), 1e-3 * found.upper) << text << ' ' << at;
}

TEST(DiscreteGaussian, ContainsAllItsSums) {
  for (const double sigma : {0.3, 1.0, 2.7}) {
    for (const int shift : {1, 2, 5}) {
      for (const unsigned count : {1U, 2U, 4U}) {
        const auto truth = discrete_gaussian(sigma, shift, count);
        const std::string text = fmt::format("repeat({}, discrete_gaussian({}, {}))", count, sigma, shift);
        const double size = shift / sigma * std::sqrt(count);
        for (const double at : {0.0, 0.5 * size, size * size / 2 + size, size * size / 2 + 4 * size}) {
          expect_delta(text, at, truth(at));
        }
      }
    }
  }
}

TEST(DiscreteLaplace, ContainsAllItsSums) {
  for (const double scale : {0.5, 2.0, 12.0}) {
    for (const int shift : {1, 2, 9}) {
      for (const unsigned count : {1U, 2U, 5U}) {
        const auto truth = discrete_laplace(scale, shift, count);
        const std::string text = fmt::format("repeat({}, discrete_laplace({}, {}))", count, scale, shift);
        const double most = shift / scale * count;
        for (const double at : {0.0, 0.3 * most, 0.7 * most, 0.95 * most}) {
          expect_delta(text, at, truth(at));
        }
        EXPECT_TRUE(epsilon_of(text, 0).contains(most)) << text;
      }
    }
  }
}

TEST(DiscreteNoise, OfManyIntegersIsNearlyContinuous) {
  const auto gaussian = epsilon_of("repeat(100, gaussian(100))", 1e-5);
  EXPECT_TRUE(
      overlap(epsilon_of("repeat(100, discrete_gaussian(1e5, 1000))", 1e-5), Enclosure{gaussian.lower - 1e-6, gaussian.upper + 1e-6}));
  const auto laplace = epsilon_of("repeat(1000, laplace(10))", 1e-6);
  EXPECT_TRUE(
      overlap(epsilon_of("repeat(1000, discrete_laplace(1e8, 10000000))", 1e-6), Enclosure{laplace.lower - 1e-6, laplace.upper + 1e-6}));
  for (const auto* text :
       {"discrete_gaussian(1e6, 1)", "repeat(1000, discrete_gaussian(1e6, 1000))", "repeat(7, discrete_laplace(1e6, 1))"}) {
    EXPECT_LE(epsilon_of(text, 1e-7).width(), 1e-4) << text;
  }
}

// ---- one release on a sample ----

/// q delta(log(1 + (e^epsilon - 1) / q)) of the base is the curve of one release, the record removed; for epsilon >= 0 it is the larger
/// one.
Real on_a_sample(const Curve& base, double rate, double epsilon) {
  return rate * base(log1p(expm1(Real{epsilon}) / rate).nearest_double());
}

TEST(Samples, ContainOneRelease) {
  struct Case {
    std::string text;
    Curve base;
  };
  const std::vector<Case> cases{{"discrete_gaussian(1.5, 2)", discrete_gaussian(1.5, 2, 1)},
                                {"discrete_gaussian(0.6, 1)", discrete_gaussian(0.6, 1, 1)},
                                {"discrete_laplace(2, 3)", discrete_laplace(2, 3, 1)},
                                {"laplace(0.7)", [](double epsilon) {
                                   const Real x = (1 / Real{0.7} - epsilon) / 2.0;
                                   return x > 0.0 ? -expm1(-x) : Real{0};
                                 }}};
  for (const auto& [text, base] : cases) {
    for (const double rate : {0.5, 0.125, 0.0078125}) {
      for (const double share : {0.05, 0.4, 1.0}) {
        const double at = std::log1p(rate * std::expm1(share));
        const Real truth = on_a_sample(base, rate, at);
        const auto poisson = fmt::format("poisson({}, {})", rate, text);
        const auto found = delta_of(poisson, at);
        EXPECT_TRUE(truth * (1 + 1e-9) >= found.lower && truth * (1 - 1e-9) <= found.upper)
            << poisson << ' ' << found.lower << ' ' << found.upper << ' ' << truth;
        EXPECT_LT(found.width(), 1e-3) << poisson;
        const auto fixed = fmt::format("without_replacement({}, 1, {})", 1 / rate, text);
        const auto batch = delta_of(fixed, at, replace);
        EXPECT_TRUE(truth * (1 + 1e-9) >= batch.lower && truth * (1 - 1e-9) <= batch.upper)
            << fixed << ' ' << batch.lower << ' ' << batch.upper << ' ' << truth;
        EXPECT_LT(batch.width(), 1e-3) << fixed;
      }
    }
  }
}

TEST(Samples, AreComposed) {
  for (const auto* text : {"discrete_gaussian(4, 4)", "discrete_laplace(8, 8)", "laplace(1)", "exponential(1)"}) {
    const auto poisson = epsilon_of(fmt::format("repeat(100, poisson(0.01, {}))", text), 1e-5);
    EXPECT_GT(poisson.lower, 0.1) << text;
    EXPECT_LT(poisson.upper, 1) << text;
    // The pair of a batch of fixed size is above that of Poisson batches, which its lower end knows.
    const auto fixed = epsilon_of(fmt::format("repeat(100, without_replacement(1000, 10, {}))", text), 1e-5, replace);
    EXPECT_NEAR(fixed.lower, poisson.lower, 1e-3) << text;
    EXPECT_GE(fixed.upper, poisson.lower) << text;
    EXPECT_LT(fixed.upper, poisson.upper + 0.1) << text;
  }
  // Sampling everything is no sampling.
  EXPECT_TRUE(overlap(epsilon_of("without_replacement(10, 10, discrete_laplace(2, 3))", 1e-3, replace),
                      epsilon_of("discrete_laplace(2, 3)", 1e-3)));
}

// ---- bounded range ----

Real envelope(double range, double x) {
  if (x >= range) return Real{0};
  if (x <= -range) return -expm1(Real{x});
  const Real a = exp(Real{range} / 2.0);
  const Real gap = a - exp(Real{x} / 2.0);
  return gap * gap / (a * a - 1.0);
}

TEST(BoundedRange, OnceIsItsEnvelope) {
  for (const double range : {0.05, 0.5, 1.0, 4.0}) {
    for (const double share : {0.0, 0.1, 0.5, 0.9}) {
      const auto found = delta_of(fmt::format("exponential({})", range), share * range, replace);
      const Real truth = envelope(range, share * range);
      expect_contains(found, truth, fmt::format("{} at {}", range, share * range));
      EXPECT_LT(found.width(), 0.08 * found.upper) << range << ' ' << share;
    }
  }
}

/// Twice, the second choice made with knowledge of the first: the best first pair, then the envelope.
Real twice(double range, double x) {
  Real best{0};
  for (int i = 1; i < 2000; ++i) {
    const double t = range * i / 2000;
    const Real hit = expm1(Real{t} - range) / expm1(-Real{range});
    const Real value = hit * envelope(range, x - t) + (1.0 - hit) * envelope(range, x - t + range);
    if (value > best) best = value;
  }
  return best;
}

TEST(BoundedRange, TwiceContainsTheAdaptiveTruth) {
  for (const double range : {0.3, 1.0, 3.0}) {
    for (const double share : {0.1, 0.5, 1.0, 1.6}) {
      const auto found = delta_of(fmt::format("repeat(2, exponential({}))", range), share * range, replace);
      const Real truth = twice(range, share * range);
      EXPECT_TRUE(truth * (1 + 1e-5) >= found.lower) << range << ' ' << share << ": " << found.lower << ' ' << truth;
      EXPECT_TRUE(truth <= found.upper) << range << ' ' << share << ": " << found.upper << ' ' << truth;
      EXPECT_GT(found.lower, 0.8 * found.upper) << range << ' ' << share;
    }
  }
}

TEST(BoundedRange, IsBetterThanItsPrivacyAtBothEnds) {
  for (const auto& [count, range] : {std::pair{10, 1.0}, {100, 0.1}, {1000, 0.1}}) {
    const auto found = epsilon_of(fmt::format("repeat({}, exponential({}))", count, range), 1e-6, replace);
    EXPECT_LT(found.upper, epsilon_of(fmt::format("repeat({}, pure({}))", count, range), 1e-6, replace).lower) << count;
    EXPECT_GT(found.lower, epsilon_of(fmt::format("repeat({}, pure({}))", count, range / 2), 1e-6, replace).upper) << count;
    EXPECT_LE(found.lower,
              epsilon(Renyi{}, parse_event(fmt::format("repeat({}, exponential({}))", count, range), replace), Delta{1e-6}).upper);
  }
  EXPECT_EQ(epsilon_of("exponential(0)", 1e-6, replace).lower, 0);
  EXPECT_NEAR(epsilon_of("repeat(30, exponential(0.5))", 0, replace).upper, 15, 1e-9);
}

// ---- refusals ----

TEST(Refusals, NameAnAccountantThatAnswers) {
  const auto message = [](const std::string& text, Adjacency adjacency = add_remove) -> std::string {
    try {
      (void)epsilon_of(text, 1e-5, adjacency);
      return "answered";
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_EQ(message("zcdp(20000)"), "privacy-loss: zcdp(20000) has rho 20000, must be below 10000; alone it is known to renyi");
  EXPECT_EQ(message("exponential(1e-16)"), "privacy-loss: exponential(1e-16) has losses too small for a grid; alone it is known to renyi");
  EXPECT_EQ(message("discrete_gaussian(1e15, 1)"), "privacy-loss: discrete noise of this size is on more than 2^52 integers");
}

TEST(Refusals, AreNotBests) {
  for (const auto* text : {"repeat(10, discrete_gaussian(10, 3))", "repeat(100, discrete_laplace(10, 3))", "repeat(10, exponential(0.5))",
                           "repeat(10, poisson(0.1, discrete_gaussian(10, 3)))"}) {
    const auto best = best_epsilon(parse_event(text, add_remove), Delta{1e-6}, Effort{});
    EXPECT_GT(best.value.lower, 0) << text;
    EXPECT_LT(best.value.upper / best.value.lower, 1.1) << text;
  }
}

// (4 + 4)^2 / 4 = 16 of four last steps is the least; the last step alone has 1.
TEST(PldOfALastIterate, IsThatOfTheGaussiansAroundIt) {
  const auto exact = epsilon_of("last_iterate(4, 1, gaussian(6))", 1e-6, replace);
  const auto noise = epsilon_of("gaussian(3)", 1e-6, replace);
  EXPECT_NEAR(exact.lower, noise.lower, 1e-9);
  EXPECT_NEAR(exact.upper, noise.upper, 1e-9);
  const auto within = epsilon_of("compose(laplace(9), last_iterate_within(4, 99, 1, gaussian(6)))", 1e-6, replace);
  EXPECT_NEAR(within.lower, epsilon_of("compose(laplace(9), gaussian(6))", 1e-6, replace).lower, 1e-3);
  EXPECT_NEAR(within.upper, epsilon_of("compose(laplace(9), gaussian(1.5))", 1e-6, replace).upper, 1e-3);
}

}  // namespace
}  // namespace surety::accounting::pld_releases_test
