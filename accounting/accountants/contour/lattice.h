// Discrete Gaussian releases on the line: the characteristic function of a lattice, which is that of a Gaussian release up to a correction next to t = 0
// and has a period, so that its peaks come again.
#pragma once

#include <complex>

#include <surety/accounting/accountants/contour/loss.h>
#include <surety/base/numbers/ball.h>
#include <surety/base/numbers/bound.h>

namespace surety::accounting::contour {

/// One kind of discrete Gaussian release, with sigma at least `least_sigma`.
class Lattice {
 public:
  static constexpr double least_sigma = 0.5;

  /// \throws Unsuitable where sigma is less, or sensitivity over sigma is out of range.
  explicit Lattice(const LatticeReleases& releases);

  /// |M| has this period in t: 2 pi sigma^2 / sensitivity.
  [[nodiscard]] double period() const { return period_; }
  /// `correction` is for t up to this.
  [[nodiscard]] double farthest() const { return period_ / 4; }

  /// log M(s) less that of a Gaussian release of mu = sensitivity / sigma, for one release.
  [[nodiscard]] Ball log_moment(double s) const;

  struct Correction {
    double log_size;
    double phase;
    double error;  ///< of both together
  };
  /// log phi(t), phi(t) = M(s + it) / M(s), less that of this Gaussian release. \pre 0 <= t <= farthest()
  [[nodiscard]] Correction correction(double s, double t) const;

  /// Bound on log |phi(t)| of all releases of this kind, for all t from a to b, any s.
  [[nodiscard]] double log_bound(double a, double b) const;

  /// Releases times (sensitivity / sigma)^2, and the same times the square of the period: how sharp the peaks are, and how deep the valleys between.
  [[nodiscard]] double sharpness() const { return count_ * square_; }
  [[nodiscard]] double depth() const { return sharpness() * period_ * period_ / 8; }

 private:
  [[nodiscard]] std::complex<double> theta(double s, double t, double& error) const;

  double sensitivity_;
  double count_;
  double square_;  // (sensitivity / sigma)^2
  double period_;
  double quadratic_;  // 2 pi^2 sigma^2: theta = sum of exp(-m^2 quadratic) ...
  double other_images_;
  double log_start_;
};

/// Whether `lattice_truncation` can be small: there is continuous noise, or one of several lattices has deep valleys.
[[nodiscard]] bool ends_beyond_lattices(const Loss& loss);

/// Bound on what the points of the trapezoid rule beyond t = `end` add, over M(s) e^(-s epsilon): weights as of `weight_from` in line.cpp.
/// \param step of the rule; \param log_target what is small enough
/// \complexity microseconds for each period of the lattice with the sharpest peaks, until the rest is small.
[[nodiscard]] Upper lattice_truncation(const Loss& loss, double step, double end, double log_target);

}  // namespace surety::accounting::contour
