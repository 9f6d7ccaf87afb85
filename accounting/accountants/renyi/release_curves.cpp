#include <surety/accounting/accountants/renyi/release_curves.h>

#include <algorithm>
#include <variant>

#include <surety/accounting/numbers/error.h>
#include <surety/accounting/numbers/rounding.h>

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
  OrderBound operator()(const Event::Concentrated& e) const { return {upper(a() * number(e.rho.value())), true}; }
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
  if (const auto* e = std::get_if<Event::Laplace>(&node)) return number(1) / number(e->scale.value());
  if (const auto* e = std::get_if<Event::DiscreteLaplace>(&node)) return number(e->sensitivity) / number(e->scale.value());
  if (const auto* e = std::get_if<Event::RandomizedResponse>(&node)) {
    const Interval truth = number(e->truth.value());
    const Interval epsilon = log(truth * (number(e->categories) - number(1)) / (number(1) - truth));
    return maximum(epsilon, -epsilon);
  }
  return std::nullopt;
}

OrderBound release_bound(const Event& release, double order) { return std::visit(ReleaseCurve{order}, release.node()); }

}  // namespace surety::accounting::renyi
