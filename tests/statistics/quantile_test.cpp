#include <surety/statistics/quantile.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <utility>
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
  return rank_scores(counts.counts(), {fraction.billionths(), Fraction::whole});
}

/// All numbers rounded to their candidates.
std::vector<RankCount> rounded(std::span<const RankCount> counts) {
  std::vector<RankCount> result;
  for (const auto& count : counts) result.push_back({.equal = count.all()});
  return result;
}

/// Of one fraction.
double one_of(const QuantileMechanism& mechanism, const RankCounts& counts, mechanisms::BitsRef bits) {
  return mechanism
      .release(
          {&counts, 1}, [] {}, bits)
      .front()
      .front();
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

TEST(RankCounts, TellWhatLiesBesideACandidate) {
  const Candidates grid{{-1, 3}, 5};
  RankCounts counts{grid};
  for (const double number : {-infinity, -7.0, -1.0, std::nan(""), -0.5, -0.0, 1e-300, 0.49, 0.5, 2.5, 2.75, 3.0, 3.25, infinity})
    counts.add(number);
  counts.add_damaged();
  EXPECT_TRUE(std::ranges::equal(counts.counts(), std::vector<RankCount>{{0, 4, 0}, {1, 2, 2}, {1, 0, 0}, {}, {2, 3, 0}}));
  RankCounts above_zero{{{2, 3}, 3}};
  above_zero.add_damaged();
  EXPECT_EQ(above_zero.counts()[0], (RankCount{0, 1, 0})) << "clamped";
  // Candidates are the nearest of themselves, so numbers of another one lie beyond them.
  std::mt19937_64 bits{6};
  for (int trial = 0; trial < 30; ++trial) {
    const double lower = std::ldexp(static_cast<double>(bits() % 1000001) - 5e5, static_cast<int>(bits() % 40) - 20);
    const double width = std::ldexp(1 + static_cast<double>(bits() % 1000), static_cast<int>(bits() % 20));
    const Candidates candidates{{lower, lower + width}, 2 + bits() % 5000};
    RankCounts each{candidates};
    for (std::size_t k = 0; k < candidates.count(); ++k) each.add(candidates[k]);
    for (const auto& count : each.counts()) ASSERT_EQ(count, (RankCount{0, 1, 0}));
  }
}

TEST(RankCounts, GiveTheRankErrorOfNumbersAsTheyAreWhereThatIsNearEnough) {
  const Candidates grid{{0, 4}, 5};
  // An atom between candidates: the nearest one misses by the penalty, and the others by what they do.
  std::vector<double> atom(101, 1.25);
  EXPECT_EQ(scores(grid, Fraction::median(), atom), (std::vector<double>{-50.5e9, -3e9, -50.5e9, -50.5e9, -50.5e9}));
  // One that is beside a quantile: both cells have candidates that miss by little, and the exact error tells which.
  EXPECT_EQ(scores(grid, Fraction::median(), {0.9, 1.1, 1.2, 1.3, 1.6}), (std::vector<double>{-2.5e9, -1.5e9, -2.5e9, -2.5e9, -2.5e9}));
  std::mt19937_64 bits{7};
  int is_exact = 0;
  int is_rounded = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<double> numbers(1 + bits() % 24);
    const auto places = 1 + bits() % 25;
    for (auto& number : numbers) number = static_cast<double>(bits() % places) / 5 - 0.4;
    const Fraction fraction{static_cast<double>(1 + bits() % 9) / 10};
    const auto found = scores(grid, fraction, numbers);
    const auto missed = [&](auto&& shown, std::size_t k) {
      std::int64_t below = 0;
      std::int64_t above = 0;
      for (const double number : numbers) {
        below += shown(number) < grid[k] ? 1 : 0;
        above += shown(number) > grid[k] ? 1 : 0;
      }
      const auto n = static_cast<std::int64_t>(numbers.size());
      return std::max<std::int64_t>({0, below * Fraction::whole - fraction.billionths() * n,
                                     above * Fraction::whole - (Fraction::whole - fraction.billionths()) * n});
    };
    for (std::size_t k = 0; k < 5; ++k) {
      const auto exact = missed([](double x) { return std::clamp(x, 0.0, 4.0); }, k);
      const auto by_rounded = missed([&](double x) { return grid[grid.nearest(x)]; }, k);
      ASSERT_LE(by_rounded, exact);
      ASSERT_EQ(-found[k], static_cast<double>(std::min(exact, by_rounded + 3 * Fraction::whole)));
      is_exact += exact < by_rounded + 3 * Fraction::whole && exact > by_rounded ? 1 : 0;
      is_rounded += exact > by_rounded + 3 * Fraction::whole ? 1 : 0;
    }
  }
  EXPECT_GT(is_exact, 1000);
  EXPECT_GT(is_rounded, 100);
}

TEST(RankCounts, AreDividedWithoutTellingWhatLiesBeside) {
  const std::vector<RankCount> counts{{0, 3, 1}, {2, 4, 6}, {5, 0, 0}};
  const auto [below, above] = halves_at(counts, 1, 3);
  EXPECT_EQ(below, (std::vector<RankCount>{{0, 3, 1}, {0, 3, 0}}));
  EXPECT_EQ(above, (std::vector<RankCount>{{0, 9, 0}, {5, 0, 0}}));
  const auto none = halves_at(counts, 2, 0);
  EXPECT_EQ(none.below, (std::vector<RankCount>{{0, 3, 1}, {2, 4, 6}, {}}));
  EXPECT_EQ(none.above, (std::vector<RankCount>{{0, 5, 0}}));
  EXPECT_EQ(rank_scores(below, {1, 2}), (std::vector<double>{-1, -1}))
      << "of 3.5 that are asked for 3 lie at the first, and 4 below the other";
  // A third of 21 records is 7, of which 4 are at the first candidate; noise may miss what the candidate has.
  EXPECT_EQ(division_target(counts, 1, {1, 3}), 3 * division_parts);
  EXPECT_EQ(division_target(counts, 2, {1, 3}), -9 * division_parts);
  EXPECT_EQ(division_target(counts, 0, {1, 2}), 10 * division_parts + division_parts / 2);
  EXPECT_EQ(divided_records(12, 3 * division_parts + division_parts / 2 - 1), 3U);
  EXPECT_EQ(divided_records(12, 3 * division_parts + division_parts / 2), 4U);
  EXPECT_EQ(divided_records(12, -5 * division_parts), 0U);
  EXPECT_EQ(divided_records(12, std::numeric_limits<std::int64_t>::max()), 12U);
}

/// The scores of neighbours of small data sets: all rows of one unit of `rows` rows come, go or change.
template <class Meet>
void for_neighbours(const Candidates& grid, Fraction fraction, Adjacency adjacency, std::size_t rows, const Meet& meet_scores) {
  // At candidates, and beside the one that others crowd at.
  std::vector<double> places{0.75, 1.25};
  for (std::size_t k = 0; k < grid.count(); ++k) places.push_back(grid[k]);
  std::vector<std::vector<double>> units{{}};
  for (std::size_t size = 1; size <= rows; ++size) {
    for (std::size_t low = 0; low < places.size(); ++low) {
      for (std::size_t high = low; high < places.size(); ++high) {
        std::vector<double> unit(size, places[low]);
        unit.back() = places[high];
        units.push_back(unit);
      }
    }
  }
  const auto meet = [&](const std::vector<double>& others, const std::vector<double>& one, const std::vector<double>& another) {
    auto left = others;
    left.insert(left.end(), one.begin(), one.end());
    auto right = others;
    right.insert(right.end(), another.begin(), another.end());
    meet_scores(scores(grid, fraction, left), scores(grid, fraction, right));
  };
  for (const auto& others : {std::vector<double>{}, std::vector<double>{1}, std::vector<double>{0, 1, 2, 3}, std::vector<double>{2, 2, 2},
                             std::vector<double>(40, 1.0), std::vector<double>(40, 2.0), std::vector<double>(9, 1.25),
                             std::vector<double>{0, 0.75, 0.75, 0.75, 1, 1.25, 1.25, 3},
                             std::vector<double>{0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3}}) {
    for (const auto& one : units) {
      if (adjacency != Adjacency::replace_one) {
        meet(others, {}, one);
      } else {
        for (const auto& another : units) meet(others, one, another);
      }
    }
  }
}

double largest_range(const Candidates& grid, Fraction fraction, Adjacency adjacency, std::size_t rows) {
  double range = 0;
  for_neighbours(grid, fraction, adjacency, rows, [&](const std::vector<double>& a, const std::vector<double>& b) {
    double most = -infinity;
    double least = infinity;
    for (std::size_t k = 0; k < a.size(); ++k) {
      most = std::max(most, b[k] - a[k]);
      least = std::min(least, b[k] - a[k]);
    }
    range = std::max(range, most - least);
  });
  return range;
}

/// exp(score / b), the best one 1.
std::vector<double> rates_of(const std::vector<double>& score, double b) {
  const double best = *std::max_element(score.begin(), score.end());
  std::vector<double> rates;
  for (const double each : score) rates.push_back(std::exp((each - best) / b));
  return rates;
}

std::vector<double> law_of_exponential_mechanism(std::vector<double> rates) {
  const double sum = std::accumulate(rates.begin(), rates.end(), 0.0);
  for (auto& rate : rates) rate /= sum;
  return rates;
}

/// In the order of uniform arrival times t: the integral over t in [0, 1] of r_i times the product over the others of 1 - t r_j, multiplied out.
std::vector<double> law_of_permute_and_flip(const std::vector<double>& rates) {
  std::vector<double> law;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    std::vector<double> product{1};
    for (std::size_t j = 0; j < rates.size(); ++j) {
      if (j == i) continue;
      product.push_back(0);
      for (std::size_t power = product.size() - 1; power > 0; --power) product[power] -= rates[j] * product[power - 1];
    }
    double integral = 0;
    for (std::size_t power = 0; power < product.size(); ++power) integral += product[power] / static_cast<double>(power + 1);
    law.push_back(rates[i] * integral);
  }
  return law;
}

TEST(QuantileMechanism, ChargesForTheRangeOfTheScoresAndNoMore) {
  const Candidates grid{{0, 3}, 4};
  for (const auto adjacency : {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out}) {
    for (const std::uint64_t rows : {1U, 2U, 3U}) {
      for (const double q : {0.1, 0.5, 0.75}) {
        const Fraction fraction{q};
        const UnitOfPrivacy unit = rows == 1 ? UnitOfPrivacy{} : UnitOfPrivacy{"owner", Count{rows}};
        const QuantileMechanism mechanism{fraction, grid, Epsilon{1}, adjacency, unit};
        const double charged = 2 * mechanism.sensitivity(0, {fraction.billionths(), Fraction::whole}).value();
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

// By the exact law of all neighbours, and at the tails of each file beside the exponential mechanism.
TEST(QuantileMechanism, PermuteAndFlipLosesWhatIsChargedAndMissesByLess) {
  const Candidates grid{{0, 3}, 4};
  for (const auto adjacency : {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out}) {
    for (const std::uint64_t rows : {1U, 2U}) {
      for (const double q : {0.1, 0.5, 0.75}) {
        const Fraction fraction{q};
        const UnitOfPrivacy unit = rows == 1 ? UnitOfPrivacy{} : UnitOfPrivacy{"owner", Count{rows}};
        const QuantileMechanism mechanism{fraction, grid, Epsilon{2}, adjacency, unit, 1, QuantileChoice::permute_and_flip};
        EXPECT_EQ(describe(mechanism.event()), "pure(2)");
        const double b = 2 * mechanism.sensitivity(0, {fraction.billionths(), Fraction::whole}).value() / 2;
        double most = 0;
        for_neighbours(grid, fraction, adjacency, rows, [&](const std::vector<double>& one, const std::vector<double>& another) {
          const auto left = law_of_permute_and_flip(rates_of(one, b));
          const auto right = law_of_permute_and_flip(rates_of(another, b));
          for (std::size_t k = 0; k < left.size(); ++k) most = std::max(most, std::abs(std::log(left[k] / right[k])));
          const auto other = law_of_exponential_mechanism(rates_of(one, b));
          for (const double at_most : one) {
            double tail = 0;
            double other_tail = 0;
            for (std::size_t k = 0; k < one.size(); ++k) {
              tail += one[k] <= at_most ? left[k] : 0;
              other_tail += one[k] <= at_most ? other[k] : 0;
            }
            ASSERT_LE(tail, other_tail + 1e-12);
          }
        });
        EXPECT_LE(most, 2 + 1e-12) << q << " " << rows;
        // Four candidates lose more than half of it; a K left out, the smaller of q and 1 - q or half the scale would be seen.
        EXPECT_GE(most, 0.505 * 2) << q << " " << rows;
      }
    }
  }
}

TEST(QuantileMechanism, ChoosesByTheLawOfItsChoice) {
  // 20,000 choices of five candidates against the law: each count lies further off than 5 standard errors once in 1.7 million;
  // a scale 5 % off moves a probability by 0.012, 3.5 of them, and the other law by 0.08.
  const Candidates grid{{0, 4}, 5};
  RankCounts counts{grid};
  for (const double number : {0.0, 0.75, 1.0, 2.25, 4.0, 4.0, 4.0}) counts.add(number);
  const auto rates = rates_of(rank_scores(counts.counts(), {1, 4}), 4 * 2 * 0.75 / 1.2);
  for (const auto choice : {QuantileChoice::exponential_mechanism, QuantileChoice::permute_and_flip}) {
    const QuantileMechanism mechanism{Fraction{0.25}, grid, Epsilon{1.2}, Adjacency::add_or_remove_one, UnitOfPrivacy{}, 1, choice};
    const auto law = choice == QuantileChoice::permute_and_flip ? law_of_permute_and_flip(rates) : law_of_exponential_mechanism(rates);
    constexpr int runs = 20000;
    std::vector<int> chosen(5);
    ReplayBits bits{7};
    for (int run = 0; run < runs; ++run) ++chosen[grid.nearest(one_of(mechanism, counts, bits))];
    for (std::size_t k = 0; k < 5; ++k) EXPECT_NEAR(chosen[k], runs * law[k], 5 * std::sqrt(runs * law[k] * (1 - law[k])));
  }
}

TEST(QuantileMechanism, BoundsTheRankErrorOfTheWorstData) {
  // All beside one candidate in the middle: each other one misses the median by half of the records, and just there the bound is attained.
  constexpr int runs = 20000;
  constexpr double exceeded = 0.1;
  const Candidates grid{{0, 63}, 64};
  const double epsilon = 0.5;
  for (const auto& [choice, is_worst] : std::vector<std::pair<QuantileChoice, bool>>{{QuantileChoice::exponential_mechanism, true},
                                                                                     {QuantileChoice::exponential_mechanism, false},
                                                                                     {QuantileChoice::permute_and_flip, true},
                                                                                     {QuantileChoice::permute_and_flip, false}}) {
    const QuantileMechanism mechanism{Fraction::median(), grid, Epsilon{epsilon}, Adjacency::add_or_remove_one, UnitOfPrivacy{}, 1, choice};
    const double bound = mechanism.rank_error(exceeded);
    EXPECT_NEAR(bound, 3 + 2 * 0.5 / epsilon * std::log(choice == QuantileChoice::permute_and_flip ? 64 / 0.2 : 63 * 0.9 / 0.1), 1e-9);
    RankCounts counts{grid};
    // As many records as make the rank error of the others the least whole number of halves at or above the bound.
    const auto size = is_worst ? static_cast<int>(std::ceil(2 * bound)) : 200;
    for (int i = 0; i < size; ++i) counts.add(is_worst ? 30.25 : (i * 37) % 64 + 0.01 * (i % 100));
    const auto score = rank_scores(rounded(counts.counts()), {500'000'000, Fraction::whole});
    ReplayBits bits{11};
    int missed = 0;
    for (int run = 0; run < runs; ++run) {
      missed += -score[grid.nearest(one_of(mechanism, counts, bits))] / 1e9 >= bound ? 1 : 0;
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
              3 + 8 * std::log(63 * 19.0), 1e-9);
}

TEST(QuantileMechanism, RefusesUnitsOfTooManyRows) {
  EXPECT_TRUE(
      refusal_of([] {
        return QuantileMechanism{Fraction{0.5}, Candidates{{0, 1}, 2}, Epsilon{1}, Adjacency::zero_out, {"owner", Count{1U << 21U}}};
      }).says(ErrorCode::invalid_argument, "2^20"));
}

std::vector<Fraction> fractions_of(const std::vector<double>& numbers) { return {numbers.begin(), numbers.end()}; }

TEST(Fractions, AscendAndTakeALogarithmOfLevels) {
  for (const auto& [count, levels] : std::vector<std::pair<int, std::size_t>>{{1, 1}, {2, 2}, {3, 2}, {4, 3}, {7, 3}, {8, 4}, {255, 8}}) {
    std::vector<Fraction> all;
    for (int k = 1; k <= count; ++k) all.emplace_back(k / 1024.0 < 1e-9 ? 1e-9 : std::round(k / 1024.0 * 1e6) / 1e6);
    EXPECT_EQ(Fractions{all}.levels(), levels) << count;
    EXPECT_EQ(levels, static_cast<std::size_t>(std::ceil(std::log2(count + 1)))) << count;
  }
  for (const auto& bad : {std::vector<double>{}, {0.5, 0.5}, {0.5, 0.25}}) {
    EXPECT_TRUE(refusal_of([&] { return Fractions{fractions_of(bad)}; }).says(ErrorCode::invalid_argument, "fractions of a quantile"));
  }
}

TEST(QuantileMechanism, HalvesFindTheQuantilesWhereNoiseIsLittleAlsoOfTies) {
  // Ties that hold several quantiles, none, and one at an end: all are found but for a cut's part of the records.
  const Candidates grid{{0, 9}, 10};
  const auto asked = fractions_of({0.05, 0.1, 0.3, 0.4, 0.5, 0.8, 0.89, 0.95});
  const QuantileMechanism mechanism{Fractions{asked}, grid, Epsilon{1e4}, Adjacency::replace_one, {}, 2};
  std::vector<RankCounts> groups(2, RankCounts{grid});
  std::vector<double> numbers;
  for (const auto& [number, count] : std::vector<std::pair<double, int>>{{1, 130}, {2, 1}, {3, 419}, {5, 50}, {6, 300}, {9, 100}}) {
    for (int k = 0; k < count; ++k) {
      groups[1].add(number);
      numbers.push_back(number);
    }
  }
  ReplayBits bits{3};
  int levels = 0;
  const auto found = mechanism.release(
      groups, [&] { ++levels; }, bits);
  EXPECT_EQ(levels, 4);
  EXPECT_TRUE(std::is_sorted(found[0].begin(), found[0].end())) << "of no records";
  for (std::size_t k = 0; k < asked.size(); ++k) {
    EXPECT_EQ(found[1][k], numbers[static_cast<std::size_t>(asked[k].value() * 1000 - 0.5)]) << asked[k].value();
  }
}

/// A node on both sides of a neighbouring pair: the same candidates and fractions.
struct Both {
  std::vector<RankCount> left;
  std::vector<RankCount> right;
  std::size_t first;
  std::size_t last;
  std::int64_t lower;
  std::int64_t upper;
};

/// How far the losses of each level move together in one random history, over what is charged: written from the claim, beside the mechanism, but for
/// how a node is divided.
std::vector<double> moved_by_level(const QuantileMechanism& mechanism, const std::vector<Fraction>& asked, std::vector<Both> nodes,
                                   std::mt19937_64& random) {
  std::vector<double> moved;
  for (std::size_t level = 0; !nodes.empty(); ++level) {
    double sum = 0;
    std::vector<Both> next;
    for (const auto& node : nodes) {
      const auto middle = node.first + (node.last - node.first) / 2;
      const Share share{asked[middle].billionths() - node.lower, node.upper - node.lower};
      const double charged = mechanism.sensitivity(level, share).value();
      const auto apart = [&](const std::vector<double>& a, const std::vector<double>& b) {
        double most = 0;
        for (std::size_t k = 0; k < a.size(); ++k) most = std::max(most, std::abs(a[k] - b[k]));
        return most / charged;
      };
      const bool is_divided = node.last - node.first > 1;
      const double of_choice = node.left.size() > 1 ? apart(rank_scores(node.left, share), rank_scores(node.right, share)) : 0;
      if (!is_divided) {
        sum += of_choice;
        continue;
      }
      const std::size_t at = random() % node.left.size();
      // So far apart the loss of the noise of a division is its share of epsilon, a sixteenth.
      const double parts = static_cast<double>(mechanism.division_scale(level, share).value()) * mechanism.epsilon().value() / 16;
      const auto target = division_target(node.left, at, share);
      const double of_division =
          node.left.size() > 1 ? std::abs(static_cast<double>(target - division_target(node.right, at, share))) / parts : 0;
      // Of ranges the division counts twice.
      sum += mechanism.choice() == QuantileChoice::permute_and_flip ? (of_choice * 15 + of_division) / 16
                                                                    : of_choice * 7 / 8 + of_division / 8;
      // Any noise, as the same in both.
      const auto noisy =
          target + (static_cast<std::int64_t>(random() % 33) - 16) * division_parts * static_cast<std::int64_t>(random() % 2);
      const auto left = halves_at(node.left, at, divided_records(node.left[at].all(), noisy));
      const auto right = halves_at(node.right, at, divided_records(node.right[at].all(), noisy));
      const auto chosen = asked[middle].billionths();
      if (node.first < middle) next.push_back({left.below, right.below, node.first, middle, node.lower, chosen});
      if (middle + 1 < node.last) next.push_back({left.above, right.above, middle + 1, node.last, chosen, node.upper});
    }
    moved.push_back(sum);
    nodes = std::move(next);
  }
  return moved;
}

// Small data of a candidate grid of four, in one group or two; one unit of up to K rows comes, goes or changes, also its group. 0.99 of what is charged is
// reached at the first level and at those below, so a level without the second half, or a group that is left, is seen.
TEST(QuantileMechanism, LevelsMoveByWhatIsChargedAndNoLess) {
  std::mt19937_64 random{17};
  constexpr std::size_t candidates = 4;
  const Candidates grid{{0, 3}, candidates};
  for (const auto adjacency : {Adjacency::add_or_remove_one, Adjacency::replace_one}) {
    for (const std::uint64_t rows : {1U, 2U}) {
      for (const std::size_t groups : {1U, 2U}) {
        for (const auto& numbers : {std::vector<double>{0.25, 0.5, 0.75}, {0.1, 0.3, 0.9}, {0.2}}) {
          const auto asked = fractions_of(numbers);
          const UnitOfPrivacy unit = rows == 1 ? UnitOfPrivacy{} : UnitOfPrivacy{"owner", Count{rows}};
          const auto choice = rows == 1 ? QuantileChoice::permute_and_flip : QuantileChoice::exponential_mechanism;
          const QuantileMechanism mechanism{Fractions{asked}, grid, Epsilon{1}, adjacency, unit, groups, choice};
          std::vector<double> reached(mechanism.levels());
          for (int trial = 0; trial < 400; ++trial) {
            std::vector<std::vector<RankCount>> left(groups, std::vector<RankCount>(candidates));
            // At a candidate, or beside it.
            const auto place_at = [&](RankCount& count) -> std::uint64_t& {
              const auto beside = random() % 4;
              return beside == 0 ? count.below : beside == 1 ? count.above : count.equal;
            };
            for (auto& counts : left) {
              for (auto& count : counts) place_at(count) += random() % 3 == 0 ? random() % 12 : 0;
            }
            auto right = left;
            // Rows of a unit lie where others lie, or anywhere.
            const auto place = [&](auto& side) -> std::uint64_t& { return place_at(side[random() % groups][random() % candidates]); };
            const auto& one = place(left);
            for (std::uint64_t row = 0; row < rows; ++row) {
              ++(trial % 2 == 0 ? const_cast<std::uint64_t&>(one) : place(left));
            }
            if (adjacency == Adjacency::replace_one) {
              auto& other = place(right);
              for (std::uint64_t row = 0; row < rows; ++row) ++(trial % 2 == 0 ? other : place(right));
            }
            std::vector<Both> nodes;
            for (std::size_t group = 0; group < groups; ++group) {
              nodes.push_back({left[group], right[group], 0, asked.size(), 0, Fraction::whole});
            }
            const auto moved = moved_by_level(mechanism, asked, nodes, random);
            ASSERT_EQ(moved.size(), mechanism.levels());
            for (std::size_t level = 0; level < moved.size(); ++level) {
              ASSERT_LE(moved[level], 1 + 1e-12) << level << " " << rows << " " << groups;
              reached[level] = std::max(reached[level], moved[level]);
            }
          }
          // Planted: a charge for rows that stay in their group, and one for rows that stay in their half.
          for (std::size_t level = 0; adjacency == Adjacency::replace_one && level < reached.size(); ++level) {
            const QuantileMechanism alone{Fractions{asked}, grid, Epsilon{1}, adjacency, unit, 1};
            const Share share{asked[asked.size() / 2].billionths(), Fraction::whole};
            const double charged = mechanism.sensitivity(level, share).value();
            const bool moves_two = groups == 2 ? numbers.front() != 0.25 : level == 1 && numbers.front() == 0.1;
            EXPECT_EQ(charged > 1.3e9 * static_cast<double>(rows), moves_two) << level << " " << groups;
            if (groups == 2 && moves_two && level == 0) {
              EXPECT_GT(reached[level], alone.sensitivity(level, share).value() / charged);
            }
          }
          for (std::size_t level = 0; level < reached.size(); ++level) {
            EXPECT_GE(reached[level], 0.99) << level << " " << rows << " " << groups << " " << numbers.front() << " "
                                            << static_cast<int>(adjacency);
          }
        }
      }
    }
  }
}

TEST(QuantileMechanism, BoundsTheRankErrorOfEachOfSeveral) {
  // Of three fractions with a tie of a third of the records: each is missed by its own bound in fewer than exceeded of 2,000 releases.
  const Candidates grid{{0, 99}, 100};
  const auto asked = fractions_of({0.25, 0.5, 0.75});
  const QuantileMechanism mechanism{
      Fractions{asked}, grid, Epsilon{1}, Adjacency::add_or_remove_one, UnitOfPrivacy{}, 1, QuantileChoice::permute_and_flip};
  const std::vector<double> bounds{mechanism.rank_error(0.1, 0), mechanism.rank_error(0.1, 1), mechanism.rank_error(0.1, 2)};
  // By hand: the middle is one choice at 15/16 of epsilon; the others are one choice and half of a division, of which its noise of scale 8 matters most.
  EXPECT_NEAR(bounds[1], 3 + 16.0 / 15 * std::log(100 / 0.2), 1e-9);
  EXPECT_DOUBLE_EQ(bounds[0], bounds[2]);
  EXPECT_GT(bounds[0], 3 + std::log(50) + 4 * std::log(10));
  EXPECT_LT(bounds[0], 3 + std::log(50 / 0.05) + 4 * std::log(1 / 0.05));
  RankCounts counts{grid};
  for (int k = 0; k < 400; ++k) counts.add(k < 130 ? 40.25 : k * 37 % 100 + 0.3);
  ReplayBits bits{5};
  std::vector<int> missed(3);
  for (int run = 0; run < 2000; ++run) {
    const auto found = mechanism
                           .release(
                               {&counts, 1}, [] {}, bits)
                           .front();
    ASSERT_TRUE(std::is_sorted(found.begin(), found.end()));
    for (std::size_t k = 0; k < asked.size(); ++k) {
      const auto score = rank_scores(rounded(counts.counts()), {asked[k].billionths(), Fraction::whole});
      missed[k] += -score[grid.nearest(found[k])] / 1e9 >= bounds[k] ? 1 : 0;
    }
  }
  for (const int each : missed) EXPECT_LE(each, 200);
}

// The worst case of a division: all records at one candidate but for its noise. The outer quantiles are then those that the noise decides.
TEST(QuantileMechanism, BoundsTheRankErrorThatADivisionMakes) {
  const Candidates grid{{0, 99}, 100};
  const auto asked = fractions_of({0.25, 0.5, 0.75});
  const QuantileMechanism mechanism{
      Fractions{asked}, grid, Epsilon{4}, Adjacency::replace_one, UnitOfPrivacy{}, 1, QuantileChoice::exponential_mechanism};
  // 3,000 records at 40, and others on both sides that stand for each rank: the median is 40, and the quarter misses by half of the division's error.
  RankCounts counts{grid};
  for (int k = 0; k < 3000; ++k) counts.add(40);
  for (int k = 0; k < 1480; ++k) counts.add(k * 39 / 1480);
  for (int k = 0; k < 1520; ++k) counts.add(41 + k * 58 / 1520);
  const double bound = mechanism.rank_error(0.05, 0);
  ReplayBits bits{6};
  int missed = 0;
  for (int run = 0; run < 1000; ++run) {
    const auto found = mechanism
                           .release(
                               {&counts, 1}, [] {}, bits)
                           .front();
    const auto score = rank_scores(rounded(counts.counts()), {asked[0].billionths(), Fraction::whole});
    missed += -score[grid.nearest(found[0])] / 1e9 >= bound ? 1 : 0;
  }
  EXPECT_LE(missed, 50);
  EXPECT_LT(bound, 60);
}

}  // namespace
}  // namespace surety::statistics::quantile_test
