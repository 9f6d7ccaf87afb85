// AboveThreshold, the sparse vector technique: which of a stream of queries exceed a threshold, where only those that do cost budget.
//
// Query f_i, chosen from all earlier answers, is answered "above" when f_i + b_Q N_i >= T_i + b_T M, with ideal standard Laplace N_i and M;
// M is drawn afresh after every "above", and after c of them the run is over. With Delta the sensitivity of each query
//
//   b_T = 2 c Delta / epsilon,    b_Q = 2 b_T, or b_T where one record moves all queries in one direction.
//
// The whole run, however long, is epsilon-differentially private. \source Dwork, Roth: The algorithmic foundations of differential
// privacy, 2014, Algorithms 1 and 2; Lyu, Su, Li: Understanding the sparse vector technique, 2017, which also lists five versions that
// are not private. Proof: docs/proofs/selection.md#sparse-vector.
#pragma once

#include <cstdint>
#include <optional>

#include <surety/accounting/events/event.h>
#include <surety/base/system/home_process.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/bits/lazy_real.h>
#include <surety/mechanisms/choices/selection.h>

namespace surety::mechanisms {

/// One run. Neither copied nor moved: two objects would share their noise and count their answers apart. For the same reason it answers in
/// the process that made it alone, and not in a copy made by fork. Nothing is shared by threads: one at a time may use it.
class AboveThreshold {
 public:
  struct Options {
    Epsilon epsilon;               ///< of the whole run
    ScoreSensitivity sensitivity;  ///< of each query, under `adjacency`
    ScoreChange change;            ///< either_way, or one_way: a record moves all queries of the run in one direction
    Count answers;                 ///< c, how often "above" may be said
    Adjacency adjacency;
  };

  /// \throws Error{invalid_argument} for ScoreChange::range: the threshold does not move with the scores.
  explicit AboveThreshold(Options options);
  AboveThreshold(const AboveThreshold&) = delete;
  AboveThreshold& operator=(const AboveThreshold&) = delete;

  /// pure(epsilon), for the whole run.
  [[nodiscard]] Event event() const { return surety::pure(options_.epsilon, options_.adjacency); }
  [[nodiscard]] const Options& options() const noexcept { return options_; }

  /// How often "above" may still be said.
  [[nodiscard]] std::uint64_t answers_left() const noexcept { return answers_left_; }

  /// Whether `query` is above `threshold`, with noise. The query is completed as scores are (selection.h): NaN counts as the lowest double.
  ///
  /// Draws one word, at the start and after each "above" two; more with probability about 2^-60. About 0.07 microseconds; some 20 more
  /// where doubles do not decide, with probability below 2^-35 where noise and distance are below 16 b_T. Time depends on what is drawn
  /// through that and the branches of log and log1p.
  /// \throws Error{budget_exceeded} when no answer is left; Error{invalid_argument} when the threshold, which is public, is not finite, and
  ///         in a process made by fork; Error{environment} when the bits fail.
  [[nodiscard]] bool release(double query, double threshold, BitsRef bits);

 private:
  [[nodiscard]] bool is_above(double query, double threshold, const NextWord& next_word);

  HomeProcess home_;
  Options options_;
  std::uint64_t answers_left_;
  std::optional<LazyUniform> threshold_noise_;  ///< none before the first query after an "above"
};

}  // namespace surety::mechanisms
