// M(s + it) - 1 of a part whose batches rarely hold the record, by a sum in which no number of order 1 cancels.
//
// With T batches an error e of M becomes T e of the answer. Where M is 1 + 10^-8, the rounding of the 1 alone is then larger than a small delta.
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

#include <surety/accounting/accountants/contour/moments.h>

namespace surety::accounting::contour {

/// The largest M(s) - 1 for which `ExcessMoment` is meant.
inline constexpr double largest_excess = 0.125;

/// E[r^(w + it) - 1 - (w + it) (r - 1)] = M - 1 on nodes u + iy of U, for t in [from, to]; r as in moments.h.
class ExcessMoment {
 public:
  /// \param w `power` of the direction and s; \param digits the error of the trapezoid rule to aim at is e^-digits.
  /// \pre part.rate < 1/2 and M(s) - 1 <= `largest_excess`. \throws Unsuitable where there would be too many nodes, or the largest loss is beyond double.
  ExcessMoment(const SampledReleases& part, double w, double digits, double from, double to);

  struct Value {
    std::complex<double> excess;
    double rounding;  ///< bound on its absolute error by floating point
    double cut;       ///< and by the trapezoid rule and its range
  };
  /// \pre from <= t <= to. \complexity one exponential for each node in the tail, and a polynomial for all others together.
  [[nodiscard]] Value at(double t) const;

  /// How many nodes take an exponential for each t.
  [[nodiscard]] std::size_t tail_nodes() const { return tail_.size(); }

 private:
  struct Node {
    std::complex<double> weight;  ///< step times the standard normal density
    std::complex<double> loss;    ///< log r
    std::complex<double> bend;    ///< log r - (r - 1)
  };
  static constexpr std::size_t most_powers = 18;

  void add(double u, double shift, double step, const SampledReleases& part, double from, double to);

  double w_;
  std::vector<Node> tail_;                           ///< |w + it| |log r| may exceed 1/2
  std::complex<long double> powers_[most_powers]{};  ///< sums of weight times log r^n / n! over all other nodes, from n = 2 on
  std::complex<long double> bends_{};                ///< sum of weight times bend over these
  double of_square_ = 0;                             ///< the rounding is of_square_ |w + it|^2 + of_power_ |w + it|
  double of_power_ = 0;
  double cut_ = 0;           ///< for the terms r^(w + it) and 1
  double cut_of_power_ = 0;  ///< per unit of |w + it|
};

}  // namespace surety::accounting::contour
