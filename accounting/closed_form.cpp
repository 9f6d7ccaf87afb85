#include <surety/accounting/closed_form.h>

#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include <fmt/format.h>

namespace surety::accounting {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr mpfr_prec_t first_precision = 128;
// The deepest cancellation of the curve between mu = 1e-300 and epsilon = 1e300 costs some 2,000 bits.
constexpr mpfr_prec_t last_precision = 8192;
// log2 of the smallest double: where delta is below it, more precision cannot narrow its enclosure.
constexpr mpfr_exp_t below_double = -1080;

/// A non-negative real number that can be computed to any precision.
using Real = std::function<Interval(mpfr_prec_t)>;

Real exactly(double value) {
  return [value](mpfr_prec_t precision) { return Interval{value, precision}; };
}

/// Beyond this Mills' ratio is cheaper than erfc, and its fraction, precision / 8 deep, agrees to some 0.45 of the precision
/// (interval_test measures it); nearer to 0 twice the precision would not make it twice as narrow.
double far_tail(mpfr_prec_t precision) { return std::max(8.0, 0.7 * std::sqrt(static_cast<double>(precision))); }

/// delta(epsilon) of N(0, 1) against N(mu, 1) at one precision. \pre mu > 0.
Interval curve(const Interval& mu, double epsilon, mpfr_prec_t precision) {
  const Interval at{epsilon, precision};
  const Interval half_mu = mu / Interval{2, precision};
  const Interval shift = at / mu;
  const Interval near = shift - half_mu;
  const Interval far = shift + half_mu;
  // e^epsilon phi(far) = phi(near): no part of the product overflows.
  const auto is_far_tail = [&](const Interval& x) { return mpfr_cmp_d(x.lower(), far_tail(precision)) > 0; };
  const Interval first = is_far_tail(near) ? normal_density(near) * mills_ratio(near) : normal_cdf(-near);
  const Interval second = is_far_tail(far) ? normal_density(near) * mills_ratio(far) : exp(at) * normal_cdf(-far);
  return clamp(first - second, 0, 1);
}

/// The curve, at the first precision at which `enough` holds.
template <class Enough>
Interval refined_curve(const Real& mu, double epsilon, Enough enough) {
  for (mpfr_prec_t precision = first_precision;; precision *= 2) {
    auto value = curve(mu(precision), epsilon, precision);
    const bool vanishes = mpfr_zero_p(value.upper()) || mpfr_get_exp(value.upper()) < below_double;
    if (enough(value) || vanishes || precision >= last_precision) return value;
  }
}

/// Which side of a root a point lies on: certain (+1 before, -1 at or beyond it), and how far, as a logarithm.
struct Side {
  int certain;
  double distance;
};

Side side_of(const Real& mu, double epsilon, double target) {
  const auto value = refined_curve(mu, epsilon, [&](const Interval& delta) { return delta.compare(target) != 0; });
  const int certain = value.compare(target);
  // A vanished delta has no logarithm, and a rounded one may have the wrong sign; the root finder is to see neither.
  const double distance = std::max(value.approximate_log() - std::log(target), -1e6);
  constexpr double least = std::numeric_limits<double>::min();
  return {certain, certain > 0 ? std::max(distance, least) : certain < 0 ? std::min(distance, -least) : 0};
}

/// Encloses the point where `side` turns from + to -. The ends are certified by `side` itself, not by the root finder.
/// \pre side(before) is + and side(beyond) is -, both greater than 0.
Enclosure enclose_root(const std::function<Side(double)>& side, double before, double beyond) {
  const auto distance = [&](double x) { return side(x).distance; };
  // Bisection alone, three evaluations a bit, ends within these.
  std::uintmax_t evaluations = 300;
  const auto bracket =
      boost::math::tools::toms748_solve(distance, before, beyond, boost::math::tools::eps_tolerance<double>(48), evaluations);
  double lower = before;
  double upper = beyond;
  for (double margin = 0x1p-50; margin < 0.5; margin *= 8) {
    const double candidate = bracket.first * (1 - margin);
    if (candidate <= before) break;
    if (side(candidate).certain > 0) {
      lower = candidate;
      break;
    }
  }
  for (double margin = 0x1p-50; margin < 0.5; margin *= 8) {
    const double candidate = bracket.second * (1 + margin);
    if (candidate >= beyond) break;
    if (side(candidate).certain < 0) {
      upper = candidate;
      break;
    }
  }
  return {lower, upper};
}

Enclosure delta_of(const Real& mu, double epsilon) {
  return refined_curve(mu, epsilon, [](const Interval& delta) { return delta.agrees_to(51); }).enclosure();
}

Enclosure epsilon_of(const Real& mu, double target) {
  if (target == 0) return {infinity, infinity};
  if (side_of(mu, 0, target).certain < 0) return {0, 0};
  const auto side = [&](double epsilon) { return side_of(mu, epsilon, target); };
  // mu^2 / 2 + mu sqrt(2 log(1 / delta)) is above the root (zero-concentrated privacy); the margin covers its own rounding.
  const double mu_upper = mu(first_precision).enclosure().upper;
  const double largest = std::numeric_limits<double>::max();
  const double beyond = std::min((mu_upper * mu_upper / 2 + mu_upper * std::sqrt(-2 * std::log(target))) * (1 + 1e-10), largest);
  if (const int certain = side(beyond).certain; !(certain < 0)) return {certain > 0 ? beyond : 0, infinity};
  double before = beyond;
  for (double factor = 0.5; before > 0; factor *= factor) {
    const double candidate = before * factor;
    if (side(candidate).certain > 0) return enclose_root(side, candidate, before);
    if (candidate == 0) return {0, before};
    if (side(candidate).certain < 0) before = candidate;
  }
  return {0, beyond};
}

/// mu of an event; positive, since every multiplier is finite and no composition is empty.
Real mu_of(const Event& event) {
  return [event](mpfr_prec_t precision) { return sqrt(gaussian_mu_squared(event, precision)); };
}

}  // namespace

Interval gaussian_mu_squared(const Event& event, mpfr_prec_t precision) {
  if (const auto gaussian = pairwise_multiplier(event)) {
    const Interval multiplier{gaussian->value(), precision};
    return Interval{1, precision} / (multiplier * multiplier);
  }
  if (const auto* repeated = std::get_if<Event::Repeated>(&event.node())) {
    return Interval{static_cast<double>(repeated->count.value()), precision} * gaussian_mu_squared(repeated->event, precision);
  }
  if (const auto* composed = std::get_if<Event::Composed>(&event.node())) {
    Interval sum{0, precision};
    for (const auto& part : composed->events) sum = sum + gaussian_mu_squared(part, precision);
    return sum;
  }
  throw Error{ErrorCode::unsupported, fmt::format("{} has no closed form", describe(event))};
}

Enclosure delta(const ClosedForm&, const Event& event, Epsilon epsilon) { return delta_of(mu_of(event), epsilon.value()); }
Enclosure epsilon(const ClosedForm&, const Event& event, Delta delta) {
  const Real mu = mu_of(event);
  static_cast<void>(mu(first_precision));  // refuses other events also where delta = 0 leaves nothing to compute
  return epsilon_of(mu, delta.value());
}

Enclosure gaussian_delta(Mu mu, Epsilon epsilon) {
  if (mu.value() == 0) return {0, 0};
  return delta_of(exactly(mu.value()), epsilon.value());
}

Enclosure gaussian_epsilon(Mu mu, Delta delta) {
  if (mu.value() == 0) return {0, 0};
  return epsilon_of(exactly(mu.value()), delta.value());
}

Enclosure largest_mu(Epsilon epsilon, Delta delta) {
  if (delta.value() == 0) return {0, 0};
  // delta grows with mu, so "before the root" is where delta is still below the target.
  const auto side = [&](double mu) {
    const auto found = side_of(exactly(mu), epsilon.value(), delta.value());
    return Side{-found.certain, -found.distance};
  };
  const double spread = std::sqrt(-2 * std::log(delta.value()));
  // Two bounds from below: half of the mu whose zero-concentrated bound meets the target, and delta(epsilon) <= delta(0) <= mu / 2.
  double before = std::max(epsilon.value() / (spread + std::sqrt(spread * spread + 2 * epsilon.value())), delta.value());
  while (!(side(before).certain > 0)) before /= 2;
  double beyond = 2 * before;
  while (!(side(beyond).certain < 0)) beyond *= 2;
  return enclose_root(side, before, beyond);
}

}  // namespace surety::accounting
