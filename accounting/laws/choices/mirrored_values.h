// Values of a game at whole multiples of a step, which say those below 0: what is told apart may be told apart with the roles changed.
#pragma once

#include <cstddef>
#include <vector>

#include <surety/base/numbers/bound.h>

namespace surety::accounting {

/// A curve from below at 0, step, 2 step, ...: at most delta(epsilon) there.
struct CurveAtSteps {
  double step = 0;
  std::vector<double> values;

  /// At most delta(epsilon) of a curve that falls. \pre epsilon >= 0
  [[nodiscard]] double delta(double epsilon) const;
  /// At most the smallest epsilon >= 0 at which delta(epsilon) is no more than this.
  [[nodiscard]] double epsilon(double delta) const;
  /// How far beyond that the curve may reach `delta`, roughly: less than a step.
  [[nodiscard]] double left_of(double delta) const;

 private:
  [[nodiscard]] std::size_t last_above(double delta) const;
};

/// At most the value of a game at multiples of a step from -margin to points - 1, and 0 beyond. In the beginning nothing was played: max(0, 1 - e^x).
/// \source docs/proofs/choices.md#in-order
class MirroredValues {
 public:
  /// \param beyond how many multiples after the last one may be looked at. \pre margin < points
  MirroredValues(std::size_t margin, std::size_t points, double step, std::size_t beyond = 0);

  /// The value at 0; those around it follow and precede it.
  [[nodiscard]] const double* at_zero() const { return all_.data() + margin_; }
  [[nodiscard]] std::size_t points() const { return points_; }
  /// Those of one more move. \pre next.size() >= points()
  void take(const std::vector<double>& next);
  [[nodiscard]] std::vector<double> from_zero() const;

 private:
  void mirror();

  std::size_t margin_;
  std::size_t points_;
  std::vector<double> all_;
  std::vector<Lower> rest_;
  std::vector<Lower> share_;
};

}  // namespace surety::accounting
