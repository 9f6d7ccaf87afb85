#include <surety/accounting/accountants/renyi/allocated_moments.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <optional>
#include <tuple>
#include <utility>

#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/last_few.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting {
namespace {

/// Orders up to this one more are known.
constexpr std::size_t most_moments = 128;
/// From here on no negative moment is computed: their time grows with mu^2, and what they save over one round is below 0.6 percent.
constexpr double largest_mu = 32;
constexpr double largest_exponent = 11000;

using Moments = std::vector<long double>;

/// Of E R^k, as a share of it, after so many levels of joining. The exponent mu^2 k (k - 1) / 2 is rounded four times and its exponential within 4 units;
/// each of 2 levels a binary digit adds 6 k + 8 units, at most 14 k. \source docs/proofs/allocated.md#divergences
long double rounding_of_moment(long double k, long double mu, long double levels) {
  return share_of_units(3 * k * k * mu * mu + 4 + 14 * levels * k);
}
/// Of one node of L(s) - 1 at the place g of the normal variable, as a share of its weight times s Y: 20 units of its functions and products, and two
/// roundings of each term of the exponents g^2 / 2 and mu (g - mu / 2).
long double rounding_of_node(long double mu, long double g) { return share_of_units(20 + g * g + 2 * mu * std::abs(g) + mu * mu); }
/// Of the mass of a cell under the shape b + 1, from the mass under b and the terms v^b e^-v / b! of both ends: one rounding of each mass, and of a term
/// 2 b of its b quotients and products, 2 v of the exponent -v, and 8 of the exponential and the differences.
long double rounding_of_mass(long double mass, long double next, long double both_terms, long double b, long double right) {
  return share_of_units(std::abs(mass) + std::abs(next) + both_terms * (2 * b + 2 * right + 8));
}

/// E Y^k = e^(mu^2 k (k - 1) / 2), as long as that is a long double.
Moments of_one_round(double mu) {
  Moments found{1, 1};
  const long double rho = 0.5L * mu * mu;
  for (std::size_t k = 2; k <= most_moments; ++k) {
    const long double exponent = rho * static_cast<long double>(k * (k - 1));
    if (exponent > largest_exponent) break;
    found.push_back(std::exp(exponent));
  }
  return found;
}

/// Of a mean of m + n rounds, from those of m and of n: E (w A + (1 - w) B)^k, w = m / (m + n), a sum of positive terms.
Moments joined(const Moments& a, double m, const Moments& b, double n) {
  const auto w = static_cast<long double>(m) / (static_cast<long double>(m) + n);
  const auto rest = static_cast<long double>(n) / (static_cast<long double>(m) + n);
  Moments found(a.size());
  std::vector<long double> binomial(a.size());  // of k and w
  binomial[0] = 1;
  for (std::size_t k = 0; k < a.size(); ++k) {
    poll_limit();
    if (k > 0) {
      for (std::size_t j = k; j > 0; --j) binomial[j] = rest * binomial[j] + w * binomial[j - 1];
      binomial[0] *= rest;
    }
    for (std::size_t j = 0; j <= k; ++j) found[k] += binomial[j] * a[j] * b[k - j];
  }
  found[0] = found[1] = 1;
  return found;
}

std::vector<double> log_positive(double rounds, double mu) {
  Moments power = of_one_round(mu);
  Moments found;
  double joined_rounds = 0;
  double power_rounds = 1;
  double levels = 0;
  for (auto left = static_cast<std::uint64_t>(rounds); left != 0; left >>= 1) {
    if ((left & 1) != 0) {
      found = joined_rounds == 0 ? power : joined(found, joined_rounds, power, power_rounds);
      joined_rounds += power_rounds;
      ++levels;
    }
    if (left > 1) power = joined(power, power_rounds, power, power_rounds);
    power_rounds *= 2;
    ++levels;
  }
  std::vector<double> logs{0, 0};
  for (std::size_t k = 2; k < found.size(); ++k) {
    // -log(1 - x) is at most 2 x up to x = 1/2.
    const LongUpper rounding{LongExact{2 * rounding_of_moment(static_cast<long double>(k), mu, levels)}};
    logs.push_back(shortened(log(LongUpper{LongExact{found[k]}}) + rounding).value());
  }
  return logs;
}

/// log of at least E R^-c (c / e)^c, which bounds v^c E e^(-v R) for every v: x^c e^-x is at most (c / e)^c, and an arithmetic mean at least
/// a geometric one.
Upper log_power_bound(double rounds, double mu, double c) {
  const Upper moment = Upper{Exact{mu}} * Exact{mu} / 2 * Exact{c} * (Upper{1} + Upper{Exact{c}} / Exact{rounds});
  return Exact{c} * log(Upper{Exact{c}}) - Exact{c} + moment;
}

/// W(v) = e^v E e^(-v R) - 1 = e^v L(v / t)^t - 1 at points from 0 on, from above.
struct Excess {
  std::vector<long double> at;
  std::vector<long double> value;
};

Excess excess_of(double rounds, double mu) {
  // L(s) - 1 by the trapezoid rule; in the strip of half-width b around the line |e^(-s Y) - 1| <= |s Y|.
  constexpr long double pi = std::numbers::pi_v<long double>;
  constexpr long double inverse_sqrt_two_pi = std::numbers::inv_sqrtpi_v<long double> * std::numbers::sqrt2_v<long double> / 2;
  const long double b = std::min(2.0L, pi / (2 * static_cast<long double>(mu)));
  const long double h = b / 8;
  constexpr long double reach = 10;
  struct Node {
    long double weight;
    long double y;
  };
  std::vector<Node> nodes;
  long double rounding = 0;
  for (long double i = std::floor(-reach / h); i <= std::ceil((reach + mu) / h); ++i) {
    const long double g = i * h;
    const Node node{h * inverse_sqrt_two_pi * std::exp(-0.5L * g * g), std::exp(mu * (g - 0.5L * mu))};
    nodes.push_back(node);
    rounding += node.weight * node.y * rounding_of_node(mu, g);
  }
  const auto count = static_cast<long double>(nodes.size());
  const long double strip = 2 * std::exp(0.5L * b * b) / std::expm1(16 * pi);
  const long double cut = 2 * (1 + h) * std::exp(-0.5L * reach * reach);
  // Of L - 1, as a share of s; the sum of the nodes' shares is about 1.
  const long double error = strip + cut + rounding + share_of_units(2 * count);

  // Where E e^(-v R) is smaller than what the sum may be wrong by, the bounds by powers say more.
  std::vector<std::pair<double, double>> bounds;  // c, and what it says
  for (double c = 1; c < 4096; c *= 1.25) bounds.emplace_back(c, log_power_bound(rounds, mu, c).value());

  Excess found{{0}, {0}};
  for (long double v = 1e-3L; v < 4000; v += std::min(0.02L * v, 0.04L + 0.004L * v)) {
    poll_limit();
    const long double s = v / rounds;
    long double less_one = 0;
    for (const auto& [weight, y] : nodes) less_one += weight * std::expm1(-s * y);
    // It lies between -v and 0 (Jensen), so its logarithm and products are within 8 units of v, which are added below.
    const LongUpper log_power = LongUpper::claim(rounds * std::log1p(less_one + s * error));
    // Every c gives a bound: that of the c that gives the least one, but for roundings.
    const LongLower log_v = log(LongLower{LongExact{v}});
    const auto* best = &bounds.front();
    long double least = std::numeric_limits<long double>::infinity();
    for (const auto& power : bounds) {
      const long double at_v = power.second - power.first * log_v.value();
      if (at_v < least) best = &power;
      least = std::min(least, at_v);
    }
    const LongUpper by_power = LongExact{best->second} - LongExact{best->first} * log_v;
    found.at.push_back(v);
    found.value.push_back(expm1(LongUpper::within(v, 8) + min(log_power, by_power)).value());
  }
  return found;
}

/// log of at least the integral from v on of w^(b - 1) E e^(-w R) / Gamma(b).
Upper log_tail(double rounds, double mu, double b, Lower log_gamma, double v) {
  const Lower log_v = log(Lower{Exact{v}});
  Upper least{Exact{infinity}};
  for (const double more : {0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0}) {
    const Upper bound = log_power_bound(rounds, mu, b + more);
    least = min(least, bound - log_gamma - Exact{more} * log_v - log(Lower{Exact{more}}));
  }
  return least;
}

std::vector<double> log_negative(double rounds, double mu) {
  if (mu > largest_mu) return {0};
  const Excess excess = excess_of(rounds, mu);
  const std::size_t cells = excess.at.size() - 1;
  // The masses of the cells under a gamma variable of shape b, by steps: mass(b + 1) - mass(b) = term(left) - term(right),
  // term(v) = v^b e^-v / b!. What they may be wrong by is kept beside them.
  std::vector<long double> term(excess.at.size());
  std::vector<long double> mass(cells);
  std::vector<long double> wrong(cells);
  for (std::size_t i = 0; i <= cells; ++i) term[i] = std::exp(-excess.at[i]);
  for (std::size_t i = 0; i < cells; ++i) {
    mass[i] = term[i] * -std::expm1(excess.at[i] - excess.at[i + 1]);
    // Two functions and their product, and the difference in the exponent, by far.
    wrong[i] = mass[i] * share_of_units(8 + excess.at[i + 1] * 2 * excess.at[i + 1] / (excess.at[i + 1] - excess.at[i]));
  }
  std::vector<double> logs{0};
  LongLower log_gamma{0};  // of b
  for (std::size_t k = 1; k <= most_moments; ++k) {
    poll_limit();
    const auto b = static_cast<long double>(k);
    if (k > 1) log_gamma += log(LongLower{LongExact{b - 1}});
    for (std::size_t i = 0; i <= cells; ++i) term[i] *= excess.at[i] / b;
    long double sum = 0;
    for (std::size_t i = 0; i < cells; ++i) {
      const long double left = excess.at[i];
      const long double right = excess.at[i + 1];
      const long double next = mass[i] + (term[i] - term[i + 1]);
      const long double next_wrong = wrong[i] + rounding_of_mass(mass[i], next, term[i] + term[i + 1], b, right);
      // W is convex, so at most its chord; the mean of V over the cell is b next. Two products and their difference are within 4 units of both.
      const long double spread = share_of_units(4 * (right * std::abs(mass[i]) + b * std::abs(next))) + right * wrong[i] + b * next_wrong;
      const long double low = std::max(right * mass[i] - b * next, 0.0L) + spread;
      const long double high = std::max(b * next - left * mass[i], 0.0L) + spread;
      sum += (excess.value[i] * low + excess.value[i + 1] * high) / (right - left);
      mass[i] = next;
      wrong[i] = next_wrong;
    }
    // Of a term six operations on numbers that are not negative, and a difference.
    const LongUpper in_cells = LongUpper::within(sum, static_cast<long double>(cells) + 9);
    const double end = shortened(LongLower{LongExact{excess.at.back()}}).value();
    const double tail = log_tail(rounds, mu, static_cast<double>(b), shortened(log_gamma), end).value();
    if (!std::isfinite(sum) || tail > 11000) break;
    logs.push_back(shortened(log1p(in_cells + exp(LongUpper{LongExact{tail}}))).value());
  }
  return logs;
}

/// A convex function is at most its chord between whole numbers; infinity beyond those that are known.
double chord(const std::vector<double>& logs, double at) {
  const double floor = std::floor(at);
  if (!(floor + 1 < static_cast<double>(logs.size()))) return infinity;
  const auto k = static_cast<std::size_t>(floor);
  const double share = at - floor;
  return ((Upper{1} - Exact{share}) * Upper{Exact{logs[k]}} + Exact{share} * Upper{Exact{logs[k + 1]}}).value();
}

}  // namespace

AllocatedMoments::AllocatedMoments(double rounds, double mu)
    : mu_{mu}, positive_{log_positive(rounds, mu)}, negative_{log_negative(rounds, mu)} {}

double AllocatedMoments::divergence(double order) const {
  // The ratio is a mean of the rounds' ones, and both divergences are means of convex functions of it.
  const Upper of_one_round = Upper{Exact{mu_}} * Exact{mu_} / 2 * Exact{order};
  // The next double is certainly not below order - 1.
  const double b = std::nextafter(order - 1, infinity);
  const double larger = std::max(chord(positive_, std::nextafter(order, infinity)), chord(negative_, b));
  return min(of_one_round, Upper{Exact{larger}} / (Lower{Exact{order}} - 1)).value();
}

double AllocatedMoments::replaced_divergence(double order) const {
  // Hoelder's inequality about the law without the record, with exponents at which Gaussian releases lose nothing.
  const Upper of_two_rounds = Upper{Exact{mu_}} * Exact{mu_} * Exact{order};
  const Upper power = Upper{Exact{order}} * 2 - 1;
  const Lower least_power = Lower{Exact{order}} * 2 - 1;
  const Lower b = Lower{Exact{order}} - 1;
  const Upper with = Upper{Exact{chord(positive_, power.value())}} * Exact{order} / b;
  const Upper without{Exact{chord(negative_, power.value())}};
  return min(of_two_rounds, (with + without) / least_power).value();
}

std::shared_ptr<const AllocatedMoments> allocated_moments(double rounds, double mu) {
  static auto& kept = *new LastFew<std::pair<double, double>, std::shared_ptr<const AllocatedMoments>, laws_of_a_question>;
  return kept.of({rounds, mu}, [&] {
    const StandardFloatingPoint environment;
    return std::make_shared<const AllocatedMoments>(rounds, mu);
  });
}

// Proved: docs/proofs/allocated.md#order-2
namespace {

/// Coefficients of u^i v^j, i and j up to `degree`, at i (degree + 1) + j.
struct TwoVariables {
  std::size_t degree;
  std::vector<LongUpper> of;

  explicit TwoVariables(std::size_t most) : degree{most}, of((most + 1) * (most + 1), LongUpper{0}) {}
  [[nodiscard]] LongUpper& at(std::size_t i, std::size_t j) { return of[i * (degree + 1) + j]; }
  [[nodiscard]] const LongUpper& at(std::size_t i, std::size_t j) const { return of[i * (degree + 1) + j]; }
};

TwoVariables product(const TwoVariables& a, const TwoVariables& b) {
  TwoVariables found{a.degree};
  for (std::size_t i = 0; i <= a.degree; ++i) {
    poll_limit();
    for (std::size_t j = 0; j <= a.degree; ++j) {
      if (!(a.at(i, j).value() > 0)) continue;
      for (std::size_t m = 0; i + m <= a.degree; ++m) {
        for (std::size_t n = 0; j + n <= a.degree; ++n) found.at(i + m, j + n) += a.at(i, j) * b.at(m, n);
      }
    }
  }
  return found;
}

}  // namespace

double users_divergence_of_order_2(std::uint64_t records, std::uint64_t rounds, double mu) {
  const StandardFloatingPoint environment;
  const auto k = static_cast<std::size_t>(records);
  if (records > most_records_of_order_2 || rounds > most_rounds_of_order_2) return infinity;
  const LongUpper square = LongUpper{LongExact{mu}} * LongExact{mu};
  if (!((square * LongExact{static_cast<long double>(k * k)}).value() < largest_exponent / 4)) return infinity;
  static auto& kept = *new LastFew<std::tuple<std::uint64_t, std::uint64_t, double>, double>;
  return kept.of({records, rounds, mu}, [&] {
    const LongExact t{static_cast<long double>(rounds)};
    std::vector<LongUpper> weights{LongUpper{1}};  // 1 / (i! t^i)
    LongUpper factorial{1};
    for (std::size_t i = 1; i <= k; ++i) {
      const LongExact number{static_cast<long double>(i)};
      weights.push_back(weights.back() / number / t);
      factorial = factorial * number;
    }
    TwoVariables power{k};
    for (std::size_t i = 0; i <= k; ++i) {
      for (std::size_t j = 0; j <= k; ++j) {
        power.at(i, j) = weights[i] * weights[j] * exp(square * LongExact{static_cast<long double>(i * j)});
      }
    }
    std::optional<TwoVariables> all;
    for (std::uint64_t left = rounds; left > 0; left /= 2) {
      if (left % 2 == 1) all = all ? product(*all, power) : power;
      if (left > 1) power = product(power, power);
    }
    return shortened(log(all->at(k, k) * factorial * factorial)).value();
  });
}

double users_reversed_divergence(std::uint64_t records, std::uint64_t rounds, double mu, double order) {
  const StandardFloatingPoint environment;
  const Exact k{static_cast<double>(records)};
  const Exact t{static_cast<double>(rounds)};
  const Upper of_mean = Upper{k} * k / t;
  const Upper of_counts = Upper{k} + Upper{k} * Exact{k.value - 1} / t;
  const Upper above = Upper{Exact{order}} - Exact{1};
  return (Upper{Exact{mu}} * Exact{mu} * (above * of_mean + of_counts) / Exact{2}).value();
}
// Proved so far.

}  // namespace surety::accounting
