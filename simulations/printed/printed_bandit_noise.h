// What the paper of the bandit without projections prints: options for a problem, and noise, with what it really costs
// (optimizers/bandits/projection_free_bandit.h; docs/proofs/projection-free-bandit.md#printed).
#pragma once

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/units.h>
#include <surety/base/numbers/enclosure.h>
#include <surety/optimizers/bandits/projection_free_bandit.h>

namespace surety::simulations {

/// Line 1 of Algorithm 1: T_round = sqrt(T), zeta = D sqrt(n) / T^(1/4), eta = D / (T^(3/4) sqrt(n) L), and losses in [0, L (D + zeta)].
[[nodiscard]] optimizers::ProjectionFreeBanditOptions printed_options(const optimizers::BanditProblem& problem);

/// Noise that the paper prints, and what it really costs.
template <class Noise>
struct PrintedBanditNoise {
  Noise noise;        ///< over the sensitivity of a push
  Event event;        ///< of the tree that has it
  Enclosure epsilon;  ///< of that event at the target's delta
};

/// Lemma 5.1: lambda = sqrt(T) n L log(T) / epsilon in the paper's units.
/// \throws Error{unsupported} when it costs more than the target, as for few steps in a high dimension; Error{invalid_argument} for one
///         step.
[[nodiscard]] PrintedBanditNoise<NoiseScale> printed_laplace(const optimizers::ProjectionFreeBanditOptions& options,
                                                             const optimizers::BanditProblem& problem, const Target& target);

/// Lemma 5.4: sigma = T^(1/4) sqrt(n) L log(T) log(T / delta) / epsilon (a + sqrt((1 + sqrt(T) / n) a)), a = log((n + T) / delta), in the
/// paper's units. \throws as `printed_laplace`; Error{invalid_argument} when delta is 0.
[[nodiscard]] PrintedBanditNoise<NoiseMultiplier> printed_gaussian(const optimizers::ProjectionFreeBanditOptions& options,
                                                                   const optimizers::BanditProblem& problem, const Target& target);

}  // namespace surety::simulations
