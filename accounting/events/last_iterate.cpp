#include <surety/accounting/events/last_iterate.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <variant>

#include <surety/base/numbers/floating_point.h>

namespace surety::accounting {
namespace {

constexpr mpfr_prec_t multiplier_bits = 128;

double as_double(Count count) { return static_cast<double>(count.value()); }

// Proved: docs/proofs/last-iterate.md#computed
/// What powers of c between 0 and 1 are made of, so that no difference of near numbers is taken.
struct Powers {
  double c;
  mpfr_prec_t precision;
  Interval log_c = log(number(c));

  [[nodiscard]] Interval number(double x) const { return {x, precision}; }
  /// n log c.
  [[nodiscard]] Interval exponent(double n) const { return number(n) * log_c; }
  /// 1 - c^n.
  [[nodiscard]] Interval complement(double n) const { return -expm1(exponent(n)); }
  /// (1 - c^n) / (1 + c^n).
  [[nodiscard]] Interval complement_over_sum(double n) const {
    const Interval less = expm1(exponent(n));
    return -less / (number(2) + less);
  }
  [[nodiscard]] Interval one_less_c() const { return number(1) - number(c); }
  [[nodiscard]] Interval one_more_c() const { return number(1) + number(c); }
};

Interval square(const Interval& x) { return x * x; }

Interval full_batch(double steps, double c, mpfr_prec_t precision) {
  const Interval one{1, precision};
  if (c == 0 || steps == 1) return one;
  if (c == 1) return {steps, precision};
  const Powers powers{c, precision};
  return powers.complement_over_sum(steps) * powers.one_more_c() / powers.one_less_c();
}

/// The bound of the last n steps, which start anywhere in the set.
Interval last_steps(double n, double c, double diameter, mpfr_prec_t precision) {
  const Interval d{diameter, precision};
  if (c == 0) return {1, precision};
  if (c == 1) return square(Interval{n, precision} + d) / Interval{n, precision};
  const Powers powers{c, precision};
  // (1 - c^n) / (1 - c) + c^n d, and (1 - c^2) / (1 - c^(2 n)).
  const Interval reached = powers.complement(n) / powers.one_less_c() + exp(powers.exponent(n)) * d;
  return square(reached) * powers.one_less_c() * powers.one_more_c() / powers.complement(2 * n);
}

/// Near the n at which last_steps is least: any n is sound.
double best_last_steps(double most, double c, double diameter) {
  const double left = 1 - diameter * (1 - c);
  const double best = c == 1 ? diameter : left > 0 ? std::log1p(-diameter * (1 - c)) / std::log(c) : most;
  return std::clamp(std::floor(best), 1.0, most);
}

}  // namespace

Interval last_iterate_squared(Count steps, LipschitzConstant constant, mpfr_prec_t precision) {
  const StandardFloatingPoint environment;
  return full_batch(as_double(steps), constant.value(), precision);
}

Interval last_iterate_within_squared(Diameter diameter, Count steps, LipschitzConstant constant, mpfr_prec_t precision) {
  const StandardFloatingPoint environment;
  const double c = constant.value();
  const double most = as_double(steps) - 1;
  Interval least = full_batch(as_double(steps), c, precision);
  if (most == 0) return least;
  const double near = best_last_steps(most, c, diameter.value());
  for (const double n : {near, std::min(near + 1, most)}) {
    const Interval found = last_steps(n, c, diameter.value(), precision);
    if (mpfr_cmp(found.upper(), least.upper()) < 0) least = found;
  }
  return least;
}

Interval last_iterate_of_passes_squared(Count passes, Count batches, LipschitzConstant constant, mpfr_prec_t precision) {
  const StandardFloatingPoint environment;
  const double c = constant.value();
  const double l = as_double(batches);
  const double others = as_double(passes) - 1;
  if (l == 1) return full_batch(as_double(passes), c, precision);
  const Interval one{1, precision};
  if (c == 0 || others == 0) return one;
  if (c == 1) return one + Interval{others, precision} / Interval{l, precision};
  // 1 + c^(2 l - 2) (1 - c^2) / (1 - c^l)^2 (1 - c^(l (E - 1))) / (1 + c^(l (E - 1))); the product of two counts is rounded outward.
  const Powers powers{c, precision};
  const Interval steps = Interval{l, precision} * Interval{others, precision};
  const Interval less = expm1(steps * powers.log_c);
  return one + exp(powers.exponent(2 * (l - 1))) * powers.one_less_c() * powers.one_more_c() / square(powers.complement(l)) * -less /
                   (Interval{2, precision} + less);
}

Interval last_iterate_of_batches_squared(const BatchSizes& sizes, mpfr_prec_t precision) {
  const StandardFloatingPoint environment;
  std::optional<Interval> largest;
  double left = 1;  // steps from the last one of these batches on, an integer up to 2^53
  for (auto pair = sizes.all().rbegin(); pair != sizes.all().rend(); ++pair) {
    const Interval one = Interval{1, precision} / (square(Interval{pair->second, precision}) * Interval{left, precision});
    largest = largest ? maximum(*largest, one) : one;
    left += pair->first;
  }
  return *largest;
}
// Proved so far.

std::optional<LastIterateCost> last_iterate_cost(const Event& event, mpfr_prec_t precision) {
  const auto& node = event.node();
  if (const auto* e = std::get_if<Event::LastIterate>(&node)) {
    return LastIterateCost{e->event, last_iterate_squared(e->steps, e->constant, precision), true};
  }
  if (const auto* e = std::get_if<Event::LastIterateWithin>(&node)) {
    return LastIterateCost{e->event, last_iterate_within_squared(e->diameter, e->steps, e->constant, precision), false};
  }
  if (const auto* e = std::get_if<Event::LastIterateOfPasses>(&node)) {
    return LastIterateCost{e->event, last_iterate_of_passes_squared(e->passes, e->batches, e->constant, precision), true};
  }
  if (const auto* e = std::get_if<Event::LastIterateOfBatches>(&node)) {
    return LastIterateCost{e->event, last_iterate_of_batches_squared(e->sizes, precision), true};
  }
  return std::nullopt;
}

std::optional<Enclosure> last_iterate_multipliers(const Event& event) {
  const StandardFloatingPoint environment;
  const auto cost = last_iterate_cost(event, multiplier_bits);
  if (!cost) return std::nullopt;
  const double z = pairwise_multiplier(cost->step)->value();
  const auto found = (Interval{z, multiplier_bits} / sqrt(cost->squared)).enclosure();
  return Enclosure{found.lower, cost->is_attained ? found.upper : z};
}

}  // namespace surety::accounting
