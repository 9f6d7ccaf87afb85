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

/// One run in one direction: what the accountant derives from its width.
/// \pre step > 0, tilt x step at most 40 and the others at most 8, and a window of at least 4 steps.
struct GridShape {
  bool removed = true;  ///< P has the record
  double step = 1e-3;
  double tilt = 1;   ///< any positive one is sound
  double least = 0;  ///< the window of composed losses, of which the longest power of two of steps is kept
  double largest = 16;
  double right_tilt = 1;  ///< of Chernoff's bounds on what is outside it
  double left_tilt = 1;
  double log_cut = -60;  ///< where the tails of one release are cut
};

/// What both bounds on one delta are made of:
/// lower.sum - lower.rounding - lower.aliasing + lower.infinite <= delta <= upper.sum + upper.rounding + upper.beyond + upper.infinite.
struct GridTerms {
  struct Upper {
    long double sum;       ///< over the window
    long double rounding;  ///< floating point
    long double beyond;    ///< losses above the window
    long double infinite;  ///< infinite loss, to which cut tails are added
  } upper;
  struct Lower {
    long double sum;
    long double rounding;
    long double aliasing;  ///< losses outside the window that wrapped around into it
    long double infinite;
  } lower;
};

/// The terms of delta(epsilon). \throws Error{unsupported} as above, Error{invalid_argument} unless epsilon lies in the window.
[[nodiscard]] GridTerms grid_terms(const Event& event, Epsilon epsilon, const GridShape& shape);

}  // namespace surety::accounting
