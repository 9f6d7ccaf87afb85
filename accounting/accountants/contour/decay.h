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
[[nodiscard]] Pieces pieces_of(const Part& part, double w, double log_moment, NodeGrid& grid);

/// Logarithm of a bound on |phi| = |M(s + it)| / M(s) of one part, for all t between from and to.
[[nodiscard]] double log_decay(const Pieces& pieces, double from, double to);

}  // namespace surety::accounting::contour
