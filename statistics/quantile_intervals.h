// Quantiles with intervals in the unit of the column, and with a rank error that is measured on the data.
//
// After the choices of the quantiles (quantile.h) come two further releases:
//
//   flanks    beside each quantile one candidate some K records below it and one K records above it, by the mechanism of the quantiles;
//   counts    of the numbers between all released candidates, each with discrete Laplace noise.
//
// The counts give the noisy rank of each released candidate, so a rank error that does not depend on the number of candidates, and an interval between released
// candidates whose ranks are surely on either side of the quantile. \source docs/proofs/quantiles.md#measured
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include <surety/mechanisms/samplers/lattice_noise.h>
#include <surety/statistics/quantile.h>

namespace surety::statistics {

/// A released quantile. The interval holds every q-quantile of the clamped numbers, and the rank error of the clamped numbers is at most `rank_error`, each
/// with at least the stated probability.
struct MeasuredQuantile {
  double value;
  double lower;
  double upper;
  double rank_error;  ///< in records
};

/// Before a candidate, or behind it.
struct Boundary {
  std::size_t place;
  bool is_behind;
  friend auto operator<=>(const Boundary&, const Boundary&) = default;
};

/// How many numbers lie before the first boundary, between the first two, ..., behind the last. \pre boundaries ascend, of candidates that are counted
[[nodiscard]] std::vector<std::int64_t> cells_between(std::span<const RankCount> counts, const std::vector<Boundary>& boundaries);

class QuantileIntervals {
 public:
  /// Fractions of one query; counts of more than some hundred cells would be lost in their noise.
  static constexpr std::size_t most_fractions = 31;

  /// \param of_counts the epsilon of the counts, as the mechanism's: the range of the loss, or by permute-and-flip the largest loss
  /// \param exceeded the probability that an interval does not hold its quantile. \throws Error{invalid_argument} for more than `most_fractions`, and where
  /// the noise of the counts would be more than 2^47 records.
  QuantileIntervals(QuantileMechanism mechanism, Epsilon of_counts, double exceeded);

  /// b of the noise on each count, in records: at least 1 / e for one row that comes or goes, twice that where ranges are charged.
  [[nodiscard]] double scale_of_counts() const;
  /// exponential(e) or pure(e) of the counts.
  [[nodiscard]] Event counts_event() const;

  /// For each group its quantiles, in the order of the fractions. `spend` is called before each level of choices and before the flanks, to spend
  /// `mechanism.event()`, and `spend_counts` before the counts, to spend `counts_event()`.
  /// \pre as of `QuantileMechanism::release`. \throws as it does.
  [[nodiscard]] std::vector<std::vector<MeasuredQuantile>> release(std::span<const RankCounts> groups, const std::function<void()>& spend,
                                                                   const std::function<void()>& spend_counts, mechanisms::BitsRef bits);

 private:
  /// What is exceeded with half of the probability by the noise of the difference of a rank and q n.
  [[nodiscard]] double reach(Fraction fraction, std::size_t cells_below, std::size_t cells);
  [[nodiscard]] Epsilon of_flank() const;
  [[nodiscard]] std::int64_t distance(std::size_t index);

  QuantileMechanism mechanism_;
  Epsilon of_counts_;
  double exceeded_;
  mechanisms::DiscreteLaplaceNoise noise_;
  std::map<std::tuple<std::int64_t, std::size_t, std::size_t>, double> reaches_;
};

}  // namespace surety::statistics
