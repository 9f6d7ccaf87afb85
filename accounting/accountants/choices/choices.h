// The choices accountant: exponential mechanisms exactly, each chosen with knowledge of what the earlier ones chose.
//
// A choice of loss range e is post-processing of a randomized response with losses t and t - e for some t in [0, e], and which t costs most
// depends on the losses so far. So the curve of k choices is the value of a game with k moves,
//
//     H_0(x) = max(0, 1 - e^x)
//     H_k(x) = max over t of p_t H_(k-1)(x - t) + (1 - p_t) H_(k-1)(x - t + e),   p_t = (e^e - e^t) / (e^e - 1)
//
// and is enclosed on a grid of x: moves on grid points are played from below, chords in e^x bound every move from above.
// docs/proofs/choices.md derives every error term.
#pragma once

#include <optional>
#include <string_view>

#include <surety/accounting/accountants/seam/accountant.h>

namespace surety::accounting {

struct Choices {
  static constexpr std::string_view name = "choices";

  double width =
      1e-5;  ///< of the enclosure of epsilon to aim at, or below 1 this share of epsilon, or of its scale; of delta, what it means at its slope

  /// A choice of a larger range is refused.
  static constexpr double largest_range = 256;
  /// What is left of the choices is the state of the game: with c_i choices of range e_i there are prod (c_i + 1) of them. More are refused.
  static constexpr double most_states = 1e5;
};

/// Which part of `event` there is no theorem for, and why; nothing where there is one. Makes no law and asks no curve; see accountant.h.
[[nodiscard]] std::optional<Refusal> why_not(const Choices& accountant, const Event& event);
[[nodiscard]] inline bool supports(const Choices& accountant, const Event& event) { return !why_not(accountant, event); }

/// Enclosure of the smallest delta at which `event`, choices alone (`exponential`) of any ranges, is (epsilon, delta)-differentially private.
/// Choices of different ranges may be made in any order, also one that depends on the results.
/// \throws Error{unsupported} naming the event for any other, and beyond the limits above; Error{memory} where every affordable grid is
///         too coarse to say anything.
/// \complexity some 40 ns for each state and grid point, of which there are epsilon / step, with step^2 = O(width / number of releases).
///             Limited to some seconds: the enclosure is wider where that is not enough.
/// \source docs/proofs/choices.md.
[[nodiscard]] Enclosure delta(const Choices& accountant, const Event& event, Epsilon epsilon);

/// Enclosure of inf {epsilon >= 0 : delta(epsilon) <= delta}. delta = 0 costs the sum of all ranges. Throws as above.
[[nodiscard]] Enclosure epsilon(const Choices& accountant, const Event& event, Delta delta);

}  // namespace surety::accounting
