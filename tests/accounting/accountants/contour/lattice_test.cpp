// Discrete Gaussian releases of several kinds on the line.
#include <surety/accounting/accountants/contour/contour.h>
#include <surety/accounting/accountants/contour/lattice.h>
#include <surety/accounting/accountants/contour/terms.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include <support/random.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/event_text.h>

namespace surety::accounting::contour::lattice_test {
namespace {

using reference::log_uniform;
using Long = long double;
using Complex = std::complex<Long>;

constexpr auto adjacency = Adjacency::replace_one;

/// M(s + it) of one release by definition, with its noise at 0, +-1, ...
Complex moment(const LatticeReleases& releases, Long s, Long t) {
  const Long sigma = releases.sigma;
  const Long d = releases.sensitivity;
  Long mass = 0;
  Complex sum = 0;
  const Long shift = std::round(s * d);  // where the tilted mass lies
  for (Long x = shift - std::ceil(14 * sigma); x <= shift + std::ceil(14 * sigma); ++x) {
    const Long loss = d * (2 * x + d) / (2 * sigma * sigma);
    sum += std::exp(Complex{s * loss - x * x / (2 * sigma * sigma), t * loss});
  }
  for (Long x = -std::ceil(14 * sigma); x <= std::ceil(14 * sigma); ++x) mass += std::exp(-x * x / (2 * sigma * sigma));
  return sum / mass;
}

struct Case {
  LatticeReleases releases;
  double s;
};
std::vector<Case> random_cases(int count) {
  std::mt19937_64 words{20'269};
  std::vector<Case> cases;
  for (int i = 0; i < count; ++i) {
    const double sigma = log_uniform(words, 0.5, 30);
    cases.push_back({{sigma, std::floor(log_uniform(words, 1, 4)), 1}, log_uniform(words, 0.1, 12)});
  }
  return cases;
}

TEST(Lattice, IsAGaussianReleaseUpToItsCorrection) {
  for (const auto& [releases, s] : random_cases(60)) {
    const Lattice lattice{releases};
    const Long v = std::pow(static_cast<Long>(releases.sensitivity) / static_cast<Long>(releases.sigma), 2);
    const Long at = s;
    const Complex start = moment(releases, at, 0);
    const auto log_moment = lattice.log_moment(s);
    EXPECT_NEAR(static_cast<double>(std::log(start.real()) - v * at * (at + 1) / 2), log_moment.value(),
                log_moment.radius() + 1e-17 * (1 + s * s))
        << releases.sigma << ' ' << s;
    EXPECT_LT(log_moment.radius(), 1e-13);
    for (const double share : {0.1, 0.6, 1.0}) {
      const Long t = share * lattice.farthest();
      const auto found = lattice.correction(s, static_cast<double>(t));
      const Complex phi = moment(releases, at, t) / start / std::exp(Complex{-v * t * t / 2, v * t * (2 * at + 1) / 2});
      const Complex off = std::log(phi) - Complex{found.log_size, found.phase};
      EXPECT_LE(static_cast<double>(std::abs(off)), found.error + 1e-15 / static_cast<double>(std::abs(std::exp(-v * t * t / 2))))
          << releases.sigma << ' ' << s << ' ' << share;
    }
  }
}

TEST(Lattice, IsBoundedEverywhere) {
  std::mt19937_64 words{3};
  int near = 0;
  for (const auto& [releases, s] : random_cases(60)) {
    const Lattice lattice{releases};
    const Long start = moment(releases, s, 0).real();
    for (int i = 0; i < 12; ++i) {
      const double a = lattice.period() * log_uniform(words, 1e-3, 20);
      const double b = a + lattice.period() * log_uniform(words, 1e-4, 0.7);
      const double bound = lattice.log_bound(a, b);
      for (int j = 0; j <= 8; ++j) {
        const Long t = a + (b - a) * j / 8;
        const auto log_phi = static_cast<double>(std::log(std::abs(moment(releases, s, t)) / start));
        // Below e^-25 a sum in long double has no digits.
        EXPECT_LE(log_phi, std::max(bound + 1e-6, -25.0)) << releases.sigma << ' ' << s << ' ' << a << ' ' << b;
        near += log_phi > bound - 0.2;
      }
    }
  }
  EXPECT_GT(near, 200);
}

/// P-mass of the sum of noises of `count` releases.
std::vector<Long> sum_of_noise(double sigma, int count, int reach) {
  std::vector<Long> one;
  Long mass = 0;
  for (int x = -reach; x <= reach; ++x)
    one.push_back(std::exp(-static_cast<Long>(x) * x / (2 * static_cast<Long>(sigma) * static_cast<Long>(sigma))));
  for (const Long p : one) mass += p;
  for (auto& p : one) p /= mass;
  std::vector<Long> sum{1};
  for (int i = 0; i < count; ++i) {
    std::vector<Long> next(sum.size() + one.size() - 1, 0);
    for (std::size_t j = 0; j < sum.size(); ++j) {
      for (std::size_t k = 0; k < one.size(); ++k) next[j + k] += sum[j] * one[k];
    }
    sum = std::move(next);
  }
  return sum;
}

/// delta(epsilon) of two kinds of releases of sensitivity 1, over all outcomes.
Long by_all_outcomes(double sigma, int count, double other_sigma, int other_count, double epsilon) {
  const auto reach = [](double x) { return static_cast<int>(std::ceil(13 * x)); };
  const auto a = sum_of_noise(sigma, count, reach(sigma));
  const auto b = sum_of_noise(other_sigma, other_count, reach(other_sigma));
  const auto loss = [](double of, int releases, std::size_t i, std::size_t size) {
    const Long x = static_cast<Long>(i) - static_cast<Long>(size / 2);
    return (2 * x + releases) / (2 * static_cast<Long>(of) * static_cast<Long>(of));
  };
  Long sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      const Long excess = loss(sigma, count, i, a.size()) + loss(other_sigma, other_count, j, b.size()) - static_cast<Long>(epsilon);
      if (excess > 0) sum += a[i] * b[j] * -std::expm1(-excess);
    }
  }
  return sum;
}

Event two_kinds(double sigma, int count, double other_sigma, int other_count) {
  return parse_event("compose(repeat(" + std::to_string(count) + ", discrete_gaussian(" + std::to_string(sigma) + ", 1)), repeat(" +
                         std::to_string(other_count) + ", discrete_gaussian(" + std::to_string(other_sigma) + ", 1)))",
                     adjacency);
}

TEST(Lattice, ContainsTheSumOverAllOutcomesAndNotWithoutItsTruncation) {
  int needed = 0;
  int asked = 0;
  for (const auto& [sigma, count, other, other_count] : {std::tuple{5.318249, 20, 3.731415, 20}, std::tuple{9.271828, 30, 4.414213, 12}}) {
    for (const double epsilon : {1.0, 3.0}) {
      const auto truth = by_all_outcomes(sigma, count, other, other_count, epsilon);
      const auto event = two_kinds(sigma, count, other, other_count);
      const auto found = delta(Contour{}, event, Epsilon{epsilon});
      EXPECT_LE(static_cast<Long>(found.lower), truth) << sigma << ' ' << epsilon;
      EXPECT_GE(static_cast<Long>(found.upper), truth) << sigma << ' ' << epsilon;
      EXPECT_LE(found.width(), 2e-3 * found.upper);
      const auto terms = contour_terms(event, Epsilon{epsilon}, Direction::remove, {1e-12, 0.3, 1e-12});
      const Long off = std::abs(static_cast<Long>(terms.sum) - truth);
      EXPECT_LE(off, static_cast<Long>(terms.aliasing + terms.truncation + terms.quadrature + terms.rounding));
      needed += off > static_cast<Long>(terms.aliasing + terms.quadrature + terms.rounding);
      ++asked;
    }
  }
  EXPECT_EQ(needed, asked);
}

/// The 140 releases of a published census file; the values of delta are those of the closed form by another program.
TEST(Lattice, KnowsThePublishedCensus) {
  struct Kind {
    double square;
    int count;
  };
  constexpr Kind kinds[] = {{0.0011, 20},
                            {0.0073, 18},
                            {0.0292, 2},
                            {0.031, 16},
                            {0.047799999999999995, 36},
                            {0.0999, 18},
                            {0.11367499999999998, 16},
                            {0.124, 4},
                            {0.19119999999999998, 4},
                            {0.3996, 2},
                            {0.45469999999999994, 4}};
  std::vector<Event> parts;
  for (const auto& [square, count] : kinds) {
    parts.push_back(
        repeat(Count{static_cast<std::uint64_t>(count)}, discrete_gaussian(NoiseScale{std::pow(square, -0.5)}, Count{1}, adjacency)));
  }
  const auto event = compose(std::move(parts));
  struct Row {
    double epsilon;
    double delta;
  };
  constexpr Row rows[] = {{8.6713966458383194, 0.0755692084004461},
                          {17.245065819464074, 2.05468424421501e-05},
                          {25.579913226783425, 9.44918807274693e-12},
                          {31.406696680118557, 6.28744194699949e-18},
                          {35.94242870913358, 9.61458476077372e-24}};
  for (const auto& [epsilon, truth] : rows) {
    const auto found = delta(Contour{}, event, Epsilon{epsilon});
    EXPECT_LE(found.lower, truth) << epsilon;
    EXPECT_GE(found.upper, truth) << epsilon;
    EXPECT_LE(found.width(), 3e-8 * truth) << epsilon;
    const auto back = accounting::epsilon(Contour{}, event, Delta{truth});
    EXPECT_LE(back.width(), 1e-8);
    EXPECT_LE(back.lower, epsilon + 1e-9);
    EXPECT_GE(back.upper, epsilon - 1e-9);
  }
  EXPECT_LE(accounting::epsilon(Contour{}, event, Delta{1e-30}).width(), 1e-8);
}

/// Far below the mean loss the tilt is tiny, and with it the step.
TEST(Lattice, AnswersWhereDeltaIsNearlyOne) {
  const auto event = parse_event("compose(discrete_gaussian(30, 1), repeat(10, discrete_gaussian(0.5, 1)))", Adjacency::zero_out);
  const auto found = best_delta(event, Epsilon{0.05}).value;
  EXPECT_LE(found.lower, 0.99852691450);
  EXPECT_GE(found.upper, 0.99852691449);
}

TEST(Lattice, LeavesOneLatticeAndNarrowNoiseToTheGrid) {
  for (const char* text :
       {"repeat(40, discrete_gaussian(10, 1))", "compose(discrete_gaussian(0.25, 1), repeat(9, discrete_gaussian(10, 1)))",
        "compose(discrete_gaussian(2, 1), discrete_gaussian(3, 1))"}) {
    const auto event = parse_event(text, adjacency);
    EXPECT_THROW(static_cast<void>(epsilon(Contour{}, event, Delta{1e-6})), Error) << text;
    EXPECT_LT(best_epsilon(event, Delta{1e-6}).value.upper, 1e3) << text;
  }
}

}  // namespace
}  // namespace surety::accounting::contour::lattice_test
