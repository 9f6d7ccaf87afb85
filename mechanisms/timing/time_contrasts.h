// Statistics of the time of a draw by the value drawn: Welch's t for four contrasts that are fixed before the measurement.
//
//   tail       the outer 1 % by magnitude          against the body, up to the 95th percentile
//   magnitude  above the median magnitude          against up to the median
//   zero       zero                                against other values
//   sign       negative                            against positive
//
// Percentiles of the magnitude, and the time above which a draw is trimmed, come from a first batch that enters no contrast. Trimming is by an
// absolute time: removal of the slowest 1 % of draws would remove the outer 1 % of a sampler that is slow there. A leak above that time shows in the
// share of trimmed draws, which is compared as well. docs/proofs/samplers.md#timing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace surety::mechanisms {

/// Mean and sum of squared deviations of a stream (Welford 1962), and of two streams together (Chan, Golub, LeVeque 1983). O(1) memory.
struct Moments {
  std::uint64_t count = 0;
  double mean = 0;
  double squares = 0;  ///< sum of squared deviations from the mean

  void add(double value) noexcept;
  Moments& operator+=(const Moments& other) noexcept;
};

/// Draws on one side of a contrast.
struct TimingSide {
  Moments times;              ///< in ticks, of the draws that were not trimmed
  std::uint64_t trimmed = 0;  ///< draws that took longer than the trimming threshold

  TimingSide& operator+=(const TimingSide& other) noexcept;
};

struct TimingContrast {
  std::string_view name;  ///< "tail"
  TimingSide first;       ///< tail, large magnitude, zero, negative
  TimingSide second;      ///< body, small magnitude, other than zero, positive

  /// Fewer draws than this on either side give no statistic: rare interrupts make small samples skewed.
  static constexpr std::uint64_t least_side = 1000;

  /// Welch's t of the mean times, positive where `first` takes longer. A variance below 1/12 tick^2 counts as that, the variance of reading a clock of
  /// whole ticks, so t is finite. Nothing where a side has fewer than `least_side` draws that were not trimmed.
  [[nodiscard]] std::optional<double> t() const noexcept;
  /// The signed root of the likelihood ratio (G test) of equal shares of trimmed draws: near a standard normal variable where they are equal. Positive where
  /// `first` has the larger share. Nothing where a side has fewer than `least_side` draws.
  [[nodiscard]] std::optional<double> trimmed_z() const noexcept;
  /// The difference of means, in ticks, at which t reaches `timing_threshold`. Nothing where t is nothing.
  [[nodiscard]] std::optional<double> resolution() const noexcept;
  /// Whether t or trimmed_z reaches `timing_threshold`.
  [[nodiscard]] bool shows() const noexcept;
};

/// |t| from here on is a leak: a normal variable exceeds it with probability 7e-6. The threshold of ISO/IEC 17825 for side channels.
inline constexpr double timing_threshold = 4.5;

enum class TimingVerdict : std::uint8_t {
  independent = 0,  ///< no contrast shows, and tail and magnitude both have enough draws
  depends = 1,      ///< a contrast shows
  too_few = 2,      ///< no contrast shows, and tail or magnitude has too few draws
};

struct TimingReport {
  std::uint64_t draws = 0;                  ///< after the first batch, trimmed ones included
  std::uint64_t trimmed = 0;                ///< of these
  double trim_above = 0;                    ///< ticks
  double mean = 0;                          ///< ticks, of the draws that were not trimmed
  std::optional<double> correlation;        ///< of time and magnitude, of the draws that were not trimmed; nothing where either is constant
  std::array<TimingContrast, 4> contrasts;  ///< tail, magnitude, zero, sign

  [[nodiscard]] TimingVerdict verdict() const noexcept;
  /// "independent within |t| < 4.5", "time shows the tail", "too few draws". Of several contrasts, the one with the
  /// largest |t| or |z|.
  [[nodiscard]] std::string_view verdict_text() const noexcept;
};

/// Accumulates draws. Memory: some hundred bytes, however many draws.
class TimeContrasts {
 public:
  struct Draw {
    double value;
    double ticks;
  };
  /// A draw that takes longer than this many times the median of the first batch is trimmed: an interrupt, a migration, the refill of a buffer.
  static constexpr double trim_factor = 20;

  /// Fixes the percentiles of magnitude and the trimming threshold, at least `trim_factor` ticks. O(n log n). \pre `first_batch` is not empty, and
  /// its numbers are finite
  explicit TimeContrasts(const std::vector<Draw>& first_batch);

  /// O(1). \pre finite numbers
  void add(Draw draw) noexcept;
  [[nodiscard]] TimingReport report() const noexcept;

 private:
  static constexpr std::size_t signs = 3;  // negative, zero, positive
  static constexpr std::size_t sizes = 4;  // up to the median, up to the 95th percentile, between, the outer 1 %

  double median_;
  double body_;  ///< 95th percentile
  double tail_;  ///< 99th percentile
  double trim_above_;
  std::array<std::array<TimingSide, sizes>, signs> cells_;
  Moments times_;
  Moments magnitudes_;
  double products_ = 0;  ///< sum of products of deviations of time and magnitude
};

}  // namespace surety::mechanisms
