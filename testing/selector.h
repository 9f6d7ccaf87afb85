// Selectors that are NOT private: the best candidate, and a script.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/choices/selection.h>
#include <surety/optimizers/doors/selector.h>

namespace surety::testing {

/// Chooses a largest score, the first of equals: NOT private. For tests and as a baseline.
struct ExactSelector final : optimizers::Selector {
  [[nodiscard]] std::size_t select(std::span<const double> scores, ScoreSensitivity /*sensitivity*/, ScoreChange /*change*/,
                                   const Event& /*event*/) override {
    return static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
  }
};

/// Replays choices and logs what was asked: for tests.
class ScriptedSelector final : public optimizers::Selector {
 public:
  struct Request {
    std::vector<double> scores;
    ScoreSensitivity sensitivity;
    ScoreChange change;
    Event event;
  };

  /// `chosen[t]`, modulo the number of candidates, is the answer to request t.
  explicit ScriptedSelector(std::vector<std::size_t> chosen) : chosen_{std::move(chosen)} {}

  /// \throws Error{invalid_argument} when the script is over.
  [[nodiscard]] std::size_t select(std::span<const double> scores, ScoreSensitivity sensitivity, ScoreChange change,
                                   const Event& event) override;

  [[nodiscard]] const std::vector<Request>& log() const noexcept { return log_; }

 private:
  std::vector<std::size_t> chosen_;
  std::vector<Request> log_;
};

}  // namespace surety::testing
