#include <surety/accounting/answers/group.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <support/gaussian_truth.h>
#include <support/random.h>
#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/accountants/zcdp/zcdp.h>

namespace surety::accounting::group_test {
namespace {

using reference::draw_log_uniform;

constexpr auto adjacency = Adjacency::zero_out;

Event parsed(const std::string& text) { return parse_event(text, adjacency); }
std::string group_of(const std::string& text, std::uint64_t records) { return describe(group(parsed(text), Count{records})); }

TEST(Group, OfOneRecordIsTheEvent) {
  for (const auto* text : {"gaussian(3)", "poisson(0.5, gaussian(3))", "parallel(pure(1), pure(2))", "approx(0.1, 0.9)"}) {
    EXPECT_EQ(group(parsed(text), Count{1}), parsed(text));
  }
}

TEST(Group, MovesAQueryByItsSensitivityForEachRecord) {
  EXPECT_EQ(group_of("gaussian(12)", 4), "gaussian(3)");
  EXPECT_EQ(group_of("laplace(10)", 4), "laplace(2.5)");
  EXPECT_EQ(group_of("k_norm(l2, 7, 10)", 4), "k_norm(l2, 7, 2.5)");
  EXPECT_EQ(group_of("generalized_gaussian(3, 5, 12)", 4), "generalized_gaussian(3, 5, 3)");
  EXPECT_EQ(group_of("discrete_gaussian(12, 5)", 4), "discrete_gaussian(12, 20)");
  EXPECT_EQ(group_of("discrete_laplace(12, 5)", 4), "discrete_laplace(12, 20)");
  EXPECT_EQ(group_of("randomized_response(0.75, 3)", 4), "repeat(4, randomized_response(0.75, 3))");
}

TEST(Group, OfPromisesPaysForEachStepOfTheChain) {
  const std::vector<std::pair<std::string, std::string>> of_six{{"pure(0.5)", "pure(3)"},
                                                                {"exponential(0.5)", "exponential(3)"},
                                                                {"zcdp(0.25)", "zcdp(9)"},
                                                                {"approx(0, 0.125)", "approx(0, 0.75)"},
                                                                {"approx(2, 0)", "approx(12, 0)"}};
  for (const auto& [one, six] : of_six) EXPECT_EQ(group_of(one, 6), six);
}

TEST(Group, PassesThroughComposition) {
  EXPECT_EQ(group_of("repeat(7, compose(gaussian(12), laplace(10)))", 4), "repeat(7, compose(gaussian(3), laplace(2.5)))");
  EXPECT_EQ(group_of("parallel(gaussian(12), repeat(3, gaussian(10)))", 4), "parallel(gaussian(3), repeat(3, gaussian(2.5)))");
  EXPECT_EQ(group_of("parallel(zcdp(1), compose(zcdp(0.25), zcdp(0.5)))", 4), "parallel(zcdp(16), compose(zcdp(4), zcdp(8)))");
}

TEST(Group, RefusesBatchesAndPartsByName) {
  for (const auto* text : {"poisson(0.5, gaussian(3))", "shuffled(10, 2, gaussian(3))", "deterministic(10, 2, gaussian(3))",
                           "parallel(laplace(1), laplace(1))", "parallel(gaussian(1), zcdp(1))", "approx(3, 0.01)", "pure(1e308)",
                           "discrete_laplace(1, 9007199254740992)", "gaussian(4e-324)"}) {
    try {
      static_cast<void>(group(parse_event(text, adjacency), Count{3}));
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported) << text;
      EXPECT_NE(std::string{error.what()}.find(describe(parsed(text))), std::string::npos) << error.what();
    }
  }
}

// Gaussian groups cost exactly k mu, up to the one rounding.
RC_GTEST_PROP(Group, OfGaussiansIsTheGaussianOfKMu, ()) {
  const double multiplier = draw_log_uniform(0.1, 100);
  const auto k = *rc::gen::inRange<std::uint64_t>(2, 1000);
  const double delta_asked = draw_log_uniform(1e-30, 1e-2);
  const auto found = epsilon(ClosedForm{}, group(gaussian(NoiseMultiplier{multiplier}, adjacency), Count{k}), Delta{delta_asked});
  const reference::Real mu = static_cast<double>(k) / reference::Real{multiplier};
  RC_ASSERT(reference::gaussian_delta(mu, reference::Real{found.upper}) <= delta_asked);
  RC_ASSERT(reference::gaussian_delta(mu, reference::Real{found.lower * (1 - 1e-12)}) >= delta_asked);
}

/// The sum of a chain of k pairs, one by one.
double chain(double epsilon, double delta, int k) {
  double sum = 0;
  for (int i = 0; i < k; ++i) sum += delta * std::exp(epsilon * i);
  return std::min(1.0, sum);
}

RC_GTEST_PROP(GroupDelta, IsTheSumOverTheChain, ()) {
  const double at = draw_log_uniform(1e-8, 3);
  const double of_one = draw_log_uniform(1e-12, 1e-2);
  const auto k = *rc::gen::inRange(1, 40);
  const auto found = group_delta(Epsilon{at}, of_one, Count{static_cast<std::uint64_t>(k)});
  RC_ASSERT(found.lower == 0.0);
  RC_ASSERT(found.upper <= 1);
  RC_ASSERT(std::abs(found.upper / chain(at, of_one, k) - 1) < 1e-12);
}

TEST(GroupDelta, SurvivesTheEnds) {
  EXPECT_EQ(group_delta(Epsilon{1e300}, 1e-300, Count{2}).upper, 1);
  EXPECT_EQ(group_delta(Epsilon{1e300}, 0.25, Count{1}).upper, 0.25);
  EXPECT_EQ(group_delta(Epsilon{1e-300}, 1e-300, Count{std::uint64_t{1} << 53}).lower, 0);
  EXPECT_EQ(group_delta(Epsilon{5}, 0, Count{1000000}).upper, 0);
}

// The exact group of Gaussians lies below the generic conversion of any accountant.
RC_GTEST_PROP(GroupDelta, IsAboveTheExactOne, ()) {
  const auto one = gaussian(NoiseMultiplier{draw_log_uniform(0.5, 50)}, adjacency);
  const Count k{*rc::gen::inRange<std::uint64_t>(2, 20)};
  const Epsilon at{draw_log_uniform(0.01, 20)};
  const auto exact = delta(ClosedForm{}, group(one, k), at);
  RC_ASSERT(group_delta(ClosedForm{}, one, k, at).upper >= exact.lower);
  RC_ASSERT(group_delta(Zcdp{}, one, k, at).upper >= exact.lower);
}

}  // namespace
}  // namespace surety::accounting::group_test
