// Noise shaped like a norm, cut into cells of its radius and of one coordinate's share of it.
#pragma once

#include <vector>

#include <surety/accounting/laws/losses/loss_law.h>
#include <surety/base/numbers/bound.h>

namespace surety::accounting::laws {

/// Noise x of d coordinates: of density proportional to e^(-||x|| / scale), or to e^(-||x||^2 / (2 scale^2)) where `is_squared`, in the l_r norm.
struct VectorNoise {
  double r;
  double dimension;
  double scale;
  bool is_squared;
};

/// Cells of one coordinate: their ends, and no more than the probability of each.
struct VectorCells {
  std::vector<double> ends;
  std::vector<double> masses;
};

/// x^r of a number that is not negative.
template <class Bound>
Bound power(Bound x, double r) {
  if (r == 1) return x;
  return r == 2 ? x * x : exp(Exact{r} * log(x));
}

/// log Gamma(x), from above (+1) or from below (-1). \pre x > 0
[[nodiscard]] double log_gamma(double x, int direction);

/// Beyond so long a vector nothing is told of.
[[nodiscard]] double longest_vector(const VectorNoise& noise);

/// The radius: t^(d - 1) e^(-t / b) / (b^d Gamma(d)), or t^(d - 1) e^(-t^2 / (2 z^2)) / (z^d 2^(d/2 - 1) Gamma(d/2)).
[[nodiscard]] VectorCells vector_radius_cells(const VectorNoise& noise, int count, bool mass_below = true);

/// The share u of the first coordinate: r (1 - |u|^r)^((d - 1)/r - 1) / (2 B(1/r, (d - 1)/r)).
/// From 0 on; the other side has the same. At least `places` cells. \pre dimension >= 2
[[nodiscard]] VectorCells vector_place_cells(const VectorNoise& noise, int places, bool mass_below = true);

/// Events of which no more than the probability is known where nothing has moved, and no more than the mean loss: added up to a few thousand atoms.
class VectorLosses {
 public:
  /// \param end no loss is expected beyond it, on either side.
  explicit VectorLosses(double end);
  void add(double loss, Lower mass);
  /// By rising loss, with the probability of each where the vector has moved.
  [[nodiscard]] AtomsBase atoms() const;

 private:
  struct Mass {
    double p = 0;
    double q = 0;
    double count = 0;
  };
  double end_;
  std::vector<Mass> sums_;
};

}  // namespace surety::accounting::laws
