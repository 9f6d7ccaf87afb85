#include <surety/statistics/quantile_intervals.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <support/refusal.h>

namespace surety::statistics::quantile_intervals_test {
namespace {

using mechanisms::ReplayBits;
using reference::refusal_of;

struct Table {
  std::string name;
  std::vector<double> numbers;
};

/// Between 0 and 100: smooth, skewed, at the upper bound, tied, and an atom between candidates.
std::vector<Table> tables() {
  std::mt19937_64 random{1};
  std::normal_distribution<double> normal{40, 6};
  std::exponential_distribution<double> exponential{0.2};
  std::vector<Table> all{{"normal", {}}, {"exponential", {}}, {"full", {}}, {"ties", {}}, {"atom", {}}};
  for (int k = 0; k < 600; ++k) {
    all[0].numbers.push_back(normal(random));
    all[1].numbers.push_back(exponential(random));
    all[2].numbers.push_back(k % 3 == 0 ? 130 : k % 100);
    all[3].numbers.push_back(static_cast<double>(random() % 6) * 10);
    all[4].numbers.push_back(k < 250 ? 33.3 : 0.15 * k);
  }
  return all;
}

double quantile_of(std::vector<double> numbers, double fraction) {
  for (auto& number : numbers) number = std::clamp(number, 0.0, 100.0);
  std::sort(numbers.begin(), numbers.end());
  return numbers[static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(numbers.size()) - 1e-9)) - 1];
}

double rank_error_of(const std::vector<double>& numbers, double value, double fraction) {
  double below = 0;
  double reached = 0;
  for (const double number : numbers) {
    const double clamped = std::clamp(number, 0.0, 100.0);
    below += clamped < value ? 1 : 0;
    reached += clamped <= value ? 1 : 0;
  }
  const double wanted = fraction * static_cast<double>(numbers.size());
  return std::max({0.0, below - wanted, wanted - reached});
}

struct Held {
  double intervals;
  double rank_errors;
  double width;
};

/// How often intervals hold their quantiles, the least often of all fractions.
Held held_of(const Table& table, const std::vector<Fraction>& asked, QuantileChoice choice, double exceeded, int runs) {
  const Candidates grid{{0, 100}, 401};
  RankCounts counts{grid};
  for (const double number : table.numbers) counts.add(number);
  const QuantileMechanism mechanism{Fractions{asked}, grid, Epsilon{1}, Adjacency::add_or_remove_one, UnitOfPrivacy{}, 1, choice};
  QuantileIntervals intervals{mechanism, Epsilon{1}, exceeded};
  std::vector<int> held(asked.size());
  std::vector<int> reached(asked.size());
  double width = 0;
  ReplayBits bits{3};
  for (int run = 0; run < runs; ++run) {
    const auto found = intervals
                           .release(
                               {&counts, 1}, [] {}, [] {}, bits)
                           .front();
    for (std::size_t k = 0; k < asked.size(); ++k) {
      const auto& [value, lower, upper, rank_error] = found[k];
      EXPECT_LE(lower, value);
      EXPECT_GE(upper, value);
      const double exact = quantile_of(table.numbers, asked[k].value());
      held[k] += lower <= exact && exact <= upper ? 1 : 0;
      reached[k] += rank_error_of(table.numbers, value, asked[k].value()) <= rank_error ? 1 : 0;
      width += (upper - lower) / (runs * static_cast<double>(asked.size()));
    }
  }
  const auto share = [&](const std::vector<int>& each) { return *std::min_element(each.begin(), each.end()) / static_cast<double>(runs); };
  return {share(held), share(reached), width};
}

// 2,000 releases of five tables; the standard error of a coverage of .95 is .005.
TEST(QuantileIntervals, HoldTheirQuantiles) {
  for (const auto& table : tables()) {
    SCOPED_TRACE(table.name);
    const auto median = held_of(table, {Fraction::median()}, QuantileChoice::permute_and_flip, 0.05, 2000);
    EXPECT_GE(median.intervals, 0.935);
    EXPECT_GE(median.rank_errors, 0.935);
    EXPECT_LT(median.width, 60) << "of 100";
    const auto three =
        held_of(table, {Fraction{0.25}, Fraction::median(), Fraction{0.75}}, QuantileChoice::exponential_mechanism, 0.05, 200);
    EXPECT_GE(three.intervals, 0.93);
    EXPECT_GE(three.rank_errors, 0.93);
  }
  // With hardly any reach for the noise both miss more often than .065: the counts above could fail.
  const auto planted = held_of(tables()[0], {Fraction::median()}, QuantileChoice::permute_and_flip, 0.99, 500);
  EXPECT_LT(planted.intervals, 0.93);
  EXPECT_LT(planted.rank_errors, 0.93);
}

// All places of one unit's rows, in one group or two: what the counts move by, and what the scores of flanks move by.
TEST(QuantileIntervals, MoveByWhatIsCharged) {
  std::mt19937_64 random{5};
  const std::vector<Boundary> boundaries{{0, true}, {1, false}, {1, true}, {3, true}};
  for (const int rows : {1, 3}) {
    std::int64_t most_added = 0;
    std::int64_t most_replaced = 0;
    double most_flank = 0;
    for (int trial = 0; trial < 3000; ++trial) {
      std::vector<RankCount> before(5);
      const auto place = [&](std::vector<RankCount>& counts) -> std::uint64_t& {
        auto& count = counts[random() % counts.size()];
        const auto side = random() % 3;
        return side == 0 ? count.below : side == 1 ? count.equal : count.above;
      };
      for (int k = 0; k < 12; ++k) ++place(before);
      auto after = before;
      auto replaced = before;
      for (int row = 0; row < rows; ++row) ++place(after);
      for (int row = 0; row < rows; ++row) ++place(replaced);
      const auto apart = [&](const std::vector<RankCount>& one, const std::vector<RankCount>& other) {
        const auto a = cells_between(one, boundaries);
        const auto b = cells_between(other, boundaries);
        std::int64_t sum = 0;
        for (std::size_t k = 0; k < a.size(); ++k) sum += std::abs(a[k] - b[k]);
        return sum;
      };
      most_added = std::max(most_added, apart(before, after));
      most_replaced = std::max(most_replaced, apart(after, replaced));
      for (const bool is_lower : {true, false}) {
        const auto wanted = static_cast<std::int64_t>(random() % 8);
        const auto scores = [&](const std::vector<RankCount>& counts) {
          WideInteger records = 0;
          for (const auto& count : counts) records += count.all();
          return target_scores(counts, is_lower ? records - wanted : WideInteger{wanted}, 1);
        };
        const auto a = scores(before);
        const auto b = scores(after);
        for (std::size_t k = 0; k < a.size(); ++k) most_flank = std::max(most_flank, std::abs(a[k] - b[k]));
      }
    }
    EXPECT_EQ(most_added, rows);
    EXPECT_EQ(most_replaced, 2 * rows);
    EXPECT_EQ(most_flank, rows);
    for (const auto adjacency : {Adjacency::add_or_remove_one, Adjacency::zero_out, Adjacency::replace_one}) {
      for (const auto choice : {QuantileChoice::exponential_mechanism, QuantileChoice::permute_and_flip}) {
        const UnitOfPrivacy unit = rows == 1 ? UnitOfPrivacy{} : UnitOfPrivacy{"owner", Count{3}};
        const QuantileIntervals intervals{
            {Fraction::median(), Candidates{{0, 4}, 5}, Epsilon{1}, adjacency, unit, 1, choice}, Epsilon{0.5}, 0.05};
        const auto moved = static_cast<double>(adjacency == Adjacency::replace_one ? most_replaced : most_added);
        // A loss of e has a range of 2 e.
        const double loss = choice == QuantileChoice::permute_and_flip ? 0.5 : 0.25;
        EXPECT_GE(intervals.scale_of_counts(), moved / loss);
        EXPECT_LE(intervals.scale_of_counts(), moved / loss + 0.001);
        EXPECT_EQ(describe(intervals.counts_event()), choice == QuantileChoice::permute_and_flip ? "pure(0.5)" : "exponential(0.5)");
      }
    }
  }
}

TEST(QuantileIntervals, CountWhatLiesBetween) {
  const std::vector<RankCount> counts{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
  EXPECT_EQ(cells_between(counts, {{0, false}, {1, true}, {2, true}}), (std::vector<std::int64_t>{1, 14, 21, 9}));
  EXPECT_EQ(cells_between(counts, {{0, true}}), (std::vector<std::int64_t>{3, 42}));
}

TEST(QuantileIntervals, RefuseWhatWouldSayNothing) {
  std::vector<Fraction> many;
  for (int k = 1; k <= 32; ++k) many.emplace_back(k / 64.0);
  const auto made = [](const Fractions& fractions, double epsilon) {
    return QuantileIntervals{{fractions, Candidates{{0, 4}, 5}, Epsilon{1}, Adjacency::zero_out}, Epsilon{epsilon}, 0.05};
  };
  EXPECT_TRUE(refusal_of([&] { return made(Fractions{many}, 1); }).says(ErrorCode::invalid_argument, "at most 31"));
  EXPECT_TRUE(refusal_of([&] { return made(Fraction::median(), 0); }).says(ErrorCode::invalid_argument, "larger epsilon"));
}

}  // namespace
}  // namespace surety::statistics::quantile_intervals_test
