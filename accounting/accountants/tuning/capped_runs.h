// The generating function of a capped geometric number of runs and how it bends: a polynomial, by its derivatives.
#pragma once

#include <surety/accounting/events/runs.h>

namespace surety::accounting {

/// phi(z) = E z^K of K = min(G, cap), G geometric: bounds on derivatives at z = 1 - bar, for bar from 0 to 1, by
///
///     phi^(j)(z) = g r^(j-1) j! (1 - r z)^-(j+1) P(Binomial(cap + 1, 1 - r z) > j) + cap (cap - 1) ... (cap - j + 1) r^j (r z)^(cap - j),
///
/// r = 1 - g, in which nothing cancels. docs/proofs/best-of.md#capped.
class CappedRuns {
 public:
  /// \pre runs.cap() is there
  explicit CappedRuns(const Runs& runs);

  /// \pre 1 <= order <= 4, 0 <= bar <= 1.
  [[nodiscard]] double above(int order, double bar) const;
  [[nodiscard]] double below(int order, double bar) const;

  /// Bounds on log(phi''(u) / phi''(v)) for all u and v = u - distance with 1 - u from `u_least` to `u_most`, 1 - v from `v_least` to `v_most`
  /// and distances from `nearest` to `farthest`.
  struct Bend {
    double least;
    double most;
  };
  struct Ranks {
    double u_least;
    double u_most;
    double v_least;
    double v_most;
    double nearest;
    double farthest;
  };
  [[nodiscard]] Bend bend(const Ranks& ranks) const;

 private:
  struct Value {
    double value;
    double error;  ///< relative, but for what underflow takes
  };
  [[nodiscard]] Value derivative(int order, double bar) const;

  double stops_;    ///< g
  double goes_on_;  ///< r
  double cap_;
};

}  // namespace surety::accounting
