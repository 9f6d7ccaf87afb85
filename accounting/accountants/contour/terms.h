// What a delta of the contour accountant is made of, for its tests.
#pragma once

#include <surety/accounting/events/event.h>
#include <surety/accounting/laws/given/direction.h>

namespace surety::accounting {

/// How large each error may be made, as a share of delta: what the accountant derives from its width.
struct ContourShares {
  double aliasing = 1e-12;
  double truncation = 1e-12;
  double quadrature = 1e-12;
};

/// What a delta is made of, each a bound on an absolute error: sum - aliasing - the others <= delta <= sum + the others.
struct ContourTerms {
  double sum;         ///< the trapezoid rule's value on the line, cut off at both ends
  double aliasing;    ///< at most what the rule counts too much: one-sided
  double truncation;  ///< the points beyond the ends
  double quadrature;  ///< the moment generating functions themselves: trapezoid rule and its range
  double rounding;    ///< floating point
  int points;         ///< on the half line
};

/// The terms of delta(epsilon) in one direction. \throws Error{unsupported} as above.
[[nodiscard]] ContourTerms contour_terms(const Event& event, Epsilon epsilon, Direction direction, const ContourShares& shares = {});

}  // namespace surety::accounting
