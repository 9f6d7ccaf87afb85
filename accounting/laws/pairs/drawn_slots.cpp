#include <surety/accounting/laws/pairs/drawn_slots.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::privacy_loss {
namespace {

constexpr mpfr_prec_t precision = 128;
/// Logarithm of a chance that nobody looks at, also as a share of that of any slot, which is 2^-53 at least.
constexpr double log_vanished = -600;

Interval exactly(double value) { return {value, precision}; }

}  // namespace

DrawnSlots drawn_slots(Count records, Count batch_size, double growth) {
  const std::uint64_t slots = batch_size.value();
  const auto m = static_cast<double>(slots);
  const auto n = static_cast<double>(records.value());
  if (records == Count{1}) return {exactly(0), exactly(1), {{slots, slots, exactly(1)}}};
  const Interval log_none = exactly(m) * log1p(-(exactly(1) / exactly(n)));
  DrawnSlots found{exp(log_none), -expm1(log_none), {}};
  Interval chance = found.none;
  PollNowAndThen poll;
  // From one number to the next C(m, k) (1 / n)^k (1 - 1 / n)^(m - k) grows by a factor that falls.
  const auto grow = [&](std::uint64_t k) {
    const auto before = static_cast<double>(k - 1);
    const Interval factor = exactly(m - before) / (exactly(before + 1) * exactly(n - 1));
    chance = chance * factor;
    return factor;
  };
  for (std::uint64_t k = 1; k <= slots;) {
    const std::uint64_t width = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(growth * static_cast<double>(k)));
    const std::uint64_t last = std::min(slots, k + width - 1);
    DrawnSlots::Numbers group{k, last, exactly(0)};
    for (; k <= last; ++k) {
      poll();
      const Interval factor = grow(k);
      if (chance.approximate_log() < log_vanished && factor.enclosure().upper < 0.5) {
        // This one and all that follow: at most a geometric series.
        found.some.push_back({group.least, slots, group.chance + hull(exactly(0), exactly(2) * chance)});
        return found;
      }
      group.chance = group.chance + chance;
    }
    found.some.push_back(std::move(group));
  }
  return found;
}

GaussianMixtureBase mixture_of_slots(double multiplier, const DrawnSlots& slots) {
  GaussianMixtureBase mixture{multiplier, {}, 0, {}};
  std::vector<Interval> chances;
  const auto add = [&](std::uint64_t number, const Interval& chance) {
    mixture.shifts.push_back(static_cast<double>(number));
    chances.push_back(chance);
  };
  add(0, slots.none);
  // A chance that vanishes is one of the number before.
  for (const auto& [least, most, chance] : slots.some) {
    if (chance.enclosure().upper < negligible_chance) {
      chances.back() = chances.back() + chance;
    } else {
      add(least, chance);
    }
  }
  Upper error{0};
  for (const auto& chance : chances) {
    if (chance.enclosure().upper == 0) {
      mixture.log_weights.push_back(-infinity);
      continue;
    }
    const Enclosure weight = log(chance).enclosure();
    const double nearest = std::midpoint(weight.lower, weight.upper);
    error = max(error, max(Upper{Exact{weight.upper}} - Exact{nearest}, Upper{Exact{nearest}} - Exact{weight.lower}));
    mixture.log_weights.push_back(nearest);
  }
  mixture.weight_error = error.value();
  return mixture;
}

}  // namespace surety::accounting::privacy_loss
