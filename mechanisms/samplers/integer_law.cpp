#include <surety/mechanisms/samplers/integer_law.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include <surety/base/numbers/checked_cast.h>
#include <surety/base/text/error.h>

namespace surety::mechanisms {
namespace {

__extension__ using UnsignedWide = unsigned __int128;

// Proved: docs/proofs/samplers.md#characteristic
/// `value` as a point.
Interval exactly(std::uint64_t value, mpfr_prec_t precision) {
  const auto least = std::max<mpfr_prec_t>(precision, 64);
  return Interval{static_cast<double>(value >> 32), least} * Interval{0x1p32, least} +
         Interval{static_cast<double>(value & 0xffffffff), least};
}

/// sin(j pi / N). \pre j <= N / 2.
Interval sine(std::uint64_t j, std::uint64_t period, mpfr_prec_t precision) {
  if (2 * j == period) return {1, precision};
  return sin(exactly(j, precision) * Interval::pi(precision) / exactly(period, precision));
}

/// cos(2 pi m / N). \pre N is a multiple of 4, m < N.
Interval cosine(std::uint64_t m, std::uint64_t period, mpfr_prec_t precision) {
  m = std::min(m, period - m);
  const std::uint64_t quarter = period / 4;
  if (m <= quarter) return sine(2 * (quarter - m), period, precision);
  return -sine(2 * (m - quarter), period, precision);
}

/// The natural logarithm of 2^(precision + 3).
double log_of_accuracy(mpfr_prec_t precision) { return std::numbers::ln2 * static_cast<double>(precision + 3); }

/// A distance from 0 beyond which a law of this variance has less than about 2^-precision.
double reach(double variance, mpfr_prec_t precision) {
  const double log = log_of_accuracy(precision);
  return std::max(1.1 * std::sqrt(2 * log * variance), 2.3 * log) + 1;
}

}  // namespace

Interval IntegerLaw::characteristic(const Interval& sine) const {
  const Interval twice{2 * variance_, sine.precision()};
  const Interval square = sine * sine;
  return is_binomial() ? exp(twice * log1p(-square)) : exp(-(twice * square));
}

std::uint64_t IntegerLaw::period(std::uint64_t k, mpfr_prec_t precision) const {
  return (k + checked_cast<std::uint64_t>(reach(variance_, precision)) + 4) / 4 * 4;
}

Interval IntegerLaw::beyond(std::uint64_t distance, mpfr_prec_t precision) const {
  // Chernoff's bound for any theta in [0, 1]: cosh(theta) - 1 <= theta^2 / 2 (1 + theta^2 / 10).
  const Interval theta{std::min(1.0, static_cast<double>(distance) / variance_), precision};
  const Interval one{1, precision};
  const Interval growth = theta * theta * (one + theta * theta / Interval{10, precision}) / Interval{2, precision};
  return Interval{2, precision} * exp(Interval{variance_, precision} * growth - theta * exactly(distance, precision));
}

Interval IntegerLaw::for_each_value(std::uint64_t period, mpfr_prec_t accuracy, mpfr_prec_t precision,
                                    const std::function<void(std::uint64_t, const Interval&)>& use) const {
  for (std::uint64_t j = 1;; ++j) {
    Interval value = characteristic(sine(j, period, precision));
    if (2 * j == period || mpfr_cmp_ui_2exp(value.upper(), 1, -accuracy) < 0) return value;
    use(j, value);
  }
}

Interval IntegerLaw::probability_by_sum(std::uint64_t k, std::uint64_t n, mpfr_prec_t precision) const {
  if (k > largest_) return {0, precision};
  // So that roundings are small beside what the sum leaves out.
  const mpfr_prec_t working = precision + 16;
  Interval sum{0.5, working};
  const Interval rest = for_each_value(n, precision, working, [&](std::uint64_t j, const Interval& value) {
    sum = sum + value * cosine(static_cast<std::uint64_t>(static_cast<UnsignedWide>(j) * k % n), n, working);
  });
  const Interval near = Interval{2, working} * sum / exactly(n, working);
  return clamp(hull(near - rest - beyond(n - k, working), near + rest), 0, 1);
}

std::vector<Interval> IntegerLaw::weights(mpfr_prec_t precision, std::uint64_t at_least) const {
  const auto count = std::max(at_least, checked_cast<std::uint64_t>(reach(variance_, precision))) + 2;
  auto result = is_binomial() ? binomial_weights(precision, std::min(count, largest_ + 1)) : skellam_weights(precision, count);
  result.front() = result.front() * Interval{0.5, precision};
  return result;
}

/// From the last one downwards, where all are integers if it is 1 = C(n, n).
std::vector<Interval> IntegerLaw::binomial_weights(mpfr_prec_t precision, std::uint64_t count) const {
  std::vector<Interval> result{Interval{1, precision}};
  for (std::uint64_t k = count - 1; k > 0; --k) {
    result.push_back(result.back() * exactly(largest_ + k, precision) / exactly(largest_ - k + 1, precision));
  }
  std::reverse(result.begin(), result.end());
  // P(k + 1) / P(k) decreases, so that the rest is below a geometric series.
  const std::uint64_t last = count - 1;
  const Interval ratio = exactly(largest_ - last, precision) / exactly(largest_ + last + 1, precision);
  const Interval one{1, precision};
  result.back() = hull(one, one / (one - ratio));
  return result;
}

std::vector<Interval> IntegerLaw::skellam_weights(mpfr_prec_t precision, std::uint64_t count) const {
  // r_k = I_(k+1) / I_k of x = 2 mu: r_(k-1) = 1 / (2 k / x + r_k), from a far k where 0 < r_k < min(1, x / (2 k + 2)).
  const Interval one{1, precision};
  const Interval x{variance_, precision};
  const std::uint64_t far = 2 * count;
  Interval ratio = hull(Interval{0, precision}, clamp(x / exactly(2 * far + 2, precision), 0, 1));
  std::vector<Interval> ratios;
  for (std::uint64_t k = far; k > 0; --k) {
    ratio = one / (exactly(2 * k, precision) / x + ratio);
    if (k <= count) ratios.push_back(ratio);
  }
  std::vector<Interval> result{one};
  while (result.size() < count) result.push_back(result.back() * ratios[count - result.size()]);
  result.back() = hull(result.back(), result.back() / (one - ratios.front()));
  return result;
}

CosineSum IntegerLaw::cosine_sum(int log2_scale, std::uint64_t farthest, mpfr_prec_t accuracy) const {
  // Each step of the recurrence of `at` adds less than two digits to the width of an interval.
  constexpr mpfr_prec_t lost_by_recurrence = 192;
  const mpfr_prec_t precision = accuracy + lost_by_recurrence;
  const std::uint64_t scale = std::uint64_t{1} << log2_scale;
  const auto others_from = farthest + scale + checked_cast<std::uint64_t>(reach(variance_, accuracy));
  const std::uint64_t period = (std::max(others_from, 2 * farthest) + 4) / 4 * 4;
  CosineSum result{.quarter = period / 4};
  const Interval unit = exactly(scale, precision) / exactly(period, precision);
  result.coefficients.push_back(unit);
  const double least = std::ldexp(1.0, -static_cast<int>(accuracy) - 2);
  Interval left_out{0, precision};
  const Interval rest = for_each_value(period, accuracy + log2_scale + 16, precision, [&](std::uint64_t /*j*/, const Interval& value) {
    Interval coefficient = Interval{2, precision} * unit * value;
    // Values decrease: once one is left out, so are all further ones.
    if (coefficient.compare(least) > 0) {
      result.coefficients.push_back(std::move(coefficient));
    } else {
      left_out = left_out + coefficient;
    }
  });
  left_out = left_out + exactly(scale, precision) * rest + beyond(period - farthest - scale, precision);
  result.left_out = left_out.enclosure().upper;
  if (!(result.left_out <= std::ldexp(4.0, -static_cast<int>(accuracy)))) {
    throw Error{ErrorCode::internal, "a sum of cosines does not give the probabilities of an integer law as closely as proved"};
  }
  return result;
}

/// Clenshaw's recurrence.
Interval CosineSum::at(std::uint64_t k) const {
  const mpfr_prec_t precision = coefficients.front().precision();
  const Interval x = cosine(k, 4 * quarter, precision);
  const Interval twice = Interval{2, precision} * x;
  Interval next{0, precision};
  Interval after_next{0, precision};
  for (std::size_t j = coefficients.size() - 1; j > 0; --j) {
    Interval here = coefficients[j] + (twice * next - after_next);
    after_next = std::move(next);
    next = std::move(here);
  }
  const Interval sum = coefficients.front() + (x * next - after_next);
  const Interval error{left_out, precision};
  return hull(sum - error, sum + error);
}

// Proved so far.
}  // namespace surety::mechanisms
