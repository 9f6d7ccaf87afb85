// The optimal composition of releases of different epsilons.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <surety/accounting/accountants/composition/sums.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::composing {

/// The loss law of one bit each with epsilons rounded to a grid; masses of outcomes are within a relative `error`.
class EpsilonGrid {
 public:
  enum class Rounding { up, down };

  EpsilonGrid(const std::map<double, double>& count_of_epsilon, int points, Rounding rounding) {
    // The epsilon that matters most is a multiple of the step, but for rounding to 29 bits, which makes its multiples exact.
    double total = 0;
    std::pair<double, double> main{0, 0};
    for (const auto& [epsilon, count] : count_of_epsilon) {
      total += epsilon * count;
      if (epsilon * count > main.first * main.second) main = {epsilon, count};
    }
    const double parts = std::floor(main.first * points / total);
    int exponent = 0;
    const double significand = std::frexp(parts >= 1 ? main.first / parts : total / points, &exponent) * 0x1p29;
    step_ = std::ldexp(rounding == Rounding::up ? std::floor(significand) + 1 : std::ceil(significand) - 1, exponent - 29);
    masses_ = {1};
    double operations = 0;
    for (const auto& [epsilon, count] : count_of_epsilon) {
      const double multiple = rounded(epsilon, rounding);
      const auto n = size_of(count);
      const auto law = right_answers(count, multiple * static_cast<double>(step_));
      const auto stride = 2 * size_of(multiple);
      std::vector<long double> next(masses_.size() + stride * n);
      for (std::size_t i = 0; i < masses_.size(); ++i) {
        if (masses_[i] == 0) continue;
        poll_limit();
        for (std::size_t j = 0; j <= n; ++j) next[i + stride * j] += masses_[i] * law[j];
      }
      masses_ = std::move(next);
      operations += count + 4;
    }
    // A sum or product of non-negative numbers is off by a relative 2^-64 each time; suffix sums add one per grid point.
    error_ = 0x1p-62L * (static_cast<long double>(operations) + 4 * static_cast<long double>(masses_.size()) + 64);
  }

  /// Bounds on sum of (P - e^at Q)_+: above it for +1, below it for -1.
  double delta(double at, int side) const {
    long double sum = 0;
    PollNowAndThen poll;
    for (std::size_t i = masses_.size(); i-- > 0;) {
      poll();
      const long double excess = loss(i) - static_cast<long double>(at);
      if (!(excess > 0)) break;
      sum += masses_[i] * -std::expm1(-excess);
    }
    const auto bound = static_cast<double>(side > 0 ? sum * (1 + error_) + lost : std::max(0.0L, sum * (1 - error_) - lost));
    return side > 0 ? std::min(1.0, std::nextafter(bound, infinity)) : std::nextafter(bound, 0.0);
  }

  /// Bounds on inf {at >= 0 : delta(at) <= target}, with the target rounded to the same side by the caller.
  double epsilon(long double target, int side) const {
    const long double grow = 1 + static_cast<long double>(side) * error_;
    const long double shrink = 1 - static_cast<long double>(side) * error_;
    const long double decay = std::exp(-step_);
    long double p = 0;
    long double q = 0;  // Q of the set, times e^loss
    long double best = 0;
    for (std::size_t i = masses_.size(); i-- > 0 && loss(i) > 0;) {
      p += masses_[i];
      q = masses_[i] + decay * q;
      if (masses_[i] == 0) continue;
      const long double left = p * grow - target + static_cast<long double>(side) * lost;
      if (!(left > 0)) continue;
      const long double weight = q * shrink - static_cast<long double>(side) * lost;
      // A loss is never more than the largest one, which is exact.
      if (!(weight > 0)) return round_up(loss(masses_.size() - 1));
      const long double shift = std::log(left / weight);
      const long double slack = 0x1p-58L * (loss(i) + std::abs(shift) + 1);
      best = std::max(best, loss(i) + shift + static_cast<long double>(side) * slack);
    }
    const auto bound = static_cast<double>(best);
    return side > 0 ? std::nextafter(bound, infinity) : best > 0 ? std::nextafter(bound, 0.0) : 0.0;
  }

 private:
  static_assert(std::numeric_limits<long double>::digits >= 64 && std::numeric_limits<long double>::min_exponent10 < -4900);
  /// More than all masses that underflow can add up to.
  static constexpr long double lost = 1e-4900L;

  /// Loss of entry i: the entries run from -M to M steps.
  long double loss(std::size_t i) const { return (static_cast<long double>(i) - static_cast<long double>(masses_.size() / 2)) * step_; }

  /// epsilon / step, rounded; the products compared are exact (24 and 29 bits).
  double rounded(double epsilon, Rounding rounding) const {
    const auto step = static_cast<double>(step_);
    double multiple = std::floor(epsilon / step);
    while (multiple * step > epsilon) --multiple;
    while ((multiple + 1) * step <= epsilon) ++multiple;
    if (rounding == Rounding::up && multiple * step < epsilon) ++multiple;
    return multiple;
  }

  /// P(j right answers of n), each with odds e^epsilon, within a relative 2^-62.
  static std::vector<long double> right_answers(double n, double epsilon) {
    const Interval odds = exp(number(epsilon));
    Interval mass = exp(-(number(n) * (number(epsilon) + log1p(number(1) / odds))));
    std::vector<long double> law;
    PollNowAndThen poll;
    for (double j = 0; j <= n; ++j) {
      poll();
      law.push_back(mpfr_get_ld(mass.lower(), MPFR_RNDN));
      if (j < n) mass = mass * (number(n - j) / number(j + 1)) * odds;
    }
    return law;
  }

  long double step_ = 0;
  std::vector<long double> masses_;
  long double error_ = 0;
};

}  // namespace surety::accounting::composing
