// What cells are cut from: intervals of outcomes with their masses, and the grid that sweeps over them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include <surety/accounting/laws/losses/loss_law.h>
#include <surety/base/numbers/ball.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::laws {

/// Masses of an interval of base outcomes: Q-mass = mass e^log_scale, P-mass / Q-mass = ratio e^loss. The two exponents are meant as they stand:
/// what they err by is in the errors of mass and ratio, which are shares.
struct Piece {
  double log_scale;
  double mass;
  double mass_error;
  double loss;
  double ratio;
  double ratio_error;
};
[[nodiscard]] inline Piece piece_of(Ball log_scale, Ball mass, Ball loss, Ball ratio) {
  return {.log_scale = log_scale.value(),
          .mass = mass.value(),
          .mass_error = mass.widened(log_scale.radius()).share(),
          .loss = loss.value(),
          .ratio = ratio.value(),
          .ratio_error = ratio.widened(loss.radius()).share()};
}

/// \throws Error{unsupported}: a loss has no grid index, also because the losses of other parts have put the anchor beyond double.
[[noreturn]] void refuse_range();

/// sqrt(1 / 2), and 1 / sqrt(2 pi).
inline constexpr Ball root_half = Ball::rounded(std::numbers::sqrt2 / 2);
inline constexpr Ball normal_density = Ball::within(inverse_root_of_two_pi, 2);

/// A length times the slope of the logarithm of a density, up to which a few terms of its series are enough.
inline constexpr double narrow = 0.04;

/// Indices of cells and integers of lattices are below it.
inline constexpr double largest_index = 0x1p52;

/// The pair of Gaussian releases, with the coordinate t of N(0, 1).
struct GaussianShape {
  double multiplier;
  double inverse;  // fl(1 / multiplier)

  explicit GaussianShape(const GaussianBase& base) : multiplier{base.multiplier}, inverse{1 / base.multiplier} {}

  [[nodiscard]] double coordinate(double loss, bool) const { return multiplier * loss + 0.5 * inverse; }
  [[nodiscard]] double loss(double t) const { return (t - 0.5 * inverse) * inverse; }
  /// The least loss of outcomes above a coordinate.
  [[nodiscard]] double loss_above(double t) const { return loss(t); }
  /// Bound on |loss(coordinate(l)) - l| and on the rounding of loss(t), for losses and coordinates up to these.
  [[nodiscard]] double error(double largest_loss, double largest_t) const {
    return Ball::within(largest_loss + inverse * inverse + largest_t * inverse, 3).radius();
  }

  /// \complexity O(1).
  [[nodiscard]] Piece piece(double t0, double t1) const;
};

/// 1 - rate is exact from 1/2 on, and for a rate of 1.
struct Mix {
  double rate;
  double rest;
  Ball other;  // 1 - rate
  explicit Mix(double sampling) : rate{sampling}, rest{1 - sampling}, other{rest == 0 ? Ball{0} : Ball::rounded(rest)} {}

  /// The base loss u at which log(1 - rate + rate e^u) = l; -infinity below the range.
  [[nodiscard]] double inverse(double l) const {
    if (rest == 0) return l;
    // rate e^u = e^l - rest, in the form with the smaller cancellation.
    const double scaled = l < -0.7 ? std::exp(l) - rest : std::expm1(l) + rate;
    if (!(scaled > 0)) return -infinity;
    const double ratio = scaled / rate;
    if (ratio < 1e300) return std::log(ratio);
    return (l < 700 ? std::log(scaled) : l) - std::log(rate);
  }
  [[nodiscard]] double loss(double u) const {
    if (rest == 0) return u;
    return u < 0 ? std::log1p(rate * std::expm1(u)) : u + std::log(rate + rest * std::exp(-u));
  }
  [[nodiscard]] Ball loss(Ball u) const {
    if (rest == 0) return u;
    return u.value() < 0 ? log1p(Exact{rate} * expm1(u)) : u + log(Exact{rate} + other * exp(-u));
  }
};

/// Digits that a cell cannot do without. \throws Error{unsupported} where it has none.
void require_digits(const Piece& piece);

/// t such that a standard normal exceeds it with probability at most e^log_mass, but for rounding.
[[nodiscard]] double tail_point(double log_mass);
/// At least the mass that is beyond a coordinate of shift +- tail_point(log_mass), however that was rounded.
[[nodiscard]] LongUpper mass_beyond(double log_mass, double shift);

/// The cells of losses from `least` to `most`, a monotone function of coordinates from `start` to `end`: `add_cell` appends each to
/// `out`, given its index, its grid point (within a unit of the last place of it, and one of the anchor) and its two coordinates; `coordinate` is
/// the inverse of the loss.
template <class Coordinate, class AddCell>
void sweep(std::vector<LossCell>& out, double anchor, double step, double least, double most, double start, double end,
           const Coordinate& coordinate, const AddCell& add_cell) {
  const auto point = [&](std::int64_t i) { return anchor + static_cast<double>(i) * step; };
  if (!(std::abs(least - anchor) / step < largest_index && std::abs(most - anchor) / step < largest_index)) refuse_range();
  const auto first = checked_cast<std::int64_t>(std::floor((least - anchor) / step)) - 1;
  const auto last = checked_cast<std::int64_t>(std::ceil((most - anchor) / step)) + 1;
  out.reserve(out.size() + static_cast<std::size_t>(last - first));
  // From the least loss up; the outermost cells take all that is left.
  double from = start;
  PollNowAndThen poll;
  for (std::int64_t i = first; i < last; ++i) {
    poll();
    const double to = i + 1 == last ? end : std::clamp(coordinate(point(i + 1)), std::min(start, end), std::max(start, end));
    if (end > start ? !(to > from) : !(to < from)) continue;
    add_cell(i, point(i), from, to);
    from = to;
  }
}

}  // namespace surety::accounting::laws
