// Complex numbers of lines that are turned away from where exponentials turn.
#pragma once

#include <cmath>
#include <complex>

namespace surety::accounting {

/// The product, without the branch for infinities that the operator has. Each part errs by three roundings of the sum of its terms' sizes.
template <class T>
[[nodiscard]] std::complex<T> times(const std::complex<T>& x, const std::complex<T>& y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}

/// e^z - 1 to some units of its size, without loss near z = 0; -1 where e^z is below 2e-22. \pre Re z <= 0.
[[nodiscard]] inline std::complex<long double> exponential_less_one(const std::complex<long double>& z) {
  if (z.real() < -50) return {-1, 0};
  const long double less = std::expm1(z.real());
  const long double sine = std::sin(0.5L * z.imag());
  const long double cosine = std::cos(0.5L * z.imag());
  return {less * (1 - 2 * sine * sine) - 2 * sine * sine, (1 + less) * 2 * sine * cosine};
}

}  // namespace surety::accounting
