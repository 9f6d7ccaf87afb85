// The line: the trapezoid rule for the inversion integral at one tilt, with its four errors.
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <vector>

#include <surety/accounting/accountants/contour/decay.h>
#include <surety/accounting/accountants/contour/saddle.h>
#include <surety/accounting/accountants/contour/terms.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::contour {

/// A second tilt, which bounds delta elsewhere: delta(x) <= exp(log_bound - s x).
struct Second {
  double s;
  Upper log_bound;
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
    Upper aliasing;
    Upper truncation;
    Upper quadrature;
    Upper rounding;
    double slope;

    [[nodiscard]] Upper two_sided() const { return truncation + quadrature + rounding; }
    [[nodiscard]] Upper log_upper() const { return log(Exact{sum} + two_sided()) + Exact{log_scale} + Exact{log_scale_error}; }
    [[nodiscard]] Lower log_lower() const {
      return log(Lower{Exact{sum}} - aliasing - two_sided()) + Exact{log_scale} - Exact{log_scale_error};
    }
    [[nodiscard]] double relative_error() const {
      return sum > 0 ? (aliasing + 2 * two_sided()).value() / sum + 2 * log_scale_error : infinity;
    }
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
  [[nodiscard]] Upper alias(const Second& second, double epsilon) const;

  void choose_step(Cumulants& cumulants, const Saddle& saddle, double log_target);

  /// Chooses the last point so that those beyond it are below the target, by bounds on |phi| on intervals that grow by a factor.
  void choose_end(Cumulants& cumulants, const Saddle& saddle, double log_target);

  /// A smaller last t by `ShiftedDecay`, for which it leaves the truncation.
  [[nodiscard]] double shortened_end(const Cumulants& cumulants, const std::vector<Pieces>& pieces, const std::vector<Ball>& log_moments,
                                     Range range, double log_target);

  /// \param log_share logarithm of delta over exp(Lambda(s) - s epsilon), roughly
  void add_points(Cumulants& cumulants, double tolerance, double log_share);

  double s_;
  Cumulant at_s_;
  double step_ = 0;
  Second right_{0, Upper{0}};
  Second left_{0, Upper{0}};
  Upper truncation_{0};
  std::size_t last_ = 0;
  std::vector<QuadraturePoint> points_;
};

}  // namespace surety::accounting::contour
