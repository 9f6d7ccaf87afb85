#include <surety/accounting/calibrate.h>

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace surety {
namespace {

// Beyond these every answer is 0 or infinity for any count up to 2^53 and any finite target.
constexpr double smallest_exponent = -600;
constexpr double largest_exponent = 600;

}  // namespace

Calibration calibrate(const EventTemplate& event, const Target& target, const CostFunctions& cost) {
  if (target.epsilon.value() == 0) {
    throw Error{ErrorCode::invalid_argument, "epsilon of the target is 0, must be greater than 0"};
  }
  const auto at = [&](double z) {
    auto made = event(NoiseMultiplier{z});
    if (made.adjacency() != target.adjacency) {
      throw Error{ErrorCode::invalid_argument,
                  fmt::format("adjacency of the event is {}, must be the target's, {}", name(made.adjacency()), name(target.adjacency))};
    }
    return made;
  };
  // log(certified delta / target delta), positive where the target is missed; bounded, since both may be 0.
  constexpr double far = 1e6;
  const auto excess = [&](double z) {
    const double upper = cost.delta(at(z), target.epsilon).upper;
    if (upper == 0) return -far;
    const double ratio = std::clamp(std::log(upper) - std::log(target.delta.value()), -far, far);
    constexpr double least = std::numeric_limits<double>::min();
    return upper <= target.delta.value() ? std::min(ratio, -least) : std::max(ratio, least);
  };

  // Bracket the root in s = log2 z.
  double failing = 0;
  double meeting = 0;
  if (excess(1) > 0) {
    for (meeting = 1; excess(std::exp2(meeting)) > 0; meeting = std::min(2 * meeting, largest_exponent)) {
      if (meeting >= largest_exponent) {
        const Event last = at(std::exp2(meeting));
        throw Error{ErrorCode::unreachable,
                    fmt::format("epsilon = {} at delta = {} is out of reach for '{}': with a noise multiplier of {:.0e} epsilon is "
                                "still {}, and delta {}",
                                target.epsilon, target.delta, describe(event(NoiseMultiplier{1})), std::exp2(meeting),
                                cost.epsilon(last, target.delta).upper, cost.delta(last, target.epsilon).upper)};
      }
      failing = meeting;
    }
  } else {
    for (failing = -1; !(excess(std::exp2(failing)) > 0); failing = std::max(2 * failing, smallest_exponent)) {
      if (failing <= smallest_exponent) {
        throw Error{ErrorCode::unreachable,
                    fmt::format("epsilon = {} at delta = {} is met by '{}' with every noise multiplier, so there is "
                                "no smallest one",
                                target.epsilon, target.delta, describe(event(NoiseMultiplier{1})))};
      }
      meeting = failing;
    }
  }

  std::uintmax_t evaluations = 100;
  const auto bracket = boost::math::tools::toms748_solve([&](double s) { return excess(std::exp2(s)); }, failing, meeting,
                                                         boost::math::tools::eps_tolerance<double>(50), evaluations);
  // The root finder's bracket may have closed on the root itself; step outward until each side is certain again. A multiplier
  // whose delta meets the target by less than the width of epsilon's enclosure does not meet it yet.
  const auto misses = [&](double z) { return excess(z) > 0; };
  const auto meets = [&](double z) { return !misses(z) && cost.epsilon(at(z), target.delta).upper <= target.epsilon.value(); };
  const auto certified = [](const auto& holds, double start, double direction, double fallback) {
    for (double margin = 0x1p-52; margin < 0x1p-10; margin *= 2) {
      const double candidate = start * (1 + direction * margin);
      if (holds(candidate)) return candidate;
    }
    return fallback;
  };
  const double largest_failing = certified(misses, std::exp2(bracket.first), -1, std::exp2(failing));
  const double smallest_meeting = certified(meets, std::exp2(bracket.second), +1, std::exp2(meeting));
  const Event found = at(smallest_meeting);
  return {.value = NoiseMultiplier{smallest_meeting},
          .event = found,
          .epsilon = cost.epsilon(found, target.delta),
          .delta = cost.delta(found, target.epsilon),
          .largest_failing = largest_failing};
}

}  // namespace surety
