// The probabilities of selection mechanisms in closed form, with scores in units of the noise scale b; independent of the library.
#pragma once

#include <vector>

#include <support/real.h>

namespace surety::testing {

using reference::Real;

Real best_of(const std::vector<Real>& scores);

/// P(i) = exp(s_i) / sum exp(s_j).
std::vector<Real> softmax(const std::vector<Real>& scores);

/// The largest of s_i + E_i is i: the integral over x > max s of exp(s_i - x) prod over j != i of (1 - exp(s_j - x)), multiplied out.
std::vector<Real> exponential_noise_law(const std::vector<Real>& scores);

/// The average over all orders of P(all before i fail) P(i passes).
std::vector<Real> permute_and_flip_law(const std::vector<Real>& scores);

/// Two candidates: L_1 - L_0 has density (1 + |x|) exp(-|x|) / 4.
std::vector<Real> laplace_noise_law(const std::vector<Real>& scores);

}  // namespace surety::testing
