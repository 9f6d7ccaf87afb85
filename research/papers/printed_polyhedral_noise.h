// The noise that the paper prints for bandits over a polytope (optimizers/bandits/polyhedral_bandit.h).
#pragma once

#include <surety/accounting/events/units.h>

namespace surety::papers {

/// The multiplier of the noise that [HLL22] Algorithm 2 prints, for arms of `steps` steps: Laplace noise with epsilon_t = sqrt(t) / (t + 1)
/// / z and z = 2 sqrt(log n log(1/delta)) / epsilon. With `arm.laplace` set, the cost of plan(...) at this multiplier is what the printed
/// noise really costs (for first steps of weight 1, and with the diameter of the ball for D: as printed, with D read as its radius, it is
/// half the noise and costs about twice). \throws Error{invalid_argument} when epsilon or delta is 0 or there are fewer than 2 steps.
[[nodiscard]] NoiseMultiplier printed_multiplier(Count steps, Epsilon epsilon, Delta delta);

}  // namespace surety::papers
