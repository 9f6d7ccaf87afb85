// Choices among releases of other kinds: the value of their game (choice_game.h) is a privacy curve, and so that of one pair.
#pragma once

#include <optional>

#include <surety/accounting/accountants/pld/task.h>
#include <surety/accounting/laws/cells/parts.h>
#include <surety/accounting/laws/choices/choice_game.h>
#include <surety/accounting/laws/losses/loss_law.h>

namespace surety::accounting::pld {

/// What the proof of choice_laws is made of. A test leaves one out and sees the truth escape.
struct ChoiceLawTerms {
  bool minorant = true;  ///< from below the corners lie where two chords meet, not on the curve
  bool beyond = true;    ///< from above what is beyond the last point is at infinite loss
};

/// Laws whose curves lie above and below the game's value everywhere, and which equal their own reverses.
struct ChoiceLaws {
  LossLaw upper;
  LossLaw lower;
};
/// \param sum the ranges' sum from above, the largest loss.
/// \complexity O(points). \source docs/proofs/choices.md#others.
[[nodiscard]] ChoiceLaws choice_laws(const ChoiceGame& game, double sum, const ChoiceLawTerms& terms = {});

/// The choices that were taken out of the releases of an event, made after all others with knowledge of their losses.
class ChoicesAmongOthers {
 public:
  /// Takes the choices of `directions` as long as there are other releases, and plays their game on a grid that suits the question.
  /// Where no affordable grid is fine enough, or where there are no others, none are taken.
  ChoicesAmongOthers(const laws::BothDirections& directions, const Given& question, double width);

  [[nodiscard]] bool any() const { return part_.has_value(); }
  /// The releases with one part in place of the choices, where these are the same ones; else as they are.
  [[nodiscard]] laws::BothDirections joined(laws::BothDirections directions) const;

 private:
  ChoiceCounts counts_;
  std::optional<laws::ReleaseLaws> part_;
};

/// The same releases from above alone, with one Gaussian release in place of all choices; nothing where there are none, or where their ranges are too large.
/// \source docs/proofs/choices.md#smooth
[[nodiscard]] std::optional<laws::BothDirections> with_smooth_choices(laws::BothDirections directions);

}  // namespace surety::accounting::pld
