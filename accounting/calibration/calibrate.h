// Calibration: the least noise whose certified cost meets a target.
#pragma once

#include <functional>

#include <surety/accounting/accountants/seam/accountant.h>
#include <surety/accounting/calibration/solve.h>

namespace surety {

/// What will happen, as a function of the noise multiplier. Its cost must not grow with the multiplier.
using EventTemplate = std::function<Event(NoiseMultiplier)>;

struct Calibration {
  NoiseMultiplier value;   ///< the multiplier to use: the certified upper bound of its cost meets the target
  Event event;             ///< the template at `value`
  Enclosure epsilon;       ///< cost of `event` at the target's delta; epsilon.upper <= target.epsilon
  Enclosure delta;         ///< cost of `event` at the target's epsilon; delta.upper <= target.delta
  double largest_failing;  ///< a multiplier below `value` that is not proved to meet the target: the largest one tried
  double gap = 0;          ///< as in Solution; beyond tight_gap less noise may meet the target, too
};

/// Smallest noise multiplier at which the certified upper bound of `event` meets `target`, by all accountants together, found by bracketing
/// (toms748) and then certified on both sides: value meets the target, largest_failing does not. Where a formula knows the cost, this is
/// the true smallest one within 1e-12 of it; elsewhere within what the accountants leave open. The command's `calibrate` says the same.
///
/// \pre   the template's cost does not grow with the multiplier.
/// \throws Error{invalid_argument} when the template's adjacency is not the target's or target.epsilon is 0;
///         Error{unreachable} when no multiplier meets the target (delta = 0 for Gaussian noise).
/// \complexity some 20 evaluations of the accountant's delta, and a few of its epsilon.
[[nodiscard]] Calibration calibrate(const EventTemplate& event, const Target& target, const accounting::Best& accountant = {});

struct RiskCalibration {
  NoiseMultiplier value;   ///< the multiplier to use: the certified upper bound of its risk meets the target
  Event event;             ///< the template at `value`
  Enclosure risk;          ///< its advantage or true-positive rate; risk.upper is within the target
  double largest_failing;  ///< as in Calibration
  double gap = 0;
};
/// Smallest noise multiplier at which an attacker certainly gets no more than `target` says. Errors and certificates as above.
[[nodiscard]] RiskCalibration calibrate(const EventTemplate& event, const RiskTarget& target, const accounting::Best& accountant = {});

/// The same by a search of one's own, or by one accountant alone.
[[nodiscard]] Calibration calibrate(const EventTemplate& event, const Target& target, const CostFunctions& cost);
template <accounting::Accountant A>
[[nodiscard]] Calibration calibrate(const EventTemplate& event, const Target& target, const A& accountant) {
  return calibrate(event, target,
                   CostFunctions{[&](const Event& e, Epsilon at) { return delta(accountant, e, at); },
                                 [&](const Event& e, Delta at) { return epsilon(accountant, e, at); }});
}

}  // namespace surety
