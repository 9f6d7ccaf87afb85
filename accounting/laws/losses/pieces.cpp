#include <surety/accounting/laws/losses/pieces.h>

#include <algorithm>
#include <cmath>

#include <surety/base/text/error.h>

namespace surety::accounting::laws {
namespace {

/// (1 - Phi(t)) e^(t^2 / 2) for t >= 0, or within 1 of 0 or less. Its logarithm falls, with a slope of at most 2 there.
Ball scaled_tail(Ball t) {
  const Exact at{t.value()};
  if (at.value < 8) {
    const Ball half_square = Ball{at} * at * Exact{0.5};
    return (erfc(root_half * at) * exp(half_square) * Exact{0.5}).widened(2 * t.radius());
  }
  // Laplace's continued fraction; 24 terms leave less than 1e-20 at t = 8 and 8 terms at t = 40, and its terms are all positive, so that an error
  // shrinks from one to the next: all of it is within 4 units.
  double fraction = at.value;
  for (int k = at.value < 40 ? 24 : 8; k >= 1; --k) fraction = at.value + k / fraction;
  return (normal_density / Ball::within(fraction, 4)).widened(2 * t.radius());
}

/// Integral of e^((m^2 - t^2) / 2) over an interval of length d around m, over d: Taylor in d with Hermite polynomials.
/// \pre d (1 + |m|) <= 0.04; the first omitted term is below 3e-16 of the sum, whose terms beyond 1 are below 1e-3: within `units_of_shape`.
constexpr double units_of_shape = 4;
double interval_shape(double m, double d) {
  const double s = m * m;
  const double g = 0.25 * d * d;
  const double second = s - 1;
  const double fourth = s * (s - 6) + 3;
  const double sixth = s * (s * (s - 15) + 45) - 15;
  return 1 + g * (second / 6 + g * (fourth / 120 + g * sixth / 5040));
}

/// One standard normal mass of (t0, t1) as mass e^log_scale.
struct TailMass {
  Ball log_scale;
  Ball mass;
};
TailMass wide_mass(Ball t0, Ball t1) {
  if (t0.value() < 0 && t1.value() > 0) return {0, (erf(t1 * root_half) - erf(t0 * root_half)) * Exact{0.5}};
  const bool is_right = t0.value() >= 0;
  const Ball near = is_right ? t0 : -t1;
  const Ball far = is_right ? t1 : -t0;
  const Ball apart = (far - near) * (far + near) * Exact{0.5};
  return {near * near * Exact{-0.5}, scaled_tail(near) - scaled_tail(far) * exp(-apart)};
}

}  // namespace

Piece GaussianShape::piece(double t0, double t1) const {
  const double d = t1 - t0;
  const double m = 0.5 * (t0 + t1);
  const double u = loss(m);
  const double far = 1 + std::max(std::abs(m), std::abs(m - inverse));
  const double size = d * far;
  // The middle is off by u |m|, so m^2 / 2 by three halves of a unit of m^2 or less; the loss of the middle by three units of its terms. The series
  // of P is taken at a middle that is off by u (|m| + 2 inverse), which moves it by less than d times that.
  const double units_of_middle = 1.5 * m * m;
  const double units_of_loss = 3 * (std::abs(u) + std::abs(m) * inverse + inverse * inverse);
  const double units_of_p = units_of_shape + d * (std::abs(m) + inverse);
  if (size <= narrow) {
    const double shape = interval_shape(m, d);
    return {.log_scale = -0.5 * m * m,
            .mass = d * inverse_root_of_two_pi * shape,
            .mass_error = share_of_units(units_of_shape + 5 + units_of_middle),
            .loss = u,
            .ratio = interval_shape(m - inverse, d) / shape,
            .ratio_error = share_of_units(units_of_shape + units_of_p + 1 + units_of_loss)};
  }
  if (size <= 24 * narrow) {
    const int parts = checked_cast<int>(std::ceil(size / narrow * 1.3));
    const double width = d / parts;
    double q_mass = 0;
    double p_mass = 0;
    for (int k = 0; k < parts; ++k) {
      const double aside = (k + 0.5 - 0.5 * parts) * width;
      const double mid = m + aside;
      const double weight = std::exp(-0.5 * aside * (m + mid));
      q_mass += weight * interval_shape(mid, width);
      p_mass += weight * std::exp(aside * inverse) * interval_shape(mid - inverse, width);
    }
    // At most 32 terms. The exponents are at most 1 and within 3 units each, so a term is within 20 besides its series.
    constexpr double units_of_sum = 36;
    return {.log_scale = -0.5 * m * m,
            .mass = width * inverse_root_of_two_pi * q_mass,
            .mass_error = share_of_units(units_of_sum + units_of_shape + 5 + units_of_middle),
            .loss = u,
            .ratio = p_mass / q_mass,
            .ratio_error = share_of_units(2 * units_of_sum + units_of_shape + units_of_p + 1 + units_of_loss)};
  }
  const Ball shift = Ball{1} / Exact{multiplier};
  const TailMass q = wide_mass(Exact{t0}, Exact{t1});
  const TailMass p = wide_mass(Exact{t0} - shift, Exact{t1} - shift);
  return piece_of(q.log_scale, q.mass, p.log_scale - q.log_scale, p.mass / q.mass);
}

void refuse_range() { throw Error{ErrorCode::unsupported, "privacy-loss: its losses are out of range"}; }

void require_digits(const Piece& piece) {
  constexpr double most = 1e300;  // a cell of a coarse grid can be wider than the exponents of double
  if (piece.mass > 0 && piece.mass < most && piece.mass_error < 0.5 && piece.ratio > 0 && piece.ratio < most && piece.ratio_error < 0.5) {
    return;
  }
  throw Error{ErrorCode::unsupported, "a release has too little noise for the privacy-loss accountant: its losses have no accurate digits"};
}

double tail_point(double log_mass) { return std::sqrt(2 * std::max(-log_mass, 0.5)); }

LongUpper mass_beyond(double log_mass, double shift) {
  // The coordinate is off by at most 3 u (t + |shift|) from one whose tail is at most e^log_mass, so t^2 / 2 by t times that.
  const double t = tail_point(log_mass);
  const Ball exponent = Ball::around(log_mass, Ball::within(t * (t + std::abs(shift)), 2).radius());
  return exp(LongUpper{LongExact{exponent.upper().value()}});
}

}  // namespace surety::accounting::laws
