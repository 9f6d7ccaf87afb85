// Means of groups that nobody listed, with the groups themselves in one charge: the noisy count that shows a group is the denominator of its mean.
//
// A unit counts once in a group in which it has a used row with a number, and in at most l groups: the first ones of its own rows. In each it adds
// two integers, in steps of a public grid:
//
//   sum     the mean of its own numbers there, each clamped to the bounds and taken from their middle, rounded to the nearest step: at most M in magnitude
//   count   W: M under replace-one, else half of it
//
// Noise is added to both, and a group whose noisy count exceeds a threshold is released with the mean sum / count, which is one over units: who has many rows
// in a group weighs no more than who has one. What one unit moves, and why a group of one unit alone stays hidden, is proved in docs/proofs/keys.md#means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <surety/statistics/estimates.h>
#include <surety/statistics/integer_sum.h>
#include <surety/statistics/keys.h>
#include <surety/statistics/noise.h>
#include <surety/statistics/totals.h>

namespace surety::statistics {

/// Sums of groups, with noise still to come.
class GroupMeans {
 public:
  /// Over no records. \throws Error{invalid_argument} as `Statistic::validate`. \pre `statistic` is of means of groups that nobody listed
  explicit GroupMeans(const Statistic& statistic);

  /// One record that meets the condition, of a unit that is any text which tells units apart; without one it is a unit of its own. A text that is no key
  /// (keys.h) is in no group. O(most_keys), and memory for each unit and group.
  void add(const std::string* unit, const std::string& key, double number);

  /// The sums, and those of at most `records` records of other units beside them. \throws Error{invalid_argument} for what no such records have.
  [[nodiscard]] GroupTotal total() const;
  void add_total(const GroupTotal& total, std::uint64_t records);

  /// Of sums and counts together, in the unit of the numbers and rounded up.
  [[nodiscard]] L1Sensitivity l1_sensitivity() const;
  [[nodiscard]] L2Sensitivity l2_sensitivity() const;
  /// laplace(b) or gaussian(z) on both. \throws Error{unsupported} for another event; Error{invalid_argument} where it does not fit.
  [[nodiscard]] StatisticNoise noise_for(const Event& event) const;
  /// The smallest count, in steps of the grid, that no group of one unit alone exceeds but with the chance of the statistic.
  /// \throws as `key_threshold`
  [[nodiscard]] std::int64_t threshold(const StatisticNoise& noise) const;
  /// A number of steps of a count as a number of units.
  [[nodiscard]] double units(double steps) const { return steps / static_cast<double>(frame_.weight()); }

  [[nodiscard]] const Statistic& statistic() const noexcept { return statistic_; }
  /// A mean of one group, with its grid, its middle, its weight and its bounds.
  [[nodiscard]] const StatisticSum& frame() const noexcept { return frame_; }

 private:
  /// What a unit has in a group so far.
  struct Own {
    std::size_t group;
    ExactInteger steps;
    std::uint64_t numbers;
  };
  [[nodiscard]] double norm(bool squared) const;
  [[nodiscard]] std::size_t place_of(const std::string& key);

  Statistic statistic_;
  StatisticSum frame_;
  std::unordered_map<std::string, std::size_t> index_;
  std::vector<GroupSum> sums_;  ///< of units of their own, and of other tables
  std::unordered_map<std::string, std::vector<Own>> of_unit_;
};

/// A group that is shown: its noisy sum and count, in the unit of the numbers.
struct ShownGroup {
  std::string key;
  double sum;
  double count;
};
/// The groups whose noisy count exceeds the threshold, sorted by their bytes. What it costs is charged elsewhere.
[[nodiscard]] std::vector<ShownGroup> draw_groups(const GroupMeans& means, const StatisticNoise& noise, std::int64_t threshold,
                                                  mechanisms::BitsRef bits);

/// What the numbers of a shown group do not rule out. Of all groups of one number of units that are shown, the intervals of at least a share of `confidence`
/// hold the mean, and those of at least that share hold the number of units: groups near the threshold are shown where the noise on their number was high.
/// \source docs/proofs/keys.md#mean-interval
class GroupMeanIntervals {
 public:
  /// \pre the noise and the threshold, in steps, are those of `means`, which outlives this; 2^-30 <= 1 - confidence < 1.
  GroupMeanIntervals(const GroupMeans& means, const StatisticNoise& noise, std::int64_t threshold, double confidence);

  struct Both {
    Estimate mean;
    Estimate units;
  };
  [[nodiscard]] Both of(const ShownGroup& shown);

 private:
  const GroupMeans& means_;
  NoiseReach reach_;      ///< of a group that is hardly ever hidden
  double half_distance_;  ///< the noise on a sum is farther from 0 with probability at most (1 - confidence) / 2
  std::int64_t far_;      ///< from so many units on a group is hidden with probability at most 2^-20
  KeyIntervals units_;
  KeyIntervals half_units_;  ///< with (1 + confidence) / 2
};

}  // namespace surety::statistics
