#include <surety/accounting/accountants/closed_form/closed_form.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <support/gaussian_truth.h>
#include <support/random.h>
#include <support/real.h>
#include <support/refusal.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/base/numbers/interval.h>

namespace surety::accounting::closed_form_test {
namespace {

using namespace reference;

constexpr auto adjacency = Adjacency::replace_one;
constexpr double infinity = std::numeric_limits<double>::infinity();

Event noise(double multiplier) { return gaussian(NoiseMultiplier{multiplier}, adjacency); }
Enclosure delta_at(const Event& event, double epsilon) { return delta(ClosedForm{}, event, Epsilon{epsilon}); }
Enclosure epsilon_at(const Event& event, double delta) { return epsilon(ClosedForm{}, event, Delta{delta}); }
double relative_width(const Enclosure& enclosure) { return enclosure.width() / enclosure.lower; }

using Curve = Real (*)(const Real& mu, const Real& epsilon);

/// Whether inf {epsilon >= 0 : curve <= delta} lies in the enclosure; asks the sign at both ends, for the curve decreases.
bool contains_epsilon(Curve curve, const Enclosure& enclosure, const Real& mu, double delta) {
  const auto misses = [&](double epsilon) { return curve(mu, Real{epsilon}) > delta; };
  const bool lower_holds = enclosure.lower == 0 || misses(enclosure.lower) || curve(mu, Real{enclosure.lower}) >= delta;
  return lower_holds && !misses(enclosure.upper);
}
bool contains_epsilon(const Enclosure& enclosure, const Real& mu, double delta) {
  return contains_epsilon(reference::gaussian_delta, enclosure, mu, delta);
}

struct AtEpsilon {
  double mu;
  double epsilon;
};

std::vector<AtEpsilon> random_epsilons() {
  std::mt19937_64 words{20240229};
  std::vector<AtEpsilon> points;
  for (int i = 0; i < 500; ++i) {
    const double mu = log_uniform(words, 1e-6, 1e3);
    points.push_back({mu, log_uniform(words, 1e-6, 500)});
  }
  return points;
}

struct Answer {
  double mu;
  double delta;
  Enclosure epsilon;
};

/// 500 random questions with the accountant's answers, asked once for all tests.
const std::vector<Answer>& random_answers() {
  static const auto answers = [] {
    std::mt19937_64 words{19870512};
    std::vector<Answer> made;
    for (int i = 0; i < 500; ++i) {
      const double mu = log_uniform(words, 1e-6, 1e3);
      const double delta = log_uniform(words, 1e-300, 0.5);
      made.push_back({mu, delta, gaussian_epsilon(Mu{mu}, Delta{delta})});
    }
    return made;
  }();
  return answers;
}

// ---- truth ----

// The truth's continued fraction and MPFR's erfc are two ways to one number.
TEST(Truth, TailIsHalfOfErfc) {
  for (const double x : {6.0001, 6.3, 7.77, 11.0, 26.5, 38.9, 500.25}) {
    const Real by_fraction = reference::normal_tail(Real{x});
    const Real by_erfc = 0.5 * erfc(Real{x} / sqrt(Real{2}));
    EXPECT_LT(relative_error(1.0, by_fraction / by_erfc), 1e-110) << x;
  }
}

// ---- delta(epsilon) ----

TEST(ClosedFormDelta, ContainsTheTruth) {
  int within_double = 0;
  for (const auto& [mu, epsilon] : random_epsilons()) {
    const auto found = gaussian_delta(Mu{mu}, Epsilon{epsilon});
    EXPECT_TRUE(contains(found, reference::gaussian_delta(mu, epsilon))) << "mu = " << mu << ", epsilon = " << epsilon;
    within_double += found.lower > std::numeric_limits<double>::min();
  }
  EXPECT_GT(within_double, 300);
}

TEST(ClosedFormDelta, IsNarrow) {
  for (const auto& [mu, epsilon] : random_epsilons()) {
    const auto found = gaussian_delta(Mu{mu}, Epsilon{epsilon});
    if (found.lower > std::numeric_limits<double>::min()) {
      EXPECT_LE(relative_width(found), 0x1p-50) << "mu = " << mu << ", epsilon = " << epsilon;
    } else {
      EXPECT_LE(found.width(), 5e-324) << "mu = " << mu << ", epsilon = " << epsilon;
    }
  }
}

// The multiplier is 1 / mu rounded, so that mu of the truth is 1 over that double.
TEST(ClosedFormDelta, OfACurveContainsTheTruth) {
  int wider = 0;
  for (const auto& [mu, epsilon] : random_epsilons()) {
    const double multiplier = 1 / mu;
    const auto curve = rapid_gaussian_curve(gaussian(NoiseMultiplier{multiplier}, Adjacency::replace_one));
    const auto found = curve(Epsilon{epsilon});
    EXPECT_TRUE(contains(found, reference::gaussian_delta(1 / Real{multiplier}, Real{epsilon})))
        << "mu = " << mu << ", epsilon = " << epsilon;
    if (!(found.lower > std::numeric_limits<double>::min())) continue;
    EXPECT_LE(relative_width(found), 1e-12) << "mu = " << mu << ", epsilon = " << epsilon;
    wider += relative_width(found) > 0x1p-51;
  }
  EXPECT_GT(wider, 50);  // so many are those of long double
}
TEST(ClosedFormDelta, OfACurveIsForGaussianReleases) { EXPECT_FALSE(rapid_gaussian_curve(laplace(NoiseScale{1}, Adjacency::replace_one))); }

// Where the two terms cancel to the last hundreds of digits, on either side of where Mills' ratio takes over from erfc.
TEST(ClosedFormDelta, IsNarrowWhereAThousandBitsCancel) {
  for (const double mu : {1e-290, 3e-200, 7e-100, 2e-20}) {
    for (const double shift : {0.5, 7.9, 8.0001, 9.3}) {
      const double epsilon = shift * mu;
      const auto found = gaussian_delta(Mu{mu}, Epsilon{epsilon});
      EXPECT_TRUE(contains(found, reference::gaussian_delta(mu, epsilon, 1400))) << mu << ' ' << shift;
      EXPECT_LE(found.width(), std::max(0x1p-50 * found.lower, 5e-324)) << mu << ' ' << shift;
    }
  }
}

TEST(ClosedFormDelta, AtEpsilonZeroIsTheTotalVariationDistance) {
  for (const double mu : {1e-6, 0.37, 4.2, 70.0}) {
    const Real truth = 1.0 - erfc(Real{mu} / (2.0 * sqrt(Real{2})));
    EXPECT_TRUE(contains(gaussian_delta(Mu{mu}, Epsilon{0}), truth)) << mu;
  }
}

TEST(ClosedFormDelta, AtEpsilon500ContainsTheTruth) {
  for (const double mu : {8.5, 31.0, 32.7, 60.0, 900.0}) {
    EXPECT_TRUE(contains(gaussian_delta(Mu{mu}, Epsilon{500}), reference::gaussian_delta(mu, 500))) << mu;
  }
}

RC_GTEST_PROP(ClosedFormDelta, FallsAsEpsilonGrows, ()) {
  const Mu mu{draw_log_uniform(1e-4, 5)};
  const double epsilon = draw_log_uniform(1e-3, 3) * mu.value();
  const auto at_less = gaussian_delta(mu, Epsilon{epsilon});
  const auto at_more = gaussian_delta(mu, Epsilon{epsilon * draw_log_uniform(1.0001, 5)});
  RC_ASSERT(at_more.upper < at_less.lower);
}

RC_GTEST_PROP(ClosedFormDelta, FallsAsNoiseGrows, ()) {
  const double multiplier = draw_log_uniform(0.2, 1000);
  const double epsilon = draw_log_uniform(1e-3, 3) / multiplier;
  const auto with_more = delta_at(noise(multiplier * draw_log_uniform(1.0001, 5)), epsilon);
  RC_ASSERT(with_more.upper < delta_at(noise(multiplier), epsilon).lower);
}

// ---- epsilon(delta) ----

TEST(ClosedFormEpsilon, ContainsTheTruth) {
  int not_zero = 0;
  for (const auto& [mu, delta, found] : random_answers()) {
    EXPECT_TRUE(contains_epsilon(found, Real{mu}, delta)) << "mu = " << mu << ", delta = " << delta;
    not_zero += found.lower > 0;
  }
  EXPECT_GT(not_zero, 450);
}

TEST(ClosedFormEpsilon, ContainsTheBisectedTruth) {
  const auto& answers = random_answers();
  for (std::size_t i = 0; i < answers.size(); i += 13) {
    const auto& [mu, delta, found] = answers[i];
    EXPECT_TRUE(contains(found, reference::gaussian_epsilon(mu, delta))) << mu << ' ' << delta;
  }
}

TEST(ClosedFormEpsilon, IsNarrow) {
  for (const auto& [mu, delta, found] : random_answers()) {
    if (found.upper == 0) continue;
    EXPECT_LE(relative_width(found), delta < 1e-100 ? 1e-9 : 1e-12) << "mu = " << mu << ", delta = " << delta;
    EXPECT_LE(relative_width(found), 1e-13) << "mu = " << mu << ", delta = " << delta;
  }
}

// What a wrong curve would do to the test above: no true enclosure contains the answer of any of these.
// Next to where an approximation has the root, which is as near as double goes where nothing cancels.
TEST(ClosedFormEpsilon, IsTwoUnitsWideWhereNothingCancels) {
  for (const double z : {0.01, 0.3, 1.0, 4.2, 9.0}) {
    for (const double delta : {1e-3, 1e-6, 1e-12, 1e-100, 1e-300}) {
      const auto found = epsilon_at(noise(z), delta);
      EXPECT_LE(found.width(), 0x1p-48 * found.upper) << z << " " << delta;
    }
  }
}

TEST(ClosedFormEpsilon, TruthOfAMutantIsNotContained) {
  struct Mutant {
    const char* name;
    Curve curve;
  };
  const std::vector<Mutant> mutants = {
      {"mu squared is doubled", [](const Real& mu, const Real& at) { return reference::gaussian_delta(sqrt(Real{2}) * mu, at); }},
      {"the sensitivity is half", [](const Real& mu, const Real& at) { return reference::gaussian_delta(mu / 2.0, at); }},
      {"e^epsilon is dropped",
       [](const Real& mu, const Real& at) {
         return reference::normal_tail(at / mu - mu / 2.0) - reference::normal_tail(at / mu + mu / 2.0);
       }},
      {"the second term is dropped", [](const Real& mu, const Real& at) { return reference::normal_tail(at / mu - mu / 2.0); }},
      {"mu is off by 1e-11", [](const Real& mu, const Real& at) { return reference::gaussian_delta(mu * (1 + 1e-11), at); }},
  };
  for (const auto& mutant : mutants) {
    int caught = 0;
    int asked = 0;
    for (const auto& [mu, delta, found] : random_answers()) {
      if (asked == 60) break;
      if (found.lower == 0) continue;
      ++asked;
      caught += !contains_epsilon(mutant.curve, found, Real{mu}, delta);
    }
    EXPECT_EQ(caught, asked) << mutant.name;
  }
}

TEST(ClosedFormEpsilon, OfDeltaZeroIsInfinite) { EXPECT_EQ(epsilon_at(noise(3.5), 0), (Enclosure{infinity, infinity})); }

TEST(ClosedFormEpsilon, IsZeroWhereDeltaAtZeroIsEnough) {
  const double total_variation = reference::gaussian_delta(0.25, 0).nearest_double();
  EXPECT_EQ(epsilon_at(noise(4), total_variation * (1 + 1e-12)), (Enclosure{0, 0}));
  EXPECT_GT(epsilon_at(noise(4), total_variation * (1 - 1e-12)).lower, 0);
}

RC_GTEST_PROP(ClosedFormEpsilon, FallsAsDeltaGrows, ()) {
  const Mu mu{draw_log_uniform(1e-3, 100)};
  const double delta = draw_log_uniform(1e-300, 1e-5);
  const auto at_less = gaussian_epsilon(mu, Delta{delta});
  const auto at_more = gaussian_epsilon(mu, Delta{delta * draw_log_uniform(1.0001, 5)});
  RC_ASSERT(at_more.upper < at_less.lower);
}

RC_GTEST_PROP(ClosedFormEpsilon, FallsAsNoiseGrows, ()) {
  const double multiplier = draw_log_uniform(1e-3, 1000);
  const double delta = draw_log_uniform(1e-300, 1e-5);
  const auto with_more = epsilon_at(noise(multiplier * draw_log_uniform(1.0001, 5)), delta);
  RC_ASSERT(with_more.upper < epsilon_at(noise(multiplier), delta).lower);
}

// ---- mu*(epsilon, delta) ----

TEST(LargestMu, IsThePublishedTable) {
  struct Row {
    double epsilon;
    double delta;
    double mu;
  };
  for (const auto& [epsilon, delta, mu] : std::vector<Row>{{0.1, 1e-3, 0.05746},
                                                           {0.1, 1e-5, 0.03252},
                                                           {0.1, 1e-7, 0.02420},
                                                           {1, 1e-3, 0.38840},
                                                           {1, 1e-5, 0.26805},
                                                           {1, 1e-7, 0.21374},
                                                           {4, 1e-3, 1.21495},
                                                           {4, 1e-5, 0.92493},
                                                           {4, 1e-7, 0.77051}}) {
    EXPECT_NEAR(largest_mu(Epsilon{epsilon}, Delta{delta}).upper, mu, 0.5001e-5) << epsilon << ' ' << delta;
  }
}

TEST(LargestMu, ContainsTheTruthAndIsNarrow) {
  std::mt19937_64 words{424242};
  for (int i = 0; i < 40; ++i) {
    const double epsilon = log_uniform(words, 1e-6, 500);
    const double delta = log_uniform(words, 1e-300, 0.5);
    const auto found = largest_mu(Epsilon{epsilon}, Delta{delta});
    EXPECT_TRUE(contains(found, reference::largest_mu(epsilon, delta))) << epsilon << ' ' << delta;
    EXPECT_LE(relative_width(found), 1e-13) << epsilon << ' ' << delta;
  }
}

RC_GTEST_PROP(LargestMu, UndoesEpsilon, ()) {
  const double mu = draw_log_uniform(1e-6, 30);
  const Delta delta{draw_log_uniform(1e-300, 0.5)};
  const auto spent = gaussian_epsilon(Mu{mu}, delta);
  if (spent.lower == 0) RC_DISCARD("delta(0) is enough");
  const Enclosure back{largest_mu(Epsilon{spent.lower}, delta).lower, largest_mu(Epsilon{spent.upper}, delta).upper};
  RC_ASSERT(back.contains(mu));
  RC_ASSERT(back.width() < 1e-10 * mu);
}

TEST(LargestMu, OfDeltaZeroIsZero) { EXPECT_EQ(largest_mu(Epsilon{7}, Delta{0}), (Enclosure{0, 0})); }

TEST(LargestMu, IsFoundForEveryEpsilon) {
  for (const double epsilon : {0.0, 5e-324, 1e-300, 1e300, 1.7e308}) {
    const auto found = largest_mu(Epsilon{epsilon}, Delta{0.5});
    EXPECT_LE(relative_width(found), 1e-13) << epsilon;
    // At tiny epsilon mu* solves 2 Phi(mu/2) - 1 = 1/2; at huge epsilon the loss N(mu^2/2, mu^2) has its median at epsilon.
    const double limit = epsilon < 1 ? 1.3489795003921634 : std::sqrt(2.0) * std::sqrt(epsilon);
    EXPECT_NEAR(found.lower / limit, 1, 1e-12) << epsilon;
  }
}

// ---- composition ----

struct Composition {
  const char* name;
  Event event;
  std::vector<std::pair<double, double>> parts;  // how often, which multiplier
};

std::vector<Composition> compositions() {
  const auto inner = compose({noise(5.5), repeat(Count{3}, noise(9))});
  return {{"repeated", repeat(Count{137}, noise(31.4)), {{137, 31.4}}},
          {"composed", compose({noise(3.25), noise(0.7), noise(11)}), {{1, 3.25}, {1, 0.7}, {1, 11}}},
          {"nested", compose({repeat(Count{10}, inner), noise(2.5)}), {{10, 5.5}, {30, 9}, {1, 2.5}}},
          {"repeated twice", repeat(Count{7}, repeat(Count{1000}, noise(123.4))), {{7000, 123.4}}},
          {"the largest count", repeat(Count{std::uint64_t{1} << 53}, noise(1e8)), {{0x1p53, 1e8}}}};
}

Real mu_of(const Composition& composition) {
  Real sum{0};
  for (const auto& [count, multiplier] : composition.parts) sum = sum + count / (Real{multiplier} * Real{multiplier});
  return sqrt(sum);
}

TEST(ClosedFormComposition, IsOneGaussianOfTheRootOfTheSumOfSquares) {
  for (const auto& composition : compositions()) {
    const Real mu = mu_of(composition);
    const auto found = epsilon_at(composition.event, 1e-7);
    EXPECT_TRUE(contains_epsilon(found, mu, 1e-7)) << composition.name;
    EXPECT_LE(relative_width(found), 1e-13) << composition.name;
    const double epsilon = found.lower / 2;
    EXPECT_TRUE(contains(delta_at(composition.event, epsilon), reference::gaussian_delta(mu, Real{epsilon}))) << composition.name;
  }
}

// (4 + 4)^2 / 4 = 16 of four last steps is the least; the last step alone has 1.
TEST(ClosedFormComposition, OfALastIterateWithinADomainLiesBetweenTwoGaussians) {
  const auto of = [](const char* text) { return parse_event(text, Adjacency::replace_one); };
  for (const auto& [event, above, below] :
       {std::tuple{"last_iterate_within(4, 99, 1, gaussian(6))", "gaussian(1.5)", "gaussian(6)"},
        {"compose(gaussian(5), repeat(3, last_iterate_within(4, 99, 1, gaussian(6))))", "compose(gaussian(5), repeat(3, gaussian(1.5)))",
         "compose(gaussian(5), repeat(3, gaussian(6)))"},
        {"parallel(gaussian(2), last_iterate_within(4, 99, 1, gaussian(6)))", "gaussian(1.5)", "gaussian(2)"}}) {
    ASSERT_FALSE(why_not(ClosedForm{}, of(event))) << event;
    EXPECT_EQ(delta_at(of(event), 0.5), (Enclosure{delta_at(of(below), 0.5).lower, delta_at(of(above), 0.5).upper})) << event;
    EXPECT_EQ(epsilon_at(of(event), 1e-6), (Enclosure{epsilon_at(of(below), 1e-6).lower, epsilon_at(of(above), 1e-6).upper})) << event;
  }
  EXPECT_TRUE(why_not(ClosedForm{}, of("compose(laplace(1), last_iterate_within(4, 99, 1, gaussian(6)))")));
}

TEST(ClosedFormComposition, MuSquaredIsTheSumAtEveryPrecision) {
  for (const auto& composition : compositions()) {
    for (const mpfr_prec_t precision : {64, 300}) {
      const auto found = gaussian_mu_squared(composition.event, precision).value();
      const Real mu = mu_of(composition);
      EXPECT_TRUE(found.agrees_to(static_cast<int>(precision) - 8)) << composition.name;
      EXPECT_TRUE(contains(found.enclosure(), mu * mu)) << composition.name;
    }
  }
}

// What a wrong composition would do to the tests above.
TEST(ClosedFormComposition, TruthOfAMutantIsNotContained) {
  for (const auto& composition : compositions()) {
    Real without_count{0};
    Real sum_of_mu{0};
    for (const auto& [count, multiplier] : composition.parts) {
      without_count = without_count + 1.0 / (Real{multiplier} * Real{multiplier});
      sum_of_mu = sum_of_mu + count / Real{multiplier};
    }
    const auto found = epsilon_at(composition.event, 1e-7);
    const Real mu = mu_of(composition);
    if (composition.parts.front().first > 1) {
      EXPECT_FALSE(contains_epsilon(found, sqrt(without_count), 1e-7)) << composition.name << ": the count is dropped";
    }
    EXPECT_FALSE(contains_epsilon(found, sum_of_mu, 1e-7)) << composition.name << ": mu adds up instead of mu squared";
    EXPECT_FALSE(contains_epsilon(found, 2.0 * mu, 1e-7)) << composition.name << ": the sensitivity is off by 2";
    EXPECT_FALSE(contains_epsilon(found, mu * (1 - 1e-11), 1e-7)) << composition.name << ": mu is off by 1e-11";
  }
}

/// An epsilon at which the event's delta is neither close to 1 nor out of the range of double.
double draw_epsilon(const Event& event) {
  const double mu = std::sqrt(gaussian_mu_squared(event, 64).value().enclosure().upper);
  return mu * (mu / 2 + draw_log_uniform(0.01, 30));
}

RC_GTEST_PROP(ClosedFormComposition, Commutes, ()) {
  const auto a = noise(draw_log_uniform(0.1, 100));
  const auto b = repeat(Count{*rc::gen::inRange<std::uint64_t>(1, 1000)}, noise(draw_log_uniform(0.1, 100)));
  const auto ab = compose({a, b});
  const double epsilon = draw_epsilon(ab);
  RC_ASSERT(overlap(delta_at(ab, epsilon), delta_at(compose({b, a}), epsilon)));
  RC_ASSERT(delta_at(ab, epsilon).lower > 0);
}

RC_GTEST_PROP(ClosedFormComposition, Associates, ()) {
  const auto a = noise(draw_log_uniform(0.1, 100));
  const auto b = noise(draw_log_uniform(0.1, 100));
  const auto c = repeat(Count{*rc::gen::inRange<std::uint64_t>(1, 1000)}, noise(draw_log_uniform(0.1, 100)));
  const auto left = compose({compose({a, b}), c});
  const double epsilon = draw_epsilon(left);
  RC_ASSERT(overlap(delta_at(left, epsilon), delta_at(compose({a, compose({b, c})}), epsilon)));
  RC_ASSERT(delta_at(left, epsilon).lower > 0);
}

RC_GTEST_PROP(ClosedFormComposition, CostsMoreThanItsParts, ()) {
  const auto a = noise(draw_log_uniform(0.5, 50));
  const auto b = noise(draw_log_uniform(0.5, 50));
  const double delta = draw_log_uniform(1e-100, 1e-4);
  RC_ASSERT(epsilon_at(compose({a, b}), delta).lower > epsilon_at(a, delta).upper);
}

RC_GTEST_PROP(ClosedFormComposition, RepetitionIsCompositionOfEquals, ()) {
  const auto event = noise(draw_log_uniform(0.1, 100));
  const auto count = *rc::gen::inRange<std::size_t>(1, 20);
  const auto repeats = repeat(Count{count}, event);
  const double epsilon = draw_epsilon(repeats);
  RC_ASSERT(overlap(delta_at(repeats, epsilon), delta_at(compose(std::vector<Event>(count, event)), epsilon)));
  RC_ASSERT(delta_at(repeats, epsilon).lower > 0);
}

// ---- the ends of the ranges ----

TEST(ClosedFormExtremes, AlmostNoNoiseCostsEverything) {
  EXPECT_EQ(delta_at(noise(1e-300), 500), (Enclosure{std::nextafter(1.0, 0.0), 1}));
  EXPECT_EQ(epsilon_at(noise(1e-300), 1e-5).upper, infinity);
  EXPECT_GE(epsilon_at(noise(1e-300), 1e-5).lower, 1e300);
}

TEST(ClosedFormExtremes, EnormousNoiseCostsAlmostNothing) {
  EXPECT_EQ(epsilon_at(noise(1e300), 1e-5), (Enclosure{0, 0}));
  EXPECT_TRUE(contains(delta_at(noise(1e300), 0), erfc(Real{0}) - erfc(1.0 / Real{1e300, 2200} / sqrt(Real{8}))));
  EXPECT_EQ(delta_at(noise(1e300), 1), (Enclosure{0, 5e-324}));
}

TEST(ClosedFormExtremes, MuZeroCostsNothing) {
  EXPECT_EQ(gaussian_delta(Mu{0}, Epsilon{0}), (Enclosure{0, 0}));
  EXPECT_EQ(gaussian_epsilon(Mu{0}, Delta{0}), (Enclosure{0, 0}));
}

RC_GTEST_PROP(ClosedFormExtremes, AnswersAreNeverNegativeAndDeltaIsAtMostOne, ()) {
  const auto event =
      repeat(Count{*rc::gen::inRange<std::uint64_t>(1, (std::uint64_t{1} << 53) + 1)}, noise(draw_log_uniform(1e-300, 1e300)));
  const auto found = delta_at(event, draw_log_uniform(1e-300, 1e300));
  RC_ASSERT(found.lower >= 0);
  RC_ASSERT(found.upper <= 1);
  RC_ASSERT(epsilon_at(event, draw_log_uniform(1e-100, 0.999)).lower >= 0);
}

// ---- releases with a bounded loss: truth in plain MPFR ----

constexpr mpfr_prec_t bits = 1500;
Real real(double value) { return Real{value, bits}; }
Real power(const Real& base, int exponent) {
  Real product = real(1);
  for (int i = 0; i < exponent; ++i) product = product * base;
  return product;
}

using AnyCurve = std::function<Real(const Real& epsilon)>;

/// Losses loss, 0 and -loss with these probabilities, convolved release by release.
struct Outcomes {
  Real loss;
  Real more;
  Real none;
  Real less;
};
AnyCurve convolved(const Outcomes& one, int count, const Real& infinite) {
  std::vector<Real> law{real(1)};
  for (int i = 0; i < count; ++i) {
    std::vector<Real> next(law.size() + 2, real(0));
    for (std::size_t j = 0; j < law.size(); ++j) {
      next[j] = next[j] + law[j] * one.less;
      next[j + 1] = next[j + 1] + law[j] * one.none;
      next[j + 2] = next[j + 2] + law[j] * one.more;
    }
    law = std::move(next);
  }
  const Real finite = power(1.0 - infinite, count);
  return [=](const Real& epsilon) {
    Real sum = real(0);
    for (std::size_t j = 0; j < law.size(); ++j) {
      const Real above = one.loss * (static_cast<double>(j) - count) - epsilon;
      if (above > 0.0) sum = sum - law[j] * expm1(-above);
    }
    return 1.0 - finite + finite * sum;
  };
}
Outcomes bit(const Real& epsilon) { return {epsilon, 1.0 / (1.0 + exp(-epsilon)), real(0), 1.0 / (1.0 + exp(epsilon))}; }
Outcomes response(double truth, double categories) {
  const Real own = real(truth);
  const Real other = (1.0 - own) / (categories - 1);
  const Real none = other * (categories - 2);
  return own > other ? Outcomes{log(own / other), own, none, other} : Outcomes{log(other / own), other, none, own};
}

/// Integral of x^n e^(rate x) between two points, by parts.
Real moment(int n, const Real& rate, const Real& from, const Real& to) {
  const auto antiderivative = [&](const Real& x) {
    Real value = exp(rate * x) / rate;
    const Real scale = exp(rate * x);
    for (int m = 1; m <= n; ++m) value = (power(x, m) * scale - value * static_cast<double>(m)) / rate;
    return value;
  };
  return antiderivative(to) - antiderivative(from);
}

/// `count` releases of Laplace noise: so many losses at either atom (multinomial), and the others' sum by Irwin and Hall.
AnyCurve laplace_curve(const Real& reach, int count) {
  return [=](const Real& epsilon) {
    Real total = real(0);
    Real ways_of_up = real(1);  // count! / (up! (count - up)!)
    for (int up = 0; up <= count; ++up) {
      Real ways = ways_of_up;
      for (int down = 0; up + down <= count; ++down) {
        const int n = count - up - down;
        const Real atoms = static_cast<double>(up - down) * reach;
        const Real weight = ways * power(real(0.5), up) * power(exp(-reach) / 2.0, down) * power(exp(-reach / 2.0) / 4.0, n);
        const Real from = epsilon - atoms;
        const Real most = static_cast<double>(n) * reach;
        if (n == 0) {
          if (from < 0.0) total = total - weight * expm1(from);
        } else if (from < most) {
          const Real least = from > -most ? from : -most;
          Real choose = real(1);
          Real factorial = real(1);
          for (int m = 2; m < n; ++m) factorial = factorial * static_cast<double>(m);
          for (int r = 0; r <= n; ++r) {
            const Real knot = reach * static_cast<double>(2 * r - n);
            const Real begin = (least > knot ? least : knot) - knot;
            const Real end = most - knot;
            if (end > begin) {
              const Real p = exp(knot / 2.0) * moment(n - 1, real(0.5), begin, end);
              const Real q = exp(from - knot / 2.0) * moment(n - 1, real(-0.5), begin, end);
              total = total + weight * (r % 2 == 0 ? 1.0 : -1.0) * choose * (p - q) / factorial;
            }
            choose = choose * static_cast<double>(n - r) / static_cast<double>(r + 1);
          }
        }
        ways = ways * static_cast<double>(count - up - down) / static_cast<double>(down + 1);
      }
      ways_of_up = ways_of_up * static_cast<double>(count - up) / static_cast<double>(up + 1);
    }
    return total;
  };
}

struct Bounded {
  std::string name;
  Event event;
  AnyCurve truth;
  std::vector<std::pair<std::string, AnyCurve>> mutants;
  double largest_loss;
};

std::vector<Bounded> bounded_releases() {
  std::mt19937_64 words{31415};
  const auto counted = [&](double most) { return static_cast<int>(log_uniform(words, 1, most)); };
  const auto repeat = [](int count, const Event& event) { return surety::repeat(Count{static_cast<std::uint64_t>(count)}, event); };
  const Real much = real(1 + 1e-11);
  std::vector<Bounded> made;
  for (int i = 0; i < 25; ++i) {
    const double epsilon = log_uniform(words, 1e-3, 5);
    const double infinite = i % 2 == 0 ? 0 : log_uniform(words, 1e-12, 0.2);
    const int count = counted(120);
    const auto event = repeat(count, i % 2 == 0 ? pure(Epsilon{epsilon}, adjacency) : approx(Epsilon{epsilon}, Delta{infinite}, adjacency));
    const Outcomes one = bit(real(epsilon));
    made.push_back({describe(event),
                    event,
                    convolved(one, count, real(infinite)),
                    {{"two releases more", convolved(one, count + 2, real(infinite))},
                     {"epsilon off by 1e-11", convolved(bit(real(epsilon) * much), count, real(infinite))}},
                    epsilon * count});
  }
  for (int i = 0; i < 25; ++i) {
    const double truth = log_uniform(words, 0.01, 0.99);
    const auto categories = 2 + words() % 9;
    const int count = counted(60);
    const auto event = repeat(count, randomized_response(Probability{truth}, Count{categories}, adjacency));
    const Outcomes one = response(truth, static_cast<double>(categories));
    const Outcomes merged{one.loss, one.more + one.none, real(0), one.less};
    made.push_back({describe(event),
                    event,
                    convolved(one, count, real(0)),
                    {{"one category more", convolved(response(truth, static_cast<double>(categories) + 1), count, real(0))},
                     {"truth off by 1e-11", convolved(response(truth * (1 - 1e-11), static_cast<double>(categories)), count, real(0))}},
                    one.loss.nearest_double() * count});
    if (categories > 2) made.back().mutants.emplace_back("other answers count as true", convolved(merged, count, real(0)));
  }
  for (const double scale : {0.4, 3.0, 21.0}) {
    const int count = counted(50);
    const auto event = repeat(count, discrete_laplace(NoiseScale{scale}, Count{1}, adjacency));
    made.push_back({describe(event),
                    event,
                    convolved(bit(1.0 / real(scale)), count, real(0)),
                    {{"scale off by 1e-11", convolved(bit(much / real(scale)), count, real(0))}},
                    count / scale});
  }
  for (const int count : {1, 1, 2, 2, 3, 4, 5, 7, 10, 16}) {
    const double scale = log_uniform(words, 0.1, 300);
    const auto event = count % 2 == 0 ? repeat(count, laplace(NoiseScale{scale}, adjacency))
                                      : repeat(count, k_norm(NormName::l2, Count{1}, NoiseScale{scale}, adjacency));
    const Real reach = 1.0 / real(scale);
    made.push_back({describe(event),
                    event,
                    laplace_curve(reach, count),
                    {{"one release more", laplace_curve(reach, count + 1)}, {"scale off by 1e-11", laplace_curve(reach * much, count)}},
                    count / scale});
  }
  return made;
}

TEST(ClosedFormBounded, DeltaContainsTheTruthAndNotThatOfMutants) {
  for (const auto& one : bounded_releases()) {
    std::map<std::string, int> missed;  // where delta is nearly all that approx shows, a mutant may differ by less than a double
    for (const double share : {0.0, 0.02, 0.13, 0.51, 0.87}) {
      const double epsilon = share * one.largest_loss;
      const auto found = delta_at(one.event, epsilon);
      EXPECT_TRUE(contains(found, one.truth(Real{epsilon, bits}))) << one.name << ' ' << epsilon;
      EXPECT_LE(found.width(), std::max(0x1p-50 * found.lower, 5e-324)) << one.name << ' ' << epsilon;
      if (found.lower < 1e-290 || found.upper > 0.9999) continue;
      for (const auto& [name, mutant] : one.mutants) missed[name] += contains(found, mutant(Real{epsilon, bits}));
    }
    EXPECT_FALSE(missed.empty()) << one.name;
    for (const auto& [name, times] : missed) EXPECT_LE(times, 1) << one.name << ": " << name;
  }
}

TEST(ClosedFormBounded, EpsilonContainsTheTruth) {
  int positive = 0;
  for (const auto& one : bounded_releases()) {
    for (const double delta : {0.3, 1e-3, 1e-8, 1e-30, 1e-200}) {
      const auto found = epsilon_at(one.event, delta);
      if (found.upper == infinity) {
        EXPECT_TRUE(one.truth(Real{1e6, bits}) > delta) << one.name << ' ' << delta;
        continue;
      }
      EXPECT_TRUE(one.truth(Real{found.upper, bits}) <= delta) << one.name << ' ' << delta;
      EXPECT_LE(found.width(), 1e-13 * found.lower) << one.name << ' ' << delta;
      if (found.lower == 0) continue;
      ++positive;
      EXPECT_TRUE(one.truth(Real{found.lower, bits} * (1 - 1e-16)) > delta) << one.name << ' ' << delta;
    }
  }
  EXPECT_GT(positive, 150);
}

TEST(ClosedFormBounded, AtDeltaZeroIsTheLargestLoss) {
  for (const auto& one : bounded_releases()) {
    if (one.truth(Real{1e6, bits}) > 0.0) {
      EXPECT_EQ(epsilon_at(one.event, 0), (Enclosure{infinity, infinity})) << one.name;
    } else {
      EXPECT_NEAR(epsilon_at(one.event, 0).upper / one.largest_loss, 1, 1e-14) << one.name;
    }
  }
}

TEST(ClosedFormBounded, PublishedValues) {
  const auto event = [](const char* text) { return parse_event(text, adjacency); };
  // One Laplace release: 1 - e^((epsilon - 1/b)/2).
  EXPECT_NEAR(delta_at(event("laplace(1)"), 0).upper, 1 - std::exp(-0.5), 1e-15);
  EXPECT_NEAR(delta_at(event("laplace(0.5)"), 1).upper, 1 - std::exp(-0.5), 1e-15);
  // The total variation of one bit is (e^epsilon - 1) / (e^epsilon + 1).
  EXPECT_NEAR(delta_at(event("pure(1)"), 0).upper, std::tanh(0.5), 1e-15);
  EXPECT_NEAR(delta_at(event("approx(1, 0.25)"), 0).upper, 0.25 + 0.75 * std::tanh(0.5), 1e-15);
  // Two bits at epsilon 1 between the knots 0 and 2: (e^2 - e) / (1 + e)^2.
  EXPECT_NEAR(delta_at(event("repeat(2, pure(1))"), 1).upper, (std::exp(2) - std::exp(1)) / std::pow(1 + std::exp(1), 2), 1e-15);
}

TEST(ClosedFormBounded, SpellingsOfOneReleaseAgree) {
  const auto epsilon_of = [](const char* text) { return epsilon_at(parse_event(text, adjacency), 1e-7); };
  EXPECT_EQ(epsilon_of("compose(laplace(3), repeat(2, compose(laplace(3), laplace(3))))"), epsilon_of("repeat(5, laplace(3))"));
  EXPECT_EQ(epsilon_of("compose(pure(0.5), pure(0.5), repeat(7, pure(0.5)))"), epsilon_of("repeat(9, pure(0.5))"));
  EXPECT_TRUE(overlap(epsilon_of("repeat(20, discrete_laplace(4, 1))"), epsilon_of("repeat(20, pure(0.25))")));
}

TEST(ClosedFormBounded, RefusesByNameWhatItCannotSum) {
  const auto refusal = [](const char* text) {
    return reference::refusal_of([&] { return epsilon_at(parse_event(text, adjacency), 1e-7); });
  };
  EXPECT_TRUE(refusal("repeat(51, laplace(3))")
                  .says(ErrorCode::unsupported, "51 releases of laplace(3) are too many for a closed form, must be at most 50"));
  EXPECT_TRUE(refusal("repeat(10001, pure(1))").says(ErrorCode::unsupported, "10001 releases of pure(1) are too many"));
  EXPECT_TRUE(refusal("pure(1e9)")
                  .says(ErrorCode::unsupported,
                        "the largest loss of 1 of pure(1000000000) is 1000000000, must be at most 100000000 for a closed form"));
  EXPECT_TRUE(refusal("laplace(1e-300)").says(ErrorCode::unsupported, "must be at most 100000000 for a closed form"));
  EXPECT_TRUE(
      refusal("compose(pure(1), laplace(3))").says(ErrorCode::unsupported, "pure(1) has no closed form together with other releases"));
  EXPECT_TRUE(refusal("discrete_laplace(3, 2)").says(ErrorCode::unsupported, "discrete_laplace(3, 2) has no closed form"));
}

TEST(ClosedFormBounded, ExtremesAreAnswered) {
  const auto event = [](const char* text) { return parse_event(text, adjacency); };
  EXPECT_EQ(epsilon_at(event("repeat(3, pure(0))"), 0), (Enclosure{0, 0}));
  EXPECT_EQ(epsilon_at(event("repeat(3, approx(0, 0.125))"), 0.2), (Enclosure{infinity, infinity}));
  EXPECT_EQ(epsilon_at(event("approx(0, 0.125)"), 0.125), (Enclosure{0, 0}));
  EXPECT_EQ(epsilon_at(event("randomized_response(0.25, 4)"), 0), (Enclosure{0, 0}));
  EXPECT_TRUE(epsilon_at(event("approx(2, 0.125)"), 0.125).contains(2));
  EXPECT_EQ(delta_at(event("repeat(5, pure(1))"), 1e300), (Enclosure{0, 0}));
  EXPECT_EQ(delta_at(event("repeat(5, laplace(1))"), 1e300), (Enclosure{0, 0}));
  EXPECT_NEAR(delta_at(event("pure(1e-300)"), 0).upper / 5e-301, 1, 1e-15);
  EXPECT_LE(relative_width(delta_at(event("repeat(50, laplace(1e300))"), 1e-301)), 0x1p-50);
}

TEST(ClosedForm, CostDoesNotDependOnTheAdjacencyTheMultiplierIsStatedUnder) {
  const auto other = gaussian(NoiseMultiplier{2.75}, Adjacency::add_or_remove_one);
  EXPECT_EQ(epsilon_at(other, 1e-6), epsilon_at(noise(2.75), 1e-6));
}

// ---- one Poisson batch ----

/// By the threshold where the ratio of the densities is e^epsilon, in both directions; a difference of tails, so about 10 digits.
double batch_delta(double q, double mu, double epsilon) {
  const auto tail = [](double x) { return 0.5 * std::erfc(x / std::sqrt(2.0)); };
  const auto threshold = [&](double odds) { return (std::log((odds - 1 + q) / q) + mu * mu / 2) / mu; };
  const double c = threshold(std::exp(epsilon));
  const double removed = (1 - q) * tail(c) + q * tail(c - mu) - std::exp(epsilon) * tail(c);
  if (std::exp(-epsilon) <= 1 - q) return removed;
  const double d = threshold(std::exp(-epsilon));
  return std::max(removed, tail(-d) - std::exp(epsilon) * ((1 - q) * tail(-d) + q * tail(mu - d)));
}

TEST(OneBatch, IsKnownByOneThreshold) {
  for (const double q : {1e-3, 0.3, 0.9}) {
    for (const double mu : {0.5, 2.0}) {
      const auto batch = poisson(SamplingRate{q}, gaussian(NoiseMultiplier{1 / mu}, Adjacency::zero_out));
      for (const double epsilon : {0.0, 0.002, 0.1, 0.7}) {
        const double exact = batch_delta(q, mu, epsilon);
        if (exact < 1e-7) continue;
        const auto found = delta_at(batch, epsilon);
        EXPECT_NEAR(found.lower / exact, 1, 1e-7) << q << " " << mu << " " << epsilon;
        EXPECT_LT(found.width(), 1e-14 * exact);
        if (epsilon > 0) {
          EXPECT_NEAR(epsilon_at(batch, exact).lower, epsilon, 1e-6) << q << " " << mu;
        }
      }
    }
  }
}

TEST(OneBatch, HasItsDigitsFarOut) {
  const auto batch = parse_event("poisson(0.001, gaussian(2))", Adjacency::add_or_remove_one);
  const auto at_a_millionth = epsilon_at(batch, 1e-6);
  EXPECT_LT(at_a_millionth.width(), 1e-12);
  EXPECT_NEAR(at_a_millionth.lower, 0.002862, 1e-6);
  const auto far = delta_at(batch, 0.2);
  EXPECT_GT(far.lower, 0);
  EXPECT_LT(far.upper, 9.2e-20);
  EXPECT_LT(far.width(), 1e-12 * far.lower);
  EXPECT_EQ(delta_at(parse_event("poisson(0.5, gaussian(1))", Adjacency::add_or_remove_one), 1e300).upper,
            std::numeric_limits<double>::denorm_min());
  EXPECT_FALSE(supports(ClosedForm{}, parse_event("poisson(0.5, record_sum(1))", Adjacency::replace_one)));
  EXPECT_FALSE(supports(ClosedForm{}, parse_event("repeat(2, poisson(0.5, gaussian(1)))", Adjacency::add_or_remove_one)));
}

}  // namespace
}  // namespace surety::accounting::closed_form_test
