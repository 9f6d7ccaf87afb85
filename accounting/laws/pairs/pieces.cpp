#include <surety/accounting/laws/pairs/pieces.h>

#include <surety/accounting/numbers/error.h>

namespace surety::accounting::privacy_loss {
namespace {

/// (1 - Phi(t)) e^(t^2 / 2) for t >= 0, within a relative 16 u (1 + t^2) below 8 and 16 u beyond.
double scaled_tail(double t) {
  if (t < 8) return 0.5 * std::erfc(t * 0.70710678118654752440) * std::exp(0.5 * t * t);
  // Laplace's continued fraction; 24 terms leave less than 1e-40 at t = 8, and its terms are all positive.
  double fraction = t;
  for (int k = 24; k >= 1; --k) fraction = t + k / fraction;
  return inverse_sqrt_two_pi / fraction;
}

/// Integral of e^((m^2 - t^2) / 2) over an interval of length d around m, over d: Taylor in d with Hermite polynomials.
/// \pre d (1 + |m|) <= 0.04; the first omitted term is below 3e-16 of the sum.
double interval_shape(double m, double d) {
  const double s = m * m;
  const double g = 0.25 * d * d;
  const double second = s - 1;
  const double fourth = s * (s - 6) + 3;
  const double sixth = s * (s * (s - 15) + 45) - 15;
  return 1 + g * (second / 6 + g * (fourth / 120 + g * sixth / 5040));
}

/// One standard normal mass of (t0, t1) as mass e^log_scale with a relative error.
struct TailMass {
  double log_scale;
  double mass;
  double error;
};
TailMass wide_mass(double t0, double t1) {
  if (t0 < 0 && t1 > 0) {
    const double mass = 0.5 * (std::erf(t1 * 0.70710678118654752440) - std::erf(t0 * 0.70710678118654752440));
    return {0, mass, 24 * unit_roundoff};
  }
  const double near = t0 >= 0 ? t0 : -t1;
  const double far = t0 >= 0 ? t1 : -t0;
  const double first = scaled_tail(near);
  const double second = scaled_tail(far) * std::exp(-0.5 * (far - near) * (far + near));
  const double mass = first - second;
  const double argument = 1 + near * near;
  const double error = mass > 0 ? 24 * unit_roundoff * argument * (first + second * (1 + far * far)) / mass : infinity;
  return {-0.5 * near * near, mass, error};
}

}  // namespace

Piece GaussianShape::piece(double t0, double t1) const {
  const double d = t1 - t0;
  const double m = 0.5 * (t0 + t1);
  const double u = loss(m);
  const double far = 1 + std::max(std::abs(m), std::abs(m - inverse));
  const double error = unit_roundoff * (40 + 6 * (std::abs(u) + std::abs(m) * inverse + inverse * inverse));
  const double size = d * far;
  if (size <= narrow) {
    const double shape = interval_shape(m, d);
    return {-0.5 * m * m, d * inverse_sqrt_two_pi * shape, unit_roundoff * (24 + 3 * m * m), u, interval_shape(m - inverse, d) / shape,
            error};
  }
  if (size <= 24 * narrow) {
    const int parts = checked_cast<int>(std::ceil(size / narrow * 1.3));
    const double width = d / parts;
    double q_mass = 0;
    double p_mass = 0;
    for (int k = 0; k < parts; ++k) {
      const double shift = (k + 0.5 - 0.5 * parts) * width;
      const double mid = m + shift;
      const double weight = std::exp(-0.5 * shift * (m + mid));
      q_mass += weight * interval_shape(mid, width);
      p_mass += weight * std::exp(shift * inverse) * interval_shape(mid - inverse, width);
    }
    const double inner = 60 * unit_roundoff * (1 + m * m + inverse * inverse);
    return {-0.5 * m * m, width * inverse_sqrt_two_pi * q_mass, inner, u, p_mass / q_mass, error + 2 * inner};
  }
  const TailMass q = wide_mass(t0, t1);
  const TailMass p = wide_mass(t0 - inverse, t1 - inverse);
  // The shifted ends are rounded: a relative |t| |error of t| of a tail each.
  const double far_end = std::max(std::abs(t0), std::abs(t1)) + inverse;
  const double shift_error = 8 * unit_roundoff * far_end * (1 + far_end) * (1 + p.error / (24 * unit_roundoff));
  const double centre = p.log_scale - q.log_scale;
  const double ratio_error =
      2 * (q.error + p.error + shift_error) + unit_roundoff * (16 + 4 * (std::abs(p.log_scale) + std::abs(q.log_scale)));
  return {q.log_scale, q.mass, q.error + unit_roundoff * (4 + 2 * std::abs(q.log_scale)), centre, p.mass / q.mass, ratio_error};
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

}  // namespace surety::accounting::privacy_loss
