// Likelihood ratios on the points e^(i h) of a grid: products, means and mixtures of them in nothing but sums of products of positive
// numbers, so that the farthest tail has as many digits as the middle. docs/proofs/allocated.md derives them.
//
// A law is a bound in convex order, from above (each value is spread over the two points around it, mean and mass kept) or from below
// (values of a cell are merged into their mean). Both directions of a curve, E(R - k)_+ and E(1 - k R)_+, are means of convex functions of
// the ratio, and so are those of any composition.
#pragma once

#include <cstdint>
#include <vector>

#include <surety/accounting/laws/losses/loss_law.h>
#include <surety/base/numbers/ball.h>
#include <surety/base/numbers/bound.h>

namespace surety::accounting::laws {

/// The ratio R = dP/dQ under Q.
class RatioLaw {
 public:
  enum class Bound { above, below };

  /// exp(mu g - mu^2 / 2) / rounds, g standard normal, mu = 1 / multiplier: one round's share of the ratio of an epoch. What is beyond
  /// `log_cut`, as a logarithm of mass, is cut. \pre step <= 0.5.
  /// \throws Error{unsupported} where there are too many points.
  static RatioLaw share_of_round(Bound bound, double multiplier, double rounds, double step, double log_cut);
  /// One where both distributions are alike.
  static RatioLaw one(Bound bound, double step, double log_cut);

  /// The sum of two independent ones. \complexity O(points log(1 / step) / step).
  friend RatioLaw operator+(const RatioLaw& a, const RatioLaw& b);
  /// Their product. \pre both from above. \complexity O(points^2).
  friend RatioLaw operator*(const RatioLaw& a, const RatioLaw& b);
  /// A number times it. \pre from above.
  [[nodiscard]] RatioLaw times(Ball factor) const;
  /// Adds `other` with `weight` to this one. \pre both from above; this one has been `scaled`.
  void add(const RatioLaw& other, Ball weight);
  /// No mass at all, for `add`.
  static RatioLaw empty(double step, double log_cut);

  /// The sum of so many independent ones.
  [[nodiscard]] RatioLaw sum_of(std::uint64_t count) const;

  /// The cells of the loss log R under P, or of -log R under Q.
  [[nodiscard]] LossCells cells(bool reversed) const;

 private:
  class Sum;

  RatioLaw(Bound bound, double step, double log_cut) : bound_{bound}, step_{step}, log_cut_{log_cut} {}
  void trim();
  void put_in_order();

  Bound bound_;
  double step_;
  double log_cut_;
  std::int64_t first_ = 0;
  std::vector<double> mass_;  // Q-mass at e^(i step), or in the cell from there on
  std::vector<double> mean_;  // from below: mass times mean ratio over e^(i step)
  Upper zero_{0};             // Q-mass at ratio 0
  LongUpper infinite_{0};     // P-mass at infinite ratio
  LongUpper dropped_{0};      // from below: mass that is in no cell, of either
  Upper error_{0};            // share by which masses and means may be off
  Upper shift_{0};            // that of ratios
};

/// One of t rounds, and nobody knows which: the mean of t ratios. \throws Error{unsupported} where that takes too long.
[[nodiscard]] RatioLaw allocated_ratio(RatioLaw::Bound bound, double multiplier, std::uint64_t rounds, double step, double log_cut);

/// A user's records, each in one of t rounds of its own: those that share a round are told, and so is to which part of the rounds each round
/// belongs. From above. Without the user something is told, too, with probabilities that make the mean of e^(tilt loss) small, roughly: any are sound, and
/// at tilt 0 they are those of the user. \pre 2 <= records <= 6, tilt >= 0.
[[nodiscard]] RatioLaw allocated_users_ratio(double multiplier, std::uint64_t records, std::uint64_t rounds, double step, double log_cut,
                                             double tilt = 0);

}  // namespace surety::accounting::laws
