#include <surety/accounting/calibration/calibrate.h>

#include <surety/accounting/calibration/best_cost.h>

namespace surety {
namespace {

/// Beyond these every answer is 0 or infinity for any count up to 2^53 and any finite target.
Parameter multiplier() { return {.name = "noise multiplier", .lowest = 0x1p-600, .highest = 0x1p600}; }

}  // namespace

Calibration calibrate(const EventTemplate& event, const Target& target, const CostFunctions& cost) {
  const auto found = solve([&](double z) { return event(NoiseMultiplier{z}); }, target, multiplier(), cost);
  return {.value = NoiseMultiplier{found.value},
          .event = found.event,
          .epsilon = found.epsilon,
          .delta = found.delta,
          .largest_failing = found.failing.value(),
          .gap = found.gap};
}

Calibration calibrate(const EventTemplate& event, const Target& target, const accounting::Best& accountant) {
  return calibrate(event, target, accounting::best_cost(target, accountant.effort));
}

RiskCalibration calibrate(const EventTemplate& event, const RiskTarget& target, const accounting::Best& accountant) {
  const auto found = solve([&](double z) { return event(NoiseMultiplier{z}); }, target, multiplier(), accountant);
  return {.value = NoiseMultiplier{found.value},
          .event = found.event,
          .risk = found.risk,
          .largest_failing = found.failing.value(),
          .gap = found.gap};
}

}  // namespace surety
