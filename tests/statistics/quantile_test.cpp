#include <surety/statistics/quantile.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <support/refusal.h>

namespace surety::statistics::quantile_test {
namespace {

using data::Bounds;
using mechanisms::ReplayBits;
using reference::refusal_of;

constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<double> scores(const Candidates& candidates, Fraction fraction, const std::vector<double>& numbers) {
  RankCounts counts{candidates};
  for (const double number : numbers) counts.add(number);
  return counts.scores(fraction);
}

TEST(Fraction, IsWholeInBillionths) {
  EXPECT_EQ(Fraction{0.9}.billionths(), 900'000'000);
  EXPECT_EQ(Fraction{0.1}.billionths(), 100'000'000);
  EXPECT_EQ(Fraction::median().billionths(), 500'000'000);
  for (const double bad : {0.0, 1.0, -0.5, 1e-10, 1.0 / 3, std::nan("")}) {
    EXPECT_TRUE(refusal_of([&] { return Fraction{bad}; }).says(ErrorCode::invalid_argument, "fraction of a quantile")) << bad;
  }
}

TEST(Candidates, AreEquallySpacedAndWholeNumbersAreAmongThem) {
  const Candidates five{{-1, 3}, 5};
  for (std::size_t k = 0; k < 5; ++k) EXPECT_EQ(five[k], static_cast<double>(k) - 1);
  EXPECT_EQ(five.nearest(-infinity), 0U);
  EXPECT_EQ(five.nearest(std::nan("")), 0U);
  EXPECT_EQ(five.nearest(infinity), 4U);
  EXPECT_EQ(five.nearest(0.49), 1U);
  EXPECT_EQ(five.nearest(0.51), 2U);
  for (const Bounds bounds : {Bounds{0, 100}, Bounds{-7, 120}, Bounds{0, 16384}, Bounds{3, 4}}) {
    const auto candidates = Candidates::between(bounds);
    EXPECT_GE(candidates.count(), 8192U);
    EXPECT_LE(candidates.count(), 16385U);
    for (double number = bounds.lower; number <= bounds.upper; ++number) EXPECT_EQ(candidates[candidates.nearest(number)], number);
  }
  EXPECT_EQ(Candidates::between({0, 0.3}).count(), 16385U);
  EXPECT_EQ(Candidates::between({0, 1e6}).count(), 16385U);
  for (const Bounds bounds : {Bounds{1, 1}, Bounds{2, 1}, Bounds{0, infinity}, Bounds{std::nan(""), 1}, Bounds{1e15, 1e15 + 8}}) {
    EXPECT_TRUE(refusal_of([&] {
                  return Candidates{bounds, 100};
                }).says(ErrorCode::invalid_argument, "bounds") ||
                refusal_of([&] {
                  return Candidates{bounds, 100};
                }).says(ErrorCode::invalid_argument, "candidates"))
        << bounds.lower << " " << bounds.upper;
  }
  EXPECT_TRUE(refusal_of([] { return Candidates{{0, 1}, 1}; }).says(ErrorCode::invalid_argument, "candidates is 1"));
}

TEST(RankCounts, GiveTheRankErrorWithTies) {
  const Candidates grid{{0, 4}, 5};
  // 0, 1, 1, 1, 3 at q = 0.5: 2.5 records are asked for; 1 covers the ranks 1 to 4.
  const auto found = scores(grid, Fraction::median(), {0, 1, 1, 1, 3});
  EXPECT_EQ(found, (std::vector<double>{-1.5e9, 0, -1.5e9, -1.5e9, -2.5e9}));
  EXPECT_EQ(scores(grid, Fraction{0.9}, {}), (std::vector<double>(5, 0)));
  // Against the definition, for random data: every quantile in the sense of order statistics has rank error 0, and no other candidate.
  std::mt19937_64 bits{5};
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<double> numbers(1 + bits() % 12);
    for (auto& number : numbers) number = static_cast<double>(bits() % 5);
    const Fraction fraction{static_cast<double>(1 + bits() % 9) / 10};
    const auto n = static_cast<double>(numbers.size());
    const auto all = scores(grid, fraction, numbers);
    for (std::size_t k = 0; k < 5; ++k) {
      const auto below = static_cast<double>(std::count_if(numbers.begin(), numbers.end(), [&](double x) { return x < grid[k]; }));
      const auto above = static_cast<double>(std::count_if(numbers.begin(), numbers.end(), [&](double x) { return x > grid[k]; }));
      const double q = fraction.value();
      EXPECT_NEAR(-all[k] / 1e9, std::max({0.0, below - q * n, above - (1 - q) * n}), 1e-9);
    }
    EXPECT_EQ(*std::max_element(all.begin(), all.end()), 0);
  }
}

/// The largest range of changes of scores between neighbours of small data sets: all rows of one unit of `rows` rows come, go or change.
double largest_range(const Candidates& grid, Fraction fraction, Adjacency adjacency, std::size_t rows) {
  std::vector<std::vector<double>> units{{}};
  for (std::size_t size = 1; size <= rows; ++size) {
    for (std::size_t low = 0; low < grid.count(); ++low) {
      for (std::size_t high = low; high < grid.count(); ++high) {
        std::vector<double> unit(size, grid[low]);
        unit.back() = grid[high];
        units.push_back(unit);
      }
    }
  }
  double range = 0;
  const auto meet = [&](const std::vector<double>& others, const std::vector<double>& one, const std::vector<double>& another) {
    auto left = others;
    left.insert(left.end(), one.begin(), one.end());
    auto right = others;
    right.insert(right.end(), another.begin(), another.end());
    const auto a = scores(grid, fraction, left);
    const auto b = scores(grid, fraction, right);
    double most = -infinity;
    double least = infinity;
    for (std::size_t k = 0; k < a.size(); ++k) {
      most = std::max(most, b[k] - a[k]);
      least = std::min(least, b[k] - a[k]);
    }
    range = std::max(range, most - least);
  };
  for (const auto& others : {std::vector<double>{}, std::vector<double>{1}, std::vector<double>{0, 1, 2, 3}, std::vector<double>{2, 2, 2},
                             std::vector<double>(40, 1.0), std::vector<double>(40, 2.0),
                             std::vector<double>{0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3}}) {
    for (const auto& one : units) {
      if (adjacency != Adjacency::replace_one) {
        meet(others, {}, one);
      } else {
        for (const auto& another : units) meet(others, one, another);
      }
    }
  }
  return range;
}

TEST(QuantileMechanism, ChargesForTheRangeOfTheScoresAndNoMore) {
  const Candidates grid{{0, 3}, 4};
  for (const auto adjacency : {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out}) {
    for (const std::uint64_t rows : {1U, 2U, 3U}) {
      for (const double q : {0.1, 0.5, 0.75}) {
        const Fraction fraction{q};
        const UnitOfPrivacy unit = rows == 1 ? UnitOfPrivacy{} : UnitOfPrivacy{"owner", Count{rows}};
        const QuantileMechanism mechanism{fraction, grid, Epsilon{1}, adjacency, unit};
        const double charged = 2 * mechanism.choice().options().sensitivity.value();
        const double found = largest_range(grid, fraction, adjacency, rows);
        EXPECT_LE(found, charged) << q << " " << rows;
        EXPECT_GE(found, 0.99 * charged) << q << " " << rows;
        // Planted: a unit's rows forgotten, the smaller of q and 1 - q, both of them changing in one direction.
        if (rows > 1) {
          EXPECT_GT(found, charged / static_cast<double>(rows));
        }
        if (q != 0.5 && adjacency != Adjacency::replace_one) {
          EXPECT_GT(found, 2e9 * static_cast<double>(rows) * std::min(q, 1 - q));
        }
        EXPECT_GT(found, charged / 2);
        EXPECT_EQ(describe(mechanism.event()), "exponential(1)");
      }
    }
  }
}

TEST(QuantileMechanism, ChoosesByTheLawOfTheExponentialMechanism) {
  // 20,000 choices of five candidates against exp(epsilon score / range): each count lies further off than 5 standard errors once in 1.7 million;
  // a scale 5 % off moves a probability by 0.012, 3.5 of them.
  const Candidates grid{{0, 4}, 5};
  RankCounts counts{grid};
  for (const double number : {0.0, 1.0, 1.0, 2.0, 4.0, 4.0, 4.0}) counts.add(number);
  const QuantileMechanism mechanism{Fraction{0.25}, grid, Epsilon{1.2}, Adjacency::add_or_remove_one};
  const auto score = counts.scores(Fraction{0.25});
  std::vector<double> law;
  double total = 0;
  for (const double each : score) total += law.emplace_back(std::exp(1.2 * each / 1e9 / (2 * 0.75)));
  constexpr int runs = 20000;
  std::vector<int> chosen(5);
  ReplayBits bits{7};
  for (int run = 0; run < runs; ++run) ++chosen[grid.nearest(mechanism.release(counts, bits))];
  for (std::size_t k = 0; k < 5; ++k) {
    const double p = law[k] / total;
    EXPECT_NEAR(chosen[k], runs * p, 5 * std::sqrt(runs * p * (1 - p)));
  }
}

TEST(QuantileMechanism, BoundsTheRankErrorOfTheWorstData) {
  // All at one candidate in the middle: each other one misses the median by half of the records, and just there the bound is attained.
  constexpr int runs = 20000;
  constexpr double exceeded = 0.1;
  const Candidates grid{{0, 63}, 64};
  const double epsilon = 0.5;
  const QuantileMechanism mechanism{Fraction::median(), grid, Epsilon{epsilon}, Adjacency::add_or_remove_one};
  const double bound = mechanism.rank_error(exceeded);
  EXPECT_NEAR(bound, 2 * 0.5 / epsilon * std::log(63 * 0.9 / 0.1), 1e-9);
  for (const bool is_worst : {true, false}) {
    RankCounts counts{grid};
    std::vector<double> numbers;
    // As many records as make the rank error of the others the least whole number of halves at or above the bound.
    const auto size = is_worst ? static_cast<int>(std::ceil(2 * bound)) : 200;
    for (int i = 0; i < size; ++i) counts.add(is_worst ? 30 : (i * 37) % 64);
    const auto score = counts.scores(Fraction::median());
    ReplayBits bits{11};
    int missed = 0;
    for (int run = 0; run < runs; ++run) {
      missed += -score[grid.nearest(mechanism.release(counts, bits))] / 1e9 >= bound ? 1 : 0;
    }
    const double error = std::sqrt(exceeded * (1 - exceeded) / runs);
    const double share = static_cast<double>(missed) / runs;
    EXPECT_LE(share, exceeded + 5 * error);
    if (is_worst) {
      EXPECT_GE(share, exceeded * std::exp(-0.5 * epsilon) - 5 * error);
    }
  }
  EXPECT_EQ(QuantileMechanism(Fraction{0.5}, grid, Epsilon{0}, Adjacency::zero_out).rank_error(0.05), infinity);
  EXPECT_EQ(QuantileMechanism(Fraction{0.5}, grid, Epsilon{1e-9}, Adjacency::zero_out).rank_error(0.05), infinity);
  EXPECT_NEAR(QuantileMechanism(Fraction{0.9}, grid, Epsilon{1}, Adjacency::replace_one, {"owner", Count{4}}).rank_error(0.05),
              8 * std::log(63 * 19.0), 1e-9);
}

TEST(QuantileMechanism, RefusesUnitsOfTooManyRows) {
  EXPECT_TRUE(
      refusal_of([] {
        return QuantileMechanism{Fraction{0.5}, Candidates{{0, 1}, 2}, Epsilon{1}, Adjacency::zero_out, {"owner", Count{1U << 21U}}};
      }).says(ErrorCode::invalid_argument, "2^20"));
}

}  // namespace
}  // namespace surety::statistics::quantile_test
