// Lower bounds on what counts of units, means of groups that nobody listed, clipped sums and quantiles really cost, from 2,000 runs on each of two files that are as
// far apart as can be. Each event was chosen beforehand; a bound is wrong with probability at most 2e-3, on runs that are always the same.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <surety/accounting/answers/best.h>
#include <surety/statistics/parts.h>
#include <surety/statistics/release.h>

#include <support/empirical_epsilon.h>
#include <support/small_files.h>

namespace surety::statistics::people_attack_test {
namespace {

using mechanisms::ReplayBits;
using Rows = std::vector<std::string>;
using Coordinates = std::vector<double>;

constexpr std::uint64_t runs = 2000;
constexpr double alpha = 1e-3;
const RowOwner owner{"u", false};

/// How often the event happens among releases.
template <class Release, class IsHit>
reference::Hits hits(const Release& release, const IsHit& is_hit, std::uint64_t seed, std::uint64_t times = runs) {
  ReplayBits bits{seed};
  reference::Hits found{0, times};
  for (std::uint64_t run = 0; run < times; ++run) found.hits += is_hit(release(bits)) ? 1 : 0;
  return found;
}

/// The exact sums of a file, with this noise on them.
auto release_of(const Statistic& statistic, const Rows& rows, const StatisticNoise& noise, SmallFiles& files) {
  GridVector exact{.grid = grid_for(statistic, NoiseMultiplier{1}), .steps = {}};
  for (const auto& [name, value] : files.added(statistic, rows))
    exact.steps.push_back(static_cast<std::int64_t>(value * exact.grid.steps_per_unit()));
  return
      [exact, noise](ReplayBits& bits) { return std::visit([&](const auto& mechanism) { return mechanism.release(exact, bits); }, noise); };
}

StatisticNoise laplace_for(const Statistic& statistic, double scale) {
  return noise_for(StatisticSum{statistic, grid_for(statistic, NoiseMultiplier{1})},
                   surety::laplace(NoiseScale{scale}, statistic.adjacency));
}

// One who was in p and is in q moves both.
TEST(PeopleAttack, SeesWhatCountsOfUnitsByGroupsCost) {
  SmallFiles files;
  auto statistic = statistic_of(UnitsOf{owner}, Adjacency::replace_one, 3);
  statistic.by = Groups{"t", data::Categories{{"p", "q"}}};
  const Rows first{"a,1,p", "b,1,q", "u,1,p", "u,2,p", "u,9,p"};
  const Rows second{"a,1,p", "b,1,q", "u,1,q", "u,2,q", "u,9,q"};
  const auto seen = [&](double scale) {
    const auto noise = laplace_for(statistic, scale);
    const auto is_hit = [](const Coordinates& counts) {
      return counts.size() == 2 ? counts[0] >= 2 && counts[1] <= 1 : counts[0] >= 2 && counts[1] >= 1 && counts[2] <= 1 && counts[3] <= 0;
    };
    const std::uint64_t times = statistic.by->beside.empty() ? runs : 10 * runs;
    return reference::empirical_epsilon(hits(release_of(statistic, first, noise, files), is_hit, 1, times),
                                        hits(release_of(statistic, second, noise, files), is_hit, 2, times), 0, alpha);
  };
  EXPECT_LE(seen(1), 1);
  EXPECT_GE(seen(1), 0.5);
  EXPECT_GT(seen(0.5), 1);  // planted: a sensitivity of 1
  // By pairs, in two of which the rows of u are: which 20,000 runs see, at no more time than 2,000 of others.
  statistic.by->beside.push_back({"x", Bins{{0, 16}, 2}});
  EXPECT_LE(seen(1), 1);
  EXPECT_GE(seen(1), 1.0 / 3);
  EXPECT_GT(seen(0.5), 1);  // planted: the sensitivity of the first column alone
}

// One whose four rows are in two groups, of which two count in each, comes: 2 in both, and not 4.
TEST(PeopleAttack, SeesWhatCappedRowsOfGroupsCost) {
  SmallFiles files;
  auto statistic = statistic_of(CountOf{}, Adjacency::add_or_remove_one, 4);
  statistic.by = Groups{"t", data::Categories{{"p", "q"}}};
  statistic.group_cap = GroupCap{Count{2}, owner};
  const Rows without{"a,1,p", "b,1,q"};
  const Rows with{"a,1,p", "b,1,q", "u,1,p", "u,2,p", "u,9,q", "u,8,q"};
  const Rows uncapped{"a,1,p", "b,1,q", "u,1,p", "u,2,p", "u,9,p", "u,8,p"};
  const auto seen = [&](double scale, const Statistic& asked, const Rows& rows, double least, double least_of_second) {
    const auto noise = laplace_for(statistic, scale);
    const auto is_hit = [&](const Coordinates& counts) { return counts[0] >= least && counts[1] >= least_of_second; };
    return reference::empirical_epsilon(hits(release_of(asked, rows, noise, files), is_hit, 1),
                                        hits(release_of(asked, without, noise, files), is_hit, 2), 0, alpha);
  };
  EXPECT_LE(seen(1, statistic, with, 3, 3), 1);
  EXPECT_GE(seen(1, statistic, with, 3, 3), 1.0 / 3);
  EXPECT_GT(seen(0.25, statistic, with, 3, 3), 1);  // planted: a sensitivity of 1
  // Planted: the noise of the cap in l1, of one group, without the cap.
  EXPECT_LE(seen(0.5, statistic, uncapped, 3, -100), 1);
  auto forgotten = statistic;
  forgotten.group_cap = std::nullopt;
  EXPECT_GT(seen(0.5, forgotten, uncapped, 5, -100), 1);
}

// One who holds a key that three hold.
TEST(PeopleAttack, SeesWhatKeysWithoutCountsCost) {
  const double delta = 0.01;
  const auto seen = [&](double epsilon, std::uint64_t others) {
    KeySelection rule{Epsilon{epsilon}, Delta{delta}};
    const auto shown = [&](std::uint64_t count) { return [&rule, count](ReplayBits& bits) { return rule.draw(count, bits); }; };
    const auto is_hit = [](bool is_shown) { return is_shown; };
    return reference::empirical_epsilon(hits(shown(others + 1), is_hit, 1), hits(shown(others), is_hit, 2), delta, alpha);
  };
  EXPECT_LE(seen(1, 3), 1);
  EXPECT_GE(seen(1, 3), 1.0 / 3);
  EXPECT_GT(seen(2, 2), 1);  // planted: the epsilon of two keys
}

// One who adds the upper bound, with all rows, gives way to one who adds the lower one.
TEST(PeopleAttack, SeesWhatClippedSumsCost) {
  SmallFiles files;
  const auto statistic = statistic_of(UnitSumOf{"x", {-2, 6}, owner}, Adjacency::replace_one, 3);
  const Rows first{"a,1,p", "u,3,p", "u,99,p", "u,9,p"};
  const Rows second{"a,1,p", "u,-3,q"};
  const auto seen = [&](double scale) {
    const auto noise = laplace_for(statistic, scale);
    const auto is_hit = [](const Coordinates& sum) { return sum[0] >= 7; };
    return reference::empirical_epsilon(hits(release_of(statistic, first, noise, files), is_hit, 1),
                                        hits(release_of(statistic, second, noise, files), is_hit, 2), 0, alpha);
  };
  EXPECT_LE(seen(1), 1);
  EXPECT_GE(seen(1), 0.5);
  EXPECT_GT(seen(6.0 / 8), 1);  // planted: the larger magnitude in the place of the distance
}

// One comes whose rows are at the upper bound in two groups that are shown; the event is how far both have moved, in the direction of that.
TEST(PeopleAttack, SeesWhatMeansOfDiscoveredGroupsCost) {
  const double delta = 0.01;
  const auto statistic = statistic_of(
      GroupMeansOf{.mean = {"x", {-4, 6}}, .keys = {.column = "t", .most_keys = Count{2}, .chance = Delta{delta / 2}, .owner = owner}},
      Adjacency::add_or_remove_one, 2);
  const auto means_with = [&](bool has_canary) {
    GroupMeans means{statistic};
    for (int k = 0; k < 40; ++k) {
      const auto unit = std::to_string(k);
      for (const char* const group : {"p", "q"}) means.add(&unit, group, k % 10);
    }
    const std::string canary = "u";
    for (const char* const group : {"p", "q"}) {
      if (has_canary) means.add(&canary, group, 6);
    }
    return means;
  };
  const auto without = means_with(false);
  const auto with = means_with(true);
  // The direction (M, W) = (5, 2.5) in both, and what nobody's noise moves it to.
  const auto projected = [](const std::vector<ShownGroup>& shown) {
    double sum = 0;
    for (const auto& group : shown) sum += 5 * group.sum + 2.5 * group.count;
    return sum;
  };
  double base = 0;
  for (const auto& [key, sum] : without.total().counts) {
    base += 5 * static_cast<double>(sum.steps) * without.frame().grid().step() + 2.5 * 2.5 * static_cast<double>(sum.units);
  }
  const double moved = 2 * (5 * 5 + 2.5 * 2.5);
  const auto seen = [&](double multiplier, double far) {
    const auto noise = without.noise_for(gaussian(NoiseMultiplier{multiplier}, statistic.adjacency));
    const auto threshold = without.threshold(noise);
    const auto is_hit = [&](const std::vector<ShownGroup>& shown) { return shown.size() == 2 && projected(shown) > base + far * moved; };
    const auto release = [&](const GroupMeans& means) {
      return [&](ReplayBits& bits) { return draw_groups(means, noise, threshold, bits); };
    };
    return reference::empirical_epsilon(hits(release(with), is_hit, 1), hits(release(without), is_hit, 2), delta, alpha);
  };
  const double cost = accounting::best_epsilon(event_of(WeightedStatistic{statistic}, NoiseFamily::gaussian, 1), Delta{delta}).value.upper;
  EXPECT_LE(seen(1, 1.5), cost);
  EXPECT_GE(seen(1, 1.5), cost / 3);
  EXPECT_GT(seen(0.5, 1.25), cost);  // planted: half the noise
}

/// The numbers chosen in each group, of groups of numbers, one behind the other.
auto quantiles_of(const QuantileMechanism& mechanism, const std::vector<std::vector<double>>& groups) {
  std::vector<RankCounts> counts;
  for (const auto& numbers : groups) {
    counts.emplace_back(Candidates{{0, 2}, 3});
    for (const double number : numbers) counts.back().add(number);
  }
  return [&mechanism, counts](ReplayBits& bits) {
    Coordinates all;
    for (const auto& chosen : mechanism.release(
             counts, [] {}, bits))
      all.insert(all.end(), chosen.begin(), chosen.end());
    return all;
  };
}

constexpr std::array choices{QuantileChoice::exponential_mechanism, QuantileChoice::permute_and_flip};

// A row that was among the least is among the largest: it moves a half of each level.
TEST(PeopleAttack, SeesWhatLevelsOfQuantilesCost) {
  const Fractions asked{{Fraction{0.25}, Fraction{0.5}, Fraction{0.75}}};
  for (const auto choice : choices) {
    const double epsilon = 4;
    const QuantileMechanism mechanism{asked, Candidates{{0, 2}, 3}, Epsilon{epsilon}, Adjacency::replace_one, UnitOfPrivacy{}, 1, choice};
    const auto is_hit = [](const Coordinates& chosen) { return chosen == Coordinates{0, 0, 0}; };
    const double seen = reference::empirical_epsilon(hits(quantiles_of(mechanism, {{0, 0, 1, 2}}), is_hit, 1, 10 * runs),
                                                     hits(quantiles_of(mechanism, {{0, 1, 2, 2}}), is_hit, 2, 10 * runs), 0, alpha);
    constexpr double levels = 2;
    EXPECT_LE(seen, levels * epsilon);
    EXPECT_GE(seen, levels * epsilon / 3);
  }
}

// A row that changes its group moves two choices; which 20,000 runs see, at no more time than 2,000 of others.
TEST(PeopleAttack, SeesWhatChangingTheGroupOfAQuantileCosts) {
  const double epsilon = 8;
  for (const auto choice : choices) {
    const QuantileMechanism mechanism{
        Fraction::median(), Candidates{{0, 2}, 3}, Epsilon{epsilon}, Adjacency::replace_one, UnitOfPrivacy{}, 2, choice};
    const auto is_hit = [](const Coordinates& chosen) { return chosen == Coordinates{0, 2}; };
    const double seen = reference::empirical_epsilon(hits(quantiles_of(mechanism, {{0, 1}, {1, 2}}), is_hit, 1, 10 * runs),
                                                     hits(quantiles_of(mechanism, {{1}, {0, 1, 2}}), is_hit, 2, 10 * runs), 0, alpha);
    EXPECT_LE(seen, epsilon);
    EXPECT_GE(seen, epsilon / 3);
  }
}

}  // namespace
}  // namespace surety::statistics::people_attack_test
