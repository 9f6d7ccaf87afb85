// The truth about Gaussian releases, for tests: the curve of N(0, 1) against N(mu, 1) from its definition, and its two inverses
// by bisection. Written down independently of accounting/, in plain MPFR.
//
//     delta(epsilon; mu) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)
#pragma once

#include <support/real.h>

namespace surety::reference {

/// (1 - Phi(x)) / phi(x): Laplace's continued fraction 1/(x + 1/(x + 2/(x + 3/(x + ...)))), until two successive convergents,
/// between which it lies, agree to the last bit. \pre x > 0; slow unless x is large.
Real mills_ratio(const Real& x);

/// 1 - Phi(x): MPFR's erfc, and beyond 6, where that becomes slow, the continued fraction (a test compares the two).
Real normal_tail(const Real& x);

/// delta(epsilon; mu) to the bits of `mu`, less those that cancel: about log2(far / mu) for small mu.
Real gaussian_delta(const Real& mu, const Real& epsilon);
Real gaussian_delta(double mu, double epsilon, mpfr_prec_t bits = default_bits);

/// inf {epsilon >= 0 : delta(epsilon; mu) <= delta}. \pre delta > 0.
Real gaussian_epsilon(const Real& mu, double delta);
Real gaussian_epsilon(double mu, double delta, mpfr_prec_t bits = default_bits);

/// mu*(epsilon, delta) = sup {mu : delta(epsilon; mu) <= delta}. \pre delta > 0.
Real largest_mu(double epsilon, double delta, mpfr_prec_t bits = default_bits);

}  // namespace surety::reference
