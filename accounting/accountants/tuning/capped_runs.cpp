#include <surety/accounting/accountants/tuning/capped_runs.h>

#include <algorithm>
#include <cmath>

#include <surety/accounting/events/runs_law.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting {
namespace {

/// More than a few operations and functions of double err, relative to what they give.
constexpr double few = 0x1p-48;
/// Added where a double may have lost its digits by underflow.
constexpr double tiny = 1e-300;

/// x^power, from log x.
double power_of(double log_x, double power) { return power == 0 ? 1 : std::exp(power * log_x); }

/// P(Binomial(n, s) > k) with log x = log(1 - s), and the share of it that powers of x are.
struct Tail {
  double value;
  double share;
};
Tail tail_of(double n, double s, double log_x, int k) {
  double up_to = 0;
  double coefficient = 1;
  for (int i = 0; i <= k; ++i) {
    up_to += coefficient * std::pow(s, i) * power_of(log_x, n - i);
    coefficient *= (n - i) / (i + 1);
    if (coefficient == 0) return {0, 1};  // n <= k
  }
  if (up_to <= 0.5) return {1 - up_to, up_to / (1 - up_to)};
  // So few are expected that terms fall from here on, soon by half and more.
  double term = coefficient * std::pow(s, k + 1) * power_of(log_x, n - (k + 1));
  double sum = term;
  const double odds = s / std::exp(log_x);
  for (int i = k + 1; i < n; ++i) {
    const double ratio = (n - i) / (i + 1) * odds;
    term *= ratio;
    sum += term;
    if (ratio < 0.5 && term < 0x1p-60 * sum) break;
  }
  return {sum, 1};
}

}  // namespace

CappedRuns::CappedRuns(const Runs& runs) : cap_{static_cast<double>(runs.cap().value().value())} {
  const Interval w = minus_log_stopping(runs, 64);
  stops_ = exp(-w).enclosure().upper;
  goes_on_ = (-expm1(-w)).enclosure().upper;
}

CappedRuns::Value CappedRuns::derivative(int order, double bar) const {
  const double z = 1 - bar;
  const double s = stops_ + goes_on_ * bar;
  const double log_x = z > 0 ? (s < 0.5 ? std::log1p(-s) : std::log(goes_on_ * z)) : -infinity;
  const auto tail = tail_of(cap_ + 1, s, log_x, order);
  double inside = stops_ / (s * s) * tail.value;
  double at_cap = cap_ > order - 1 ? power_of(log_x, cap_ - order) : 0;
  for (int i = 1; i <= order; ++i) {
    inside *= i;
    at_cap *= (cap_ - i + 1) * goes_on_;
    if (i > 1) inside *= goes_on_ / s;
  }
  const double value = inside + at_cap;
  // A power of x errs by its exponent, which no longer counts where it is large: then the power is nothing beside 1.
  const double exponent = std::min(-(cap_ + 1) * log_x, 750.0);
  const double of_powers = value > 0 ? (inside * tail.share + at_cap) / value : 1;
  return {value, few * (32 + exponent * of_powers)};
}

double CappedRuns::above(int order, double bar) const {
  const auto [value, error] = derivative(order, bar);
  return value * (1 + error) + tiny;
}
double CappedRuns::below(int order, double bar) const {
  const auto [value, error] = derivative(order, bar);
  return std::max(0.0, value * (1 - error) - tiny);
}

CappedRuns::Bend CappedRuns::bend(const Ranks& ranks) const {
  const auto log_above = [&](double bar) { return std::log(above(2, bar)) + few * 64; };
  const auto log_below = [&](double bar) { return std::log(below(2, bar)) - few * 64; };
  const auto within = [](double bar) { return std::clamp(bar, 0.0, 1.0); };
  const double nearest = std::max(0.0, ranks.nearest);  // v is at most u
  const double u_least = within(ranks.u_least);
  const double u_most = within(ranks.u_most);
  const double v_least = within(ranks.v_least);
  const double v_most = within(ranks.v_most);
  // phi'' rises, so each end has its place.
  const double log_u = log_above(u_least);
  Bend found{log_below(u_most) - log_above(v_least), log_u - log_below(v_most)};
  // Nearer than that where ranks hardly differ: at one distance the logarithm changes with u by the distance times (log phi'')''.
  if (!(u_least + ranks.farthest <= 1)) return found;
  const double rise = below(2, v_most);
  const double third = above(3, u_least) / rise;
  const double turns = std::max(above(4, u_least) / rise, third * third);
  const double change = ranks.farthest * turns * (u_most - u_least) * (1 + few * 16);
  found.most = std::min(found.most, log_u - log_below(within(u_least + ranks.farthest)) + change);
  found.least = std::max(found.least, log_below(u_least) - log_above(within(u_least + nearest)) - change);
  return found;
}

}  // namespace surety::accounting
