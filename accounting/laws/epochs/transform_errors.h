// Rounding errors of Fourier and Laplace transforms: of their nodes, their powers, and products and sums of these.
//
// A transform is a trapezoid sum over nodes g - i b of a rotated line, less one, and its logarithm is multiplied by a number of rounds. All functions
// return bounds in plain long double: sums, products and quotients of numbers that are not negative, of fewer than 128 roundings. The
// caller adds these 64 units once, where its sum ends. A unit is the last place of a long double, twice what one operation errs by.
// \source docs/proofs/allocated.md#rounding
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>

#include <surety/base/numbers/bound.h>

namespace surety::accounting {

/// Of a result of at most 16 roundings, such as a complex product and the real factors and quotients that follow it, as a share of its size.
inline constexpr long double few_operations = share_of_units(8.0L);

/// Of a probability from a Fourier inversion, as a share of the period or of 1: the factors of pi, the products and the differences that follow the sum.
inline constexpr long double rounding_of_inversion = share_of_units(64.0L);

/// Of one node, as a share of its modulus times |Y|, Y = exp(mu (g - i b) - mu^2 / 2). `units` are those of the functions, products and sums that
/// the node passes through. The exponents (b - g)(b + g) / 2 and mu (g - mu / 2) and the angles b g and mu b add four roundings of their terms each.
[[nodiscard]] inline long double rounding_of_node(long double mu, long double b, long double g, long double units) {
  return share_of_units(units + 2 * (b * b + g * g + std::abs(b * g) + mu * std::abs(g) + mu * mu + mu * b));
}

/// log(1 + d), d complex and known within `error`.
struct LogOfTransform {
  long double real;
  long double angle;
  long double modulus;  ///< |1 + d|
  long double size;     ///< |d|
  long double error;
};
[[nodiscard]] inline LogOfTransform log_one_plus(std::complex<long double> d, long double error) {
  const std::complex<long double> value{1 + d.real(), d.imag()};
  const long double modulus = std::abs(value);
  const long double size = std::abs(d);
  return {.real = modulus > 0.7L ? 0.5L * std::log1p(2 * d.real() + size * size) : std::log(std::max(modulus, 1e-4000L)),
          .angle = std::atan2(value.imag(), value.real()),
          .modulus = modulus,
          .size = size,
          .error = error};
}

/// Of the exponent of e^(exponent log). What d is off by moves its logarithm by error / (modulus - error). The logarithm itself is rounded by 40 units
/// of |d| / |1 + d| and 8 of its real part, and its multiples and the functions of these by 4 units of both parts and 8 of 1.
[[nodiscard]] inline long double rounding_of_power(const LogOfTransform& of, long double exponent) {
  const long double real = std::abs(of.real);
  const long double spread = of.modulus > 4 * of.error ? of.error / (of.modulus - of.error) : 1;
  const long double of_log = share_of_units(of.size * (40 + 8 * real)) / std::min(1.0L, of.modulus);
  return exponent * (spread + of_log) + share_of_units(4 * exponent * (real + std::abs(of.angle))) + few_operations;
}

/// Of the power of 1 + d that was computed with the modulus `computed`.
[[nodiscard]] inline long double error_of_power(const LogOfTransform& of, long double exponent, long double computed) {
  const long double relative = rounding_of_power(of, exponent);
  // e^relative - 1 is at most relative + relative^2 there.
  if (relative < 0.01L) return (relative + relative * relative) * computed;
  // Elsewhere at most both moduli. That of 1 + d is rounded four times, and a root.
  const LongUpper modulus = LongUpper::within(of.modulus, 4) + LongExact{of.error};
  return computed + exp(LongExact{exponent} * log(modulus)).value();
}

/// A power of 1 + d.
struct PowerOfTransform {
  std::complex<long double> value;
  long double modulus;
  long double error;
};
[[nodiscard]] inline PowerOfTransform power_of(const LogOfTransform& of, long double exponent) {
  const long double modulus = std::exp(exponent * of.real);
  return {.value = {modulus * std::cos(exponent * of.angle), modulus * std::sin(exponent * of.angle)},
          .modulus = modulus,
          .error = error_of_power(of, exponent, modulus)};
}

/// Of a product of two complex numbers of these sizes, each known within its error.
[[nodiscard]] inline long double error_of_product(long double size, long double error, long double other_size, long double other_error) {
  return size * other_error + error * (other_size + other_error) + few_operations * size * other_size;
}

/// A sum of real terms and a bound on its error. An addition errs by half a unit of its partial sum, and one unit is counted.
struct SumWithError {
  long double value = 0;
  long double error = 0;

  void add(long double term, long double error_of_term) {
    value += term;
    error += error_of_term + share_of_units(std::abs(value));
  }
};

}  // namespace surety::accounting
