#include <surety/statistics/noise.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <surety/base/numbers/overload.h>
#include <surety/statistics/exact.h>

namespace surety::statistics {
namespace {

/// erfc(x / (sigma sqrt 2)) or exp(-x / b): how often ideal noise exceeds x in magnitude, for sigma or b in the unit of x.
struct Tail {
  bool is_gaussian;
  double scale;

  /// About the largest number of steps that is exceeded with this probability.
  [[nodiscard]] std::int64_t guess(double exceeded) const {
    double low = 0;
    double high = 1;
    const auto is_exceeded = [&](double x) { return (is_gaussian ? std::erfc(x / std::sqrt(2.0)) : std::exp(-x)) > exceeded; };
    while (is_exceeded(high)) high *= 2;
    for (int k = 0; k < 64; ++k) (is_exceeded((low + high) / 2) ? low : high) = (low + high) / 2;
    return static_cast<std::int64_t>(std::clamp(high * scale - 0.5, 0.0, 0x1p61));
  }

  [[nodiscard]] Interval operator()(const Interval& x) const {
    return is_gaussian ? erfc(x / (point(scale) * sqrt(point(2.0)))) : exp(-(x / point(scale)));
  }
};

/// In grid steps.
Tail tail_of(const StatisticNoise& noise) {
  const Grid grid = std::visit([](const auto& mechanism) { return mechanism.options().grid; }, noise);
  // A power of two scales exactly.
  return std::visit(Overload{[&](const mechanisms::Gaussian& gaussian) {
                               return Tail{true, gaussian.sigma() * grid.steps_per_unit()};
                             },
                             [&](const mechanisms::Laplace& laplace) {
                               return Tail{false, laplace.scale() * grid.steps_per_unit()};
                             }},
                    noise);
}

}  // namespace

Event event_of(const StatisticNoise& noise) {
  return std::visit([](const auto& mechanism) { return mechanism.event(); }, noise);
}

std::string_view name(const StatisticNoise& noise) { return std::holds_alternative<mechanisms::Gaussian>(noise) ? "gaussian" : "laplace"; }

double standard_deviation(const StatisticNoise& noise) {
  return std::visit(Overload{[](const mechanisms::Gaussian& gaussian) { return gaussian.sigma(); },
                             [](const mechanisms::Laplace& laplace) { return std::sqrt(2.0) * laplace.scale(); }},
                    noise);
}

double quantile(const StatisticNoise& noise, double exceeded) {
  const Grid grid = std::visit([](const auto& mechanism) { return mechanism.options().grid; }, noise);
  const Tail tail = tail_of(noise);
  const auto suffices = [&](std::int64_t steps) { return tail(point(steps) + point(0.5)).enclosure().upper <= exceeded; };
  if (suffices(0)) return 0;
  std::int64_t failing = 0;
  std::int64_t enough = largest_sum;
  // A guess in doubles is hardly ever a step off; what intervals say of it and its neighbours spares them the search.
  const std::int64_t guess = tail.guess(exceeded);
  for (std::int64_t width = 1; width < largest_sum / 4; width *= 64) {
    const std::int64_t below = std::clamp(guess - width, failing, enough);
    const std::int64_t above = std::clamp(guess + width, failing, enough);
    if (below > failing && !suffices(below)) failing = below;
    if (above < enough && suffices(above)) enough = above;
    if (failing == below && enough == above) break;
  }
  while (enough - failing > 1) {
    const std::int64_t middle = failing + (enough - failing) / 2;
    (suffices(middle) ? enough : failing) = middle;
  }
  return (point(enough) * point(grid.step())).enclosure().upper;
}

Enclosure probability_at_least(const StatisticNoise& noise, std::int64_t steps) {
  const Tail tail = tail_of(noise);
  // Half of how often ideal noise is beyond x = steps - 1/2 in magnitude, or one less that half where x is negative.
  const Interval half = tail(steps > 0 ? point(steps) - point(0.5) : point(0.5) - point(steps)) / point(2.0);
  return (steps > 0 ? half : point(1.0) - half).enclosure();
}

}  // namespace surety::statistics
