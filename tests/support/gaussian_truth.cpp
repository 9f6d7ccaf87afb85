#include <support/gaussian_truth.h>

namespace surety::reference {

Real mills_ratio(const Real& x) {
  mpfr_t p, q, p_before, q_before, ratio, ratio_before;
  mpfr_inits2(x.bits() + 32, p, q, p_before, q_before, ratio, ratio_before, mpfr_ptr{nullptr});
  mpfr_set_ui(p_before, 0, MPFR_RNDN);
  mpfr_set_ui(q_before, 1, MPFR_RNDN);
  mpfr_set_ui(p, 1, MPFR_RNDN);
  mpfr_set(q, x.get(), MPFR_RNDN);
  mpfr_div(ratio, p, q, MPFR_RNDN);
  for (unsigned long k = 1;; ++k) {
    // The next convergent is (x p + k p_before) / (x q + k q_before).
    mpfr_mul_ui(p_before, p_before, k, MPFR_RNDN);
    mpfr_fma(p_before, x.get(), p, p_before, MPFR_RNDN);
    mpfr_swap(p, p_before);
    mpfr_mul_ui(q_before, q_before, k, MPFR_RNDN);
    mpfr_fma(q_before, x.get(), q, q_before, MPFR_RNDN);
    mpfr_swap(q, q_before);
    mpfr_swap(ratio, ratio_before);
    mpfr_div(ratio, p, q, MPFR_RNDN);
    mpfr_sub(ratio_before, ratio, ratio_before, MPFR_RNDN);
    if (mpfr_zero_p(ratio_before) || mpfr_get_exp(ratio_before) < mpfr_get_exp(ratio) - x.bits()) break;
  }
  const Real result{ratio};
  mpfr_clears(p, q, p_before, q_before, ratio, ratio_before, mpfr_ptr{nullptr});
  return result;
}

Real normal_tail(const Real& x) {
  if (x > 6.0) return exp(-x * x / 2.0) / sqrt(2.0 * pi(x.bits())) * mills_ratio(x);
  return 0.5 * erfc(x / sqrt(Real{2, x.bits()}));
}

Real gaussian_delta(const Real& mu, const Real& epsilon) {
  const Real shift = epsilon / mu;
  return normal_tail(shift - mu / 2.0) - exp(epsilon) * normal_tail(shift + mu / 2.0);
}

Real gaussian_delta(double mu, double epsilon, mpfr_prec_t bits) { return gaussian_delta(Real{mu, bits}, Real{epsilon, bits}); }

namespace {

/// The point between low and high where `holds` turns from true to false, to a relative 2^-70. \pre 0 <= low < high.
template <class Predicate>
Real bisect(Predicate holds, Real low, Real high) {
  while (true) {
    const Real middle = (low + high) / 2.0;
    if ((high - low) * 0x1p70 <= high) return middle;
    (holds(middle) ? low : high) = middle;
  }
}

}  // namespace

Real gaussian_epsilon(const Real& mu, double delta) {
  const Real zero{0, mu.bits()};
  if (gaussian_delta(mu, zero) <= delta) return zero;
  // delta(epsilon; mu) <= exp(-(epsilon - mu^2/2)^2 / (2 mu^2)), the tail of the privacy loss N(mu^2/2, mu^2).
  const Real beyond = mu * mu / 2.0 + mu * sqrt(-2.0 * log(Real{delta, mu.bits()}));
  return bisect([&](const Real& epsilon) { return gaussian_delta(mu, epsilon) > delta; }, zero, beyond);
}

Real gaussian_epsilon(double mu, double delta, mpfr_prec_t bits) { return gaussian_epsilon(Real{mu, bits}, delta); }

Real largest_mu(double epsilon, double delta, mpfr_prec_t bits) {
  const Real at{epsilon, bits};
  Real beyond{1, bits};
  while (gaussian_delta(beyond, at) <= delta) beyond = beyond * 2.0;
  return bisect([&](const Real& mu) { return gaussian_delta(mu, at) <= delta; }, Real{0, bits}, beyond);
}

}  // namespace surety::reference
