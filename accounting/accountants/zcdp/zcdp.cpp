#include <surety/accounting/accountants/zcdp/zcdp.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/event_of_group.h>
#include <surety/accounting/events/last_iterate.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/numbers/root.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting {
namespace {

constexpr mpfr_prec_t precision = 128;

/// log(t / (1 + t)), which is negative.
Interval log_odds(const Interval& t) { return log(t) - log1p(t); }

OrRefusal<Interval> rho_or_refusal(const Event& event, mpfr_prec_t bits);

/// Users of releases as an event that costs them at most: the normal form, or the bound for one release; nothing where there is none.
std::optional<Event> above_users(const Event& event) {
  const Event plain = plainest(event);
  const auto* users = std::get_if<Event::Users>(&plain.node());
  if (users == nullptr) return plain;
  if (users->event.has_sampling() || std::holds_alternative<Event::Parallel>(users->event.node())) return std::nullopt;
  const auto bounds = group_bounds(users->event, users->records);
  return bounds ? std::optional{bounds->upper} : std::nullopt;
}

/// rho of an event; every branch is a bound from above, see docs/proofs/zcdp.md#zcdp-events.
struct RhoOf {
  using Result = OrRefusal<Interval>;
  const Event& event;
  mpfr_prec_t bits;

  Interval number(double value) const { return {value, bits}; }
  Interval square(const Interval& x) const { return x * x; }
  /// An (epsilon, 0)-private release is (epsilon^2 / 2)-zCDP [BS16, Proposition 3.3].
  Interval pure(const Interval& epsilon) const { return square(epsilon) / number(2); }

  Result operator()(const Event::Gaussian& e) const { return number(1) / (number(2) * square(number(e.multiplier.value()))); }
  Result operator()(const Event::RecordSum&) const { return (*this)(Event::Gaussian{*pairwise_multiplier(event)}); }
  Result operator()(const Event::DiscreteGaussian& e) const {  // [CKS20] Theorem 4
    return square(number(static_cast<double>(e.sensitivity.value())) / number(e.sigma.value())) / number(2);
  }
  Result operator()(const Event::GeneralizedGaussian& e) const {
    return (number(e.r.value()) - number(1)) / (number(2) * square(number(e.multiplier.value())));
  }
  Result operator()(const Event::Concentrated& e) const { return number(e.rho.value()); }
  /// Bounded range epsilon is (epsilon^2 / 8)-zCDP [Cesar, Rogers 2021, Lemma 3.4].
  Result operator()(const Event::Exponential& e) const { return square(number(e.epsilon.value())) / number(8); }
  Result operator()(const Event::Pure& e) const { return pure(number(e.epsilon.value())); }
  Result operator()(const Event::Laplace& e) const { return pure(number(1) / number(e.scale.value())); }
  Result operator()(const Event::LaplaceRecordSum&) const { return (*this)(Event::Laplace{*pairwise_scale(event)}); }
  Result operator()(const Event::KNorm& e) const { return pure(number(1) / number(e.scale.value())); }
  Result operator()(const Event::DiscreteLaplace& e) const {
    return pure(number(static_cast<double>(e.sensitivity.value())) / number(e.scale.value()));
  }
  Result operator()(const Event::RandomizedResponse& e) const {
    const Interval truth = number(e.truth.value());
    return pure(log(truth * number(static_cast<double>(e.categories.value() - 1)) / (number(1) - truth)));
  }
  Result operator()(const Event::Repeated& e) const {
    auto once = rho_or_refusal(e.event, bits);
    return once ? Result{number(static_cast<double>(e.count.value())) * *once} : once;
  }
  Result operator()(const Event::Composed& e) const {
    Interval sum = number(0);
    for (const auto& part : e.events) {
      auto one = rho_or_refusal(part, bits);
      if (!one) return one;
      sum = sum + *one;
    }
    return sum;
  }
  /// A record takes part in one of the parts, and all rho-curves are ordered, so the largest rho holds for each.
  Result operator()(const Event::Parallel& e) const {
    Interval largest = number(0);
    for (const auto& part : e.events) {
      auto one = rho_or_refusal(part, bits);
      if (!one) return one;
      largest = maximum(largest, *one);
    }
    return largest;
  }
  /// A record is in one batch of the epoch; the permutation is at best unhelpful.
  Result operator()(const Event::Shuffled& e) const { return rho_or_refusal(e.event, bits); }
  Result operator()(const Event::Deterministic& e) const { return rho_or_refusal(e.event, bits); }
  Result operator()(const Event::Users&) const {
    if (const auto mu_squared = gaussian_mu_squared(event, bits)) return *mu_squared / number(2);
    const auto above = above_users(event);
    return above ? rho_or_refusal(*above, bits) : no_theorem();
  }
  Result operator()(const Event::LastIterate&) const { return last_iterate(); }
  Result operator()(const Event::LastIterateWithin&) const { return last_iterate(); }
  Result operator()(const Event::LastIterateOfPasses&) const { return last_iterate(); }
  Result operator()(const Event::LastIterateOfBatches&) const { return last_iterate(); }
  /// That of the Gaussian release which it costs at most.
  [[nodiscard]] Result last_iterate() const {
    const auto cost = *last_iterate_cost(event, bits);
    return cost.squared * *rho_or_refusal(cost.step, bits);
  }
  Result operator()(const Event::ShuffledReports&) const { return rho_or_refusal(*one_report(event), bits); }
  Result operator()(const Event::ShuffledResponses&) const { return rho_or_refusal(*one_report(event), bits); }
  template <class Other>
  Result operator()(const Other&) const {
    return no_theorem();
  }

  [[nodiscard]] Refusal no_theorem() const { return {event, "the zcdp accountant has no theorem for {}; privacy-loss and renyi may"}; }
};

OrRefusal<Interval> rho_or_refusal(const Event& event, mpfr_prec_t bits) { return std::visit(RhoOf{event, bits}, event.node()); }
/// \throws Error{unsupported} where there is none.
Interval rho_of(const Event& event, mpfr_prec_t bits) { return rho_or_refusal(event, bits).value(); }

/// xi of an event that has a rho, beside it: what only zcdp has.
struct XiOf {
  mpfr_prec_t bits;

  Interval operator()(const Event::Concentrated& e) const { return {e.xi.value(), bits}; }
  Interval operator()(const Event::Repeated& e) const { return Interval{static_cast<double>(e.count.value()), bits} * of(e.event); }
  Interval operator()(const Event::Composed& e) const {
    Interval sum{0, bits};
    for (const auto& part : e.events) sum = sum + of(part);
    return sum;
  }
  /// The largest xi beside the largest rho.
  Interval operator()(const Event::Parallel& e) const {
    Interval largest{0, bits};
    for (const auto& part : e.events) largest = maximum(largest, of(part));
    return largest;
  }
  Interval operator()(const Event::Shuffled& e) const { return of(e.event); }
  Interval operator()(const Event::Deterministic& e) const { return of(e.event); }
  template <class Other>
  Interval operator()(const Other&) const {
    return {0, bits};
  }
  [[nodiscard]] Interval of(const Event& event) const {
    if (!std::holds_alternative<Event::Users>(event.node())) return std::visit(*this, event.node());
    const auto above = above_users(event);
    return above && !std::holds_alternative<Event::Users>(above->node()) ? of(*above) : Interval{0, bits};
  }
};

// Proved: docs/proofs/zcdp.md#pinsker
/// What delta is at most at every epsilon: the total variation x of laws whose divergence of order 1 is at most this in both directions,
/// x log((1 + x) / (1 - x)) <= divergence. That is less than Pinsker's inequality says.
double largest_delta(const Interval& divergence) {
  const double pinsker = std::min(1.0, sqrt(divergence / Interval{2, precision}).enclosure().upper);
  const double wanted = divergence.enclosure().upper;
  const auto excess = [&](double x) { return x * (std::log1p(x) - std::log1p(-x)) - wanted; };
  const double end = std::nextafter(1.0, 0.0);
  if (!(excess(end) > 0)) return pinsker;
  // The left side rises with x, so any x at which it is at least the divergence is a bound.
  double x = narrow_root(excess, 0, end, 50, 200).middle();
  for (int i = 0; i < 8; ++i) {
    x = std::min(end, x * (1 + 0x1p-50));
    const Interval at{x, precision};
    if ((at * (log1p(at) - log1p(-at)) - divergence).compare(0) >= 0) return std::min(pinsker, x);
  }
  return pinsker;
}
// Proved so far.

/// By the divergence of some order.
Enclosure delta_by_orders(const Event& event, Epsilon epsilon) {
  const Interval rho = rho_of(event, precision);
  const Interval left = Interval{epsilon.value(), precision} - XiOf{precision}.of(event);
  const double rho_near = rho.enclosure().upper;
  if (rho_near == 0) return at_most(left.compare(0) >= 0 ? 0 : 1);
  // Stationarity in t: (1 + 2 t) rho + log(t / (1 + t)) = epsilon - xi, increasing in t = e^s; scaled, lest the root finder overflow.
  const double wanted = left.enclosure().lower;
  if (!std::isfinite(wanted)) return at_most(1);
  const double scale = 1 + std::abs(wanted) + rho_near;
  const auto slope = [&](double s) { return ((1 + 2 * std::exp(s)) * rho_near - std::log1p(std::exp(-s)) - wanted) / scale; };
  constexpr double widest = 700;
  if (!(slope(-widest) < 0)) return at_most(1);
  // From t = 1 on log(t / (1 + t)) is at least -log 2, which bounds the root.
  const double beyond = std::min(std::log(std::max(1.0, ((wanted + std::log(2.0)) / rho_near - 1) / 2)), widest);
  const double s = slope(beyond) > 0 ? narrow_root(slope, -widest, beyond, 50, 200).middle() : beyond;
  const Interval t{std::exp(s), precision};
  const Interval order = Interval{1, precision} + t;
  const Interval log_delta = t * (order * rho - left) - log(t) + order * log_odds(t);
  return at_most(clamp(exp(log_delta), 0, 1).enclosure().upper);
}

}  // namespace

Interval zcdp_rho(const Event& event, long bits) {
  const StandardFloatingPoint environment;
  if (XiOf{bits}.of(event).compare(0) > 0) unsupported(event, "{} has no rho alone, but one that is shifted");
  return rho_of(event, bits);
}

Interval zcdp_divergence(const Event& event, RenyiOrder order, long bits) {
  const StandardFloatingPoint environment;
  return XiOf{bits}.of(event) + Interval{order.value(), bits} * rho_of(event, bits);
}

std::optional<Refusal> why_not(const Zcdp&, const Event& event) { return rho_or_refusal(event, precision).why_not(); }

Enclosure delta(const Zcdp&, const Event& event, Epsilon epsilon) {
  const StandardFloatingPoint environment;
  return at_most(std::min(delta_by_orders(event, epsilon).upper, largest_delta(XiOf{precision}.of(event) + rho_of(event, precision))));
}

Enclosure epsilon(const Zcdp&, const Event& event, Delta delta) {
  const StandardFloatingPoint environment;
  const Interval rho = rho_of(event, precision);  // refuses other events also where delta = 0 leaves nothing to compute
  const Interval xi = XiOf{precision}.of(event);
  const double rho_near = rho.enclosure().upper;
  if (largest_delta(xi + rho) <= delta.value()) return at_most(0);
  if (rho_near == 0) return at_most(xi.enclosure().upper);
  if (delta.value() == 0) return at_most(infinity);
  if (!std::isfinite(rho_near)) return at_most(infinity);
  // On the envelope over t: epsilon = (1 + 2 t) rho + log(t / (1 + t)) and log(1 / delta) = t^2 rho + log(1 + t).
  const double level = -std::log(delta.value());
  // In u = t / largest, lest the root finder overflow.
  const double largest = std::min({std::sqrt(level / rho_near), std::expm1(level), 1e300});
  const auto excess = [&](double u) { return (u * largest * (u * largest * rho_near) + std::log1p(u * largest)) / level - 1; };
  double best = excess(1) > 0 ? narrow_root(excess, 0, 1, 50, 200).middle() * largest : largest;
  best = std::min(std::max(best, std::numeric_limits<double>::min()), std::numeric_limits<double>::max());
  const Interval t{best, precision};
  const Interval order = Interval{1, precision} + t;
  const Interval bound = xi + order * rho + (order * log_odds(t) - log(t) - log(Interval{delta.value(), precision})) / t;
  return at_most(std::max(0.0, bound.enclosure().upper));
}

}  // namespace surety::accounting
