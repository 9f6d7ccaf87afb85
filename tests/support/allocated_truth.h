// delta of epochs of two or three rounds in which a record, or a user's two, take part at random: by quadrature over all rounds but one, the last
// one in closed form. Plain long double, and no header of the accountants.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace surety::reference {

/// E(a + b Y - k)_+ and E(k - a - b Y)_+ for Y = exp(mu g - mu^2 / 2), g standard normal, b > 0.
class LinearInRatio {
 public:
  explicit LinearInRatio(long double mu) : mu_{mu} {}
  [[nodiscard]] long double above(long double a, long double b, long double k) const {
    const long double x = (k - a) / b;
    if (!(x > 0)) return a + b - k;
    const long double g = std::log(x) / mu_;
    return std::max(0.0L, b * (tail(g - mu_ / 2) - x * tail(g + mu_ / 2)));
  }
  [[nodiscard]] long double below(long double a, long double b, long double k) const {
    const long double x = (k - a) / b;
    if (!(x > 0)) return 0;
    const long double g = std::log(x) / mu_;
    return std::max(0.0L, b * (x * tail(-g - mu_ / 2) - tail(mu_ / 2 - g)));
  }
  /// The same of a + b Y + c Y2, Y2 = exp(2 mu g - 2 mu^2): it rises in g, so one g parts both sides.
  [[nodiscard]] long double above(long double a, long double b, long double c, long double k) const {
    if (!(k > a)) return a + b + c - k;
    const long double g = where(b, c, k - a);
    return std::max(0.0L, b * tail(g - mu_) + c * tail(g - 2 * mu_) - (k - a) * tail(g));
  }
  [[nodiscard]] long double below(long double a, long double b, long double c, long double k) const {
    if (!(k > a)) return 0;
    const long double g = where(b, c, k - a);
    return std::max(0.0L, (k - a) * tail(-g) - b * tail(mu_ - g) - c * tail(2 * mu_ - g));
  }
  [[nodiscard]] long double ratio(long double g, int times = 1) const {
    const long double shift = mu_ * static_cast<long double>(times);
    return std::exp(shift * g - shift * shift / 2);
  }
  [[nodiscard]] long double mu() const { return mu_; }

 private:
  static long double tail(long double x) { return 0.5L * std::erfc(x * 0.707106781186547524400844362104849039L); }
  [[nodiscard]] long double where(long double b, long double c, long double k) const {
    const long double first = b * std::exp(-mu_ * mu_ / 2);
    const long double second = c * std::exp(-2 * mu_ * mu_);
    const long double v = 2 * k / (first + std::sqrt(first * first + 4 * second * k));
    return std::log(v) / mu_;
  }
  long double mu_;
};

/// The integral of f times the standard normal density, which may be less than smooth at `parting`: double exponential on either side.
inline long double normal_mean(long double parting, long double reach, long double step, const std::function<long double(long double)>& f) {
  const auto piece = [&](long double from, long double to) {
    if (!(to > from)) return 0.0L;
    const long double half = 0.5L * (to - from);
    long double sum = 0;
    for (long double t = -4.4L; t <= 4.4L; t += step) {
      const long double turn = 1.57079632679489661923132169163975144L * std::sinh(t);
      // From the nearer end, so that places next to it keep their digits.
      const long double near = 2 * half / (1 + std::exp(2 * std::abs(turn)));
      const long double g = t < 0 ? from + near : to - near;
      const long double slope = half * 1.57079632679489661923132169163975144L * std::cosh(t) / (std::cosh(turn) * std::cosh(turn));
      if (g * g < 22000) sum += step * slope * std::exp(-g * g / 2) * f(g);
    }
    return sum * 0.39894228040143267793994605993438187L;
  };
  const long double middle = std::clamp(parting, -reach, reach);
  long double sum = 0;
  for (const auto& [from, to] : {std::pair{-reach, middle}, std::pair{middle, reach}}) {
    const auto pieces = std::ceil((to - from) / 5);
    for (long double i = 0; i < pieces; ++i) sum += piece(from + (to - from) * i / pieces, from + (to - from) * (i + 1) / pieces);
  }
  return sum;
}

enum class Dealing { one_of_two, one_of_three, two_of_three, two_records_in_two };

/// With the record against without it, or where it is not `removed` the other way round. At a step of 1/8 with some eight digits, at 1/5 with six.
inline long double allocated_delta(Dealing dealing, double multiplier, double epsilon, bool removed, long double step) {
  const LinearInRatio one{1 / static_cast<long double>(multiplier)};
  const long double mu = one.mu();
  const auto place = [&](long double y) { return y > 0 ? std::log(y) / mu + mu / 2 : -1e9L; };  // where the ratio is y
  const auto side = [&](bool is_above, long double k) {
    const bool is_plane = dealing == Dealing::one_of_three || dealing == Dealing::two_of_three;
    const long double reach = (is_plane ? 12 : 20) + 2 * mu + std::max(0.0L, std::log(4 * k) / mu);
    const auto last = [&](long double a, long double b) { return is_above ? one.above(a, b, k) : one.below(a, b, k); };
    const auto two = [&](const std::function<long double(long double)>& f) { return normal_mean(place(2 * k), reach, step, f); };
    switch (dealing) {
      case Dealing::one_of_two: return two([&](long double g) { return last(one.ratio(g) / 2, 0.5L); });
      case Dealing::one_of_three:
        return normal_mean(place(3 * k), reach, step, [&](long double g) {
          const long double y = one.ratio(g);
          return normal_mean(place(3 * k - y), reach, step, [&](long double other) { return last((y + one.ratio(other)) / 3, 1 / 3.0L); });
        });
      case Dealing::two_of_three:
        return normal_mean(0, reach, step, [&](long double g) {
          const long double y = one.ratio(g);
          return normal_mean(place(3 * k / y), reach, step, [&](long double other) {
            const long double x = one.ratio(other);
            return last(x * y / 3, (x + y) / 3);
          });
        });
      case Dealing::two_records_in_two: break;
    }
    // Both in the first, one in each, both in the second round.
    return normal_mean((std::log(4 * k) / mu + 2 * mu) / 2, reach, step, [&](long double g) {
      const long double a = one.ratio(g, 2) / 4;
      const long double b = one.ratio(g) / 2;
      return is_above ? one.above(a, b, 0.25L, k) : one.below(a, b, 0.25L, k);
    });
  };
  const long double e = std::exp(static_cast<long double>(epsilon));
  return removed ? side(true, e) : e * side(false, 1 / e);
}
/// The larger of both.
inline long double allocated_delta(Dealing dealing, double multiplier, double epsilon, long double step = 0.125L) {
  return std::max(allocated_delta(dealing, multiplier, epsilon, true, step), allocated_delta(dealing, multiplier, epsilon, false, step));
}

/// Rounds in which a record is replaced by its opposite: `one_of_two`, `one_of_three`, `two_of_three`. Noise of `multiplier` times the bound on one
/// record: E(e_k(A) - a e_k(B))_+ / C(t, k) with a = e^epsilon, e_k the elementary symmetric function, A = Y, B = Y at -g. Given all rounds but the last it
/// rises in that one, and is 0 where a quadratic is. Three rounds at a step of 1/16 with some six digits.
inline long double replaced_delta(Dealing dealing, double multiplier, double epsilon, long double step = 0.125L) {
  const long double mu = 1 / static_cast<long double>(multiplier);
  const long double a = std::exp(static_cast<long double>(epsilon));
  const long double e = std::exp(-mu * mu / 2);
  const auto tail = [](long double x) { return 0.5L * std::erfc(x * 0.707106781186547524400844362104849039L); };
  const auto up = [&](long double g) { return e * std::exp(mu * g); };
  // E(first + p A - a q B)_+
  const auto last = [&](long double first, long double p, long double q) {
    const long double root = std::sqrt(first * first + 4 * e * e * a * p * q);
    const long double from = std::log(first > 0 ? 2 * a * q * e / (first + root) : (root - first) / (2 * p * e)) / mu;
    return first * tail(from) + p * tail(from - mu) - a * q * tail(from + mu);
  };
  if (dealing == Dealing::one_of_two) {
    // Far out where delta is 1e-300.
    return normal_mean(std::log(a) / (2 * mu), 45 + 2 * mu, step, [&](long double g) { return last(up(g) - a * up(-g), 1, 1) / 2; });
  }
  // What is left is analytic: the trapezoid rule.
  const long double end = 9 + 2 * mu;
  long double sum = 0;
  for (long double g = -end; g <= end; g += step) {
    for (long double h = -end; h <= end; h += step) {
      const long double weight = std::exp(-(g * g + h * h) / 2);
      if (weight < 1e-18L) continue;
      sum += weight * (dealing == Dealing::one_of_three ? last(up(g) + up(h) - a * (up(-g) + up(-h)), 1, 1)
                                                        : last(up(g) * up(h) - a * up(-g) * up(-h), up(g) + up(h), up(-g) + up(-h)));
    }
  }
  return sum * step * step / (3 * 6.28318530717958647692528676655900577L);
}

}  // namespace surety::reference
