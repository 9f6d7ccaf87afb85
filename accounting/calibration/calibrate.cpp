#include <surety/accounting/calibration/calibrate.h>

#include <surety/accounting/calibration/best_cost.h>

namespace surety {

Calibration calibrate(const EventTemplate& event, const Target& target, const CostFunctions& cost) {
  // Beyond these every answer is 0 or infinity for any count up to 2^53 and any finite target.
  const Parameter parameter{.name = "noise multiplier", .lowest = 0x1p-600, .highest = 0x1p600};
  const auto found = solve([&](double z) { return event(NoiseMultiplier{z}); }, target, parameter, cost);
  return {.value = NoiseMultiplier{found.value},
          .event = found.event,
          .epsilon = found.epsilon,
          .delta = found.delta,
          .largest_failing = found.failing.value()};
}

Calibration calibrate(const EventTemplate& event, const Target& target, const accounting::Best& accountant) {
  return calibrate(event, target, accounting::best_cost(target, accountant.effort));
}

}  // namespace surety
