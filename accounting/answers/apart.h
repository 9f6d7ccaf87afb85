// Releases that show next to nothing, told from the rest of an event: what they add is bounded without a law of their own, so that no grid has to
// see them.
#pragma once

#include <functional>
#include <optional>

#include <surety/accounting/answers/opinion.h>
#include <surety/accounting/events/event.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::accounting {

/// An event without its tiny releases, and what all of these together cost at most, each given all earlier results.
struct Apart {
  Event rest;
  double range = 0;  ///< those of bounded loss: the losses add up to at most this, of either sign
  double shift = 0;  ///< the others: they are (shift, share)-private
  double share = 0;

  /// What decides whether anything is lost where nothing else is asked.
  [[nodiscard]] double cost() const { return range + shift; }
};

/// Nothing where no release is tiny, or where only one kind of release is there. `question` says how much of a delta may be a share.
/// \complexity microseconds a kind of release.
[[nodiscard]] std::optional<Apart> told_apart(const Event& event, const Question& question);

/// What the proof of `with_tiny` is made of. A test leaves one out and sees the truth escape.
struct ApartTerms {
  bool below_zero = true;  ///< below epsilon 0 the curve is that of the other direction mirrored, not level
  bool odds = true;        ///< the loss is raised with the larger of both probabilities
};

/// Enclosure of delta(epsilon), or epsilon(delta), of the event, from that of the rest.
/// \param ask what is asked of the rest: an enclosure of the larger curve of both directions.
/// \complexity two questions. \source docs/proofs/composition.md#tiny.
[[nodiscard]] Enclosure with_tiny(const Apart& apart, const Question& question, const std::function<Enclosure(const Question&)>& ask,
                                  const ApartTerms& terms = {});

}  // namespace surety::accounting
