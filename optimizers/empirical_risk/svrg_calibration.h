// The noise of DP-SVRG for a target: the gradients of all records get a public share of the budget, and the least noise of the batches that
// meets the target jointly with them is sought.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/units.h>
#include <surety/base/numbers/enclosure.h>
#include <surety/optimizers/empirical_risk/svrg.h>

namespace surety::optimizers {

struct AnchorShareRule {
  static constexpr std::string_view name = "share of the gradients of all records";
  static constexpr std::string_view constraint = "greater than 0 and less than 1";
  static bool holds(double x) { return x > 0 && x < 1; }
};
/// Of mu*^2, where N(0, 1) against N(mu*, 1) just meets the target. Public.
using AnchorShare = Quantity<AnchorShareRule>;

struct SvrgNoise {
  NoiseMultiplier anchor_multiplier;  ///< z_F, sqrt(T / (share mu*^2)), at least
  NoiseMultiplier noise_multiplier;   ///< z
  Event event;                        ///< the plan with both, composed with `beside`
  Enclosure delta;                    ///< its cost at the target's epsilon; delta.upper <= target.delta
  std::string refusal;                ///< why no smaller z was taken, if the accountant refused one rather than found it too small
};

/// The noise for a run with `options`, whose own two multipliers do not count. z meets the target by the contour accountant where that
/// knows the sampler (Poisson under add-or-remove-one and zero-out) and by the PLD accountant otherwise, and a z smaller by a
/// relative 2^-13 does not, or was refused.
/// \param beside what is released beside the run, within the target; it is in the event
///
/// \throws Error{invalid_argument} when the target's adjacency is not that of the options, or its epsilon or delta is 0;
///         Error{unreachable} when no z up to 2^60 meets the target; Error{unsupported} when all of these are refused, with the reason.
/// \complexity some 20 evaluations of delta: milliseconds each with contour, 0.02 to 2 seconds with privacy-loss, the longest at z < 0.5.
/// \source docs/proofs/svrg.md#calibration
[[nodiscard]] SvrgNoise calibrate_svrg(const SvrgOptions& options, const Target& target, AnchorShare share = AnchorShare{0.5},
                                       const std::optional<Event>& beside = {});

}  // namespace surety::optimizers
