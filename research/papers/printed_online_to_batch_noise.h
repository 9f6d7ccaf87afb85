// The noise that the paper of private online-to-batch prints, with what it really costs (optimizers/streams/online_to_batch.h).
#pragma once

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/units.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::papers {

/// What the paper's formula (6) adds, and what it really costs.
template <class Scale>
struct PrintedNoise {
  Scale scale;        ///< of a node's noise, over the sensitivity of its pushes
  Event event;        ///< a tree of nodes of that noise
  Enclosure epsilon;  ///< of the event, at the target's delta
};

/// Noise by formula (6), sigma_t = sqrt(log2(2T)) / rho times the sensitivity 2 C_t of `optimizers::PrintedScale`, for the rho that the printed
/// conversion gives, epsilon = 2 rho sqrt(log(1/delta)). For an AdaptiveTreeSum of the event's nodes.
/// \throws Error{unsupported} when this noise costs more than the target (the conversion holds for small delta, delta <= exp(-0.73 rho^2),
///         and is printed for large ones, delta >= exp(-rho^2)), or unless neighbours replace one record, as in the paper;
///         Error{invalid_argument} when epsilon or delta is 0.
/// \source [ZTC22] (6) and section 1.1, docs/proofs/online-to-batch.md#printed.
[[nodiscard]] PrintedNoise<NoiseMultiplier> printed_noise(Count steps, const Target& target);

/// The paper's pure variant in l2, formula (6) read with rho = epsilon and density exp(-||x||): node scale sqrt(log2(2T)) / epsilon.
/// A record is in up to log2(2T) nodes, so it needs log2(2T) / epsilon (`accounting::tree_noise_scale`).
/// \throws Error{unsupported} unless T = 1, where there is one node, or unless neighbours replace one record;
///         Error{invalid_argument} when epsilon is 0.
/// \source [ZTC22] Appendix C.2, docs/proofs/online-to-batch.md#printed.
[[nodiscard]] PrintedNoise<NoiseScale> printed_pure_noise(Count steps, Count features, Epsilon target, Adjacency adjacency);

}  // namespace surety::papers
