// A lower bound for what is known by its divergences alone: zcdp and renyi. No event that states divergences costs more than its best release of
// two outcomes does, so this bound meets the upper bounds of the accountants where those are tight.
#pragma once

#include <optional>

#include <surety/accounting/answers/opinion.h>
#include <surety/accounting/events/event.h>

namespace surety::accounting {

/// The laws (p, 1 - p) and (q, 1 - q) of two outcomes on two neighbours.
struct TwoOutcomes {
  double p;
  double q;
};

/// A pair that satisfies all stated divergences of the event in both directions, and nearly maximizes the cost. Returns nothing for an event
/// that is not a single zcdp or renyi. \complexity some 50 ms. \source docs/proofs/given.md#two-outcomes.
[[nodiscard]] std::optional<TwoOutcomes> two_outcomes(const Event& event, const Question& question);

/// Whether the pair certainly satisfies all divergences of one zcdp or renyi.
[[nodiscard]] bool keeps_divergences(const TwoOutcomes& pair, const Event& leaf);

/// At least what the pair costs; at least 0.
[[nodiscard]] double lower_end(const TwoOutcomes& pair, const Question& question);

}  // namespace surety::accounting
