// One privacy-loss law on a grid, tilted: what the PLD accountant composes. docs/proofs/pld.md derives every error.
#pragma once

#include <cstdint>
#include <vector>

#include <surety/accounting/laws/cells/dominating_pair.h>

namespace surety::accounting {

/// Weight i stands for P-mass weight e^(log_scale - s loss) at loss = base + (first + i) step, with exactly these numbers.
struct TiltedLaw {
  std::vector<double> weights;
  long double base = 0;
  std::int64_t first = 0;
  double log_scale = 0;
};

struct TiltedGrid {
  double step;
  double s;
};

/// What all weights and sums that are too small for double can add up to: the law's weights are at most about 1, and 2^53 releases
/// of 2^40 weights that each lose 2^-1022 lose less.
constexpr double underflow = 1e-275;

/// log of the largest tilted mass of a cell, a scale for the weights; 0 without cells.
[[nodiscard]] double log_of_largest(const LossCells& law, const TiltedGrid& grid);

/// A law that dominates: each cell's mass is spread to the two ends of the cell, keeping P-mass and Q-mass; what lies below all cells is
/// moved up to the first one. Without cells it has no mass: who calls counts all of it as infinite loss.
[[nodiscard]] TiltedLaw spread(const LossCells& law, const TiltedGrid& grid, double shift);

/// A law that is dominated: outcomes are merged so that the merged loss falls on a grid point; what finds no partner moves down.
[[nodiscard]] TiltedLaw merge(const LossCells& law, const TiltedGrid& grid, double shift);

/// P- and Q-mass of each cell, from below and from above, as if its loss were that of the grid point it is named after: weights of `hits` are
/// tilted by s and those of `misses` by s + 1, so that both are of one size. Both start at one index and are of one length.
struct CountedLaw {
  TiltedLaw hits;
  TiltedLaw misses;
};
[[nodiscard]] CountedLaw counted(const LossCells& law, const TiltedGrid& grid, double shift);

/// The convolution of two non-negative sequences by its definition, rounded up or down as `direction` is +1 or -1.
/// \complexity O(x.size() y.size()).
[[nodiscard]] std::vector<double> convolved(const std::vector<double>& x, const std::vector<double>& y, int direction);

/// An upper bound on log of sum of weights[i] e^(a i step); a may have either sign.
[[nodiscard]] double log_transform(const std::vector<double>& weights, double step, double a);

}  // namespace surety::accounting
