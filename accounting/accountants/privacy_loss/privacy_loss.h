// The privacy-loss accountant: certified two-sided bounds for any composition of releases whose dominating pairs are known, at any
// delta, by convolution of privacy-loss laws on a grid. docs/proofs/privacy-loss.md derives every error term.
#pragma once

#include <cstddef>
#include <string_view>

#include <surety/accounting/accountants/accountant.h>

namespace surety::accounting {

struct PrivacyLoss {
  static constexpr std::string_view name = "privacy-loss";

  double width = 1e-4;                          ///< of the enclosure of epsilon to aim at; of delta, what this means at its slope
  std::size_t memory = std::size_t{256} << 20;  ///< bytes that may be used
  double step = 0;                              ///< if not 0, one run with this grid step instead of as many as `width` needs
  bool upper_only = false;                      ///< the lower end is 0: a quarter of the work, and far less where delta(epsilon) is flat
};

/// Enclosure of the smallest delta at which `event` is (epsilon, delta)-differentially private.
/// \throws Error{unsupported} naming a part without a known dominating pair; Error{memory} when the width cannot be met.
/// \complexity O(n log n) for n = range of the composed loss / grid step, with step^2 = O(width / number of releases).
/// \source docs/proofs/privacy-loss.md.
[[nodiscard]] Enclosure delta(const PrivacyLoss& accountant, const Event& event, Epsilon epsilon);

/// Enclosure of inf {epsilon >= 0 : delta(epsilon) <= delta}. Throws as above.
[[nodiscard]] Enclosure epsilon(const PrivacyLoss& accountant, const Event& event, Delta delta);

/// Whether there is a theorem for what `event` is made of; see accountant.h.
[[nodiscard]] bool supports(const PrivacyLoss& accountant, const Event& event);

}  // namespace surety::accounting
