// The optimal composition of k releases of one epsilon.
#pragma once

#include <algorithm>
#include <array>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include <surety/accounting/accountants/composition/sums.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::composing {

/// log n!, by multiplication or by Stirling's series, whose remainder lies between 0 and its first omitted term.
[[nodiscard]] inline Interval log_factorial(double n) {
  constexpr double few = 256;
  if (n < few) {
    Interval product = number(1);
    for (double i = 2; i <= n; ++i) product = product * number(i);
    return log(product);
  }
  // Bernoulli numbers B_2, B_4, ...
  static constexpr std::array<std::pair<double, double>, 14> bernoulli{{{1, 6},
                                                                        {-1, 30},
                                                                        {1, 42},
                                                                        {-1, 30},
                                                                        {5, 66},
                                                                        {-691, 2730},
                                                                        {7, 6},
                                                                        {-3617, 510},
                                                                        {43867, 798},
                                                                        {-174611, 330},
                                                                        {854513, 138},
                                                                        {-236364091, 2730},
                                                                        {8553103, 6},
                                                                        {-23749461029, 870}}};
  const Interval x = number(n);
  Interval power = number(1) / x;  // x^(1 - 2m)
  Interval sum = x * log(x) - x + log(number(2) * Interval::pi(precision) * x) / number(2);
  for (std::size_t m = 1; m <= bernoulli.size(); ++m) {
    const auto [numerator, denominator] = bernoulli[m - 1];
    const Interval term = number(numerator) / (number(denominator) * number(static_cast<double>(2 * m * (2 * m - 1)))) * power;
    sum = sum + (m < bernoulli.size() ? term : hull(zero(), term));
    power = power / (x * x);
  }
  return sum;
}

/// k answers, each right with odds e^epsilon under P and wrong with them under Q. Outcome i (of 0 .. k right answers under P) has
/// P-mass p_i = C(k, i) e^(i epsilon) / (1 + e^epsilon)^k and loss (2 i - k) epsilon.
class BitAnswers {
 public:
  BitAnswers(double k, double epsilon) : k_{k}, epsilon_{epsilon}, odds_{exp(number(epsilon))} {
    const double right = 1 / (1 + std::exp(-epsilon));
    // Below this p is at most e^-72 of its largest, far less than 1 less any delta of double.
    low_ = std::max(least(), std::floor(k * right - 12 * std::sqrt(k * right * (1 - right))) - 50);
  }

  /// (sum of (p_i - e^at q_i)_+), the hockey-stick divergence at `at`.
  Interval delta(double at) const {
    if (mpfr_sgn((number(at) - loss(k_)).lower()) >= 0) return zero();
    // The set {i >= j} that attains it starts where the loss first exceeds `at`; neighbours cover rounding.
    const double first = std::floor((k_ + at / epsilon_) / 2) - 1;
    const double start = std::min(std::max(first, low_), std::max(k_ - width + 1, least()));
    const auto sets = upper_sets(start);
    Interval best = zero();
    for (const auto& set : sets) best = maximum(best, set.p - exp(number(at)) * set.q);
    // Outcomes below the start add at most their P-mass.
    if (first < start && start > least()) best = best + hull(zero(), mass_below(start));
    return clamp(best, 0, 1);
  }

  /// inf {at >= 0 : delta(at) <= target}: the largest log((P(i >= j) - target) / Q(i >= j)). \pre target >= 0.
  Enclosure epsilon(const Interval& target) const {
    const double top = std::max(k_ - width + 1, least());
    double below = low_ - 1;  // the best set starts above
    double above = top + 1;   // a window that starts here is too high
    double lower = 0;
    double upper = loss(k_).enclosure().upper;
    double start = std::min(std::max(guess(target.enclosure().upper) - 2, low_), top);
    for (double stride = 8; above - below > 1; stride *= 4) {
      const auto found = largest_ratio(start, target);
      const double last = start + static_cast<double>(width) - 1;
      const bool too_high = !found || (start > least() && (*found - loss(start - 1)).compare(0) < 0);
      const bool too_low = found && start < top && (*found - loss(last)).compare(0) > 0;
      if (too_high) {
        upper = std::min(upper, std::max(0.0, loss(start - 1).enclosure().upper));
        if (start == least()) return {0, 0};
        above = start;
        start = std::max(start - stride, std::floor((below + above) / 2));
      } else if (too_low) {
        lower = std::max(lower, found->enclosure().lower);
        below = start;
        start = std::min(start + stride, std::ceil((below + above) / 2));
      } else if ((start == least() || (*found - loss(start - 1)).compare(0) > 0) &&
                 (start == top || (*found - loss(last)).compare(0) < 0)) {
        const auto value = found->enclosure();
        return {std::max(0.0, value.lower), std::max(0.0, value.upper)};
      } else {
        // In doubt at the window's edge: the neighbouring one holds it inside.
        const bool at_last = start < top && (*found - loss(last)).compare(0) >= 0;
        const double next = at_last ? std::min(start + 2, top) : std::max(start - 2, low_);
        const auto again = largest_ratio(next, target);
        if (again) lower = std::max(lower, std::max(0.0, again->enclosure().lower));
        const double end = next + static_cast<double>(width) - 1;
        const bool inside =
            again && (next == least() || (*again - loss(next - 1)).compare(0) > 0) && (next == top || (*again - loss(end)).compare(0) < 0);
        if (inside) upper = std::min(upper, std::max(0.0, again->enclosure().upper));
        return {std::min(lower, upper), upper};
      }
      if (start <= below || start >= above) start = std::floor((below + above) / 2);
      if (start <= below) break;
    }
    return {std::min(lower, upper), upper};
  }

 private:
  static constexpr int width = 5;
  struct Set {
    Interval p;
    Interval q;
  };

  /// The first outcome with a positive loss.
  double least() const { return std::floor(k_ / 2) + 1; }
  Interval loss(double i) const { return number(2 * i - k_) * number(epsilon_); }
  Interval log_mass(double i) const {
    const Interval choose = log_factorial(k_) - log_factorial(i) - log_factorial(k_ - i);
    return choose - number(k_) * log1p(number(1) / odds_) - number(k_ - i) * number(epsilon_);
  }

  /// P(i >= j) and Q(i >= j) for j = start, start + 1, ... (five of them, or up to k).
  std::vector<Set> upper_sets(double start) const {
    poll_limit();
    const Interval first = log_mass(start);
    Interval p = exp(first);
    Interval q = exp(first - loss(start));
    const auto size = size_of(std::min(static_cast<double>(width), k_ - start + 1));
    std::vector<Set> heads;  // the masses of the first outcomes
    Set rest{zero(), zero()};
    PollNowAndThen poll;
    for (double i = start;; ++i) {
      poll();
      if (heads.size() < size) {
        heads.push_back({p, q});
      } else {
        rest = {rest.p + p, rest.q + q};
      }
      if (i == k_) break;
      const Interval step = number(k_ - i) / number(i + 1);
      p = p * step * odds_;
      q = q * step / odds_;
      // The ratio of successive masses falls, so the rest is at most a geometric series.
      const Interval ratio = number(k_ - i - 1) / number(i + 2) * odds_;
      if (heads.size() == size && ratio.compare(1) < 0) {
        const Interval left = p / (number(1) - ratio);
        if ((left - number(0x1p-90) * (rest.p + heads.back().p)).compare(0) < 0) {
          rest = {rest.p + hull(zero(), left), rest.q + hull(zero(), q / (number(1) - number(k_ - i - 1) / number(i + 2) / odds_))};
          break;
        }
      }
    }
    for (auto head = heads.rbegin(); head != heads.rend(); ++head) {
      rest = {rest.p + head->p, rest.q + head->q};
      *head = rest;
    }
    return heads;
  }

  /// P(i < start), where that is below the largest mass.
  Interval mass_below(double start) const {
    const double i = start - 1;
    const Interval ratio = number(i) / (number(k_ - i + 1) * odds_);
    if (ratio.compare(1) >= 0) return number(1);
    return clamp(exp(log_mass(i)) / (number(1) - ratio), 0, 1);
  }

  std::optional<Interval> largest_ratio(double start, const Interval& target) const {
    std::optional<Interval> best;
    for (const auto& set : upper_sets(start)) {
      const Interval left = set.p - target;
      if (left.compare(0) < 0) continue;
      const Interval ratio = clamp(left, 0, infinity) / set.q;  // from 0 where the sign is in doubt
      best = best ? maximum(*best, ratio) : ratio;
    }
    if (!best) return std::nullopt;
    return log(*best);
  }

  /// A start for the search, in double.
  double guess(double target) const {
    const double right = 1 / (1 + std::exp(-epsilon_));
    const auto is_above = [&](double j) {
      const double p = boost::math::ibeta(j, k_ - j + 1, right);
      const double q = boost::math::ibeta(j, k_ - j + 1, 1 / (1 + std::exp(epsilon_)));
      return p - (q > 0 ? std::exp((2 * j - k_) * epsilon_ + std::log(q)) : p) > target;
    };
    double low = least();
    double high = k_;
    while (high - low > 1) {
      const double middle = std::floor((low + high) / 2);
      (is_above(middle) ? low : high) = middle;
    }
    return low;
  }

  double k_;
  double epsilon_;
  Interval odds_;
  double low_ = 0;
};

}  // namespace surety::accounting::composing
