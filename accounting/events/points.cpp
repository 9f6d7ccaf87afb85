#include <surety/accounting/events/points.h>

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <surety/accounting/events/units.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/text/error.h>

namespace surety {
namespace {

/// By how much, as a share of it, a point of a curve may lie above the chord of its neighbours.
constexpr double convexity_tolerance = 1e-9;
constexpr double infinity = std::numeric_limits<double>::infinity();

template <class... Values>
[[noreturn]] void refuse(fmt::format_string<Values...> sentence, Values&&... values) {
  throw Error{ErrorCode::invalid_argument, fmt::format(sentence, std::forward<Values>(values)...)};
}

void require_size(const std::vector<NumberPair>& pairs, std::size_t most, std::string_view what) {
  if (pairs.empty()) refuse("{} is empty, must have at least one", what);
  if (pairs.size() > most) refuse("{} has {} pairs, must have at most {}", what, pairs.size(), most);
}

void require_share(double value, std::string_view what) {
  if (!(value >= 0 && value <= 1)) refuse("{} is {}, must be from 0 to 1", what, value);
}

void require_whole(long double sum, std::string_view what) {
  if (!(std::abs(sum - 1) <= mass_tolerance))
    refuse("{} sum to {:.15g}, must sum to 1 within {}", what, static_cast<double>(sum), mass_tolerance);
}

}  // namespace

void CurveRule::check(const std::vector<NumberPair>& points) {
  const StandardFloatingPoint environment;
  require_size(points, 10'000, "curve");
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto [epsilon, delta] = points[i];
    if (!(epsilon >= 0 && is_finite(epsilon))) refuse("curve: epsilon is {}, must be finite and at least 0", epsilon);
    if (!(delta >= 0 && delta <= 1)) refuse("curve: delta is {} at epsilon {}, must be from 0 to 1", delta, epsilon);
    if (i == 0) continue;
    const auto [before, higher] = points[i - 1];
    if (!(epsilon > before)) refuse("curve: epsilon is {} after {}, must rise", epsilon, before);
    if (!(delta <= higher)) refuse("curve: delta is {} at epsilon {} after {}, must not rise", delta, epsilon, higher);
    if (i == 1) continue;
    // The middle one over the chord of both neighbours, in e^epsilon.
    const auto [first, highest] = points[i - 2];
    const long double far = -std::expm1(static_cast<long double>(first) - epsilon);
    const long double near = -std::expm1(static_cast<long double>(before) - epsilon);
    const long double chord = delta + (static_cast<long double>(highest) - delta) * (near / far);
    if (!(higher <= chord * (1 + static_cast<long double>(convexity_tolerance)))) {
      refuse("curve: delta is {} at epsilon {}, must be at most {:.15g}, the chord of its neighbours in e^epsilon (a curve is convex)",
             higher, before, static_cast<double>(chord));
    }
  }
  if (!(points.back().second < 1)) refuse("curve: the last delta is 1, must be less than 1");
}

void LawRule::check(const std::vector<NumberPair>& atoms) {
  const StandardFloatingPoint environment;
  require_size(atoms, 20'000, "law");
  long double sum = 0;
  long double other = 0;
  for (const auto& [loss, mass] : atoms) {
    if (!(loss > -infinity)) refuse("law: loss is {}, must be finite or infinity", loss);
    require_share(mass, "law: mass");
    sum += mass;
    if (mass > 0) other += static_cast<long double>(mass) * std::exp(-static_cast<long double>(loss));
  }
  require_whole(sum, "law: masses");
  if (!(other <= 1 + static_cast<long double>(mass_tolerance))) {
    refuse("law: masses e^-loss of the other side sum to {:.15g}, must sum to at most 1 within {}", static_cast<double>(other),
           mass_tolerance);
  }
  if (!(other >= static_cast<long double>(mass_tolerance))) {
    refuse("law: masses e^-loss of the other side sum to {:.3g}, must sum to at least {}", static_cast<double>(other), mass_tolerance);
  }
}

void RenyiRule::check(const std::vector<NumberPair>& bounds) {
  require_size(bounds, 256, "renyi");
  double before = 1;
  for (const auto& [order, bound] : bounds) {
    if (!(order > 1 && is_finite(order))) refuse("renyi: order is {}, must be finite and greater than 1", order);
    if (!(order > before)) refuse("renyi: order is {} after {}, must rise", order, before);
    if (!(bound >= 0 && is_finite(bound))) refuse("renyi: bound is {} at order {}, must be finite and at least 0", bound, order);
    before = order;
  }
}

void MixtureRule::check(const std::vector<NumberPair>& components) {
  const StandardFloatingPoint environment;
  require_size(components, 256, "mixture");
  long double sum = 0;
  for (const auto& [weight, shift] : components) {
    require_share(weight, "mixture: weight");
    if (!(shift >= 0 && is_finite(shift))) refuse("mixture: shift is {}, must be finite and at least 0", shift);
    sum += weight;
  }
  require_whole(sum, "mixture: weights");
}

void BatchSizesRule::check(const std::vector<NumberPair>& sizes) {
  constexpr double largest = 0x1p53;
  require_size(sizes, 10'000, "batches");
  double sum = 0;
  for (const auto& [steps, size] : sizes) {
    for (const auto& [what, value] : {std::pair{"steps", steps}, {"size", size}}) {
      if (!(value >= 1 && value <= largest && value == std::floor(value))) {
        refuse("batches: {} is {}, must be an integer from 1 to 2^53", what, value);
      }
    }
    if (steps > largest - sum) refuse("batches: the steps sum to more than 2^53, must sum to at most 2^53");
    sum += steps;  // exact
  }
}

}  // namespace surety
