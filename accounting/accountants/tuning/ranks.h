// The number of runs as what its searches ask of it: phi' at a rank, and chains of points (phi'(v), phi'(u)). docs/proofs/best-of.md.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include <surety/accounting/accountants/tuning/capped_runs.h>
#include <surety/accounting/events/runs.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::tuning_ranks {

/// More than a few operations and functions of double err, relative to what they give.
inline constexpr double few = 0x1p-48;
/// More than all sums and chains of one answer err, relative to it, and more than losses on the way are off by.
inline constexpr double margin = 1e-12;
/// Added where a double may have lost its digits by underflow.
inline constexpr double tiny = 1e-300;

/// One end of a cell of ranks: bounds on 1 - u and 1 - v there.
struct End {
  double u_least;
  double u_most;
  double v_least;
  double v_most;
};

/// Of a sum of so many terms of one sign, with their own errors.
[[nodiscard]] inline double rounding(std::size_t terms) { return margin + share_of_units(static_cast<double>(terms)); }

// ---- The number of runs ----

/// Bounds on a logarithm of slopes.
struct Bend {
  double least;
  double most;
};

/// phi' of the number of runs at z = 1 - bar, and how it bends.
class Slope {
 public:
  explicit Slope(const Runs& runs);

  [[nodiscard]] double mean() const { return mean_; }
  /// Bounds on phi'(1 - bar).
  [[nodiscard]] double above(double bar) const {
    if (capped_) return capped_->above(1, std::clamp(bar, 0.0, 1.0));
    const double e = std::min(exponent(bar), 700.0);
    return mean_ * std::exp(-e) * (1 + error(e)) + tiny;
  }
  [[nodiscard]] double below(double bar) const {
    if (capped_) return capped_->below(1, std::clamp(bar, 0.0, 1.0));
    const double e = exponent(bar);
    return e < 700 ? std::max(0.0, mean_ * std::exp(-e) * (1 - error(e)) - tiny) : 0;
  }
  /// Bounds on log(phi''(u) / phi''(v)) for u and v between the ends of a cell, whose distances lie between these.
  [[nodiscard]] Bend bend(const End& from, const End& to, double nearest, double farthest) const {
    if (capped_) {
      const auto [least, most] = capped_->bend({.u_least = to.u_least,
                                                .u_most = from.u_most,
                                                .v_least = to.v_least,
                                                .v_most = from.v_most,
                                                .nearest = nearest,
                                                .farthest = farthest});
      return {least, most};
    }
    return {log_bend(nearest, from.u_most), log_bend(farthest, to.u_least)};
  }
  /// log(phi''(v) / phi''(u)) at 1 - v and 1 - u, for those who guess.
  [[nodiscard]] double bend_between(double v_bar, double u_bar) const;
  /// Bounds on the probability of no run at all.
  [[nodiscard]] double none_below() const { return is_poisson_ ? std::exp(-mean_) * (1 - few * (2 + mean_)) : 0; }
  [[nodiscard]] double none_above() const { return is_poisson_ ? std::exp(-mean_) * (1 + few * (2 + mean_)) : 0; }
  /// What a logarithm of slopes on the way may be off by.
  [[nodiscard]] double bend_error() const { return few * (8 + (capped_ ? 0 : is_poisson_ ? mean_ : 4 * (power_ + 1))); }

 private:
  /// log(phi''(u) / phi''(v)) with u = 1 - bar and v = u - distance; grows with the distance and falls with bar.
  [[nodiscard]] double log_bend(double distance, double bar) const {
    if (is_poisson_) return mean_ * distance;
    const double ratio = scale_ * distance / (1 + scale_ * bar);
    return ratio > -1 ? (power_ + 1) * std::log1p(ratio) : -infinity;
  }
  [[nodiscard]] double exponent(double bar) const { return is_poisson_ ? mean_ * bar : power_ * std::log1p(scale_ * bar); }
  /// The exponent is within a few units of itself, and of the power by the scale.
  [[nodiscard]] double error(double e) const { return few * (8 + e + power_); }

  double mean_;
  bool is_poisson_;
  double power_ = 0;
  double scale_ = 0;
  std::optional<CappedRuns> capped_;
};

// ---- Chains of points (phi'(v(u)), phi'(u)) ----

struct Corner {
  double b;
  double a;
};

/// The edges of a chain from (0, 0): how much it rises, and the logarithm of its slope.
struct Edge {
  double rise;
  double run;
  double log_slope;
};

/// Bounds from above on P(K >= k) for k = 0, ..., `most` at the farthest, up to where hardly any is left.
[[nodiscard]] std::vector<double> survival_above(const Runs& runs, std::size_t most);

/// The upper concave hull of points and (0, 0), by their places; the origin is left out. What rounding drops lies within `margin` below it.
[[nodiscard]] std::vector<std::size_t> hull_of(const std::vector<Corner>& points);
[[nodiscard]] std::vector<Edge> edges_of(const std::vector<Corner>& points, const std::vector<std::size_t>& hull);

}  // namespace surety::accounting::tuning_ranks
