// The truth about a few Poisson-sampled Gaussian releases composed, for tests, by quadrature in long double.
//
// In units of the noise a release is (1 - q) N(0, 1) + q N(mu, 1) against N(0, 1), mu = 1 / multiplier, with likelihood ratio
// r(x) = 1 + q (e^(mu x - mu^2 / 2) - 1). The last of the releases has its curve in closed form at every real epsilon,
//   remove    q (N(x* - mu) - v N(x*)),            v = 1 + (e^epsilon - 1) / q,   N(x) = 1 - Phi(x)
//   add       e^epsilon q (v Phi(x*) - Phi(x* - mu)),  v = 1 + (e^-epsilon - 1) / q,   x* = log(v) / mu + mu / 2,
// and the others are integrated over in turn: integral of p(x) rest(epsilon - L(x)) dx, all of it >= 0. A curve `rest` is known and
// constant in shape beyond the end of its losses, sum of log(1 - q) or the negative of that, and changes within about q of it; so
// x = c + w sinh(t), with c where that end is met and w the width of the change, and the trapezoid rule in t. The integrand is
// smooth and falls faster than exponentially, so the rule converges faster than any power of its step. The step is halved until two
// successive values agree to 5e-10; the error given is their difference, what was left out, and 1e-13 of the value for rounding
// (erfcl and the arguments of e^x lose at most some 2^10 units of 2^-64).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <surety/accounting/laws/given/direction.h>

namespace surety::reference {

struct SampledGaussian {
  long double rate;
  long double multiplier;
};

using accounting::Direction;

class SampledGaussianQuadrature {
 public:
  struct Value {
    long double value;
    long double error;
  };

  /// \pre one to three releases.
  SampledGaussianQuadrature(std::vector<SampledGaussian> releases, Direction direction)
      : releases_{std::move(releases)}, direction_{direction} {}

  [[nodiscard]] Value operator()(long double epsilon) const {
    if (releases_.size() == 1) {
      const long double value = last(epsilon);
      return {value, 1e-13L * value};
    }
    long double step = 0.25L;
    long double left_out = 0;
    long double before = sum(0, epsilon, step, 1, 0, left_out);
    for (int halvings = 0;; ++halvings) {
      step /= 2;
      left_out = 0;
      const long double value = sum(0, epsilon, step, 1, before, left_out);
      const long double error = std::abs(value - before);
      if ((value > 0 && error <= 5e-10L * value) || halvings == (releases_.size() == 2 ? 9 : 5))
        return {value, error + left_out + 1e-13L * value + 1e-330L};
      before = value;
    }
  }

 private:
  static constexpr long double range = 40;  ///< beyond it is less than 1e-348 of N(0, 1)

  static long double upper_tail(long double x) { return 0.5L * std::erfc(x * std::sqrt(0.5L)); }

  long double last(long double epsilon) const {
    const auto& [rate, multiplier] = releases_.back();
    const long double mu = 1 / multiplier;
    const bool removed = direction_ == Direction::remove;
    const long double less_one = std::expm1(removed ? epsilon : -epsilon) / rate;
    if (less_one <= -1) return removed ? -std::expm1(epsilon) : 0;
    const long double v = 1 + less_one;
    const long double at = std::log1p(less_one) / mu + mu / 2;
    const long double value = removed ? rate * (upper_tail(at - mu) - v * upper_tail(at))
                                      : std::exp(epsilon) * rate * (v * upper_tail(-at) - upper_tail(mu - at));
    return std::max(0.0L, value);
  }

  /// The curve of the releases from `index` on. Nodes of less than 1e-30 of `about` are left out and counted in `left_out`.
  long double sum(std::size_t index, long double epsilon, long double step, long double weight, long double about,
                  long double& left_out) const {
    if (index + 1 == releases_.size()) return last(epsilon);
    const bool removed = direction_ == Direction::remove;
    const long double sign = removed ? 1 : -1;
    const auto& [rate, multiplier] = releases_[index];
    const long double mu = 1 / multiplier;
    long double end = 0;  // of the losses of the rest, as the logarithm of the likelihood ratio
    long double change = 0;
    for (std::size_t i = index + 1; i < releases_.size(); ++i) {
      end += std::log1p(-releases_[i].rate);
      change = std::max(change, releases_[i].rate);
    }
    long double centre = mu / 2;
    long double width = 1;
    if (std::isfinite(end)) {
      const long double target = sign * epsilon - end;  // log r(c)
      const long double v = 1 + std::expm1(target) / rate;
      if (v <= 0) return removed ? -std::expm1(epsilon) : 0;
      centre = std::clamp(std::log(v) / mu + mu / 2, -range, range + mu);
      width = std::clamp(change * std::exp(target) / (rate * v * mu), 1e-14L, 1.0L);
    }
    const auto first = static_cast<long>(std::asinh((-range - centre) / width) / step) - 1;
    const auto stop = static_cast<long>(std::asinh((range + mu - centre) / width) / step) + 1;
    long double total = 0;
    for (long i = first; i <= stop; ++i) {
      const long double t = static_cast<long double>(i) * step;
      const long double x = centre + width * std::sinh(t);
      const long double loss = std::log1p(rate * std::expm1(mu * x - mu * mu / 2));
      const long double density = std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0L)) * (removed ? std::exp(loss) : 1);
      const long double mass = density * width * std::cosh(t) * step;
      if (weight * mass < 1e-30L * about)
        left_out += weight * mass;
      else
        total += mass * sum(index + 1, epsilon - sign * loss, step, weight * mass, about, left_out);
    }
    return total;
  }

  std::vector<SampledGaussian> releases_;
  Direction direction_;
};

}  // namespace surety::reference
