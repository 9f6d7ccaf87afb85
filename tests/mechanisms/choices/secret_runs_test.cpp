// The number of runs, bit by bit: the thresholds between numbers to the last digit of a word. Many numbers are judged in
// statistical/choice_test.
#include <surety/accounting/events/event_kinds.h>
#include <surety/mechanisms/choices/secret_runs.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <support/scripted_bits.h>

namespace surety::mechanisms::secret_runs_test {
namespace {

using testing::ScriptedBits;

/// The number of runs that a word gives, and others after it where that is not enough.
std::uint64_t runs_of(const SecretRuns& runs, std::uint64_t word, std::uint64_t next = 1) {
  ScriptedBits bits{std::vector<std::uint64_t>{word, next, next}};
  return runs.draw(bits);
}

/// The first word that gives more than k runs.
std::uint64_t first_above(const SecretRuns& runs, std::uint64_t k) {
  std::uint64_t low = 0;
  std::uint64_t high = ~std::uint64_t{0};
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (runs_of(runs, middle) <= k ? low : high) = middle;
  }
  return high;
}

double probability(std::uint64_t word) { return std::ldexp(static_cast<double>(word), -64); }

// P(K <= k) 2^64, to the last digits of double.
TEST(SecretRuns, ChangeWhereTheirLawSays) {
  EXPECT_NEAR(probability(first_above(SecretRuns{Runs{RunsLaw::poisson, 2}}, 0)), std::exp(-2.0), 1e-16);
  EXPECT_NEAR(probability(first_above(SecretRuns{Runs{RunsLaw::poisson, 2}}, 3)), std::exp(-2.0) * (1 + 2 + 2 + 4.0 / 3), 3e-16);
  EXPECT_NEAR(probability(first_above(SecretRuns{Runs{RunsLaw::geometric, 4}}, 1)), 0.25, 1e-16);
  EXPECT_NEAR(probability(first_above(SecretRuns{Runs{RunsLaw::geometric, 4}}, 2)), 0.4375, 1e-16);
  // Shape -1/2: with s = sqrt(g) the mean is (1 + s) / (2 s), so that g = 1/361 for a mean of 10, and P(K = 1) = mean s.
  EXPECT_NEAR(probability(first_above(SecretRuns{Runs::negative_binomial(10, -0.5)}, 1)), 10.0 / 19, 2e-16);
  // Logarithmic: P(K = 1) = mean g and P(K = 2) / P(K = 1) = (1 - g) / 2.
  const double one = probability(first_above(SecretRuns{Runs{RunsLaw::logarithmic, 10}}, 1));
  const double two = probability(first_above(SecretRuns{Runs{RunsLaw::logarithmic, 10}}, 2)) - one;
  EXPECT_NEAR(two / one, (1 - one / 10) / 2, 1e-15);
}

// Below the cap as without one, at the cap all that is left: a mean of 1.75 with a cap of 3 goes on with probability 1/2.
TEST(SecretRuns, StopAtTheirCap) {
  const SecretRuns runs{Runs::capped_geometric(1.75, Count{3})};
  EXPECT_NEAR(probability(first_above(runs, 1)), 0.5, 1e-16);
  EXPECT_NEAR(probability(first_above(runs, 2)), 0.75, 1e-16);
  EXPECT_EQ(runs_of(runs, ~std::uint64_t{0}, ~std::uint64_t{0}), 3U);
  EXPECT_EQ(runs_of(SecretRuns{Runs::capped_geometric(1.5, Count{2})}, ~std::uint64_t{0}), 2U);
  // Beyond what is kept for one word.
  const SecretRuns many{Runs::capped_geometric(60, Count{100})};
  EXPECT_EQ(runs_of(many, ~std::uint64_t{0}, ~std::uint64_t{0}), 100U);
  std::uint64_t largest = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) largest = std::max(largest, runs_of(many, ~std::uint64_t{0} - (i << 52), i));
  EXPECT_EQ(largest, 100U);
  EXPECT_LT(probability(first_above(many, 99)), 1);
}

// A word that says less than everything is followed by another one, which decides.
TEST(SecretRuns, AskForMoreBitsWhereAThresholdLiesInAWord) {
  const SecretRuns runs{Runs{RunsLaw::poisson, 2}};
  const std::uint64_t word = first_above(runs, 0) - 1;
  EXPECT_EQ(runs_of(runs, word, 0), 0U);
  EXPECT_EQ(runs_of(runs, word, ~std::uint64_t{0}), 1U);
  EXPECT_EQ(runs_of(SecretRuns{Runs{RunsLaw::geometric, 4}}, 0), 1U);
}

struct Result {
  double score;
  int place;
};

TEST(BestRun, KeepsTheFirstOfTheHighestScores) {
  const auto best_of_scores = [](const std::vector<double>& scores) {
    // As many runs as there are scores.
    const SecretRuns runs{Runs{RunsLaw::geometric, 4}};
    const std::uint64_t word = scores.size() == 1 ? 0 : first_above(runs, scores.size() - 1) + 1;
    ScriptedBits bits{std::vector<std::uint64_t>{word, 0, 0}};
    int place = 0;
    const auto best = best_run(runs, bits, [&] {
      const Result result{scores.at(static_cast<std::size_t>(place)), place};
      ++place;
      return result;
    });
    EXPECT_EQ(static_cast<std::size_t>(place), scores.size());
    return best.value().place;
  };
  EXPECT_EQ(best_of_scores({3}), 0);
  EXPECT_EQ(best_of_scores({1, 3, 2}), 1);
  EXPECT_EQ(best_of_scores({1, 3, 3, 3}), 1);
  EXPECT_EQ(best_of_scores({std::nan(""), -std::numeric_limits<double>::infinity(), -1}), 2);
  EXPECT_EQ(best_of_scores({1, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::max()}), 1);
}

TEST(BestRun, OfNoRunIsNothing) {
  ScriptedBits bits{std::vector<std::uint64_t>{0}};
  EXPECT_FALSE(best_run(SecretRuns{Runs{RunsLaw::poisson, 1}}, bits, [] { return Result{1, 0}; }).has_value());
}

TEST(SecretRuns, AreTheirEvent) {
  const auto run = gaussian(NoiseMultiplier{2}, Adjacency::replace_one);
  const Runs runs{RunsLaw::logarithmic, 3};
  EXPECT_TRUE(SecretRuns{runs}.event(run) == best_of(runs, run));
}

}  // namespace
}  // namespace surety::mechanisms::secret_runs_test
