// The door for choices: a `Selector`.
//
// An algorithm scores public candidates by private data, says by how much one record can change the scores and what kind of release it asks
// for (the event), and gets the index of one candidate back. What was said of `Releaser` (run.h) holds here.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/numbers/error.h>
#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/mechanisms/choices/selection.h>

namespace surety::optimizers {

/// select(scores, sensitivity, change, event): a candidate whose score is large. `sensitivity` bounds, as `change` says and under
/// event.adjacency(), how far one record moves the scores, given everything that was released before.
template <class S>
concept Selector = requires(S& selector, std::span<const double> scores, ScoreSensitivity sensitivity, ScoreChange change,
                            const Event& event) {
  { selector.select(scores, sensitivity, change, event) } -> std::same_as<std::size_t>;
};

/// The exponential mechanism for the event exponential(epsilon), report-noisy-max with Laplace noise for pure(epsilon).
/// \throws Error{unsupported} for another event.
[[nodiscard]] inline mechanisms::ReportNoisyMax mechanism_of(const Event& event, ScoreSensitivity sensitivity, ScoreChange change,
                                                             Count candidates) {
  const auto* const exponential = std::get_if<Event::Exponential>(&event.node());
  const auto* const pure = std::get_if<Event::Pure>(&event.node());
  if (exponential == nullptr && pure == nullptr) {
    throw Error{ErrorCode::unsupported, fmt::format("no mechanism selects with the event '{}'", describe(event))};
  }
  return mechanisms::ReportNoisyMax{{.epsilon = exponential != nullptr ? exponential->epsilon : pure->epsilon,
                                     .sensitivity = sensitivity,
                                     .change = change,
                                     .candidates = candidates,
                                     .adjacency = event.adjacency()},
                                    exponential != nullptr ? mechanisms::NoiseShape::gumbel : mechanisms::NoiseShape::laplace};
}

/// Spends from a reservation, then chooses: by the exponential mechanism for the event exponential(epsilon), and by report-noisy-max with
/// Laplace noise for pure(epsilon). What production uses; private when `Bits` is cryptographic.
template <mechanisms::ReleaseBits Bits>
class NoisySelector {
 public:
  /// Both must outlive the selector.
  NoisySelector(accounting::Reservation& reservation, Bits& bits) : reservation_{reservation}, bits_{bits} {}

  /// \throws Error{unsupported} for another event; Error{internal} when the reservation does not hold it; Error{environment} when the bits
  /// fail.
  [[nodiscard]] std::size_t select(std::span<const double> scores, ScoreSensitivity sensitivity, ScoreChange change, const Event& event) {
    const auto mechanism = mechanism_of(event, sensitivity, change, Count{scores.size()});
    reservation_.spend(event);
    return mechanism.release(scores, bits_);
  }

 private:
  accounting::Reservation& reservation_;
  Bits& bits_;
};

/// Chooses a largest score, the first of equals: NOT private. For tests and as a baseline.
struct ExactSelector {
  [[nodiscard]] std::size_t select(std::span<const double> scores, ScoreSensitivity /*sensitivity*/, ScoreChange /*change*/,
                                   const Event& /*event*/) const {
    return static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
  }
};

/// Replays choices and logs what was asked: for tests.
class ScriptedSelector {
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
  [[nodiscard]] std::size_t select(std::span<const double> scores, ScoreSensitivity sensitivity, ScoreChange change, const Event& event) {
    if (log_.size() == chosen_.size()) {
      throw Error{ErrorCode::invalid_argument, fmt::format("the script ends after {} choices", chosen_.size())};
    }
    log_.push_back({{scores.begin(), scores.end()}, sensitivity, change, event});
    return chosen_[log_.size() - 1] % scores.size();
  }

  [[nodiscard]] const std::vector<Request>& log() const noexcept { return log_; }

 private:
  std::vector<std::size_t> chosen_;
  std::vector<Request> log_;
};

static_assert(Selector<ExactSelector> && Selector<ScriptedSelector>);

}  // namespace surety::optimizers
