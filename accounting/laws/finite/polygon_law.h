// The pair of a curve that is bounded at points.
#pragma once

#include <optional>
#include <vector>

#include <surety/accounting/laws/losses/loss_law.h>

namespace surety::accounting::laws {

/// A point of a curve at a loss of at least 0.
struct Corner {
  double loss;
  long double value;
};

/// The law whose curve is, from loss 0 on, the lower convex hull in e^loss of points of rising loss and falling value, level after the last
/// one, less what it is level at, and which equals its own reverse: mass p at loss l comes with e^-l p at -l. Rounded up or down as
/// `direction` is +1 or -1; mass too small for double is at infinite loss or left out.
/// \pre there is a point, and the values lie between 0 and 1. \complexity O(points). \source docs/proofs/choices.md#others.
[[nodiscard]] LossLaw polygon_law(const std::vector<Corner>& points, int direction);

/// A test of outcomes: the curve at y is at least delta - (e^y - e^x) other, for every y and whatever x the test was made for.
struct CurveTest {
  double delta;  ///< at most what the test shows at x: P(test) - e^x Q(test)
  double other;  ///< Q(test), rounded up; what that may be too much is taken from delta
};

/// A law from below a curve that equals its own reverse and lies above the line of each test: the polygon whose corners are where one line meets the next,
/// up to the first test that shows nothing. `at`: the losses they were made for, rising from 0. Absent where the first shows nothing, and where the
/// last line does not come down to 0 after the corner before.
/// \pre as many tests as losses, one at least. \complexity O(tests). \source docs/proofs/allocated.md#replaced-sums.
[[nodiscard]] std::optional<LossLaw> below_tests(const std::vector<double>& at, const std::vector<CurveTest>& tests);

/// With `mass` more at infinite loss, what `law` has there already included, and its finite part as it is.
/// \pre `law` is made of atoms, and has less than mass 1 at infinite loss.
/// Rounded up, or down where `direction` is -1.
[[nodiscard]] LossLaw with_infinite(LossLaw law, long double mass, int direction = +1);

}  // namespace surety::accounting::laws
