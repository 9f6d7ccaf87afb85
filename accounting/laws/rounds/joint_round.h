// k of t rounds from above, all of them together: the ratio of the pair is at most a product over the rounds, times what does not depend on
// the outcome. docs/proofs/allocated.md#k-of-t-from-above
#pragma once

#include <cstdint>
#include <optional>

#include <surety/accounting/laws/losses/loss_law.h>
#include <surety/base/numbers/bound.h>

namespace surety::accounting {

/// With D the curve of all rounds, each an independent release of the law `round`, and K = e^log_scale: the curve of the epoch from which a
/// record is removed is at every real epsilon at most K D(epsilon - log K) + rest.
struct JointRound {
  LossLaw round;
  Upper log_scale;
  Upper rest;
};

/// That of allocated(rounds, participations, gaussian(multiplier)), made for where its delta is about e^log_delta; nothing where there is too
/// little noise, or there are too many rounds, for what is kept of it.
/// \pre 1 <= participations < rounds, multiplier > 0, log_delta < 0.
/// \complexity O(participations), and some ten thousand cells of a normal variable. \source docs/proofs/allocated.md#k-of-t-from-above
[[nodiscard]] std::optional<JointRound> joint_round(double multiplier, std::uint64_t rounds, std::uint64_t participations,
                                                    double log_delta);

}  // namespace surety::accounting
