// Choosing one of many candidates by private scores: the exponential mechanism, report-noisy-max, permute-and-flip.
//
// Candidate i has the score s_i, a double that the data decide. Let d_i be by how much one record changes it; only the *range* of the
// changes, max d_i - min d_i, matters, since adding the same to all scores changes no choice. The range is at most
//
//   2 Delta   when each score changes by at most Delta, up or down         (ScoreChange::either_way)
//   Delta     when moreover all scores change in one direction             (ScoreChange::one_way: monotonic scores, as counts are)
//   Delta     when Delta is said to bound the range itself                 (ScoreChange::range)
//
// and every mechanism here adds noise of scale b = range / epsilon, or weighs candidates by exp(s_i / b):
//
//   mechanism                              event               law
//   ExponentialMechanism                   exponential(eps)    P(i) proportional to exp(s_i / b)
//   ReportNoisyMax, gumbel noise           exponential(eps)    the same law
//   ReportNoisyMax, laplace noise          pure(eps)           argmax of s_i + b L_i
//   ReportNoisyMax, exponential noise      pure(eps)           argmax of s_i + b E_i
//   PermuteAndFlip                         pure(eps)           the law of exponential noise, by another way
//
// exponential(eps) promises a loss of *range* eps, which composes better than pure(eps). The noise is of ideal real numbers and b is exact,
// so are the laws: no rounding breaks a tie (docs/proofs/selection.md#selection).
//
// Scores: NaN counts as the lowest double, infinities as the largest and the lowest; the sensitivity must hold for scores so completed,
// as the machine computes them.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/bits/lazy_real.h>

namespace surety {

struct ScoreSensitivityRule : Positive {
  static constexpr std::string_view name = "score sensitivity";
};
using ScoreSensitivity = Quantity<ScoreSensitivityRule>;

/// What a score sensitivity bounds, see above.
enum class ScoreChange { either_way, one_way, range };

namespace mechanisms {

/// A score that can be compared: NaN becomes the lowest double, infinities the largest and the lowest.
[[nodiscard]] double completed_score(double score) noexcept;

struct SelectionOptions {
  Epsilon epsilon;
  ScoreSensitivity sensitivity;  ///< under `adjacency`
  ScoreChange change;
  Count candidates;  ///< public
  Adjacency adjacency;
};

/// The index of the largest of s_i + b N_i, for independent ideal N_i of the given shape and b = range / epsilon.
///
/// One word per candidate, and more only for candidates that 64 bits leave undecided. O(candidates), 40 to 70 nanoseconds each. Time
/// depends on what is drawn through the branches of log and log1p, by nanoseconds, and where doubles do not separate the best two
/// (probability below 2^-35 where noise and differences of scores are below 16 b; some 20 microseconds).
class ReportNoisyMax {
 public:
  ReportNoisyMax(SelectionOptions options, NoiseShape noise) : options_{options}, noise_{noise} {}

  /// exponential(epsilon) for Gumbel noise, otherwise pure(epsilon).
  [[nodiscard]] Event event() const;
  [[nodiscard]] const SelectionOptions& options() const noexcept { return options_; }

  /// Never throws on a score. \throws Error{invalid_argument} when there are not as many scores as candidates; Error{environment} when the
  /// bits fail.
  [[nodiscard]] std::size_t release(std::span<const double> scores, BitsRef bits) const;

 private:
  SelectionOptions options_;
  NoiseShape noise_;
};

/// Candidate i with probability proportional to exp(epsilon s_i / range): the largest of s_i + b Gumbel. Cost as `ReportNoisyMax`.
class ExponentialMechanism : public ReportNoisyMax {
 public:
  explicit ExponentialMechanism(SelectionOptions options) : ReportNoisyMax{options, NoiseShape::gumbel} {}
};

/// The candidates in a uniformly random order; the first that passes a coin of probability exp(-(max s - s_i) / b) is chosen.
///
/// Its *time* is data: it flips one coin per candidate until one passes. Where somebody watches the clock, use `ReportNoisyMax` with
/// exponential noise, whose law is the same. \source McKenna, Sheldon: Permute-and-flip, 2020; the equality: Ding, Kifer, et al., 2021.
class PermuteAndFlip {
 public:
  explicit PermuteAndFlip(SelectionOptions options) : options_{options} {}

  [[nodiscard]] Event event() const { return surety::pure(options_.epsilon, options_.adjacency); }
  [[nodiscard]] const SelectionOptions& options() const noexcept { return options_; }

  /// As of `ReportNoisyMax`. O(candidates).
  [[nodiscard]] std::size_t release(std::span<const double> scores, BitsRef bits) const;

 private:
  SelectionOptions options_;
};

}  // namespace mechanisms
}  // namespace surety
