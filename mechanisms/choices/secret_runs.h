// How often a search runs: a secret number with a public law, and the search itself.
//
//   SecretRuns runs{Runs{RunsLaw::geometric, 10}};
//   const auto best = best_run(runs, bits, [&] { return train(draw_candidate()); });     // results with a member `score`
//
// costs runs.event(what one run releases), its score included, whichever candidate is drawn. Nothing but `best` may be published: not the
// number of runs, and no other result. Who sees how long it took has seen the number.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/runs.h>
#include <surety/base/numbers/interval.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/bits/lazy_real.h>
#include <surety/mechanisms/choices/selection.h>

namespace surety::mechanisms {

/// The sampler of the number of runs of `best_of`.
class SecretRuns {
 public:
  explicit SecretRuns(const Runs& runs);

  /// A number with exactly the law that `Runs` says: the first k such that a uniform real lies below P(K <= k).
  /// \throws Error{environment} when the bits fail.
  /// \complexity O(k), some 20 ns each up to 64, a microsecond each beyond; one word, rarely more. So the time of drawing says nothing beside that of
  /// the runs.
  [[nodiscard]] std::uint64_t draw(BitsRef bits) const;

  /// best_of(runs, run). \throws as `best_of`.
  [[nodiscard]] Event event(const Event& run) const;
  [[nodiscard]] const Runs& runs() const noexcept { return runs_; }

 private:
  [[nodiscard]] std::uint64_t draw_by_intervals(LazyUniform uniform, const NextWord& next_word) const;

  Runs runs_;
  std::vector<Interval> up_to_;  ///< P(K <= k) for the first k, which one word nearly always decides among
};

/// Runs a secret number of times and keeps the result of the highest `score`, of equal ones the first; nothing where there was no run, which
/// only a Poisson number of runs can be. A score that is NaN counts as the lowest double, infinities as the largest and the lowest.
/// \throws what the runs and the bits throw.
template <class Run>
[[nodiscard]] std::optional<std::invoke_result_t<Run&>> best_run(const SecretRuns& runs, BitsRef bits, Run&& run) {
  std::optional<std::invoke_result_t<Run&>> best;
  for (std::uint64_t left = runs.draw(bits); left > 0; --left) {
    auto result = run();
    if (!best || completed_score(result.score) > completed_score(best->score)) best.emplace(std::move(result));
  }
  return best;
}

}  // namespace surety::mechanisms
