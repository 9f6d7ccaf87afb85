#include <surety/accounting/accountants/renyi/release_curves.h>

#include <algorithm>
#include <variant>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/points.h>
#include <surety/base/numbers/rounding.h>
#include <surety/base/text/error.h>

namespace surety::accounting::renyi {
namespace {

/// log(moment) / (a - 1), rounded up.
double divergence_of_moment(const Interval& moment, double order) {
  if (!mpfr_number_p(moment.upper())) return infinity;
  return upper(log(maximum(moment, number(1))) / number(order - 1));
}

struct ReleaseCurve {
  double order;

  Interval a() const { return number(order); }

  OrderBound operator()(const Event::Gaussian& e) const { return {upper(a() / (number(2) * square(number(e.multiplier.value())))), true}; }
  /// [CKS20] Theorem 4.
  OrderBound operator()(const Event::DiscreteGaussian& e) const {
    return {upper(a() * square(number(e.sensitivity) / number(e.sigma.value())) / number(2)), false};
  }
  OrderBound operator()(const Event::Concentrated& e) const {
    return {upper(number(e.xi.value()) + a() * number(e.rho.value())), e.xi.value() == 0};
  }
  /// (a - 1) D_a is convex in a and 0 at a = 1, and D_a rises: between two orders below their chord, and before any order at most what holds there.
  OrderBound operator()(const Event::RenyiCurve& e) const {
    const auto& bounds = e.bounds.all();
    const auto next =
        std::lower_bound(bounds.begin(), bounds.end(), order, [](const NumberPair& one, double at) { return one.first < at; });
    double least = infinity;
    for (auto one = next; one != bounds.end(); ++one) least = std::min(least, one->second);
    if (next == bounds.begin() || next == bounds.end() || next->first == order) return {least, false};
    const auto [before, below] = *(next - 1);
    const auto [after, above] = *next;
    const Interval share = (a() - number(before)) / (number(after) - number(before));
    const Interval chord =
        (number(1) - share) * (number(before) - number(1)) * number(below) + share * (number(after) - number(1)) * number(above);
    return {std::min(least, upper(chord / (a() - number(1)))), false};
  }
  /// E[e^((a - 1) L)] of the loss L under P, and e^(-a L) under P for the reverse; the masses of both sides scaled to 1.
  OrderBound operator()(const Event::Law& e) const {
    Interval p = number(0);
    Interval q = number(0);
    double rise = 0;  // of the exponents, lest they overflow
    double fall = 0;
    for (const auto& [loss, mass] : e.atoms.all()) {
      if (mass == 0) continue;
      p = p + number(mass);
      q = q + number(mass) * exp(-number(loss));
      rise = std::max(rise, (order - 1) * loss);
      fall = std::max(fall, -order * loss);
    }
    Interval forward = number(0);
    Interval backward = number(0);
    for (const auto& [loss, mass] : e.atoms.all()) {
      if (mass == 0) continue;
      forward = forward + number(mass) * exp((a() - number(1)) * number(loss) - number(rise));
      backward = backward + number(mass) * exp(-(a() * number(loss)) - number(fall));
    }
    // P is p over its sum, Q is q over its own: (P / Q)^a Q is (q / p)^(a - 1) / p of what is summed.
    const Interval b = a() - number(1);
    const Interval moved = log(q) - log(p);
    const Interval one = number(rise) + log(forward) - log(p) + b * moved;
    const Interval other = number(fall) + log(backward) - log(q) - b * moved;
    return {std::max(upper(one / b), upper(other / b)), true};
  }
  OrderBound operator()(const Event::GeneralizedGaussian& e) const {
    return {upper(a() * (number(e.r.value()) - number(1)) / (number(2) * square(number(e.multiplier.value())))), false};
  }
  OrderBound operator()(const Event::Pure& e) const { return pure_bound(number(e.epsilon.value()), order); }
  OrderBound operator()(const Event::KNorm& e) const { return {pure_bound(number(1) / number(e.scale.value()), order).divergence, false}; }

  /// [Mir17] Proposition 6.
  OrderBound operator()(const Event::Laplace& e) const {
    const Interval epsilon = number(1) / number(e.scale.value());
    const Interval twice = number(2) * a() - number(1);
    const Interval moment = a() / twice * exp((a() - number(1)) * epsilon) + (a() - number(1)) / twice * exp(-a() * epsilon);
    return {std::min(divergence_of_moment(moment, order), pure_bound(epsilon, order).divergence), true};
  }

  /// The sum of geometric series left of, between and right of the two centres.
  OrderBound operator()(const Event::DiscreteLaplace& e) const {
    const Interval b = number(e.scale.value());
    const Interval s = number(e.sensitivity);
    const Interval one = number(1);
    const Interval theta = exp(-(one / b));
    const Interval rise = exp((a() - one) * s / b);
    const Interval eta = exp(-((number(2) * a() - one) / b));
    const Interval outside = rise + exp(-(s / b)) / rise;
    const Interval pure = s / b;
    OrderBound result = {pure_bound(pure, order).divergence, true};
    if (mpfr_cmp_d(theta.upper(), 1) >= 0 || mpfr_cmp_d(eta.upper(), 1) >= 0 || !mpfr_number_p(rise.upper())) return result;
    const Interval between = rise * eta * (one - exp((s - one) * -((number(2) * a() - one) / b))) / (one - eta);
    const Interval moment = (outside + (one - theta) * between) / (one + theta);
    result.divergence = std::min(result.divergence, divergence_of_moment(moment, order));
    return result;
  }

  OrderBound operator()(const Event::RandomizedResponse& e) const {
    const Interval p = number(e.truth.value());
    const Interval other = (number(1) - p) / (number(e.categories) - number(1));
    const Interval loss = log(p / other);
    const Interval moment = p * exp((a() - number(1)) * loss) + other * exp(-(a() - number(1)) * loss) + (number(1) - p - other);
    const Interval epsilon = maximum(loss, -loss);
    return {std::min(divergence_of_moment(moment, order), pure_bound(epsilon, order).divergence), true};
  }

  /// Among likelihood ratios in [e^(t - epsilon), e^t] of mean 1 the two-point one has the largest moment (a convex function lies
  /// below its chord); its moment (e^((a-1)t) (1 - e^(-a eps)) - e^(a t) (e^-eps - e^(-a eps))) / (1 - e^-eps) is largest at
  /// e^t = (a-1)/a (1 - e^(-a eps)) / (e^-eps - e^(-a eps)). It is (epsilon^2 / 8)-zCDP [CR21, Lemma 3.4].
  OrderBound operator()(const Event::Exponential& e) const {
    const Interval epsilon = number(e.epsilon.value());
    const double concentrated = upper(a() * square(epsilon) / number(8));
    if (e.epsilon.value() < 1e-9) return {concentrated, true};
    const Interval b = a() - number(1);
    const Interval whole = -expm1(-a() * epsilon);
    const Interval least = exp(-epsilon) * -expm1(-b * epsilon);
    if (mpfr_sgn(least.lower()) <= 0) return {std::min(concentrated, upper(epsilon)), true};
    const Interval t = log(b / a() * whole / least);
    const double value = upper(t + log(whole / (a() * -expm1(-epsilon))) / b);
    return {std::min({value, concentrated, upper(epsilon)}), true};
  }

  template <class Other>
  OrderBound operator()(const Other&) const {
    throw Error{ErrorCode::internal, "a structure has no curve of its own"};
  }
};

}  // namespace

OrderBound pure_bound(const Interval& epsilon, double order) {
  const Interval a = number(order);
  const Interval moment = (exp(a * epsilon) + exp((number(1) - a) * epsilon)) / (number(1) + exp(epsilon));
  return {std::min({divergence_of_moment(moment, order), upper(a * square(epsilon) / number(2)), upper(epsilon)}), true};
}

std::optional<Interval> pure_epsilon(const Event& event) {
  const auto& node = event.node();
  if (const auto* e = std::get_if<Event::Pure>(&node)) return number(e->epsilon.value());
  if (const auto* e = std::get_if<Event::Exponential>(&node)) return number(e->epsilon.value());
  if (const auto* e = std::get_if<Event::KNorm>(&node)) return number(1) / number(e->scale.value());
  if (const auto scale = pairwise_scale(event)) return number(1) / number(scale->value());
  if (const auto* e = std::get_if<Event::DiscreteLaplace>(&node)) return number(e->sensitivity) / number(e->scale.value());
  if (const auto* e = std::get_if<Event::RandomizedResponse>(&node)) {
    const Interval truth = number(e->truth.value());
    const Interval epsilon = log(truth * (number(e->categories) - number(1)) / (number(1) - truth));
    return maximum(epsilon, -epsilon);
  }
  return std::nullopt;
}

bool has_divergences(const LawAtoms& atoms) {
  Interval q = number(0);
  for (const auto& [loss, mass] : atoms.all()) {
    if (mass == 0) continue;
    if (!is_finite(loss)) return false;
    q = q + number(mass) * exp(-number(loss));
  }
  return upper(q) >= 1 - mass_tolerance;
}

OrderBound release_bound(const Event& release, double order) {
  if (const auto scale = pairwise_scale(release)) return ReleaseCurve{order}(Event::Laplace{*scale});
  return std::visit(ReleaseCurve{order}, release.node());
}

}  // namespace surety::accounting::renyi
