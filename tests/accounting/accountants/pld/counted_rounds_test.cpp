// Counts of rare rounds, against the law of how many rounds draw the record.
#include <gtest/gtest.h>

#include <cmath>

#include <surety/accounting/accountants/pld/counted_rounds.h>
#include <surety/accounting/answers/asked.h>
#include <surety/base/numbers/limit.h>

namespace surety::accounting::pld {
namespace {

double counted(const char* written, double delta, const CountTerms& terms = {}) {
  return by_counted_rounds(parse_event(written, Adjacency::add_or_remove_one), {std::nullopt, delta}, terms);
}

// One round of rate q: delta = q (Phi(-c + mu) - e^x' Phi(-c)) at its own threshold, in closed form.
TEST(CountedRounds, LiesBelowOneRoundAndNear) {
  const double q = 1e-4;
  const double mu = 2;
  const auto tail = [](double x) { return 0.5 * std::erfc(x / std::sqrt(2.0)); };
  for (const double epsilon : {0.5, 1.0, 2.0}) {
    // (1 - q) + q e^(mu c - mu^2 / 2) = e^epsilon.
    const double c = (std::log((std::exp(epsilon) - 1 + q) / q) + mu * mu / 2) / mu;
    const double delta = (1 - q) * tail(c) + q * tail(c - mu) - std::exp(epsilon) * tail(c);
    const double found = counted("poisson(1e-4, gaussian(0.5))", delta);
    EXPECT_LE(found, epsilon * (1 + 1e-9));
    EXPECT_GT(found, epsilon - 0.01);
    EXPECT_GT(counted("poisson(1e-4, gaussian(0.5))", delta, {.delta = false}), epsilon);
    const double back =
        by_counted_rounds(parse_event("poisson(1e-4, gaussian(0.5))", Adjacency::add_or_remove_one), {epsilon, std::nullopt});
    EXPECT_LE(back, delta * (1 + 1e-9));
    EXPECT_GT(back, 0.99 * delta);
  }
}

TEST(CountedRounds, KnowsRoundsThatNoGridDoes) {
  EXPECT_GT(counted("repeat(1000000, poisson(1e-9, gaussian(0.3)))", 1e-12), 4.268);
  EXPECT_GT(counted("repeat(1000000, poisson(1e-9, gaussian(0.3)))", 1e-6), 0.0037);
  EXPECT_EQ(counted("repeat(3, gaussian(0.3))", 1e-6), 0);
}

// From above by coarse steps: fine ones give 6.28, and 7.9e-11 at 5.
TEST(CountedRounds, AreBoundedFromAboveByCoarseSteps) {
  const Event rare = parse_event("repeat(1000000, poisson(1e-9, gaussian(0.3)))", Adjacency::add_or_remove_one);
  const Limit work{{}};
  const auto found = epsilon(Pld{.width = 1e-2}, rare, Delta{1e-12});
  // The other direction, which has no loss above .001, is composed at none of these steps.
  EXPECT_LT(work.polls(), 50000U);
  EXPECT_GT(found.lower, 4.268);
  EXPECT_LT(found.upper, 4.305);
  const auto at_5 = delta(Pld{.width = 1e-2}, rare, Epsilon{5});
  EXPECT_LT(at_5.upper, 1.05 * at_5.lower);
}

// Where rounding would be all that a fine grid shows, one of 16,000 points says so, and is the answer: the finer one has no room for itself.
TEST(CountedRounds, AskNoGridThatWouldDrown) {
  const Event rare = parse_event("repeat(1000000, poisson(1e-7, gaussian(0.3)))", Adjacency::add_or_remove_one);
  const auto found = epsilon(Pld{.width = 1e-3}, rare, Delta{1e-14});
  EXPECT_GT(found.lower, 13.40);
  EXPECT_LT(found.upper, 13.4220);
}

}  // namespace
}  // namespace surety::accounting::pld
