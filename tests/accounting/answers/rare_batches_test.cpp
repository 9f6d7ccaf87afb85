// The probability that some batch holds the record, against the enumeration of all draws; and the bound on epsilon and delta.
#include <surety/accounting/answers/rare_batches.h>

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include <surety/accounting/answers/asked.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/calibration/best_cost.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::rare_batches_test {
namespace {

Event replaced(const std::string& text) { return parse_event(text, Adjacency::replace_one); }
Event removed(const std::string& text) { return parse_event(text, Adjacency::add_or_remove_one); }

/// The share of the subsets of m of n records that hold record 0.
double share_of_subsets(unsigned n, unsigned m) {
  double all = 0;
  double held = 0;
  for (std::uint32_t set = 0; set < (1U << n); ++set) {
    if (std::popcount(set) != static_cast<int>(m)) continue;
    ++all;
    if ((set & 1U) != 0) ++held;
  }
  return held / all;
}
/// The share of the sequences of m of n records that hold record 0.
double share_of_sequences(unsigned n, unsigned m) {
  double all = 1;
  for (unsigned i = 0; i < m; ++i) all *= n;
  double held = 0;
  for (double sequence = 0; sequence < all; ++sequence) {
    auto rest = static_cast<std::uint64_t>(sequence);
    bool holds = false;
    for (unsigned i = 0; i < m; ++i, rest /= n) holds = holds || rest % n == 0;
    if (holds) ++held;
  }
  return held / all;
}

TEST(RareBatches, HoldARecordAsOftenAsAllDrawsSay) {
  EXPECT_EQ(most_joined(removed("poisson(0.1, pure(1))")), 0.1);
  const double subsets = share_of_subsets(7, 3);
  EXPECT_NEAR(most_joined(replaced("without_replacement(7, 3, pure(1))")), subsets, 1e-15);
  const double sequences = share_of_sequences(5, 3);
  EXPECT_NEAR(most_joined(replaced("with_replacement(5, 3, pure(1))")), sequences, 1e-15);
  EXPECT_NEAR(most_joined(replaced("compose(repeat(2, without_replacement(7, 3, pure(1))), with_replacement(5, 3, pure(2)), "
                                   "poisson(0.1, laplace_record_sum(1)))")),
              1 - (1 - subsets) * (1 - subsets) * (1 - sequences) * 0.9, 1e-15);
  // Five rounds of two groups: the first group has three of them.
  EXPECT_NEAR(most_joined(removed("cyclic(2, 5, 0.1, pure(1))")), 1 - 0.9 * 0.9 * 0.9, 1e-15);
  EXPECT_EQ(most_joined(removed("truncated_poisson(0.1, 2, 9, gaussian(1))")), 0.1);
}

// Rounded up: at least the exact value, which is a rational number with a denominator of 2^53 here.
TEST(RareBatches, AreRoundedUp) {
  for (const double q : {0x1p-30, 0.25, 0.125 + 0x1p-20}) {
    const double twice = most_joined(removed(fmt::format("repeat(2, poisson({}, pure(1)))", q)));
    const long double exact = 2.0L * q - static_cast<long double>(q) * q;
    EXPECT_GE(twice, exact) << q;
    EXPECT_NEAR(twice, static_cast<double>(exact), 1e-15 * static_cast<double>(exact)) << q;
  }
  EXPECT_LE(most_joined(removed("repeat(9007199254740992, poisson(1e-300, pure(1)))")), 9.00720e-285);
}

TEST(RareBatches, SayNothingBesideWhatHoldsEveryRecord) {
  for (const auto* text :
       {"pure(1)", "compose(poisson(0.1, pure(1)), pure(1))", "allocated(10, gaussian(1))", "users(2, poisson(0.1, gaussian(1)))",
        "poisson(1, pure(1))", "best_of(geometric_runs, 2, poisson(0.1, pure(1)))"}) {
    EXPECT_EQ(most_joined(removed(text)), 1) << text;
    EXPECT_FALSE(by_rare_batches(removed(text), Epsilon{1})) << text;
    EXPECT_FALSE(by_rare_batches(removed(text), Delta{0.999})) << text;
  }
  EXPECT_EQ(most_joined(replaced("shuffled(100, 10, pure(1))")), 1);
}

// Each shows everything where its batch holds the record.
TEST(RareBatches, AreAttainedByWhatShowsAll) {
  for (const auto* text : {"poisson(0.1, pure(900))", "repeat(3, poisson(0.1, gaussian(0.0001)))", "cyclic(2, 5, 0.1, gaussian(0.0001))"}) {
    const auto found = best_delta(removed(text), Epsilon{1}).value;
    const double bound = by_rare_batches(removed(text), Epsilon{1}).value();
    EXPECT_LE(found.upper, bound * (1 + 1e-6)) << text;
    EXPECT_GE(found.lower, bound * (1 - 1e-7)) << text;
  }
  EXPECT_EQ(by_rare_batches(removed("poisson(0.1, pure(900))"), Delta{0.1}), 0.0);
  EXPECT_FALSE(by_rare_batches(removed("poisson(0.1, pure(900))"), Delta{0.0999}));
}

// Losses so large that accountants on grids refuse them.
TEST(RareBatches, AreTheSameToAccountsAndCalibrations) {
  for (const auto* text : {"poisson(0.01, laplace_record_sum(0.001))", "repeat(2, poisson(0.005, laplace_record_sum(0.0001)))",
                           "with_replacement(100, 1, laplace(0.0005))", "without_replacement(100, 1, exponential(900))"}) {
    const Event event = replaced(text);
    const Target target{.epsilon = Epsilon{1}, .delta = Delta{0.0101}, .adjacency = Adjacency::replace_one};
    EXPECT_LE(best_delta(event, target.epsilon).value.upper, 0.0100000001) << text;
    EXPECT_GE(best_delta(event, target.epsilon).value.lower, 0.0098) << text;
    EXPECT_EQ(best_epsilon(event, target.delta).value.upper, 0) << text;
    const auto cost = best_cost(target, {});
    EXPECT_LE(cost.delta(event, target.epsilon).upper, 0.0100000001) << text;
    EXPECT_EQ(cost.epsilon(event, target.delta).upper, 0) << text;
    EXPECT_LE(quick_delta(event, target.epsilon).upper, 0.0100000001) << text;
  }
}

}  // namespace
}  // namespace surety::accounting::rare_batches_test
