// An answer with its certificate: an interval that contains the exact mathematical value. Only `upper` is ever claimed.
#pragma once

#include <limits>

#include <surety/base/text/error.h>

namespace surety {

/// lower <= truth <= upper; `upper` may be +infinity, neither is NaN.
struct Enclosure {
  double lower;
  double upper;

  /// \throws Error{internal} unless lower <= upper: an empty enclosure is a defect of the accountant, never an answer.
  Enclosure(double lower_end, double upper_end) : lower{lower_end}, upper{upper_end} {
    if (!(lower <= upper)) throw Error{ErrorCode::internal, "an enclosure is empty or holds a NaN"};
  }
  friend bool operator==(const Enclosure&, const Enclosure&) = default;

  [[nodiscard]] bool contains(double value) const { return lower <= value && value <= upper; }
  [[nodiscard]] double width() const { return lower == upper ? 0.0 : upper - lower; }
};

[[nodiscard]] inline bool overlap(const Enclosure& a, const Enclosure& b) { return a.lower <= b.upper && b.lower <= a.upper; }

/// Everything from 0 up to a bound that is only an upper one.
[[nodiscard]] inline Enclosure at_most(double upper) { return {0.0, upper}; }

}  // namespace surety
