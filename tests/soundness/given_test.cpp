// What others have found (law, curve, renyi, zcdp with xi) and mixtures, against sums over outcomes: every pair here is finite, or is integrated, in
// this file alone. The truth knows no header of accounting/accountants or accounting/laws.
//
// SURETY_GIVEN_CASES sets how many of each are drawn.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/event_kinds.h>

namespace surety::accounting::given_test {
namespace {

using Real = long double;
using Words = std::mt19937_64;
double uniform(Words& words) { return static_cast<double>(words() >> 11) * 0x1p-53; }

int cases() {
  const char* text = std::getenv("SURETY_GIVEN_CASES");
  return text != nullptr ? std::atoi(text) : 30;
}

/// Outcomes of masses under P and under Q.
struct Outcome {
  Real p;
  Real q;
};
using Pair = std::vector<Outcome>;

Pair product(const Pair& a, const Pair& b) {
  Pair all;
  for (const auto& x : a) {
    for (const auto& y : b) all.push_back({x.p * y.p, x.q * y.q});
  }
  return all;
}
Pair power(const Pair& pair, int times) {
  Pair all{{1, 1}};
  for (int i = 0; i < times; ++i) all = product(all, pair);
  return all;
}
Pair reversed(Pair pair) {
  for (auto& one : pair) std::swap(one.p, one.q);
  return pair;
}
Real curve_of(const Pair& pair, Real epsilon) {
  Real sum = 0;
  for (const auto& one : pair) sum += std::max<Real>(0, one.p - std::exp(epsilon) * one.q);
  return sum;
}
Real worse_curve(const Pair& pair, Real epsilon) { return std::max(curve_of(pair, epsilon), curve_of(reversed(pair), epsilon)); }

Pair truthful(Real epsilon) {
  const Real hit = 1 / (1 + std::exp(-epsilon));
  return {{hit, 1 - hit}, {1 - hit, hit}};
}

/// Of up to four outcomes, some equal in loss, some on one side alone.
Pair drawn_pair(Words& words, bool may_be_alone) {
  const auto size = 1 + words() % 4;
  Pair pair(size);
  Real p = 0;
  Real q = 0;
  for (auto& one : pair) {
    one = {0.05 + uniform(words), 0.05 + uniform(words)};
    if (words() % 4 == 0) one.q = one.p;
    p += one.p;
    q += one.q;
  }
  const Real alone_p = may_be_alone && words() % 3 == 0 ? 0.2 * uniform(words) : 0;
  const Real alone_q = may_be_alone && words() % 3 == 0 ? 0.2 * uniform(words) : 0;
  for (auto& one : pair) one = {one.p * (1 - alone_p) / p, one.q * (1 - alone_q) / q};
  if (alone_p > 0) pair.push_back({alone_p, 0});
  if (alone_q > 0) pair.push_back({0, alone_q});
  return pair;
}
std::string law_of(const Pair& pair) {
  std::string text;
  for (const auto& one : pair) {
    if (one.p == 0) continue;
    const std::string loss = one.q == 0 ? "inf" : fmt::format("{}", static_cast<double>(std::log(one.p / one.q)));
    text += fmt::format("{}{}, {}", text.empty() ? "" : ", ", loss, static_cast<double>(one.p));
  }
  return "law(" + text + ")";
}

Enclosure answer(const std::string& text, double epsilon, Adjacency adjacency = Adjacency::add_or_remove_one) {
  return delta(Best{}, parse_event(text, adjacency), Epsilon{epsilon});
}

double epsilon_of(const std::string& text, double at) {
  return epsilon(Best{}, parse_event(text, Adjacency::add_or_remove_one), Delta{at}).upper;
}

/// What digits of the text and of this file's sums are worth.
constexpr Real slack = 1e-12L;

void expect_covered(const std::string& text, double epsilon, Real truth, Adjacency adjacency = Adjacency::add_or_remove_one) {
  const auto found = answer(text, epsilon, adjacency);
  EXPECT_LE(static_cast<Real>(found.lower), truth + slack) << text << " at " << epsilon;
  EXPECT_GE(static_cast<Real>(found.upper), truth - slack) << text << " at " << epsilon;
}
void expect_narrow(const std::string& text, double epsilon, double width) {
  const auto found = answer(text, epsilon);
  EXPECT_LE(found.upper - found.lower, width) << text << " at " << epsilon << ": " << found.lower << ' ' << found.upper;
}

TEST(GivenLaw, CostsItsPair) {
  Words words{1};
  for (int i = 0; i < cases(); ++i) {
    const Pair pair = drawn_pair(words, true);
    const std::string law = law_of(pair);
    const double epsilon = 1.5 * uniform(words);
    expect_covered(law, epsilon, worse_curve(pair, epsilon));
    expect_narrow(law, epsilon, 1e-3);
    const int times = 2 + static_cast<int>(words() % 2);
    expect_covered(fmt::format("repeat({}, {})", times, law), epsilon, worse_curve(power(pair, times), epsilon));
    const double other = 0.1 + uniform(words);
    const Pair beside = product(power(pair, 2), truthful(other));
    const std::string text = fmt::format("compose(repeat(2, {}), pure({}))", law, other);
    expect_covered(text, epsilon, worse_curve(beside, epsilon));
    expect_narrow(text, epsilon, 1e-2);
  }
}

TEST(GivenLaw, OfTwoLawsIsComposedInEachOrder) {
  Words words{2};
  for (int i = 0; i < cases(); ++i) {
    const Pair one = drawn_pair(words, true);
    const Pair other = drawn_pair(words, true);
    const double epsilon = uniform(words);
    expect_covered(fmt::format("compose({}, {})", law_of(one), law_of(other)), epsilon, worse_curve(product(one, other), epsilon));
  }
}

TEST(GivenLaw, InABatchIsMixed) {
  Words words{3};
  for (int i = 0; i < cases(); ++i) {
    const Pair pair = drawn_pair(words, false);
    const double rate = 0.05 + 0.9 * uniform(words);
    Pair mixed = pair;
    for (auto& one : mixed) one.p = (1 - static_cast<Real>(rate)) * one.q + static_cast<Real>(rate) * one.p;
    const double epsilon = uniform(words);
    const std::string text = fmt::format("repeat(2, poisson({}, {}))", rate, law_of(pair));
    expect_covered(text, epsilon, worse_curve(power(mixed, 2), epsilon));
    // Under zero-out it is seen whether the record is there.
    Pair revealed = pair;
    for (auto& one : revealed) one = {one.p * static_cast<Real>(rate), one.q * static_cast<Real>(rate)};
    revealed.push_back({1 - static_cast<Real>(rate), 1 - static_cast<Real>(rate)});
    expect_covered(text, epsilon, worse_curve(power(revealed, 2), epsilon), Adjacency::zero_out);
  }
}

/// The largest convex curve below points and their mirror images, by all chords.
Real hull_at(const std::vector<std::pair<Real, Real>>& points, Real epsilon) {
  std::vector<std::pair<Real, Real>> all;  // e^epsilon, delta
  all.emplace_back(0, 1);
  for (const auto& [x, d] : points) {
    all.emplace_back(std::exp(x), d);
    all.emplace_back(std::exp(-x), 1 - std::exp(-x) + std::exp(-x) * d);
  }
  const Real a = std::exp(epsilon);
  Real least = 1;
  for (const auto& [x, d] : all) {
    if (x <= a) least = std::min(least, d);
    for (const auto& [y, e] : all) {
      if (x < a && y >= a) least = std::min(least, d + (e - d) * (a - x) / (y - x));
    }
  }
  return least;
}

TEST(GivenCurve, CostsTheHullOfItsPoints) {
  Words words{4};
  for (int i = 0; i < cases(); ++i) {
    const Pair pair = drawn_pair(words, true);
    std::vector<std::pair<Real, Real>> points;
    std::string text;
    double at = 0.6 * uniform(words);
    for (int k = 0; k < 3; ++k, at += 0.05 + 0.5 * uniform(words)) {
      const auto d = static_cast<double>(std::min<Real>(1, worse_curve(pair, at)));
      points.emplace_back(at, d);
      text += fmt::format("{}{}, {}", text.empty() ? "" : ", ", at, d);
    }
    const std::string curve = "curve(" + text + ")";
    for (int k = 0; k < 3; ++k) {
      const double epsilon = 2 * uniform(words);
      expect_covered(curve, epsilon, hull_at(points, epsilon));
      expect_narrow(curve, epsilon, 2e-3);
      // What has the points is a release that the event allows.
      EXPECT_GE(answer(fmt::format("repeat(2, {})", curve), epsilon).upper, worse_curve(power(pair, 2), epsilon) - slack) << curve;
      EXPECT_GE(answer(fmt::format("compose(repeat(2, {}), pure(0.3))", curve), epsilon).upper,
                worse_curve(product(power(pair, 2), truthful(0.3)), epsilon) - slack)
          << curve;
    }
  }
}

TEST(GivenCurve, IsWhatItSaysAtItsPoints) {
  for (const auto& [at, expected] : {std::pair{1e-3, 0.5}, {1e-6, 1.0}, {1e-9, 2.0}}) {
    const auto found = epsilon(Best{}, parse_event("curve(0.5, 1e-3, 1, 1e-6, 2, 1e-9)", Adjacency::replace_one), Delta{at});
    EXPECT_EQ(found.upper, expected);
    EXPECT_NEAR(found.lower, expected, 1e-12);
  }
  EXPECT_EQ(epsilon_of("curve(0.5, 1e-3, 1, 1e-6)", 1e-7), std::numeric_limits<double>::infinity());
  EXPECT_EQ(epsilon_of("curve(0, 0.5, 1, 0)", 0.5), 0);
  EXPECT_EQ(answer("curve(0.5, 0.25, 1, 0.25, 3, 0.25)", 2).upper, 0.25);
}

Real divergence(const Pair& pair, Real order) {
  Real sum = 0;
  for (const auto& one : pair) sum += std::pow(one.p, order) * std::pow(one.q, 1 - order);
  return std::log(sum) / (order - 1);
}

TEST(GivenDivergences, CoverWhateverHasThem) {
  Words words{5};
  for (int i = 0; i < cases(); ++i) {
    const Pair pair = drawn_pair(words, false);
    std::string text;
    double order = 1.05 + uniform(words);
    for (int k = 0; k < 4; ++k, order *= 1.3 + uniform(words)) {
      const auto bound = static_cast<double>(std::max({Real{0}, divergence(pair, order), divergence(reversed(pair), order)}));
      text += fmt::format("{}{}, {}", text.empty() ? "" : ", ", order, bound * (1 + 1e-12));
    }
    const std::string renyi = "renyi(" + text + ")";
    const double epsilon = uniform(words);
    for (int times = 1; times <= 3; ++times) {
      const auto found = answer(fmt::format("repeat({}, {})", times, renyi), epsilon);
      EXPECT_GE(found.upper, worse_curve(power(pair, times), epsilon)) << renyi;
      EXPECT_LE(found.lower, found.upper);
      const auto beside = answer(fmt::format("compose(repeat({}, {}), pure(0.4))", times, renyi), epsilon);
      EXPECT_GE(beside.upper, worse_curve(product(power(pair, times), truthful(0.4)), epsilon)) << renyi;
    }
  }
}

Real normal_tail(Real x) { return std::erfc(x / std::sqrt(2.0L)) / 2; }
Real gaussian_curve(Real mu, Real epsilon) {
  return normal_tail(epsilon / mu - mu / 2) - std::exp(epsilon) * normal_tail(epsilon / mu + mu / 2);
}
/// Of truth with odds e^x beside a Gaussian: one loss or the other is added.
Real shifted_gaussian(Real x, Real mu, Real epsilon) {
  const Real hit = 1 / (1 + std::exp(-x));
  return hit * gaussian_curve(mu, epsilon - x) + (1 - hit) * gaussian_curve(mu, epsilon + x);
}

TEST(GivenDivergences, OfAnXiAndARhoCoverASumOfBoth) {
  Words words{6};
  for (int i = 0; i < cases(); ++i) {
    const double xi = uniform(words);
    const double rho = 0.02 + 0.5 * uniform(words);
    const double epsilon = 3 * uniform(words);
    const std::string zcdp = fmt::format("zcdp({}, {})", xi, rho);
    const auto found = answer(zcdp, epsilon);
    const Real mu = std::sqrt(2 * static_cast<Real>(rho));
    EXPECT_GE(found.upper, shifted_gaussian(xi, mu, epsilon)) << zcdp;
    // A release of that rho alone is allowed, too.
    EXPECT_LE(found.lower, found.upper);
    EXPECT_GE(found.lower, gaussian_curve(mu, epsilon) * 0.99L - 1e-9L) << zcdp;
    const auto beside = answer(fmt::format("compose({}, gaussian(3))", zcdp), epsilon);
    EXPECT_GE(beside.upper, shifted_gaussian(xi, std::sqrt(mu * mu + 1 / 9.0L), epsilon)) << zcdp;
    // xi adds to epsilon: of the same rho.
    EXPECT_LE(epsilon_of(zcdp, 1e-6), epsilon_of(fmt::format("zcdp({})", rho), 1e-6) + xi + 1e-9);
  }
}

/// (E_i N(s_i) - e^epsilon E_i N(-t_i))_+ by the midpoint rule, shifts over the noise.
struct Component {
  Real weight;
  Real shift;
};
Real mixed_density(const std::vector<Component>& mixture, Real side, Real t) {
  Real sum = 0;
  for (const auto& [weight, shift] : mixture) sum += weight * std::exp(-(t - side * shift) * (t - side * shift) / 2);
  return sum / std::sqrt(2 * 3.14159265358979323846L);
}
Real mixture_curve(const std::vector<Component>& mixture, Real first, Real second, Real epsilon) {
  constexpr Real step = 1e-3L;
  Real sum = 0;
  for (Real t = -16 + step / 2; t < 16; t += step) {
    sum += std::max<Real>(0, mixed_density(mixture, first, t) - std::exp(epsilon) * mixed_density(mixture, second, t)) * step;
  }
  return sum;
}

TEST(GivenMixture, CostsItsIntegral) {
  Words words{7};
  for (int i = 0; i < cases() / 3; ++i) {
    const double z = 0.8 + 2 * uniform(words);
    const auto size = 1 + words() % 4;
    std::vector<Component> mixture;
    std::string text;
    double left = 1;
    for (std::size_t k = 0; k < size; ++k) {
      const double weight = k + 1 == size ? left : left * uniform(words);
      left -= weight;
      const double shift = words() % 3 == 0 ? 0 : 2.5 * uniform(words);
      mixture.push_back({weight, shift / z});
      text += fmt::format("{}, {}, ", weight, shift);
    }
    const double epsilon = uniform(words);
    const std::string sums = fmt::format("mixture({}record_sum({}))", text, z);
    const Real one = mixture_curve(mixture, 1, 0, epsilon);
    const Real other = mixture_curve(mixture, 0, 1, epsilon);
    const Real opposite = mixture_curve(mixture, 1, -1, epsilon);
    for (const auto& [adjacency, truth] : {std::pair{Adjacency::add_or_remove_one, std::max(one, other)},
                                           {Adjacency::zero_out, std::max(one, other)},
                                           {Adjacency::replace_one, opposite}}) {
      const auto found = answer(sums, epsilon, adjacency);
      EXPECT_LE(static_cast<Real>(found.lower), truth + 1e-6L) << sums;
      EXPECT_GE(static_cast<Real>(found.upper), truth - 1e-6L) << sums;
      EXPECT_LE(found.upper - found.lower, 1e-2 * found.upper + 1e-9) << sums << ' ' << found.lower << ' ' << found.upper;
    }
  }
}

TEST(GivenMixture, OfBinomialWeightsIsAUsersBatch) {
  const auto user = epsilon(Best{}, parse_event("repeat(100, users(2, poisson(0.25, gaussian(4))))", Adjacency::zero_out), Delta{1e-6});
  const auto same =
      epsilon(Best{}, parse_event("repeat(100, mixture(0.5625, 0, 0.375, 1, 0.0625, 2, gaussian(4)))", Adjacency::zero_out), Delta{1e-6});
  EXPECT_LE(user.lower, same.upper);
  EXPECT_LE(same.lower, user.upper);
  EXPECT_NEAR(user.upper, same.upper, 1e-3);
}

}  // namespace
}  // namespace surety::accounting::given_test
