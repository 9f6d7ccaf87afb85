// What both bounds of the PLD accountant are made of, for its tests.
#pragma once

#include <surety/accounting/events/event.h>
#include <surety/accounting/laws/given/curves.h>
#include <surety/accounting/laws/given/direction.h>

namespace surety::accounting {

/// One run in one direction: what the accountant derives from its width.
/// \pre step > 0, tilt x step at most 40 and the others at most 8, and a window of at least 4 steps.
struct GridShape {
  Direction direction = Direction::remove;
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
[[nodiscard]] GridTerms grid_terms(const Event& event, Epsilon epsilon, const GridShape& shape, const LeafCurves& others);

}  // namespace surety::accounting
