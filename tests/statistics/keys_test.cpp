#include <surety/statistics/keys.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <support/refusal.h>

namespace surety::statistics::keys_test {
namespace {

using mechanisms::ReplayBits;
using reference::refusal_of;

Event gaussian_of(double multiplier, Adjacency adjacency = Adjacency::add_or_remove_one) {
  return gaussian(NoiseMultiplier{multiplier}, adjacency);
}
Event laplace_of(double scale, Adjacency adjacency = Adjacency::add_or_remove_one) { return surety::laplace(NoiseScale{scale}, adjacency); }

TEST(KeyCounts, CountsEachUnitOnceForAKeyAndForTheFirstKeysOnly) {
  KeyCounts counts{Count{2}, Adjacency::add_or_remove_one};
  counts.add("ann", "red");
  counts.add("ann", "red");
  counts.add("ann", "blue");
  counts.add("ann", "green");  // the third key
  counts.add("bob", "green");
  counts.add("bob", "red");
  counts.add("bob", "");
  counts.add("bob", std::string(KeyCounts::longest_key + 1, 'x'));
  EXPECT_EQ(counts.keys(), (std::vector<std::string>{"blue", "green", "red"}));
  EXPECT_EQ(counts.counts(counts.keys()).steps, (std::vector<std::int64_t>{1, 1, 2}));
  EXPECT_EQ(counts.l1_sensitivity().value(), 2);
  EXPECT_NEAR(counts.l2_sensitivity().value(), std::sqrt(2.0), 1e-15);
  const KeyCounts replaced{Count{2}, Adjacency::replace_one};
  EXPECT_EQ(replaced.l1_sensitivity().value(), 4);
  EXPECT_EQ(replaced.l2_sensitivity().value(), 2);
}

// All neighbours of a small world: a unit with any up to three records over four keys comes, at any place, or takes the place of another.
TEST(KeyCounts, MoveByTheSensitivityAtMostAndReachIt) {
  const std::vector<std::string> names{"a", "b", "c", "d"};
  std::vector<std::vector<std::string>> units{{}};
  for (const auto& x : names) {
    units.push_back({x});
    for (const auto& y : names) {
      units.push_back({x, y});
      for (const auto& z : names) units.push_back({x, y, z});
    }
  }
  for (const std::uint64_t most : {1U, 2U}) {
    const auto exact = [&](const std::vector<std::string>& unit, bool first) {
      KeyCounts counts{Count{most}, Adjacency::replace_one};
      const auto add = [&] {
        for (const auto& key : unit) counts.add("one", key);
      };
      if (first) add();
      counts.add("other", "b");
      counts.add("other", "c");
      if (!first) add();
      return counts.counts(names).steps;
    };
    const auto moved = [&](const std::vector<std::int64_t>& left, const std::vector<std::int64_t>& right) {
      double l1 = 0;
      double squares = 0;
      for (std::size_t i = 0; i < left.size(); ++i) {
        const auto change = static_cast<double>(std::abs(left[i] - right[i]));
        l1 += change;
        squares += change * change;
      }
      return std::pair{l1, std::sqrt(squares)};
    };
    for (const auto adjacency : {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out}) {
      const KeyCounts counts{Count{most}, adjacency};
      double l1 = 0;
      double l2 = 0;
      for (const auto& one : units) {
        for (const auto& another : units) {
          if (adjacency != Adjacency::replace_one && !another.empty()) continue;
          const auto found = moved(exact(one, true), exact(another, false));
          l1 = std::max(l1, found.first);
          l2 = std::max(l2, found.second);
        }
      }
      EXPECT_EQ(l1, counts.l1_sensitivity().value());
      EXPECT_NEAR(l2, counts.l2_sensitivity().value(), 1e-12);
      EXPECT_LE(l2, counts.l2_sensitivity().value());
    }
  }
}

/// P(noise >= t) of the integer nearest to the ideal noise.
double reaches(const StatisticNoise& noise, double t) {
  if (const auto* const gaussian = std::get_if<mechanisms::Gaussian>(&noise))
    return std::erfc((t - 0.5) / gaussian->sigma() / std::sqrt(2.0)) / 2;
  return std::exp(-(t - 0.5) / std::get<mechanisms::Laplace>(noise).scale()) / 2;
}

TEST(KeyThreshold, IsTheSmallestThatKeepsAUnitsOwnKeysHidden) {
  for (const std::uint64_t most : {1U, 3U, 1000U}) {
    const KeyCounts counts{Count{most}, Adjacency::add_or_remove_one};
    for (const auto& noise : {counts.noise_for(gaussian_of(0.3)), counts.noise_for(gaussian_of(5)), counts.noise_for(laplace_of(2))}) {
      for (const double delta : {0.1, 1e-6, 1e-12}) {
        const auto threshold = key_threshold(noise, Count{most}, Delta{delta});
        const auto appears = [&](std::int64_t at) {
          return -std::expm1(static_cast<double>(most) * std::log1p(-reaches(noise, static_cast<double>(at))));
        };
        EXPECT_LE(appears(threshold), delta * (1 + 1e-12));
        // Planted: one lower lets too much through.
        if (threshold > 1) {
          EXPECT_GT(appears(threshold - 1), delta);
        }
        EXPECT_NEAR(appearance_probability(noise, Count{most}, threshold), appears(threshold), 1e-9 * delta);
        EXPECT_GE(appearance_probability(noise, Count{most}, threshold), appears(threshold) * (1 - 1e-9));
      }
    }
  }
  EXPECT_TRUE(refusal_of([] {
                const KeyCounts counts{Count{1}, Adjacency::zero_out};
                return key_threshold(counts.noise_for(laplace_of(1, Adjacency::zero_out)), Count{1}, Delta{0});
              }).says(ErrorCode::unsupported, "delta > 0"));
}

// Of all releases in which a key of this count is shown, by the law of the noise. Intervals that know nothing of the threshold hold it in .05 of them.
TEST(KeyIntervals, HoldTheCountsOfKeysThatAreShown) {
  const KeyCounts counts{Count{2}, Adjacency::add_or_remove_one};
  double least_of_plain = 1;
  for (const auto& noise : {counts.noise_for(laplace_of(2)), counts.noise_for(laplace_of(0.4)), counts.noise_for(gaussian_of(3))}) {
    for (const double confidence : {0.5, 0.95, 0.999}) {
      const auto threshold = key_threshold(noise, Count{2}, Delta{1e-6});
      const double reach = quantile(noise, 1 - confidence);
      KeyIntervals intervals{noise, threshold, confidence};
      // P(noise >= steps)
      const auto at_least = [&](double steps) { return steps > 0 ? reaches(noise, steps) : 1 - reaches(noise, 1 - steps); };
      for (std::int64_t count = 1; count < 4 * threshold; count += 1 + threshold / 9) {
        const auto n = static_cast<double>(count);
        double held = 0;
        double held_by_plain = 0;
        const double passed = at_least(static_cast<double>(threshold) + 1 - n);
        for (std::int64_t shown = threshold + 1; shown < 9 * threshold; ++shown) {
          const auto v = static_cast<double>(shown);
          const double share = (at_least(v - n) - at_least(v + 1 - n)) / passed;
          const auto [lower, upper] = intervals.of(v);
          EXPECT_GE(lower, 1);
          EXPECT_LE(lower, v);
          EXPECT_EQ(upper, v + reach);
          if (lower <= n && n <= upper) held += share;
          if (std::abs(v - n) <= reach) held_by_plain += share;
        }
        EXPECT_GE(held, confidence - 1e-9) << count << " of " << threshold;
        // Far above the threshold they are those of the noise.
        if (n > static_cast<double>(threshold) + 2 * reach + 1) {
          EXPECT_NEAR(held, held_by_plain, 1e-12);
        }
        least_of_plain = std::min(least_of_plain, held_by_plain);
      }
    }
  }
  EXPECT_LT(least_of_plain, 0.05);
}

// Where each unit counts for seven steps.
TEST(KeyIntervals, HoldTheUnitsOfGroupsThatAreShown) {
  constexpr std::int64_t one = 7;
  const KeyCounts counts{Count{1}, Adjacency::add_or_remove_one};
  for (const auto& noise : {counts.noise_for(laplace_of(9)), counts.noise_for(gaussian_of(12))}) {
    const auto threshold = key_threshold(noise, Count{1}, Delta{1e-4}) + one - 1;
    KeyIntervals intervals{noise, threshold, 0.9, one};
    const auto at_least = [&](double steps) { return steps > 0 ? reaches(noise, steps) : 1 - reaches(noise, 1 - steps); };
    for (std::int64_t units = 1; units * one < 3 * threshold; ++units) {
      const auto steps = static_cast<double>(units * one);
      const double passed = at_least(static_cast<double>(threshold) + 1 - steps);
      double held = 0;
      for (std::int64_t shown = threshold + 1; shown < 8 * threshold; ++shown) {
        const auto v = static_cast<double>(shown);
        const auto [lower, upper] = intervals.of(v);
        EXPECT_EQ(lower, std::floor(lower));
        EXPECT_EQ(upper, std::floor(upper));
        if (lower <= static_cast<double>(units) && static_cast<double>(units) <= upper) {
          held += (at_least(v - steps) - at_least(v + 1 - steps)) / passed;
        }
      }
      EXPECT_GE(held, 0.9 - 1e-9) << units << " of " << threshold;
    }
  }
}

// The law does not depend on a count below the threshold where the noise is Laplace, so one number is enough to rule all of them out or none.
TEST(KeyIntervals, BeginAtOneNearTheThresholdOfLaplaceNoise) {
  const KeyCounts counts{Count{1}, Adjacency::add_or_remove_one};
  const auto noise = counts.noise_for(laplace_of(2));
  const auto threshold = key_threshold(noise, Count{1}, Delta{1e-6});
  KeyIntervals intervals{noise, threshold, 0.95};
  const auto lower = [&](std::int64_t above) { return intervals.of(static_cast<double>(threshold + above)).lower; };
  // exp(-(k - 1) / 2) <= .05 from k = 7 on.
  EXPECT_EQ(lower(1), 1);
  EXPECT_EQ(lower(6), 1);
  EXPECT_GT(lower(7), static_cast<double>(threshold) - 8);
}

// 20,000 releases: how often a key of one unit alone appears, and how often one of many units, against the exact law within 5 standard errors
// (once in 1.7 million); a threshold one lower, which 20 standard errors tell from this one, is found.
TEST(ReleaseKeys, ShowsAKeyOfOneUnitAsOftenAsItsLawSays) {
  constexpr int runs = 20000;
  const Delta delta{0.05};
  KeyCounts counts{Count{2}, Adjacency::add_or_remove_one};
  counts.add("ann", "rare");
  counts.add("ann", "also rare");
  for (int i = 0; i < 7; ++i) counts.add("unit " + std::to_string(i), "common");
  const auto noise = counts.noise_for(laplace_of(1));
  const auto threshold = key_threshold(noise, Count{2}, delta);
  ReplayBits bits{3};
  int rare = 0;
  int common = 0;
  for (int run = 0; run < runs; ++run) {
    bool one_is_rare = false;
    for (const auto& released : draw_keys(counts, noise, threshold, bits)) {
      EXPECT_GT(released.count, static_cast<double>(threshold));
      (released.key == "common" ? common : rare) += released.key == "common" || !one_is_rare ? 1 : 0;
      one_is_rare = one_is_rare || released.key != "common";
    }
  }
  const auto expect = [&](int found, double p) { EXPECT_NEAR(found, runs * p, 5 * std::sqrt(runs * p * (1 - p))); };
  const double alone = reaches(noise, static_cast<double>(threshold));
  expect(rare, 1 - (1 - alone) * (1 - alone));
  expect(common, reaches(noise, static_cast<double>(threshold) - 6));
  EXPECT_LE(1 - (1 - alone) * (1 - alone), delta.value());
  const double lower = reaches(noise, static_cast<double>(threshold) - 1);
  EXPECT_GT(1 - (1 - lower) * (1 - lower), delta.value());
}

// The whole release against the event, by brute force over outputs: which of two keys appear and with which counts. The neighbour has a unit
// of one key more. In both directions delta(epsilon) of the two laws is at most that of the event (closed forms of Laplace), and an event
// without its approx(0, delta) would be broken.
TEST(ReleaseKeys, CostsNoMoreThanItsEvent) {
  const double scale = 1.5;
  const KeyCounts counts{Count{2}, Adjacency::add_or_remove_one};
  const auto noise = counts.noise_for(laplace_of(scale));  // b = 3
  const double b = 3;
  const Delta delta{0.01};
  const auto threshold = key_threshold(noise, Count{2}, delta);
  const auto exactly_k = [&](double k) {  // P(noise = k)
    const auto at_least = [&](double t) { return t > 0 ? std::exp(-(t - 0.5) / b) / 2 : 1 - std::exp((t - 0.5) / b) / 2; };
    return at_least(k) - at_least(k + 1);
  };
  // Laws of one key of exact count c (0: it does not occur): index 0 is hidden, then counts threshold + 1, ...
  const int outputs = 120;
  const auto law = [&](int c) {
    std::vector<double> result(static_cast<std::size_t>(outputs) + 2, 0.0);
    double rest = 1;
    for (int i = 1; i <= outputs && c > 0; ++i)
      rest -= result[static_cast<std::size_t>(i)] = exactly_k(static_cast<double>(threshold) + i - c);
    if (c > 0) {
      const double beyond = std::exp(-(static_cast<double>(threshold) + outputs + 1 - c - 0.5) / b) / 2;
      result.back() = beyond;
      rest -= beyond;
    }
    result[0] = rest;
    return result;
  };
  // Without the unit: counts (s, 0). With it: (s + 1, 1).
  for (const int s : {1, 5, 20}) {
    const auto before = law(s);
    const auto after = law(s + 1);
    const auto own = law(1);
    for (const double epsilon : {0.0, 0.3, 0.6}) {
      double up = 0;
      double down = 0;
      for (std::size_t i = 0; i < after.size(); ++i) {
        for (std::size_t j = 0; j < own.size(); ++j) {
          const double with = after[i] * own[j];
          const double without = j == 0 ? before[i] : 0;
          up += std::max(0.0, with - std::exp(epsilon) * without);
          down += std::max(0.0, without - std::exp(epsilon) * with);
        }
      }
      // laplace(scale) on one key of l1 sensitivity 1 out of 2: delta is at most 1 - exp((epsilon - 1 / scale) / 2).
      const double noise_alone = std::max(0.0, 1 - std::exp((epsilon - 1 / scale) / 2));
      const double event = delta.value() + (1 - delta.value()) * noise_alone;
      EXPECT_LE(up, event);
      EXPECT_LE(down, event);
      if (epsilon >= 0.6) {
        EXPECT_GT(up, (1 - std::exp(std::min(0.0, (epsilon - 1 / b) / 2))) + 0.5 * appearance_probability(noise, Count{1}, threshold));
      }
    }
  }
  EXPECT_EQ(describe(event_of_keys(gaussian_of(4), Delta{1e-6})), "compose(gaussian(4), approx(0, 1e-06))");
  EXPECT_TRUE(refusal_of([] { return event_of_keys(gaussian_of(4), Delta{0}); }).says(ErrorCode::unsupported, "delta > 0"));
}

TEST(ReleaseKeys, ReleasesManyKeysSorted) {
  KeyCounts counts{Count{1}, Adjacency::add_or_remove_one};
  for (int i = 0; i < 2000; ++i) {
    for (int j = 0; j < (i % 100 == 0 ? 200 : 1); ++j) counts.add("key " + std::to_string(i));
  }
  EXPECT_EQ(counts.size(), 2000U);
  ReplayBits bits{1};
  const auto noise = counts.noise_for(gaussian_of(2));
  const auto released = draw_keys(counts, noise, key_threshold(noise, Count{1}, Delta{1e-9}), bits);
  EXPECT_EQ(released.size(), 20U);
  EXPECT_TRUE(std::is_sorted(released.begin(), released.end(), [](const auto& a, const auto& b) { return a.key < b.key; }));
}

}  // namespace
}  // namespace surety::statistics::keys_test
