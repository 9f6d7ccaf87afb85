// What the gossip of the paper costs as printed (optimizers/gossip/gossip.h, docs/proofs/gossip.md#printed).
#pragma once

#include <cstdint>

#include <surety/optimizers/gossip/gossip.h>

namespace surety::papers {

/// The cost of the *printed* Algorithm 2 over its claim: the largest over rounds t of 1 + phi a_t + phi^2 a_t a_{t+1} + ..., up to the last
/// round; exact for Laplace noise where no projection binds, within a relative 2^-40. e for a_t = 1 / (phi t). O(rounds).
/// \source docs/proofs/gossip.md#printed.
[[nodiscard]] double printed_minibatch_factor(const optimizers::StepRule& step, optimizers::Regularization phi, std::uint64_t rounds);

}  // namespace surety::papers
