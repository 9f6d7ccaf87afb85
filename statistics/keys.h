// Keys that nobody listed beforehand: which texts a column holds, and how many units hold each, by a thresholded release at delta > 0.
//
// Each unit counts at most once for a key and for at most l keys. Noise is added to the count of every key that occurs, and the keys whose
// noisy count exceeds a threshold are released with it, sorted. A key that one unit alone holds has count 1, so of the at most l such keys
// one appears with probability at most delta' = 1 - (1 - P(1 + noise > threshold))^l. But for that the release is the noise's event on the
// keys that both neighbours hold: together it is dominated by compose(noise, approx(0, delta')), under every adjacency (docs/proofs/keys.md).
//
// A released key is a text of the data, as it was written there. What memory and time the release takes tells about the number of keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/statistics/noise.h>
#include <surety/statistics/totals.h>

namespace surety::statistics {

struct ReleasedKey {
  std::string key;
  double count;
};

/// How many units hold each key.
class KeyCounts {
 public:
  /// Longer texts, in bytes, are no key; nor is the empty one.
  static constexpr std::size_t longest_key = 256;

  /// At most `most_keys` keys of each unit count: the first ones of its own records.
  KeyCounts(Count most_keys, Adjacency adjacency) : most_keys_{most_keys}, adjacency_{adjacency} {}

  /// One record that is a unit of its own.
  void add(const std::string& key);
  /// One record of `unit`, which is any text that tells units apart. O(most_keys) and memory for each unit.
  void add(const std::string& unit, const std::string& key);

  /// The keys with their counts, and those of at most `records` records of other units beside them: a unit whose records are in both counts for up to
  /// 2 l keys. \throws Error{invalid_argument} for what no such records have.
  [[nodiscard]] KeyTotal total() const;
  void add_total(const KeyTotal& total, std::uint64_t records);

  [[nodiscard]] Count most_keys() const noexcept { return most_keys_; }
  [[nodiscard]] Adjacency adjacency() const noexcept { return adjacency_; }
  [[nodiscard]] std::size_t size() const noexcept { return counts_.size(); }

  /// l, or 2 l under replace-one, and its root.
  [[nodiscard]] L1Sensitivity l1_sensitivity() const;
  [[nodiscard]] L2Sensitivity l2_sensitivity() const;
  /// laplace(b) or gaussian(z) on whole counts. \throws Error{unsupported} for another event; Error{invalid_argument} where it does not fit.
  [[nodiscard]] StatisticNoise noise_for(const Event& event) const;

  /// The keys, sorted by their bytes, and their counts.
  [[nodiscard]] std::vector<std::string> keys() const;
  [[nodiscard]] GridVector counts(const std::vector<std::string>& keys) const;

 private:
  Count most_keys_;
  Adjacency adjacency_;
  std::unordered_map<std::string, std::size_t> index_;
  std::vector<std::int64_t> counts_;
  std::unordered_map<std::string, std::vector<std::size_t>> of_unit_;
};

/// At least the probability that one of `most_keys` keys of count 1 exceeds `threshold`, by interval arithmetic from the law of the rounded
/// noise, both in steps of its grid: a count of one step. \pre `threshold` is whole.
[[nodiscard]] double appearance_probability(const StatisticNoise& noise, Count most_keys, std::int64_t threshold);

/// The smallest whole threshold, in steps, with an appearance probability of at most `delta`. \throws Error{unsupported} where delta is 0: every noise
/// lets a key of one unit through at times.
[[nodiscard]] std::int64_t key_threshold(const StatisticNoise& noise, Count most_keys, Delta delta);

/// What releasing keys above a `key_threshold` charges: the noise, and approx(0, delta). \throws Error{unsupported} where delta is 0.
[[nodiscard]] Event event_of_keys(const Event& noise, Delta delta);

/// The counts, of one step or of several, that the noisy count of a shown key does not rule out. Of all keys of one count that are shown, the intervals of at least a share of
/// `confidence` hold that count: keys near the threshold are shown where their noise was high. \source docs/proofs/keys.md#interval
class KeyIntervals {
 public:
  /// \param one steps of the grid that a unit counts for. \pre 2^-60 <= 1 - confidence < 1; one >= 1; the threshold is in steps
  KeyIntervals(StatisticNoise noise, std::int64_t threshold, double confidence, std::int64_t one = 1);

  struct Counts {
    double lower;  ///< at least 1
    double upper;  ///< at least `lower`
  };
  /// In units. \pre `shown` is a whole number of steps above the threshold. Milliseconds for each different number near the threshold, and nothing else elsewhere.
  [[nodiscard]] Counts of(double shown);

 private:
  [[nodiscard]] std::int64_t lowest(std::int64_t shown) const;

  StatisticNoise noise_;
  std::int64_t threshold_;
  std::int64_t one_;
  double exceeded_;
  std::int64_t reach_;  ///< noise is farther from 0 with probability at most 1 - confidence
  std::unordered_map<std::int64_t, std::int64_t> lowest_;
};

/// The keys whose noisy counts are above a `key_threshold`, sorted by key. \pre `event_of_keys` is charged already.
[[nodiscard]] std::vector<ReleasedKey> draw_keys(const KeyCounts& counts, const StatisticNoise& noise, std::int64_t threshold,
                                                 mechanisms::BitsRef bits);

}  // namespace surety::statistics
