#include <surety/accounting/accountants/renyi/renyi.h>

#include <algorithm>
#include <array>
#include <boost/math/quadrature/gauss.hpp>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/accountants/renyi/allocated_moments.h>
#include <surety/accounting/events/hypotheses.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/accounting/laws/truncated/truncated_batch.h>
#include <surety/accounting/numbers/bound.h>
#include <surety/accounting/numbers/checked_cast.h>
#include <surety/accounting/numbers/floating_point.h>
#include <surety/accounting/numbers/hypotenuse.h>
#include <surety/accounting/numbers/interval.h>
#include <surety/accounting/numbers/limit.h>
#include <surety/accounting/numbers/rounding.h>

namespace surety::accounting {
namespace {

using std::numbers::pi;
constexpr mpfr_prec_t precision = 128;
/// Below every answer: what may have been lost to underflow.
constexpr double tiny = 1e-290;
constexpr Upper underflow{Exact{tiny}};

// Proved: docs/proofs/renyi.md#poisson
/// Above the density of N(0, 1) at 0, and below pi.
constexpr Upper highest_density = Upper::within(inverse_root_of_two_pi, 2);
constexpr Lower pi_below = Lower::rounded(pi);
/// What a quadrature adds up of its nodes' errors, in which a function of the C library counts as one unit of the last place, for the units that the
/// arithmetic of bounds assumes of it; with the rounding of that sum and what is of second order in them. \source docs/proofs/renyi.md#poisson
Upper of_errors(double sum, double order) {
  using Library = LibraryError<double>;
  return Exact{std::max({Library::exp, Library::expm1, Library::log1p})} * Upper::within(sum, 0x1p32 + 64 * order);
}
/// Beyond it an exponent may be off by a share that is not small.
constexpr double largest_order_of_nodes = 0x1p40;

/// What is to be computed: the order a, and how small, as e^-digits, the relative error of the divergence should be.
struct At {
  double order;
  double digits;
};
constexpr double rough = 17;
constexpr double fine = 30;

/// An upper bound of D_order.
struct OrderBound {
  double divergence;
  bool exact;
};
using Curve = std::function<OrderBound(At)>;

// ---- (1 + t)^p - 1 - p t ----

struct Estimate {
  double value;
  double error;
};

/// 1 / (k + 3), the divisors of the binomial series.
constexpr auto reciprocals = [] {
  std::array<double, 14> values{};
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = 1 / static_cast<double>(k + 3);
  return values;
}();

/// (1 + t)^p - 1 - p t >= 0, with a bound of its error, for p = order or p = 1 - order, order > 1, t > -1 (t >= 0 for the latter)
/// known to a relative error. Near t = 0 the binomial series, whose terms fall by a factor of 10 each; elsewhere from log1p and expm1, which count as one
/// unit each (`of_errors`).
Estimate binomial_excess(double order, bool negative, double t, double log1p_t, double relative) {
  const double b = order - 1;
  const double p = negative ? -b : order;
  if (order * std::abs(t) < 0.1) {
    double series = 1;
    for (std::size_t k = reciprocals.size(); k-- > 0;) series = 1 + (p - static_cast<double>(k + 2)) * t * reciprocals[k] * series;
    const double value = 0.5 * order * b * t * t * series;
    return {value, value * (2.5 * relative + share_of_units(30.0))};
  }
  if (negative) {
    const double exponent = -b * log1p_t;
    const double power = std::expm1(exponent);
    const double value = power + b * t;
    // The slope b - b (1 + t)^-order lies between 0 and b.
    return {value, b * t * relative + share_of_units((std::abs(power) + std::abs(exponent) * (1 + power)) * 4 + b * t)};
  }
  const double exponent = b * log1p_t;
  const double power = std::expm1(exponent);
  const double value = (1 + t) * power - b * t;
  const double size = std::abs(power);
  const double slope = order * (size + b);
  return {value, 2 * slope * std::abs(t) * relative +
                     share_of_units((1 + t) * (size * 4 + 2 * std::abs(exponent) * (1 + power)) + b * std::abs(t))};
}

/// log(1 - q + q e^x) with x >= 0, which rises with x.
Upper log_mixture(double q, Upper x) {
  const Exact rate{q};
  if (x.value() < 700) return log1p(rate * expm1(x));
  if (std::isinf(x.value())) return x;
  return max(Upper{0}, x + log(rate + (1 - Lower{rate}) * exp(Upper{Exact{-x.value()}})));
}

/// order - 1 from both sides: exact up to order 2^53, and rounded beyond it.
struct LessOne {
  Upper above;
  Lower below;
};
LessOne less_one(double order) {
  const double b = order - 1;
  return order <= 0x1p53 ? LessOne{Exact{b}, Exact{b}} : LessOne{Upper::rounded(b), Lower::rounded(b)};
}

/// The bound that Minkowski's inequality gives for a mixture: || 1 - q + q l ||_a <= 1 - q + q || l ||_a, with || l ||_a =
/// e^((a-1) D_a / a).
double mixture_bound(double q, double order, double divergence) {
  const Exact a{order};
  const auto b = less_one(order);
  return std::min(divergence, (a * log_mixture(q, b.above * Upper{Exact{divergence}} / a) / b.below).value());
}

/// With probability q a release of this divergence, else nothing that differs, and both know which: the moment is a mixture of moments.
double revealed_bound(double q, double order, double divergence) {
  const auto b = less_one(order);
  return std::min(divergence, (log_mixture(q, b.above * Upper{Exact{divergence}}) / b.below).value());
}

// ---- Poisson-sampled Gaussian: E[r^a], r = 1 - q + q e^(mu x - mu^2 / 2), x ~ N(0, 1) ----

double squared_mu_divergence(double mu, double order) { return (Exact{order} * (Upper{Exact{mu}} * Exact{mu}) / 2).value(); }

/// log(1 - q + q e^y) without overflow.
double log_likelihood_ratio(double q, double y) {
  return y > 700 ? y + std::log(q + (1 - q) * std::exp(-y)) : std::log1p(q * std::expm1(y));
}

/// phi(x) sqrt(2 pi) times g = r expm1(b log r) - b (r - 1), or times g + k <= r expm1(b log r), at a node right of mu / 2 where its
/// parts underflow or overflow; never below them but for the rounding, which is added to `error`. b = order - 1.
double extreme_term(double order, double mu, double q, double x, bool two_sided, double& error) {
  const double b = order - 1;
  const double y = mu * (x - mu / 2);
  const double log_ratio = log_likelihood_ratio(q, y);
  const double power = std::exp(order * log_ratio - x * x / 2);
  double share = -std::expm1(-b * log_ratio);
  // From log r = 2 on the linear part is at most half of the other and may be taken off.
  if (!two_sided && log_ratio > 2) share -= b * std::exp(-b * log_ratio) * -std::expm1(-log_ratio);
  const double value = power * share;
  error += power * -std::expm1(-b * log_ratio) * share_of_units(4.0) * (order * (4 + std::abs(y) + log_ratio) + x * x + 8);
  return value;
}

/// log E[r^a] by the trapezoid rule, which converges geometrically since the integrand is analytic for |Im x| < pi / mu; nothing
/// when it would need too many nodes. docs/proofs/renyi.md#poisson derives each term of the error.
std::optional<double> poisson_gaussian_log_moment(double q, double mu, At at) {
  const double a = at.order;
  const double b = a - 1;
  const double largest = a * log_mixture(q, Upper{Exact{std::min(b * mu * mu / 2, 1e300)}}).value();
  const bool scaled = largest > 600;
  // Where A - 1 is small the error must be small relative to it; any wrong guess only widens the bound.
  const double log_spread = mu * mu > 1e-8 ? std::log(std::expm1(std::min(mu * mu, 600.0))) : 2 * std::log(mu);
  const double log_excess = std::log(b) + std::log(q) + std::min(0.0, std::log(q) + log_spread);
  const double exponent = at.digits + (scaled ? 4 : std::clamp(-log_excess, 0.0, 650.0)) + std::log1p(2 * a * q);
  const double height = std::min(std::sqrt(2 * exponent), (1 - 0x1p-10) * pi / mu);
  const double coarse = 2 * pi * height / (exponent + height * height / 2);
  // A step of six bits, so that the nodes are exact.
  int binary = 0;
  const double mantissa = std::frexp(coarse, &binary);
  const double step = std::ldexp(std::floor(mantissa * 64), binary - 6);
  const double reach = std::sqrt(2 * exponent) + 1;
  const double nodes = (2 * reach + a * mu) / step;
  if (!(nodes < 8192 && a <= largest_order_of_nodes)) return std::nullopt;
  const auto first = checked_cast<int>(std::floor(-reach / step));
  const auto last = checked_cast<int>(std::ceil((a * mu + reach) / step));
  const Lower decay = 2 * (Exact{height} * pi_below) / Exact{step};
  const Upper discretisation = 2 * exp(Upper{Exact{height}} * Exact{height} / 2 - decay) / (1 - exp(-decay));
  const Upper norm = Exact{step} * highest_density;

  const double low = step * first;
  const double high = step * last;
  const Upper left_log = -(Lower{Exact{-low}} * Exact{-low} / 2);
  const Upper left_width = Exact{step} + 1 / Lower{Exact{-low}};
  // Right of the last node r <= kappa l, and phi(x) l^a is a Gaussian around a mu.
  const Exact distance{mu};
  const Lower beyond = Lower{Exact{high}} - Exact{a} * Upper{distance};
  const Lower at_high = (Lower{Exact{high}} - Upper{distance} / 2) * distance;
  const Upper log_kappa = log(Exact{q} + (1 - Lower{Exact{q}}) * exp(-at_high));
  const Upper right_log = Exact{a} * log_kappa + Exact{a} * (less_one(a).above * (Upper{distance} * distance)) / 2 - beyond * beyond / 2;
  const Upper right_width = Exact{step} + 1 / beyond;
  if (scaled) {
    double sum = 0;
    PollNowAndThen poll;
    for (int k = first; k <= last; ++k) {
      poll();
      const double x = k * step;
      sum += std::exp(a * log_likelihood_ratio(q, mu * (x - mu / 2)) - x * x / 2 - largest);
    }
    const double size = std::max(-low, high);
    const double rounding =
        share_of_units(2 * (a * (3 * mu * size + 3 * mu * mu + 48) + size * size + largest) + static_cast<double>(last - first + 8));
    // The tail of r^a: at most 1 on the left, where r <= 1.
    const Upper left = highest_density * exp(left_log - Exact{largest}) * left_width;
    const Upper right = highest_density * exp(right_log - Exact{largest}) * right_width;
    // A sum of positive products, each of fewer than 32 operations.
    const Upper nodes_sum = norm * Upper{Exact{sum}} * (1 + 2 * Upper::within(rounding, 32));
    const Upper total = (nodes_sum + left + right) / (1 - discretisation);
    if (!(rounding < 0.01 && discretisation.value() < 0.5 && total.value() > 1e-250 && total.value() < 1e250)) return std::nullopt;
    return (Exact{largest} + log(total)).value();
  }
  double sum = 0;
  double error = 0;
  PollNowAndThen poll;
  for (int k = first; k <= last; ++k) {
    poll();
    const double x = k * step;
    const double weight = std::exp(-x * x / 2);
    const double y = mu * (x - mu / 2);
    const double t = q * std::expm1(y);
    const double log1p_t = a * std::abs(t) < 0.1 ? 0 : std::log1p(t);
    if (t > 0 && (weight < 1e-280 || a * log1p_t > 300)) {
      sum += extreme_term(a, mu, q, x, false, error);
      continue;
    }
    const auto excess = binomial_excess(a, false, t, log1p_t, share_of_units(3 + std::abs(y)));
    sum += weight * std::max(excess.value, 0.0);
    error += weight * (excess.error + std::abs(excess.value) * share_of_units(x * x + 3));
  }
  // The tail of (r^a - 1 - a (r - 1)): at most a - 1 where r <= 1, at most r^a where r >= 1.
  const Upper left = less_one(a).above * highest_density * exp(left_log) * left_width;
  const Upper right = highest_density * exp(right_log) * right_width;
  const auto count = static_cast<double>(last - first + 8);
  const Upper nodes_sum = norm * (Upper::of_sum(sum, count) + of_errors(error, a)) + left + right;
  const Upper excess = (nodes_sum + discretisation * (2 + 2 * (Exact{a} * Upper{Exact{q}}))) / (1 - discretisation) + underflow;
  if (!(discretisation.value() < 0.5) || !std::isfinite(excess.value())) return std::nullopt;
  return log1p(excess).value();
}

// Proved so far.
/// A bound from above of E[r^a] for 1 < a <= 2 that is close where mu is large, since (u + v)^a <= u^a + v^a + (2 a - 1) (u v)^(a/2):
/// for m <= M, (M + m)^a <= M^a + a m (M^(a-1) + m^(a-1)), m M^(a-1) <= (m M)^(a/2) and m^a <= (m M)^(a/2).
Upper separated_log_moment(double q, double mu, double order) {
  const Exact a{order};
  const Exact b{order - 1};
  const Exact rest{2 - order};  // exact from order 1 to 2
  const Exact distance{mu};
  const Upper log_rate = log(Upper{Exact{q}});
  const Upper log_other = log1p(Upper{Exact{-q}});
  const Upper log_high = a * log_rate + a * (b * (Upper{distance} * distance)) / 2;
  const Lower spread = a * (rest * (Lower{distance} * distance)) / 8;
  const Upper cross = exp(log(2 * Upper{a} - 1) + a * (log_rate + log_other) / 2 - spread);
  // log(e^h + 1 + 2 c) rises with h.
  if (log_high.value() > 600) return log_high + log1p((1 + 2 * cross) * exp(Upper{Exact{-log_high.value()}}));
  return log1p(max(Upper{0}, expm1(a * log_other) + exp(log_high) + cross));
}

OrderBound poisson_gaussian(double q, double mu, At at) {
  const double plain = squared_mu_divergence(mu, at.order);
  const double bound = mixture_bound(q, at.order, plain);
  const auto moment = poisson_gaussian_log_moment(q, mu, at);
  if (!moment) {
    if (at.order > 2 || mu < 4 || mu > 1e100) return {bound, false};
    return {std::min(bound, (separated_log_moment(q, mu, at.order) / less_one(at.order).below).value()), false};
  }
  // Minkowski's bound may only win by rounding, where the quadrature is exact.
  return {std::min(bound, (Upper{Exact{*moment}} / less_one(at.order).below).value()), true};
}

// ---- Fixed-size batches of a Gaussian: 1 + E[(g(r) + k(r)) 1(r >= 1)] ----

/// g(r) + k(r), where g = r^a - 1 - a (r - 1) and k = r^(1-a) - 1 + (a - 1) (r - 1), for r = 1 + t, t >= 0.
Estimate two_sided_excess(double order, double t, double relative) {
  const double log1p_t = std::log1p(t);
  const auto up = binomial_excess(order, false, t, log1p_t, relative);
  const auto down = binomial_excess(order, true, t, log1p_t, relative);
  return {up.value + down.value, up.error + down.error + share_of_units(std::abs(up.value) + std::abs(down.value))};
}

/// log(1 + E[...]) by Gauss-Legendre panels; nothing when it would need too many or the order is too large for double.
std::optional<double> fixed_gaussian_log_moment(double q, double mu, At at) {
  using Rule = boost::math::quadrature::gauss<double, 20>;
  const double a = at.order;
  const double largest = a * log_mixture(q, Upper{Exact{std::min((a - 1) * mu * mu / 2, 1e300)}}).value();
  if (!(largest < 600 && a <= largest_order_of_nodes)) return std::nullopt;
  // The ellipse of foci +-1 with sum of semi-axes 8 has semi-axes 4.0625 and 3.9375; in it the panel's l stays in the right
  // half-plane, where |r| >= |(1 - q, q |l|)|.
  constexpr double ratio = 8;
  constexpr double wide = (ratio + 1 / ratio) / 2;
  constexpr double tall = (ratio - 1 / ratio) / 2;
  const double height = std::min(0.499 * pi / mu, 2.5);
  const double half = (Lower{Exact{height}} / Exact{tall}).value();
  const double reach =
      std::sqrt(2 * (at.digits + 10 - 2 * std::log(std::min(q * std::min(mu, 1.0), 1.0)) + std::max(0.0, -std::log(a - 1)))) + 1;
  const double end = a * mu + reach;
  const double panels = std::ceil((end - mu / 2) / (2 * half));
  if (!(panels < 2000)) return std::nullopt;
  const auto& abscissas = Rule::abscissa();
  const auto& weights = Rule::weights();
  const auto mixture_log = [&](double x) { return std::log1p(q * std::expm1(mu * (x - mu / 2))); };
  const auto slope = [&](double x) { return mu * q / (q + (1 - q) * std::exp(-mu * (x - mu / 2))); };

  double sum = 0;
  double error = 0;
  double last = mu / 2;
  for (int panel = 0; panel < checked_cast<int>(panels); ++panel) {
    poll_limit();
    const double middle = mu / 2 + half * (2 * panel + 1);
    for (std::size_t i = 0; i < abscissas.size(); ++i) {
      for (const double sign : {-1.0, 1.0}) {
        const double offset = half * (2 * panel + 1 + sign * abscissas[i]);  // from mu / 2
        const double x = mu / 2 + offset;
        const double y = mu * offset;
        const double weight = weights[i] * std::exp(-x * x / 2);
        if (weight < 1e-280 || a * mixture_log(x) > 300) {
          sum += weights[i] * extreme_term(a, mu, q, x, true, error);
          continue;
        }
        const auto excess = two_sided_excess(a, q * std::expm1(y), share_of_units(4 + 2 * y));
        sum += weight * std::max(excess.value, 0.0);
        // A node is off by some ulp of itself; the integrand's logarithm has slope at most x + a mu + 2 / offset.
        error += weight * (excess.error + std::abs(excess.value) * share_of_units(x * x + 8 + 4 * x * (x + a * mu) + 8));
      }
    }
    // The quadrature's own error: (64 / 15) max|f| ratio^(-2 n) / (1 - ratio^-2), n = 19, on the ellipse [Trefethen, Theorem 19.3].
    const double begin = middle - wide * half;
    const double finish = middle + wide * half;
    const double nearest = begin > 0 ? begin : 0;
    const double drift = std::max(std::abs(-begin + a * slope(finish)), std::abs(-finish + a * slope(begin)));
    const double power_part = -middle * middle / 2 + a * mixture_log(middle) + wide * half * drift;
    const double l_high = std::exp(mu * (finish - mu / 2));
    const double smallest = hypotenuse(1 - q, q * std::exp(mu * (begin - mu / 2)));
    const double rest = std::exp(-nearest * nearest / 2) * (2 + (2 * a - 1) * q * (l_high + 1) + std::pow(smallest, 1 - a));
    const double on_ellipse = std::exp(height * height / 2) * (std::exp(power_part) + rest);
    error += 64.0 / 15 * on_ellipse * std::pow(ratio, -38) / (1 - 1 / (ratio * ratio));
    last = middle + half;
  }
  // Beyond the last panel g + k <= r^a + (a - 1) r, and r <= kappa l.
  const Exact distance{mu};
  const Lower end_of_panels = Lower::within(last, 4);
  const Lower at_end = (end_of_panels - Upper{distance} / 2) * distance;
  const Upper log_kappa = log(Exact{q} + (1 - Lower{Exact{q}}) * exp(-at_end));
  const auto tail = [&](Exact power, Upper power_less_one, Upper factor) {
    const Lower beyond = end_of_panels - power * Upper{distance};
    const Upper log_tail = power * log_kappa + power * (power_less_one * (Upper{distance} * distance)) / 2 - beyond * beyond / 2;
    return factor * (highest_density * exp(log_tail) / beyond);
  };
  const Upper b = less_one(a).above;
  const Upper inside = Upper::of_sum(sum, 20 * panels + 50) + of_errors(error, a);
  const Upper excess = highest_density * Exact{half} * inside + tail(Exact{a}, b, Upper{1}) + tail(Exact{1}, Upper{0}, b) + underflow;
  if (!std::isfinite(excess.value())) return std::nullopt;
  return log1p(excess).value();
}

OrderBound fixed_gaussian(double q, double mu, At at) {
  const double plain = squared_mu_divergence(mu, at.order);
  const auto moment = fixed_gaussian_log_moment(q, mu, at);
  if (!moment) return {plain, false};
  return {std::min(plain, (Upper{Exact{*moment}} / less_one(at.order).below).value()), false};
}

// ---- Curves of single releases, in interval arithmetic ----

Interval number(double value) { return {value, precision}; }
Interval number(Count count) { return number(static_cast<double>(count.value())); }
Interval square(const Interval& x) { return x * x; }
double upper(const Interval& x) { return std::max(0.0, x.enclosure().upper); }

/// log(moment) / (a - 1), rounded up.
double divergence_of_moment(const Interval& moment, double order) {
  if (!mpfr_number_p(moment.upper())) return infinity;
  return upper(log(maximum(moment, number(1))) / number(order - 1));
}

/// Anything (epsilon, 0)-private: binary randomized response is the worst case [KOV15, Theorem 3.1 (domination)], and is
/// (epsilon^2 / 2)-zCDP [BS16, Proposition 3.3], which is the better evaluation where epsilon is tiny.
OrderBound pure_bound(const Interval& epsilon, double order) {
  const Interval a = number(order);
  const Interval moment = (exp(a * epsilon) + exp((number(1) - a) * epsilon)) / (number(1) + exp(epsilon));
  return {std::min({divergence_of_moment(moment, order), upper(a * square(epsilon) / number(2)), upper(epsilon)}), true};
}

/// The smallest epsilon of the releases that are (epsilon, 0)-private, if it is one.
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

// ---- Sampled releases that are not Gaussian ----

/// log(1 + sum over k >= 2 of Bin(a, q)(k) (e^((k-1) D_k) - 1)) at an integer order, rounded up.
double binomial_log_moment(double q, int order, const std::vector<double>& log_moments) {
  const Exact a{order};
  const Upper log_odds = log(Upper{Exact{q}}) - log1p(Lower{Exact{-q}});
  Upper log_weight = a * log1p(Upper{Exact{-q}});
  double scale = 0;
  Upper sum{0};
  for (int k = 1; k <= order; ++k) {
    log_weight += log(Upper{Exact{order - k + 1}} / Exact{k}) + log_odds;
    if (k < 2) continue;
    const Upper moment{Exact{log_moments[static_cast<std::size_t>(k)]}};
    const Upper log_term = log_weight + (moment.value() < 30 ? log(expm1(moment)) : moment);
    if (log_term.value() > scale + 600) {
      sum = sum * exp(Upper{Exact{scale}} - Exact{log_term.value()});
      scale = log_term.value();
    }
    sum += exp(log_term - Exact{scale});
  }
  sum += underflow;
  return (scale == 0 ? log1p(sum) : Exact{scale} + log(sum + exp(Upper{Exact{-scale}}))).value();
}

/// E[((1 - q) + q l)^a] from the moments of l, at integer orders; between them (a - 1) D_a is convex in a and lies below its chord.
class BinomialMoments {
 public:
  BinomialMoments(double q, Curve inner) : q_{q}, inner_{std::move(inner)} {}

  OrderBound operator()(At at) {
    const OrderBound plain = inner_(at);
    const double bound = mixture_bound(q_, at.order, plain.divergence);
    constexpr double largest_order = 1024;
    if (at.order > largest_order) return {bound, false};
    const int below = checked_cast<int>(std::floor(at.order));
    const double fraction = at.order - below;
    Upper log_moment{0};
    if (fraction > 0) log_moment += Exact{fraction} * Upper{Exact{log_moment_at(below + 1)}};
    if (fraction < 1 && below > 1) log_moment += (1 - Lower{Exact{fraction}}) * Upper{Exact{log_moment_at(below)}};
    const double divergence = (log_moment / Exact{at.order - 1}).value();
    return {std::min(bound, divergence), fraction == 0 && plain.exact && divergence <= bound};
  }

 private:
  double log_moment_at(int order) {
    while (static_cast<int>(inner_moments_.size()) <= order) {
      poll_limit();
      const int k = static_cast<int>(inner_moments_.size());
      inner_moments_.push_back(k < 2 ? 0 : (Exact{k - 1} * Upper{Exact{inner_({static_cast<double>(k), fine}).divergence}}).value());
      answers_.push_back(-1);
    }
    double& answer = answers_[static_cast<std::size_t>(order)];
    if (answer < 0) answer = binomial_log_moment(q_, order, inner_moments_);
    return answer;
  }

  double q_;
  Curve inner_;
  std::vector<double> inner_moments_;
  std::vector<double> answers_;
};

/// Sampling of a release whose worst case is a likelihood ratio of e^epsilon with probability `mass` under Q. By Poisson sampling
/// the other end, e^-epsilon of mass mass e^epsilon, counts as well; by fixed-size batches the profile is symmetric.
double sampled_two_point(double q, const Interval& epsilon, const Interval& mass, double order, bool poisson) {
  const Interval a = number(order);
  const Interval b = a - number(1);
  const Interval rate = number(q);
  const auto excess = [](const Interval& p, const Interval& t) {
    const Interval power = exp(p * log1p(t));
    return power - number(1) - p * t;
  };
  const Interval up = rate * expm1(epsilon);
  Interval sum = excess(a, up);
  if (poisson) {
    sum = sum + exp(epsilon) * excess(a, rate * expm1(-epsilon));
  } else {
    sum = sum + excess(-b, up);
  }
  const Interval total = mass * sum;
  if (!mpfr_number_p(total.upper())) return upper(epsilon);
  return std::min(upper(log1p(maximum(total, number(0))) / b), upper(epsilon));
}

// ---- From events to curves ----

[[noreturn]] void no_theorem_for(const Event& event, std::string_view hint) {
  unsupported(event, fmt::format("the renyi accountant has no theorem for {{}}; {}", hint));
}

double sum_upwards(const std::vector<std::pair<double, Curve>>& parts, At at, bool& exact) {
  Upper sum{0};
  for (const auto& [count, curve] : parts) {
    poll_limit();
    const auto point = curve(at);
    sum += Exact{count} * Upper{Exact{point.divergence}};
    exact = exact && point.exact;
  }
  return sum.value();
}

Curve curve_of(const Event& event);

/// mu of the one Gaussian release that an event is, rounded up.
std::optional<double> gaussian_mu(const Event& event) {
  const auto squared = gaussian_mu_squared(event, precision);
  if (!squared) return std::nullopt;
  return sqrt(*squared).enclosure().upper;
}

/// Dominated by a pair that a reflection maps to its reverse, a property that composition keeps.
bool has_symmetric_pair(const Event& event) {
  const auto& node = event.node();
  if (const auto* e = std::get_if<Event::Repeated>(&node)) return has_symmetric_pair(e->event);
  if (const auto* e = std::get_if<Event::Composed>(&node)) return std::all_of(e->events.begin(), e->events.end(), has_symmetric_pair);
  return pure_epsilon(event) || pairwise_multiplier(event) || std::holds_alternative<Event::DiscreteGaussian>(node);
}

/// The curve of that symmetric pair: that of the event, except where the pair is only that of pure privacy.
Curve symmetric_curve(const Event& event) {
  const auto& node = event.node();
  if (const auto* e = std::get_if<Event::Exponential>(&node)) {
    return [epsilon = e->epsilon.value()](At at) { return OrderBound{pure_bound(number(epsilon), at.order).divergence, false}; };
  }
  if (const auto* e = std::get_if<Event::Repeated>(&node)) {
    std::vector<std::pair<double, Curve>> parts{{static_cast<double>(e->count.value()), symmetric_curve(e->event)}};
    return [parts = std::move(parts)](At at) {
      bool exact = true;
      const double sum = sum_upwards(parts, at, exact);
      return OrderBound{sum, exact};
    };
  }
  if (const auto* e = std::get_if<Event::Composed>(&node)) {
    std::vector<std::pair<double, Curve>> parts;
    for (const auto& part : e->events) parts.emplace_back(1, symmetric_curve(part));
    return [parts = std::move(parts)](At at) {
      bool exact = true;
      const double sum = sum_upwards(parts, at, exact);
      return OrderBound{sum, exact};
    };
  }
  return curve_of(event);
}

Curve largest_of(std::vector<Curve> parts) {
  return [parts = std::move(parts)](At at) {
    OrderBound largest{0, true};
    for (const auto& part : parts) {
      const auto point = part(at);
      largest = {std::max(largest.divergence, point.divergence), largest.exact && point.exact};
    }
    return largest;
  };
}

/// A batch costs at most what is done with it: given which places are drawn, the batches differ in one record or not at all, and divergences
/// are jointly quasi-convex.
Curve without_batch(const Event& inner) {
  return [plain = curve_of(inner)](At at) { return OrderBound{plain(at).divergence, false}; };
}

Curve poisson_curve(double q, const Event& inner) {
  if (q == 1) return curve_of(inner);
  if (const auto* e = std::get_if<Event::Parallel>(&inner.node())) {
    std::vector<Curve> parts;
    for (const auto& part : e->events) parts.push_back(poisson_curve(q, part));
    return largest_of(std::move(parts));
  }
  if (poisson_pair(inner) == PoissonPair::revealed) {
    return [q, curve = curve_of(inner)](At at) {
      const auto point = curve(at);
      return OrderBound{revealed_bound(q, at.order, point.divergence), point.exact};
    };
  }
  // From here on the pair is the record in the batch, or not in it.
  if (const auto mu = gaussian_mu(inner)) {
    return [q, mu = *mu](At at) { return poisson_gaussian(q, mu, at); };
  }
  if (const auto epsilon = pure_epsilon(inner)) {
    const bool exact = std::holds_alternative<Event::Pure>(inner.node());
    const Interval mass = number(1) / (number(1) + exp(*epsilon));
    const auto two_point = [q, epsilon = *epsilon, mass, exact](At at) {
      const double bound = mixture_bound(q, at.order, pure_bound(epsilon, at.order).divergence);
      return OrderBound{std::min(bound, sampled_two_point(q, epsilon, mass, at.order, true)), exact};
    };
    const bool only_pure =
        exact || std::holds_alternative<Event::Exponential>(inner.node()) || std::holds_alternative<Event::KNorm>(inner.node());
    if (only_pure) return two_point;
    const auto moments = std::make_shared<BinomialMoments>(q, curve_of(inner));
    return [two_point, moments](At at) {
      const auto one = two_point(at);
      const auto other = (*moments)(at);
      return one.divergence < other.divergence ? OrderBound{one.divergence, false} : other;
    };
  }
  if (has_symmetric_pair(inner) || std::holds_alternative<Event::GeneralizedGaussian>(inner.node())) {
    const auto moments = std::make_shared<BinomialMoments>(q, symmetric_curve(inner));
    return [moments](At at) { return (*moments)(at); };
  }
  return without_batch(inner);
}

Curve fixed_size_curve(double q, const Event& inner) {
  if (q == 1) return curve_of(inner);
  if (splits_its_batch(inner)) {
    // How many of the batch fall into one part tells how many are left for another: no amplification is known.
    return without_batch(inner);
  }
  if (const auto mu = gaussian_mu(inner)) {
    return [q, mu = *mu](At at) { return fixed_gaussian(q, mu, at); };
  }
  if (const auto epsilon = pure_epsilon(inner)) {
    Interval mass = number(1) / (number(1) + exp(*epsilon));
    if (const auto* e = std::get_if<Event::RandomizedResponse>(&inner.node())) {
      const Interval other = (number(1) - number(e->truth.value())) / (number(e->categories) - number(1));
      const Interval truth = number(e->truth.value());
      mass = mpfr_cmp(other.lower(), truth.upper()) < 0 ? other : truth;
      if (mpfr_cmp(other.lower(), truth.upper()) >= 0 || mpfr_cmp(other.upper(), truth.lower()) >= 0) mass = maximum(truth, other);
    }
    return [q, epsilon = *epsilon, mass](At at) {
      const double plain = pure_bound(epsilon, at.order).divergence;
      return OrderBound{std::min(plain, sampled_two_point(q, epsilon, mass, at.order, false)), false};
    };
  }
  return without_batch(inner);
}

/// One of these Poisson batches of a Gaussian, and both know which; with the rest of the probability nothing that differs.
struct SharedBatch {
  double weight;  ///< rounded up
  double rate;
  double mu;
};
double shared_batches(const std::vector<SharedBatch>& batches, At at) {
  const auto b = less_one(at.order);
  std::vector<Upper> log_terms;  // log (w (E[r^a] - 1))
  double largest = 0;
  for (const auto& batch : batches) {
    const double divergence = batch.rate == 1   ? squared_mu_divergence(batch.mu, at.order)
                              : batch.rate == 0 ? 0
                                                : poisson_gaussian(batch.rate, batch.mu, at).divergence;
    const double log_moment = (b.above * Upper{Exact{divergence}}).value();
    if (batch.weight == 0 || log_moment < tiny) continue;
    const Upper exponent{Exact{log_moment}};
    log_terms.push_back(log(Upper{Exact{batch.weight}}) + (log_moment < 600 ? log(expm1(exponent)) : exponent));
    largest = std::max(largest, log_terms.back().value());
  }
  Upper sum = 4 * underflow;  // what was left out
  for (const Upper term : log_terms) sum += exp(term - Exact{largest});
  const Upper moment = largest == 0 ? log1p(sum) : Exact{largest} + log(sum + exp(Upper{Exact{-largest}}));
  return (moment / b.below).value();
}

/// Made when it is first asked: whoever only wants to know whether there is one need not wait.
Curve when_asked(std::function<Curve()> make) {
  const auto made = std::make_shared<std::optional<Curve>>();
  return [make = std::move(make), made](At at) {
    if (!*made) *made = make();
    return (**made)(at);
  };
}

/// docs/proofs/truncated.md: how many others stay is told. Moments of a public mixture are mixtures of moments.
Curve truncated_curve(const Event::TruncatedPoisson& e, double mu) {
  const double q = e.rate.value();
  if (e.event.adjacency() == Adjacency::add_or_remove_one) {
    std::vector<Curve> numbers{[q, mu](At at) { return poisson_gaussian(q, mu, at); }};
    for (const auto& crowd : privacy_loss::crowded_batches(e.rate, e.batches)) {
      const std::vector<SharedBatch> batches{{min(Upper{1}, 1 - Lower{Exact{crowd.weight.lower}}).value(), q, mu},
                                             {crowd.weight.upper, crowd.largest_rate, 2 * mu}};
      numbers.push_back([batches](At at) { return OrderBound{shared_batches(batches, at), false}; });
    }
    return largest_of(std::move(numbers));
  }
  const auto found = privacy_loss::truncated_batch(e.rate, e.batches);
  const std::vector<SharedBatch> batches{{found.roomy.upper, q, mu}, {found.last.upper, found.last_rate.upper, mu}};
  return [batches](At at) { return OrderBound{shared_batches(batches, at), false}; };
}

struct CurveOf {
  const Event& event;

  Curve operator()(const Event::Gaussian& e) const {
    const double rho = upper(number(1) / (number(2) * square(number(e.multiplier.value()))));
    return [rho](At at) { return OrderBound{(Exact{at.order} * Upper{Exact{rho}}).value(), true}; };
  }
  Curve operator()(const Event::RecordSum&) const { return (*this)(Event::Gaussian{*pairwise_multiplier(event)}); }
  Curve operator()(const Event::Approximate&) const { no_theorem_for(event, "privacy-loss and composition may"); }
  Curve operator()(const Event::Repeated& e) const { return sum({{static_cast<double>(e.count.value()), curve_of(e.event)}}); }
  Curve operator()(const Event::Composed& e) const {
    std::vector<std::pair<double, Curve>> parts;
    for (const auto& part : e.events) parts.emplace_back(1, curve_of(part));
    return sum(std::move(parts));
  }
  /// A record takes part in one of the parts, so at each order the largest counts.
  Curve operator()(const Event::Parallel& e) const {
    std::vector<Curve> parts;
    for (const auto& part : e.events) parts.push_back(curve_of(part));
    return largest_of(std::move(parts));
  }
  Curve operator()(const Event::PoissonSampled& e) const {
    if (e.rate.value() < 1 && poisson_pair(e.event) == PoissonPair::opposite) no_theorem_for(event, "privacy-loss answers");
    return poisson_curve(e.rate.value(), e.event);
  }
  Curve operator()(const Event::Cyclic&) const { return curve_of(plainest(event)); }
  Curve operator()(const Event::Allocated& e) const {
    if (e.rounds == Count{1}) return curve_of(e.event);
    const auto mu = gaussian_mu(e.event);
    if (!mu || e.participations != Count{1} || e.event.adjacency() == Adjacency::replace_one) no_theorem_for(event, "privacy-loss answers");
    return [rounds = static_cast<double>(e.rounds.value()), mu = *mu](At at) {
      return OrderBound{allocated_moments(rounds, mu)->divergence(at.order), false};
    };
  }
  Curve operator()(const Event::BestOf&) const { no_theorem_for(event, "tuning and privacy-loss answer"); }
  Curve operator()(const Event::TruncatedPoisson& e) const {
    const auto mu = gaussian_mu(e.event);
    if (!mu || poisson_pair(e.event) == PoissonPair::opposite) no_theorem_for(event, "privacy-loss answers");
    return when_asked([e, mu = *mu] { return truncated_curve(e, mu); });
  }
  Curve operator()(const Event::Users&) const {
    const auto multiplier = gaussian_multiplier(event);
    if (!multiplier) no_theorem_for(event, "privacy-loss answers");
    // The multiplier is rounded: a bound, but not the cost itself.
    return [bound = (*this)(Event::Gaussian{NoiseMultiplier{multiplier->lower}})](At at) {
      return OrderBound{bound(at).divergence, false};
    };
  }
  Curve operator()(const Event::SampledWithoutReplacement& e) const {
    const auto records = static_cast<double>(e.batches.records().value());
    const auto size = static_cast<double>(e.batches.size().value());
    // The rate, rounded up: the cost grows with it.
    const double q = size == records ? 1 : std::min((Upper{Exact{size}} / Exact{records}).value(), 1 - unit_roundoff);
    return fixed_size_curve(q, e.event);
  }
  /// A record is in one batch of the epoch, of the same place on both sides (event.cpp); the order is public, or at best unhelpful.
  Curve operator()(const Event::Deterministic& e) const { return curve_of(e.event); }
  Curve operator()(const Event::Shuffled& e) const {
    return [inner = curve_of(e.event)](At at) { return OrderBound{inner(at).divergence, false}; };
  }
  template <class Release>
  Curve operator()(const Release& e) const {
    return [e](At at) { return ReleaseCurve{at.order}(e); };
  }

  static Curve sum(std::vector<std::pair<double, Curve>> parts) {
    return [parts = std::move(parts)](At at) {
      bool exact = true;
      const double total = sum_upwards(parts, at, exact);
      return OrderBound{total, exact};
    };
  }
};

Curve curve_of(const Event& event) { return std::visit(CurveOf{event}, event.node()); }
Curve curve_of_plainest(const Event& event) { return curve_of(plainest(event)); }

// ---- The conversion and the best order ----

/// The conversion in double, for the search: what is to be made small.
struct Conversion {
  bool is_epsilon;  ///< epsilon is sought, at log delta = given; otherwise log delta, at epsilon = given
  double given;

  double operator()(double divergence, double order) const {
    const double b = order - 1;
    const double gain = std::log(b / order);
    if (is_epsilon) return divergence + gain - (given + std::log(order)) / b;
    return b * (divergence - given) + b * gain - std::log(order);
  }
};

/// The conversion with outward rounding.
Enclosure certified_epsilon(double divergence, double order, double delta) {
  if (!std::isfinite(divergence)) return at_most(infinity);
  const Interval a = number(order);
  const Interval b = number(order - 1);
  const Interval bound = number(divergence) + log(b) - log(a) - (log(number(delta)) + log(a)) / b;
  return at_most(upper(bound));
}
Enclosure certified_delta(double divergence, double order, double epsilon) {
  if (!std::isfinite(divergence)) return at_most(1);
  const Interval a = number(order);
  const Interval b = number(order - 1);
  const Interval log_delta = b * (number(divergence) - number(epsilon)) + b * (log(b) - log(a)) - log(a);
  return at_most(std::min(1.0, upper(exp(log_delta))));
}

struct OrderFound {
  double order;
  bool at_end;
};

/// The best order a = 1 + e^s; the objective falls and then rises in s.
OrderFound best_order(const Curve& curve, const Conversion& conversion) {
  const double low = std::log(1e-6);
  const double high = std::log(1e6);
  const auto objective = [&](double s) {
    const double order = 1 + std::exp(s);
    const double value = conversion(curve({order, rough}).divergence, order);
    return std::isfinite(value) ? value : std::numeric_limits<double>::max();
  };
  // A start from the curve near order 2, as if it were that of a Gaussian.
  const double rho = std::max(curve({2, rough}).divergence / 2, 1e-300);
  const double guess = conversion.is_epsilon ? std::sqrt(-conversion.given / rho) : (conversion.given / rho - 1) / 2;
  double middle = std::clamp(std::log(std::max(guess, 1e-6)), low, std::log(64.0));
  double value = objective(middle);
  double step = 0.7;
  double left = std::max(low, middle - step);
  double right = std::min(high, middle + step);
  double left_value = left < middle ? objective(left) : infinity;
  double right_value = right > middle ? objective(right) : infinity;
  while (left_value < value && left > low) {
    right = middle;
    middle = left;
    value = left_value;
    left = std::max(low, left - (step *= 1.5));
    left_value = objective(left);
  }
  while (right_value < value && right < high) {
    left = middle;
    middle = right;
    value = right_value;
    right = std::min(high, right + (step *= 1.5));
    right_value = objective(right);
  }
  if (left == low && left_value <= value && left_value <= right_value) middle = left;
  if (right == high && right_value < value) middle = right;
  std::uintmax_t evaluations = 40;
  auto found = boost::math::tools::brent_find_minima(objective, left, right, 17, evaluations);
  double s = found.first;
  if (objective(middle) < found.second) s = middle;
  const bool at_end = s - low < 1e-2 || high - s < 1e-2;
  return {1 + std::exp(s), at_end};
}

/// The best integer order; the objective falls and then rises.
OrderFound best_integer_order(const Curve& curve, const Conversion& conversion, Count largest_order) {
  if (largest_order < Count{2}) {
    throw Error{ErrorCode::invalid_argument, fmt::format("largest order is {}, must be at least 2", largest_order.value())};
  }
  const auto objective = [&](std::uint64_t order) {
    const double a = static_cast<double>(order);
    return conversion(curve({a, fine}).divergence, a);
  };
  std::uint64_t low = 2;
  std::uint64_t high = largest_order.value();
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    const double here = objective(middle);
    if (here < infinity && objective(middle + 1) < here) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return {static_cast<double>(low), low == 2 || low == largest_order.value()};
}

template <class Search>
RenyiReport epsilon_report(const Event& event, Delta delta, Search search) {
  const auto curve = curve_of_plainest(event);
  if (delta.value() == 0) return {at_most(infinity), RenyiOrder{2}, false, false};
  const OrderFound best = search(curve, Conversion{true, std::log(delta.value())});
  const OrderBound point = curve({best.order, fine});
  const auto bound = certified_epsilon(point.divergence, best.order, delta.value());
  return {bound, RenyiOrder{best.order}, best.at_end && bound.upper > 0, point.exact};
}

template <class Search>
RenyiReport delta_report(const Event& event, Epsilon epsilon, Search search) {
  const auto curve = curve_of_plainest(event);
  const OrderFound best = search(curve, Conversion{false, epsilon.value()});
  const OrderBound point = curve({best.order, fine});
  const auto bound = certified_delta(point.divergence, best.order, epsilon.value());
  return {bound, RenyiOrder{best.order}, best.at_end, point.exact};
}

auto integer_search(const Moments& moments) {
  return
      [&moments](const Curve& curve, const Conversion& conversion) { return best_integer_order(curve, conversion, moments.largest_order); };
}

}  // namespace

RenyiDivergence renyi_divergence(const Event& event, RenyiOrder order) {
  const StandardFloatingPoint environment;
  const auto point = curve_of_plainest(event)({order.value(), fine});
  return {at_most(point.divergence), point.exact};
}

std::optional<Refusal> why_not(const Renyi&, const Event& event) {
  const StandardFloatingPoint environment;
  return refusal_of(event, [&] { static_cast<void>(curve_of_plainest(event)); });
}
std::optional<Refusal> why_not(const Moments&, const Event& event) { return why_not(Renyi{}, event); }

RenyiReport explain_epsilon(const Renyi&, const Event& event, Delta delta) {
  const StandardFloatingPoint environment;
  return epsilon_report(event, delta, best_order);
}
RenyiReport explain_delta(const Renyi&, const Event& event, Epsilon epsilon) {
  const StandardFloatingPoint environment;
  return delta_report(event, epsilon, best_order);
}
RenyiReport explain_epsilon(const Moments& moments, const Event& event, Delta delta) {
  const StandardFloatingPoint environment;
  return epsilon_report(event, delta, integer_search(moments));
}
RenyiReport explain_delta(const Moments& moments, const Event& event, Epsilon epsilon) {
  const StandardFloatingPoint environment;
  return delta_report(event, epsilon, integer_search(moments));
}

Enclosure epsilon(const Renyi& accountant, const Event& event, Delta delta) { return explain_epsilon(accountant, event, delta).bound; }
Enclosure delta(const Renyi& accountant, const Event& event, Epsilon epsilon) { return explain_delta(accountant, event, epsilon).bound; }
Enclosure epsilon(const Moments& accountant, const Event& event, Delta delta) { return explain_epsilon(accountant, event, delta).bound; }
Enclosure delta(const Moments& accountant, const Event& event, Epsilon epsilon) { return explain_delta(accountant, event, epsilon).bound; }

}  // namespace surety::accounting
