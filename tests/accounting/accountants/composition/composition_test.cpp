#include <surety/accounting/accountants/composition/composition.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <support/random.h>
#include <support/real.h>

namespace surety::accounting::composition_test {
namespace {

using namespace reference;

constexpr auto adjacency = Adjacency::replace_one;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr mpfr_prec_t bits = 700;

Event parsed(const std::string& text) { return parse_event(text, adjacency); }
Promise promise(double epsilon, double delta, std::uint64_t count = 1) { return {Epsilon{epsilon}, Delta{delta}, Count{count}}; }
Enclosure optimal_delta(const std::vector<Promise>& promises, double at) { return delta(Composition::Optimal{}, promises, Epsilon{at}); }
Enclosure optimal_epsilon(const std::vector<Promise>& promises, double at) { return epsilon(Composition::Optimal{}, promises, Delta{at}); }

/// An outcome of all the hardest releases together: its probabilities under P and Q.
struct Outcome {
  Real p;
  Real q;
};

/// By enumeration of what each release shows: right, wrong, or everything. Exponential in the number of releases.
std::vector<Outcome> all_outcomes(const std::vector<Promise>& promises) {
  std::vector<Outcome> outcomes{{Real{1, bits}, Real{1, bits}}};
  for (const auto& each : promises) {
    const Real odds = exp(Real{each.epsilon.value(), bits});
    const Real delta{each.delta.value(), bits};
    const Real right = (1.0 - delta) * odds / (odds + 1.0);
    const Real wrong = (1.0 - delta) / (odds + 1.0);
    for (std::uint64_t i = 0; i < each.count.value(); ++i) {
      std::vector<Outcome> next;
      for (const auto& [p, q] : outcomes) {
        next.push_back({p * right, q * wrong});
        next.push_back({p * wrong, q * right});
        if (each.delta.value() > 0) next.push_back({p * delta, q * 0.0});
      }
      outcomes = next;
    }
  }
  return outcomes;
}

/// By the binomial law, for many equal releases.
std::vector<Outcome> equal_outcomes(double epsilon, double delta, int k) {
  const Real odds = exp(Real{epsilon, bits});
  const Real keep = 1.0 - Real{delta, bits};
  Real all_kept{1, bits};
  for (int i = 0; i < k; ++i) all_kept = all_kept * keep;
  std::vector<Outcome> outcomes{{1.0 - all_kept, Real{0, bits}}};
  Real p = all_kept;
  for (int i = 0; i < k; ++i) p = p / (odds + 1.0);
  Real q = p;
  for (int i = 0; i < k; ++i) q = q * odds;
  for (int i = 0; i <= k; ++i) {
    outcomes.push_back({p, q});
    p = p * odds * static_cast<double>(k - i) / static_cast<double>(i + 1);
    q = q / odds * static_cast<double>(k - i) / static_cast<double>(i + 1);
  }
  return outcomes;
}

Real true_delta(const std::vector<Outcome>& outcomes, const Real& at) {
  Real sum{0, bits};
  for (const auto& [p, q] : outcomes) {
    const Real excess = p - exp(at) * q;
    if (excess > 0.0) sum = sum + excess;
  }
  if (sum > 1.0) return Real{1, bits};  // by rounding, where it is nearer to 1 than its bits
  return sum;
}

/// delta(epsilon) falls: the answer lies in the enclosure when the truth at its ends is on the right sides.
bool contains_epsilon(const std::vector<Outcome>& outcomes, const Enclosure& found, double target) {
  const auto at = [&](double epsilon) { return true_delta(outcomes, Real{std::min(epsilon, 1e5), bits}); };
  const bool upper_holds = found.upper == infinity || at(found.upper) <= target;
  return upper_holds && (found.lower == 0 || (found.lower == infinity ? at(infinity) > target : at(found.lower) >= target));
}

// ---- basic and advanced ----

TEST(BasicComposition, AddsUp) {
  const std::vector<Promise> three{promise(0.5, 0.125, 2), promise(2, 0)};
  EXPECT_EQ(epsilon(Composition::Basic{}, three, Delta{0.25}), at_most(3));
  EXPECT_EQ(epsilon(Composition::Basic{}, three, Delta{0.2499}), at_most(infinity));
  EXPECT_EQ(delta(Composition::Basic{}, three, Epsilon{3}), at_most(0.25));
  EXPECT_EQ(delta(Composition::Basic{}, three, Epsilon{2.999}), at_most(1));
  EXPECT_EQ(epsilon(Composition::Basic{}, parsed("compose(repeat(3, pure(1)), laplace(2))"), Delta{0}), at_most(3.5));
}

TEST(AdvancedComposition, IsTheFormula) {
  const std::vector<Promise> many{promise(0.1, 1e-8, 100), promise(0.3, 0, 5)};
  const double squares = 100 * 0.01 + 5 * 0.09;
  const double mean = 100 * 0.1 * std::expm1(0.1) + 5 * 0.3 * std::expm1(0.3);
  const double expected = std::sqrt(2 * std::log(1 / (1e-5 - 1e-6)) * squares) + mean;
  const auto found = epsilon(Composition::Advanced{}, many, Delta{1e-5});
  EXPECT_EQ(found.lower, 0);
  EXPECT_NEAR(found.upper, expected, 1e-12);
  EXPECT_NEAR(delta(Composition::Advanced{}, many, Epsilon{expected}).upper, 1e-5, 1e-16);
  EXPECT_EQ(epsilon(Composition::Advanced{}, many, Delta{1e-6}).upper, infinity);
  EXPECT_EQ(delta(Composition::Advanced{}, many, Epsilon{0.5}).upper, 1);
  EXPECT_EQ(epsilon(Composition::Advanced{}, std::vector<Promise>{promise(1e300, 0)}, Delta{0.1}).upper, infinity);
}

// ---- optimal, equal releases ----

// One release: (e^epsilon - e^at) / (e^epsilon + 1), with delta on top.
TEST(OptimalComposition, OfOneReleaseIsItsOwnPromise) {
  EXPECT_EQ(optimal_epsilon({promise(1, 0.01)}, 0.01), (Enclosure{1, 1}));
  EXPECT_EQ(optimal_epsilon({promise(1, 0.01)}, 0.0099).lower, infinity);
  EXPECT_EQ(optimal_epsilon({promise(0.7, 0)}, 0), (Enclosure{0.7, 0.7}));
  EXPECT_EQ(optimal_epsilon({promise(0, 0.25)}, 0.25), (Enclosure{0, 0}));
  EXPECT_EQ(optimal_delta({promise(0, 0.25)}, 3), (Enclosure{0.25, 0.25}));
  EXPECT_EQ(optimal_delta({promise(2, 0.25)}, 2), (Enclosure{0.25, 0.25}));
  EXPECT_EQ(optimal_delta({promise(2, 0)}, 5), (Enclosure{0, 0}));
  EXPECT_EQ(optimal_delta({}, 1), (Enclosure{0, 0}));
}

TEST(OptimalComposition, OfEqualReleasesContainsTheTruth) {
  std::mt19937_64 words{20150706};
  int narrow = 0;
  constexpr int cases = 300;
  for (int i = 0; i < cases; ++i) {
    const int k = static_cast<int>(log_uniform(words, 1, 150));
    const double each = log_uniform(words, 1e-4, 20);
    const double lost = i % 2 == 0 ? 0 : log_uniform(words, 1e-12, 1e-3);
    const auto outcomes = equal_outcomes(each, lost, k);
    const std::vector<Promise> promises{promise(each, lost, static_cast<std::uint64_t>(k))};
    const double at = log_uniform(words, 1e-3, 1.2) * k * each;
    const auto found = optimal_delta(promises, at);
    ASSERT_TRUE(contains(found, true_delta(outcomes, Real{at, bits}))) << k << ' ' << each << ' ' << lost << ' ' << at;
    const double target = log_uniform(words, 1e-100, 0.9);
    const auto cost = optimal_epsilon(promises, target);
    ASSERT_TRUE(contains_epsilon(outcomes, cost, target)) << k << ' ' << each << ' ' << lost << ' ' << target;
    narrow +=
        found.width() <= 1e-14 * found.upper && (cost.upper == infinity ? cost.lower == infinity : cost.width() <= 1e-13 * cost.upper);
  }
  EXPECT_EQ(narrow, cases);
}

// Where an answer is a knot (2 i - k) epsilon, the search is in doubt between two sets.
TEST(OptimalComposition, IsNarrowAtKnots) {
  const std::vector<Promise> promises{promise(0.5, 0, 20)};
  for (const double knot : {1.0, 2.0, 5.0, 8.0, 9.0}) {
    const auto there = optimal_delta(promises, knot);
    for (const double target : {there.lower, there.upper}) {
      const auto found = optimal_epsilon(promises, target);
      EXPECT_NEAR(found.lower, knot, 1e-9) << knot;
      EXPECT_NEAR(found.upper, knot, 1e-9) << knot;
    }
  }
}

// Many releases: consistent with itself both ways, above the central limit's error and below advanced composition.
TEST(OptimalComposition, ScalesToAMillion) {
  for (const std::uint64_t k : {1000U, 30000U, 1000000U}) {
    const double each = 1 / std::sqrt(static_cast<double>(k));
    const std::vector<Promise> promises{promise(each, 0, k)};
    for (const double target : {0.3, 1e-5, 1e-40}) {
      const auto cost = optimal_epsilon(promises, target);
      EXPECT_LE(cost.width(), 1e-13 * cost.upper);
      EXPECT_LE(optimal_delta(promises, cost.upper).lower, target);
      EXPECT_GE(optimal_delta(promises, cost.lower).upper, target);
      EXPECT_LT(cost.upper, epsilon(Composition::Advanced{}, promises, Delta{target}).upper);
    }
  }
}

// ---- optimal, different releases ----

TEST(OptimalComposition, OfDifferentReleasesContainsTheTruth) {
  std::mt19937_64 words{20160112};
  double widest = 0;
  for (int i = 0; i < 60; ++i) {
    std::vector<Promise> promises;
    double total = 0;
    const int n = 2 + i % 6;
    for (int j = 0; j < n; ++j) {
      promises.push_back(promise(log_uniform(words, 1e-2, 3), j % 2 == 0 || i % 3 == 0 ? 0 : log_uniform(words, 1e-9, 1e-3)));
      total += promises.back().epsilon.value();
    }
    const auto outcomes = all_outcomes(promises);
    const double at = log_uniform(words, 1e-2, 1) * total;
    ASSERT_TRUE(contains(optimal_delta(promises, at), true_delta(outcomes, Real{at, bits}))) << i;
    const double target = log_uniform(words, 1e-6, 0.5);
    const auto cost = optimal_epsilon(promises, target);
    ASSERT_TRUE(contains_epsilon(outcomes, cost, target)) << i;
    if (cost.upper < infinity) widest = std::max(widest, cost.width() / total);
  }
  EXPECT_LT(widest, 2e-3);
}

// Twenty of one kind, nine of another: the exact law by convolution in MPFR.
TEST(OptimalComposition, OfTwoKindsContainsTheTruth) {
  std::vector<Outcome> outcomes;
  for (const auto& a : equal_outcomes(0.3, 1e-6, 20)) {
    for (const auto& b : equal_outcomes(0.11, 0, 9)) outcomes.push_back({a.p * b.p, a.q * b.q});
  }
  const std::vector<Promise> promises{promise(0.11, 0, 9), promise(0.3, 1e-6, 20)};
  for (const double at : {0.0, 0.5, 2.0, 4.0, 6.9}) {
    EXPECT_TRUE(contains(optimal_delta(promises, at), true_delta(outcomes, Real{at, bits}))) << at;
  }
  const auto coarse = epsilon(Composition::Optimal{.points = 256}, promises, Delta{1e-4});
  const auto fine = epsilon(Composition::Optimal{.points = 1 << 14}, promises, Delta{1e-4});
  EXPECT_TRUE(contains_epsilon(outcomes, coarse, 1e-4));
  EXPECT_TRUE(contains_epsilon(outcomes, fine, 1e-4));
  EXPECT_LT(fine.width(), coarse.width() / 20);
}

// Nearly equal epsilons: the grid and the binomial sum must overlap, and the grid's own error is small.
TEST(OptimalComposition, GridAgreesWithTheBinomialSum) {
  const double next = std::nextafter(0.1, 1.0);
  for (const double target : {1e-2, 1e-6, 1e-12, 1e-200}) {
    const auto equal = optimal_epsilon({promise(0.1, 1e-300, 1000)}, target);
    const auto mixed = optimal_epsilon({promise(0.1, 1e-300, 999), promise(next, 1e-300)}, target);
    EXPECT_TRUE(overlap(equal, mixed)) << target;
    EXPECT_LT(mixed.width(), 1e-2) << target;
  }
}

TEST(OptimalComposition, RefusesTooMuch) {
  EXPECT_THROW(static_cast<void>(optimal_epsilon({promise(0.1, 0, 100000000)}, 0.1)), Error);
  EXPECT_THROW(static_cast<void>(optimal_epsilon({promise(0.01, 0, 100000), promise(0.2, 0)}, 0.1)), Error);
  EXPECT_THROW(
      static_cast<void>(epsilon(Composition::Optimal{.points = 0}, std::vector<Promise>{promise(1, 0), promise(2, 0)}, Delta{0.1})), Error);
  EXPECT_EQ(optimal_epsilon({promise(1e300, 0)}, 0.1), at_most(1e300));
}

RC_GTEST_PROP(OptimalComposition, IsBelowTheOthers, ()) {
  const auto k = *rc::gen::inRange<std::uint64_t>(1, 500);
  const std::vector<Promise> promises{promise(reference::draw_log_uniform(1e-3, 2), reference::draw_log_uniform(1e-12, 1e-8), k)};
  const Delta at{reference::draw_log_uniform(1e-5, 0.5)};
  const auto best = epsilon(Composition::Optimal{}, promises, at);
  RC_ASSERT(best.lower <= epsilon(Composition::Basic{}, promises, at).upper);
  RC_ASSERT(best.lower <= epsilon(Composition::Advanced{}, promises, at).upper);
}

// ---- events ----

TEST(Promises, ReadEvents) {
  const auto parts =
      promises(parsed("compose(repeat(3, compose(pure(1), approx(2, 0.5))), laplace(4), k_norm(l2, 3, 2), exponential(0.3))"));
  const std::vector<Promise> expected{promise(1, 0, 3), promise(2, 0.5, 3), promise(0.25, 0), promise(0.5, 0), promise(0.3, 0)};
  EXPECT_EQ(parts, expected);
  EXPECT_NEAR(promises(parsed("randomized_response(0.75, 4)")).front().epsilon.value(), std::log(9.0), 1e-15);
  EXPECT_NEAR(promises(parsed("randomized_response(0.1, 3)")).front().epsilon.value(), std::log(4.5), 1e-15);
  EXPECT_EQ(promises(parsed("discrete_laplace(2, 3)")).front(), promise(1.5, 0));
  EXPECT_EQ(promises(parsed("parallel(pure(1), approx(0.5, 0.01))")).front(), promise(1, 0.01));
}

TEST(Promises, RefuseOtherEventsByName) {
  for (const auto* part :
       {"gaussian(1)", "discrete_gaussian(1, 1)", "zcdp(1)", "shuffled(10, 2, gaussian(1))", "parallel(pure(1), repeat(2, pure(1)))"}) {
    try {
      static_cast<void>(epsilon(Composition::Optimal{}, parsed(std::string{"compose(pure(1), "} + part + ")"), Delta{0.1}));
      ADD_FAILURE() << part;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported);
      EXPECT_NE(std::string{error.what()}.find(part), std::string::npos) << error.what();
    }
  }
}

TEST(Promises, OfABatchAreAmplifiedWhereARecordMayBeAbsentAndElseThoseOfWhatItIsUsedFor) {
  // Exact for pure at delta 0: the likelihood ratio of 1 - q + q e^epsilon is attained.
  const auto at_zero = [](const std::string& text, Adjacency neighbours) {
    return epsilon(Composition::Basic{}, parse_event(text, neighbours), Delta{0}).upper;
  };
  const double absent = at_zero("poisson(0.0123, compose(pure(8.19e-06), laplace(8.13)))", Adjacency::add_or_remove_one);
  EXPECT_NEAR(absent, std::log1p(0.0123 * std::expm1(8.19e-06 + 1 / 8.13)), 1e-15);
  for (const auto& [batch, inside, neighbours] : std::vector<std::tuple<std::string, std::string, Adjacency>>{
           {"poisson(0.1, compose(pure(1), laplace(2)))", "compose(pure(1), laplace(2))", Adjacency::zero_out},
           {"without_replacement(10, 2, compose(pure(1), laplace(2)))", "compose(pure(1), laplace(2))", Adjacency::replace_one},
           {"shuffled(10, 2, repeat(3, pure(1)))", "repeat(3, pure(1))", Adjacency::zero_out},
           {"deterministic(10, 2, repeat(3, pure(1)))", "repeat(3, pure(1))", Adjacency::zero_out}}) {
    EXPECT_EQ(at_zero(batch, neighbours), at_zero(inside, neighbours)) << batch;
  }
  const auto approximate =
      epsilon(Composition::Basic{}, parse_event("poisson(0.1, approx(1, 0.01))", Adjacency::add_or_remove_one), Delta{0.00101});
  EXPECT_NEAR(approximate.upper, std::log1p(0.1 * std::expm1(1)), 1e-15);
}

TEST(OptimalComposition, IsTwoSidedOnlyWhereTheEventIsItsPromise) {
  EXPECT_GT(epsilon(Composition::Optimal{}, parsed("repeat(10, approx(1, 0.001))"), Delta{0.1}).lower, 0);
  EXPECT_GT(delta(Composition::Optimal{}, parsed("compose(pure(1), pure(2))"), Epsilon{0.1}).lower, 0);
  EXPECT_EQ(epsilon(Composition::Optimal{}, parsed("repeat(10, laplace(1))"), Delta{0.1}).lower, 0);
  EXPECT_EQ(delta(Composition::Optimal{}, parsed("compose(pure(1), exponential(2))"), Epsilon{0.1}).lower, 0);
}

TEST(OptimalComposition, OfHugeEpsilonsIsTheirSum) {
  for (const auto* text : {"pure(299999999)", "pure(3e8)", "pure(930775236)", "compose(pure(1e8), pure(9e8))"}) {
    const auto found = epsilon(Composition::Optimal{}, parsed(text), Delta{1e-5});
    EXPECT_LE(found.upper, 1e9) << text;
    EXPECT_GE(found.upper, 299999900) << text;
  }
}

TEST(OptimalComposition, IsInfiniteWhereNearlyEverythingIsShown) {
  // 1 - delta of all of them is 0.2^1024, far below the precision of 1 less it.
  const auto found = epsilon(Composition::Optimal{}, parsed("repeat(1024, approx(3, 0.8))"), Delta{1e-4});
  EXPECT_EQ(found.lower, std::numeric_limits<double>::infinity());
}

TEST(ParallelPromise, TakesTheLargestOfEach) {
  const std::vector<Promise> parts{promise(1, 0.01), promise(0.5, 0.02)};
  EXPECT_EQ(parallel_promise(parts), promise(1, 0.02));
  EXPECT_THROW(static_cast<void>(parallel_promise({})), Error);
  EXPECT_THROW(static_cast<void>(parallel_promise(std::vector<Promise>{promise(1, 0, 2)})), Error);
}

}  // namespace
}  // namespace surety::accounting::composition_test
