// A curve that is given at points, alone: its hull, by chords in intervals.
#pragma once

#include <cstddef>
#include <vector>

#include <surety/accounting/events/points.h>
#include <surety/base/numbers/enclosure.h>
#include <surety/base/numbers/interval.h>

namespace surety::accounting {

class GivenCurve {
 public:
  /// \complexity O(points) here, and for each question.
  explicit GivenCurve(const CurvePoints& points);

  /// Of the worst release that has the points. \source docs/proofs/given.md#curve.
  [[nodiscard]] Enclosure delta(double epsilon) const;
  [[nodiscard]] Enclosure epsilon(double target) const;

 private:
  /// The chord to corner j from the one before, or from its own mirror image.
  struct Chord {
    Interval left;
    Interval right;
    Interval before;  ///< the curve there
    Interval after;
  };
  [[nodiscard]] Chord chord_to(std::size_t j) const;
  /// At least how far points and their mirror images lie below the chord, or 0.
  [[nodiscard]] Interval below(const Chord& chord) const;

  std::vector<NumberPair> points_;
  std::vector<NumberPair> corners_;  ///< by rising epsilon: the hull, as far as long double sees it
};

}  // namespace surety::accounting
