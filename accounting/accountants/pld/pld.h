// The PLD accountant: certified two-sided bounds for any composition of releases whose dominating pairs are known, at any
// delta, by convolution of privacy-loss laws on a grid. docs/proofs/pld.md derives every error term.
#pragma once

#include <optional>

#include <surety/accounting/accountants/pld/settings.h>
#include <surety/accounting/accountants/seam/accountant.h>
#include <surety/accounting/laws/given/curves.h>

namespace surety::accounting {

/// Enclosure of the smallest delta at which `event` is (epsilon, delta)-differentially private.
/// \param others what is asked of searches within the event, and of what is concentrated.
/// \throws Error{unsupported} naming a part without a known dominating pair; Error{memory} when the width cannot be met.
/// \complexity O(n log n) for n = range of the composed loss / grid step, with step^2 = O(width / number of releases).
/// \source docs/proofs/pld.md.
[[nodiscard]] Enclosure delta(const Pld& accountant, const Event& event, Epsilon epsilon, const LeafCurves& others);

/// Enclosure of inf {epsilon >= 0 : delta(epsilon) <= delta}. Throws as above.
[[nodiscard]] Enclosure epsilon(const Pld& accountant, const Event& event, Delta delta, const LeafCurves& others);

/// Which part of `event` there is no theorem for, and why; nothing where there is one. Makes no law and asks no curve; see accountant.h.
[[nodiscard]] std::optional<Refusal> why_not(const Pld& accountant, const Event& event, const LeafCurves& others);
[[nodiscard]] inline bool supports(const Pld& accountant, const Event& event, const LeafCurves& others) {
  return !why_not(accountant, event, others);
}

}  // namespace surety::accounting
