// How fast the characteristic function of a part falls: what bounds the points beyond the ends of the line.
#pragma once

#include <vector>

#include <surety/accounting/accountants/contour/moments.h>

namespace surety::accounting::contour {

/// Pieces of constant density in the loss, from loss[i] to loss[i + 1], that lie below the tilted law of one part.
struct Pieces {
  std::vector<double> loss;
  std::vector<double> mass;
  double variation = 0;  ///< upper bound of the total variation of the density of the loss
};

/// The density of the loss is g = f / (dL/du); A = log g has A'' <= max(w + 1, 0) mu^2 / 4 - 1 and A'' >= -1 - max(-w - 1, 0)
/// mu^2 / 4, increases before and decreases beyond the nodes' range, and has at most two maxima (docs/proofs/contour.md).
[[nodiscard]] Pieces pieces_of(const SampledReleases& part, double w, double log_moment, NodeGrid& grid);

/// Logarithm of a bound on |phi| = |M(s + it)| / M(s) of one part, for all t between from and to.
[[nodiscard]] double log_decay(const Pieces& pieces, double from, double to);

/// Bounds |phi| of one part by the integral of the integrand's modulus over the line Im U = shift, where it falls like exp(-t arg r).
class ShiftedDecay {
 public:
  /// \param log_moment log M(s), to within 1e-9
  ShiftedDecay(const SampledReleases& part, double w, double log_moment);

  struct Bound {
    double shift;      ///< 0 where none is known to help
    double log_decay;  ///< bound on log |phi(t)| for all t >= from
  };
  /// At nearly the best shift, looked for from that of the last call on. \complexity some microseconds for each of a few shifts.
  [[nodiscard]] Bound best(double from);

 private:
  [[nodiscard]] double at(double shift, double from) const;

  SampledReleases part_;
  double w_;
  double log_moment_;
  double step_ = 0;
  double outside_ = 0;           // bound on the integral beyond the nodes, at shift 0
  std::vector<double> log_phi_;  // of the standard normal density at the nodes
  std::vector<double> grown_;    // q e^x
  double turn_ = 0.5;            // the last best mu times shift
};

}  // namespace surety::accounting::contour
