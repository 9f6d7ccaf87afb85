#include <surety/accounting/accountants/renyi/gaussian_batches.h>

#include <algorithm>
#include <array>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/hypotenuse.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::renyi {
namespace {

using std::numbers::pi;
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

// ---- Poisson-sampled Gaussian: E[r^a], r = 1 - q + q e^(mu x - mu^2 / 2), x ~ N(0, 1) ----

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

/// The sum over nodes of phi(x) r^a / e^largest, times the step, with its rounding; nothing where an exponent may be off by a share that is not small.
std::optional<Upper> scaled_sum(double q, double mu, double a, double step, int first, int last, double largest, Upper norm) {
  double sum = 0;
  PollNowAndThen poll;
  for (int k = first; k <= last; ++k) {
    poll();
    const double x = k * step;
    sum += std::exp(a * log_likelihood_ratio(q, mu * (x - mu / 2)) - x * x / 2 - largest);
  }
  const double size = std::max(-step * first, step * last);
  const double rounding =
      share_of_units(2 * (a * (3 * mu * size + 3 * mu * mu + 48) + size * size + largest) + static_cast<double>(last - first + 8));
  if (!(rounding < 0.01)) return std::nullopt;
  // A sum of positive products, each of fewer than 32 operations.
  return norm * Upper{Exact{sum}} * (1 + 2 * Upper::within(rounding, 32));
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
    const auto nodes_sum = scaled_sum(q, mu, a, step, first, last, largest, norm);
    // The tail of r^a: at most 1 on the left, where r <= 1.
    const Upper left = highest_density * exp(left_log - Exact{largest}) * left_width;
    const Upper right = highest_density * exp(right_log - Exact{largest}) * right_width;
    if (!nodes_sum) return std::nullopt;
    const Upper total = (*nodes_sum + left + right) / (1 - discretisation);
    if (!(discretisation.value() < 0.5 && total.value() > 1e-250 && total.value() < 1e250)) return std::nullopt;
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

// ---- Fixed-size batches of a Gaussian: 1 + E[(g(r) + k(r)) 1(r >= 1)] ----

/// g(r) + k(r), where g = r^a - 1 - a (r - 1) and k = r^(1-a) - 1 + (a - 1) (r - 1), for r = 1 + t, t >= 0.
Estimate two_sided_excess(double order, double t, double relative) {
  const double log1p_t = std::log1p(t);
  const auto up = binomial_excess(order, false, t, log1p_t, relative);
  const auto down = binomial_excess(order, true, t, log1p_t, relative);
  return {up.value + down.value, up.error + down.error + share_of_units(std::abs(up.value) + std::abs(down.value))};
}

// The ellipse of foci +-1 with sum of semi-axes 8 has semi-axes 4.0625 and 3.9375; in it the panel's l stays in the right
// half-plane, where |r| >= |(1 - q, q |l|)|.
constexpr double ratio_of_ellipse = 8;
constexpr double wide = (ratio_of_ellipse + 1 / ratio_of_ellipse) / 2;
constexpr double tall = (ratio_of_ellipse - 1 / ratio_of_ellipse) / 2;

double mixture_log(double q, double mu, double x) { return std::log1p(q * std::expm1(mu * (x - mu / 2))); }

/// The quadrature's own error on a panel of half-width `half`, (64 / 15) max|f| ratio^(-2 n) / (1 - ratio^-2), n = 19, on the ellipse, whose height is
/// `height` [Trefethen, Theorem 19.3].
double panel_error(double q, double mu, double a, double middle, double half, double height) {
  const auto slope = [&](double x) { return mu * q / (q + (1 - q) * std::exp(-mu * (x - mu / 2))); };
  const double begin = middle - wide * half;
  const double finish = middle + wide * half;
  const double nearest = begin > 0 ? begin : 0;
  const double drift = std::max(std::abs(-begin + a * slope(finish)), std::abs(-finish + a * slope(begin)));
  const double power_part = -middle * middle / 2 + a * mixture_log(q, mu, middle) + wide * half * drift;
  const double l_high = std::exp(mu * (finish - mu / 2));
  const double smallest = hypotenuse(1 - q, q * std::exp(mu * (begin - mu / 2)));
  const double rest = std::exp(-nearest * nearest / 2) * (2 + (2 * a - 1) * q * (l_high + 1) + std::pow(smallest, 1 - a));
  const double on_ellipse = std::exp(height * height / 2) * (std::exp(power_part) + rest);
  return 64.0 / 15 * on_ellipse * std::pow(ratio_of_ellipse, -38) / (1 - 1 / (ratio_of_ellipse * ratio_of_ellipse));
}

/// log(1 + E[...]) by Gauss-Legendre panels; nothing when it would need too many or the order is too large for double.
std::optional<double> fixed_gaussian_log_moment(double q, double mu, At at) {
  using Rule = boost::math::quadrature::gauss<double, 20>;
  const double a = at.order;
  const double largest = a * log_mixture(q, Upper{Exact{std::min((a - 1) * mu * mu / 2, 1e300)}}).value();
  if (!(largest < 600 && a <= largest_order_of_nodes)) return std::nullopt;
  const double height = std::min(0.499 * pi / mu, 2.5);
  const double half = (Lower{Exact{height}} / Exact{tall}).value();
  const double reach =
      std::sqrt(2 * (at.digits + 10 - 2 * std::log(std::min(q * std::min(mu, 1.0), 1.0)) + std::max(0.0, -std::log(a - 1)))) + 1;
  const double end = a * mu + reach;
  const double panels = std::ceil((end - mu / 2) / (2 * half));
  if (!(panels < 2000)) return std::nullopt;
  const auto& abscissas = Rule::abscissa();
  const auto& weights = Rule::weights();

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
        if (weight < 1e-280 || a * mixture_log(q, mu, x) > 300) {
          sum += weights[i] * extreme_term(a, mu, q, x, true, error);
          continue;
        }
        const auto excess = two_sided_excess(a, q * std::expm1(y), share_of_units(4 + 2 * y));
        sum += weight * std::max(excess.value, 0.0);
        // A node is off by some ulp of itself; the integrand's logarithm has slope at most x + a mu + 2 / offset.
        error += weight * (excess.error + std::abs(excess.value) * share_of_units(x * x + 8 + 4 * x * (x + a * mu) + 8));
      }
    }
    error += panel_error(q, mu, a, middle, half, height);
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

}  // namespace

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

double squared_mu_divergence(double mu, double order) { return (Exact{order} * (Upper{Exact{mu}} * Exact{mu}) / 2).value(); }

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

OrderBound fixed_gaussian(double q, double mu, At at) {
  const double plain = squared_mu_divergence(mu, at.order);
  const auto moment = fixed_gaussian_log_moment(q, mu, at);
  if (!moment) return {plain, false};
  return {std::min(plain, (Upper{Exact{*moment}} / less_one(at.order).below).value()), false};
}

}  // namespace surety::accounting::renyi
