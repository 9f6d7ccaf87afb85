// The line: the trapezoid rule for the inversion integral at one tilt, with its four errors.
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <vector>

#include <surety/accounting/accountants/contour/decay.h>
#include <surety/accounting/accountants/contour/saddle.h>
#include <surety/accounting/accountants/contour/terms.h>
#include <surety/accounting/numbers/rounding.h>

namespace surety::accounting::contour {

/// A second tilt, which bounds delta elsewhere: delta(x) <= exp(log_bound - s x).
struct Second {
  double s;
  double log_bound;
};

/// The trapezoid rule at s + i k step, k = 0, 1, ...; everything is relative to exp(Lambda(s) - s epsilon).
class Line {
 public:
  Line(Cumulants& cumulants, const Saddle& saddle, const ContourShares& shares);

  /// delta(epsilon) is within [log_lower, log_upper], in logarithms; `slope` is about -d log delta / d epsilon.
  struct Value {
    double log_scale;
    double log_scale_error;
    double sum;
    double aliasing;
    double truncation;
    double quadrature;
    double rounding;
    double slope;

    [[nodiscard]] double two_sided() const { return (truncation + quadrature + rounding) * outward; }
    [[nodiscard]] double log_upper() const {
      const double log_sum = std::log(sum + two_sided());
      return log_scale + (log_sum + (log_scale_error + 2 * library * unit_roundoff * std::abs(log_sum)));
    }
    [[nodiscard]] double log_lower() const {
      const double bound = sum - aliasing * outward - two_sided();
      if (!(bound > 0)) return -infinity;
      const double log_sum = std::log(bound * (1 - 4 * unit_roundoff));
      return log_scale + (log_sum - (log_scale_error + 2 * library * unit_roundoff * std::abs(log_sum)));
    }
    [[nodiscard]] double relative_error() const { return sum > 0 ? (aliasing + 2 * two_sided()) / sum + 2 * log_scale_error : infinity; }
  };

  [[nodiscard]] Value at(double epsilon) const;

  [[nodiscard]] int points() const { return static_cast<int>(points_.size()) + 1; }

 private:
  struct QuadraturePoint {
    double t;
    double phase;                 ///< of phi
    std::complex<double> weight;  ///< 2 |phi| / (z (z + 1))
    double size;                  ///< |weight|
    double rounding;              ///< relative
    double quadrature;            ///< relative
  };

  /// The sum over k >= 1 of exp(+-s k p) delta(epsilon +- k p), by Chernoff's bound at the other tilt, over exp(Lambda(s) - s epsilon).
  [[nodiscard]] double alias(const Second& second, double epsilon) const;

  void choose_step(Cumulants& cumulants, const Saddle& saddle, double log_target);

  /// Chooses the last point so that those beyond it are below the target, by bounds on |phi| on intervals that grow by a factor.
  void choose_end(Cumulants& cumulants, const Saddle& saddle, double log_target);

  /// A smaller last t by `ShiftedDecay`, for which it leaves the truncation.
  [[nodiscard]] double shortened_end(const Cumulants& cumulants, const std::vector<Pieces>& pieces, const std::vector<double>& log_moments,
                                     Range range, double log_target);

  void add_points(Cumulants& cumulants, double tolerance);

  double s_;
  Cumulant at_s_;
  double step_ = 0;
  double period_ = 0;
  Second right_{};
  Second left_{};
  double truncation_ = 0;
  std::size_t last_ = 0;
  std::vector<QuadraturePoint> points_;
};

}  // namespace surety::accounting::contour
