// Binomial and Skellam probabilities in plain MPFR, from their definitions, with no formula that the samplers use.
#pragma once

#include <cmath>
#include <cstdint>

#include <support/real.h>

namespace surety::testing {

inline reference::Real log_factorial(std::uint64_t n, mpfr_prec_t bits) {
  const reference::Real next{static_cast<double>(n) + 1, bits};
  return reference::Real::apply([](mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t rounding) { return mpfr_lngamma(y, x, rounding); }, next);
}

/// C(n, n/2 + k) / 2^n, to about bits - 60. \pre n is even and at most 2^52.
inline reference::Real binomial_probability(std::uint64_t n, std::uint64_t k, mpfr_prec_t bits = 320) {
  if (k > n / 2) return reference::Real{0, bits};
  const reference::Real two{2, bits};
  return exp(log_factorial(n, bits) - log_factorial(n / 2 + k, bits) - log_factorial(n / 2 - k, bits) - static_cast<double>(n) * log(two));
}

/// The sum over j of the probabilities that one Poisson variable is j + k and the other j. O(sqrt(bits mean)).
inline reference::Real skellam_probability(double mean, std::uint64_t k, mpfr_prec_t bits = 320) {
  const reference::Real mu{mean, bits};
  const auto shift = static_cast<double>(k);
  // The largest term.
  const double middle = std::floor((std::sqrt(shift * shift + 4 * mean * mean) - shift) / 2);
  const auto j = static_cast<std::uint64_t>(middle);
  const reference::Real largest = exp((2 * middle + shift) * log(mu) - 2 * mu - log_factorial(j, bits) - log_factorial(j + k, bits));
  const reference::Real least = largest * std::ldexp(1.0, -static_cast<int>(bits) - 20);
  const reference::Real square = mu * mu;
  reference::Real sum = largest;
  reference::Real term = largest;
  for (double at = middle + 1; term > least; ++at) {
    term = term * square / (at * (reference::Real{at, bits} + shift));
    sum = sum + term;
  }
  term = largest;
  for (double at = middle; at >= 1 && term > least; --at) {
    term = term * (at * (reference::Real{at, bits} + shift)) / square;
    sum = sum + term;
  }
  return sum;
}

}  // namespace surety::testing
