// The noise of [HLL22] Theorem 3.1 as printed, as an event, so that an accountant can say what it costs.
//
// The paper gives each of L = ceil(log2 n) + 1 levels of the tree (epsilon / L, delta / L) and calibrates a node by its Lemma 2.1,
//
//     sigma^2 = 2 kappa log(L / delta) s^2 L^2 / epsilon^2,   s = 2 (beta D + L) the sensitivity of one push,
//
// which is private with much to spare: some 6 times the noise that is needed. Two parts of the paper are not:
//
//   radius      Lemma 3.1, Lemma 5.1 and Algorithm 4 draw r^2 from Gamma(d / 2) of scale 2 sigma. The proof needs 2 sigma^2. The noise so
//               drawn has the standard deviation sqrt(sigma): refused, since no theorem covers it at any claimed epsilon
//   first step  rho_1 = 1/2 with d_1 = grad f(w_1, z_1) puts twice the gradient of the first record into the tree, unless that push is
//               clipped as the others are: charged as half the noise multiplier, which doubles mu
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include <surety/accounting/events/continual.h>
#include <surety/accounting/events/event.h>
#include <surety/accounting/events/units.h>
#include <surety/base/text/error.h>
#include <surety/optimizers/doors/stream.h>

namespace surety::optimizers {

enum class PrintedRadius {
  of_the_proof,     ///< r^2 of scale 2 sigma^2
  of_the_algorithm  ///< r^2 of scale 2 sigma: refused
};

enum class FirstStep {
  of_equal_weight,  ///< rho_t = 1 / t, or a first push that is clipped as the others are
  as_printed        ///< the first record with twice its weight
};

/// sigma over the sensitivity of one push, in the norm of the noise: L sqrt(2 (r - 1) log(L / delta)) / epsilon, r = 2 being plain
/// Gaussian noise. Within 2^-48 relative; what counts is the event of the number returned.
/// \throws Error{invalid_argument} when delta or epsilon is 0.
[[nodiscard]] inline NoiseMultiplier printed_noise_multiplier(Count steps, const Target& target, NormExponent r = NormExponent{2}) {
  const auto levels = static_cast<double>(std::bit_width(steps.value() - 1)) + 1;
  return NoiseMultiplier{levels * std::sqrt(2 * (r.value() - 1) * std::log(levels / target.delta.value())) / target.epsilon.value()};
}

/// What the printed Gaussian noise releases over a stream of `steps` steps: ask an accountant for its epsilon at target.delta.
/// \throws Error{unsupported} for the radius of the algorithm, and under add-or-remove-one.
[[nodiscard]] inline Event printed_frank_wolfe_noise(Count steps, const Target& target, PrintedRadius radius = PrintedRadius::of_the_proof,
                                                     FirstStep first_step = FirstStep::of_equal_weight) {
  require_fixed_places(target.adjacency);
  if (radius == PrintedRadius::of_the_algorithm) {
    throw Error{
        ErrorCode::unsupported,
        "the printed radius has r^2 of scale 2 sigma, must be 2 sigma^2: its noise has standard deviation sqrt(sigma), for which no guarantee is proved"};
  }
  const NoiseMultiplier z = printed_noise_multiplier(steps, target);
  return accounting::tree(steps, gaussian(first_step == FirstStep::as_printed ? NoiseMultiplier{z.value() / 2} : z, target.adjacency));
}

}  // namespace surety::optimizers
