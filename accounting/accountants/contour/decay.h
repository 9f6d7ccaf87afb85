// How fast the characteristic function of a part falls: what bounds the points beyond the ends of the line.
#pragma once

#include <vector>

#include <surety/accounting/accountants/contour/moments.h>

namespace surety::accounting::contour {

/// Pieces of constant density in the loss that lie below the tilted law of one part, by rising loss.
struct Pieces {
  struct Piece {
    double low;
    double high;
    double mass;
  };
  std::vector<Piece> pieces;
  Upper variation{0};  ///< of the total variation of the density of the loss
};

/// The density of the loss is g = f / (dL/du); A = log g has A'' <= max(w + 1, 0) mu^2 / 4 - 1 and A'' >= -1 - max(-w - 1, 0)
/// mu^2 / 4, increases before and decreases beyond the nodes' range, and has at most two maxima (docs/proofs/contour.md).
[[nodiscard]] Pieces pieces_of(const SampledReleases& part, double w, Ball log_moment, NodeGrid& grid);

/// Logarithm of a bound on |phi| = |M(s + it)| / M(s) of one part, for all t between from and to.
[[nodiscard]] Upper log_decay(const Pieces& pieces, double from, double to);

/// Bounds |phi| of one part by the integral of the integrand's modulus over the line Im U = shift, where it falls like exp(-t arg r).
class ShiftedDecay {
 public:
  /// \param log_moment log M(s)
  ShiftedDecay(const SampledReleases& part, double w, Ball log_moment);

  struct Bound {
    double shift;     ///< 0 where none is known to help
    Upper log_decay;  ///< of log |phi(t)| for all t >= from
  };
  /// At nearly the best shift, looked for from that of the last call on. \complexity some microseconds for each of a few shifts.
  [[nodiscard]] Bound best(double from);

 private:
  [[nodiscard]] Upper at(double shift, double from) const;

  SampledReleases part_;
  double w_;
  Ball log_moment_;
  double step_ = 0;
  double outside_ = 0;           // bound on the integral beyond the nodes, at shift 0
  double farthest_ = 0;          // node
  std::vector<double> log_phi_;  // of the standard normal density at the nodes
  std::vector<double> grown_;    // q e^x
  double turn_ = 0.5;            // the last best mu times shift
};

}  // namespace surety::accounting::contour
