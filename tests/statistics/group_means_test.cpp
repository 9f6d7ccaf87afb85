// Means of groups that nobody listed: all neighbours of small files, the law of what is shown, and parts.
#include <surety/statistics/group_means.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <surety/statistics/parts.h>

#include <support/refusal.h>
#include <support/small_files.h>

namespace surety::statistics::group_means_test {
namespace {

using mechanisms::ReplayBits;
using reference::refusal_of;

constexpr auto all_adjacencies = {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out};

Statistic means_of(Adjacency adjacency, std::uint64_t rows, std::uint64_t groups, const std::string& by = "t", double chance = 1e-3) {
  return statistic_of(
      GroupMeansOf{.mean = {"x", {-4, 6}},
                   .keys = {.column = by, .most_keys = Count{groups}, .chance = Delta{chance}, .owner = RowOwner{"u", false}}},
      adjacency, rows);
}

void expect_at_most(const Reach& found, const Reach& noise, const std::string& text) {
  EXPECT_LE(found.l1, noise.l1 * (1 + 1e-15)) << text;
  EXPECT_LE(found.l2, noise.l2 * (1 + 1e-15)) << text;
}

// Every sensitivity is reached, so that a smaller one would be found here: one without the second unit's groups, of counts alone or of sums alone.
TEST(GroupMeans, MoveByWhatIsChargedAtMostAndReachIt) {
  SmallFiles files;
  const std::vector<std::string> cells{"9,p", "-9,p", "-9,q", ",p", "9,r", "9,s"};
  const std::vector<std::string> fewer{"9,p", "-9,q", "1,r", ",p"};
  for (const auto adjacency : all_adjacencies) {
    for (const std::uint64_t rows : {1U, 2U, 3U}) {
      for (std::uint64_t groups = 1; groups <= std::min<std::uint64_t>(rows, 2); ++groups) {
        auto statistic = means_of(adjacency, rows, groups);
        const auto text = std::string{name(adjacency)} + " " + std::to_string(rows) + " " + std::to_string(groups);
        const auto noise = charged(statistic);
        const auto found = reach_of(statistic, rows < 3 ? cells : fewer, files);
        expect_at_most(found, noise, text);
        // Of two groups each, that share none, there are four.
        if (rows == 3 && groups == 2 && adjacency == Adjacency::replace_one) continue;
        EXPECT_GE(found.l1, noise.l1 * (1 - 1e-12)) << text;
        EXPECT_GE(found.l2, noise.l2 * (1 - 1e-12)) << text;
        for (const auto missing : {MissingCells::promised_complete, MissingCells::count_as_a_value}) {
          statistic.missing = missing;
          expect_at_most(reach_of(statistic, fewer, files), noise, text);
        }
        // Groups by the owners' own column, which a zeroed row still has.
        auto owners = means_of(adjacency, rows, groups, "u");
        owners.missing = MissingCells::promised_complete;
        expect_at_most(reach_of(owners, fewer, files), noise, text + " by owners");
      }
    }
  }
}

TEST(GroupMeans, CountAUnitOnceByTheMeanOfItsRows) {
  SmallFiles files;
  const auto statistic = means_of(Adjacency::add_or_remove_one, 4, 2);
  const double weight = 2.5;  // a quarter of the width; the middle is 1
  const auto found =
      files.added(statistic, {"a,2,p", "a,5,p", "a,99,p", "b,1,p", "b,3,q", "b,3,r", ",,p", ",0,q", "c,x,p", "d,4,", "a,,q"});
  // a: (1 + 4 + 5) / 3; b: 0 in p, 2 in q, and r is a third group; nobody: -1 in q.
  EXPECT_EQ(found.size(), 4U);
  EXPECT_NEAR(found.at("p sum"), 10.0 / 3, 1e-4);
  EXPECT_NEAR(found.at("p count"), 2 * weight, 1e-4);
  EXPECT_NEAR(found.at("q sum"), 1, 1e-4);
  EXPECT_NEAR(found.at("q count"), 2 * weight, 1e-4);
}

/// P(noise >= t steps) of the integer nearest to the ideal noise.
double reaches(const StatisticNoise& noise, double t, double step) {
  const double least = (t - 0.5) * step;
  if (const auto* const gaussian = std::get_if<mechanisms::Gaussian>(&noise))
    return std::erfc(least / gaussian->sigma() / std::sqrt(2.0)) / 2;
  return std::exp(-least / std::get<mechanisms::Laplace>(noise).scale()) / 2;
}

TEST(GroupMeans, HideAGroupOfOneUnitByTheSmallestThreshold) {
  for (const std::uint64_t groups : {1U, 3U}) {
    for (const double delta : {0.1, 1e-6, 1e-12}) {
      const GroupMeans means{means_of(Adjacency::replace_one, 3, groups, "t", delta)};
      const auto weight = static_cast<double>(means.frame().weight());
      for (const auto& event :
           {gaussian(NoiseMultiplier{3}, Adjacency::replace_one), surety::laplace(NoiseScale{0.7}, Adjacency::replace_one)}) {
        const auto noise = means.noise_for(event);
        const auto threshold = means.threshold(noise);
        const auto shown = [&](std::int64_t at) {
          const double one = reaches(noise, static_cast<double>(at) - weight + 1, means.frame().grid().step());
          return -std::expm1(static_cast<double>(groups) * std::log1p(-one));
        };
        EXPECT_LE(shown(threshold), delta * (1 + 1e-9));
        // Planted: a count of one step in the place of W, and a thousandth of a unit lower.
        EXPECT_GT(shown(threshold - means.frame().weight() / 1000), delta);
        EXPECT_GT(shown(threshold - means.frame().weight() + 1), delta);
      }
    }
  }
}

// 20,000 releases: how often a group of one unit alone is shown, against the exact law within 5 standard errors (once in 1.7 million); a threshold that
// forgets the unit's own count, which 60 standard errors tell from this one, is found.
TEST(GroupMeans, ShowAGroupOfOneUnitAsOftenAsItsLawSays) {
  constexpr int runs = 20000;
  const double delta = 0.05;
  GroupMeans means{means_of(Adjacency::add_or_remove_one, 1, 1, "t", delta)};
  means.add(nullptr, "rare", 6);
  const auto noise = means.noise_for(gaussian(NoiseMultiplier{1}, Adjacency::add_or_remove_one));
  const auto threshold = means.threshold(noise);
  ReplayBits bits{3};
  int shown = 0;
  int forgotten = 0;
  for (int run = 0; run < runs; ++run) {
    const auto found = draw_groups(means, noise, threshold, bits);
    shown += static_cast<int>(found.size());
    forgotten += static_cast<int>(draw_groups(means, noise, threshold - means.frame().weight(), bits).size());
    for (const auto& group : found) EXPECT_GT(group.count, static_cast<double>(threshold) * means.frame().grid().step());
  }
  EXPECT_NEAR(shown, runs * delta, 5 * std::sqrt(runs * delta * (1 - delta)));
  EXPECT_GT(forgotten, runs * delta + 20 * std::sqrt(runs * delta * (1 - delta)));
}

TEST(GroupMeans, OfPartsAreThoseOfTheWhole) {
  const auto statistic = means_of(Adjacency::replace_one, 4, 2);
  const std::vector<std::string> units{"a", "b", "c"};
  GroupMeans whole{statistic};
  GroupMeans first{statistic};
  GroupMeans second{statistic};
  const auto put = [](GroupMeans& means, const std::string& unit, double number) {
    means.add(&unit, unit == "c" ? "q" : "p", number);
    means.add(&unit, "r", number * number);
    means.add(&unit, "r", -number);
  };
  for (const auto& unit : units) {
    for (const double number : {0.3, -7.0, 2.25}) {
      put(whole, unit, number);
      put(unit == "b" ? first : second, unit, number);
    }
  }
  QueryTotal sum = first.total();
  add(sum, QueryTotal{second.total()});
  EXPECT_EQ(std::get<GroupTotal>(sum), whole.total());
  GroupMeans merged{statistic};
  merged.add_total(std::get<GroupTotal>(sum), 27);
  EXPECT_EQ(merged.total(), whole.total());
  for (const auto& wrong : {GroupTotal{{{"p", {1, ExactInteger{1} << 40}}}}, GroupTotal{{{"p", {28, 0}}}}, GroupTotal{{{"", {1, 0}}}},
                            GroupTotal{{{"q", {1, 0}}, {"p", {1, 0}}}}}) {
    EXPECT_TRUE(
        refusal_of([&] { GroupMeans{statistic}.add_total(wrong, 27); }).says(ErrorCode::invalid_argument, "a total is none of groups"));
  }
}

TEST(GroupMeans, CostTheirNoiseAndTheChanceOfAGroup) {
  const auto statistic = means_of(Adjacency::replace_one, 2, 2, "t", 1e-6);
  EXPECT_EQ(describe(event_of(WeightedStatistic{statistic}, NoiseFamily::gaussian, 4)), "compose(gaussian(4), approx(0, 1e-06))");
  EXPECT_EQ(describe(statistic), "mean(x) by discovered t");
  EXPECT_TRUE(refusal_of([] {
                const GroupMeans means{means_of(Adjacency::replace_one, 2, 2, "t", 0)};
                return means.threshold(means.noise_for(surety::laplace(NoiseScale{1}, Adjacency::replace_one)));
              }).says(ErrorCode::unsupported, "delta > 0"));
}

// Given that a group is shown, of counts from half of the threshold on. Planted: an interval about the noise alone, which misses too often near the threshold.
TEST(GroupMeans, HaveIntervalsThatHoldThemGivenThatTheyAreShown) {
  constexpr double confidence = 0.95;
  double least_plain = 1;
  for (const auto& event :
       {surety::laplace(NoiseScale{1}, Adjacency::add_or_remove_one), gaussian(NoiseMultiplier{2}, Adjacency::add_or_remove_one)}) {
    const auto statistic = means_of(Adjacency::add_or_remove_one, 1, 1, "t", 0.01);
    const GroupMeans none{statistic};
    const auto noise = none.noise_for(event);
    const auto threshold = none.threshold(noise);
    const auto plain = reach_of(none.frame(), noise, confidence);
    const double units_of_threshold = none.units(static_cast<double>(threshold));
    for (const double share : {0.5, 1.0, 3.0}) {
      const auto units = static_cast<int>(std::max(1.0, std::round(share * units_of_threshold)));
      for (const double number : {5.5, 1.0}) {
        GroupMeans means{statistic};
        for (int unit = 0; unit < units; ++unit) means.add(nullptr, "p", number);
        GroupMeanIntervals intervals{means, noise, threshold, confidence};
        ReplayBits bits{9};
        int shown = 0;
        int held = 0;
        int held_by_plain = 0;
        int counts_held = 0;
        for (int run = 0; run < 100000 && shown < 250; ++run) {
          for (const auto& group : draw_groups(means, noise, threshold, bits)) {
            ++shown;
            const auto [mean, count] = intervals.of(group);
            held += mean.lower <= number + 1e-5 && number - 1e-5 <= mean.upper ? 1 : 0;
            counts_held += count.lower <= units && units <= count.upper ? 1 : 0;
            const auto alone = estimates_of(means.frame(), {group.sum, group.count}, plain, 0).front();
            held_by_plain += alone.lower <= number + 1e-5 && number - 1e-5 <= alone.upper ? 1 : 0;
            EXPECT_LE(mean.lower, mean.value);
            EXPECT_GE(mean.upper, mean.value);
          }
        }
        ASSERT_GE(shown, 100) << share;
        const double error = std::sqrt(0.05 * 0.95 / shown);
        EXPECT_GE(held, shown * (0.95 - 3 * error)) << share << " " << number << " of " << shown;
        EXPECT_GE(counts_held, shown * (0.95 - 3 * error)) << share << " " << number;
        least_plain = std::min(least_plain, static_cast<double>(held_by_plain) / shown);
      }
    }
  }
  EXPECT_LT(least_plain, 0.9);
}

}  // namespace
}  // namespace surety::statistics::group_means_test
