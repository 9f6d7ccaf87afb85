// Enclosures of the probabilities of two symmetric distributions on the integers, for the samplers.
//
//   binomial   heads among n fair coin flips, minus n / 2, n even:  P(k) = C(n, n/2 + k) / 2^n,             variance n / 4
//   skellam    difference of two Poisson variables of mean mu:      P(k) = exp(-2 mu) I_|k|(2 mu),          variance 2 mu
//
// Both are log-concave with the mode 0, and both have a nonnegative characteristic function that decreases on [0, pi]:
// (1 - s^2)^(n/2) and exp(-4 mu s^2), s = sin(t/2). A sum of N values of the characteristic function is P(K = k modulo N), exactly, so that few
// terms give P(k) with a proved error, also where no other formula is at hand. docs/proofs/samplers.md#characteristic
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include <surety/base/numbers/interval.h>

namespace surety::mechanisms {

class IntegerLaw {
 public:
  /// \pre flips is even, 2 <= flips <= 2^52.
  [[nodiscard]] static IntegerLaw binomial(std::uint64_t flips) { return {static_cast<double>(flips) / 4, flips / 2}; }
  /// \pre 0 < mean <= 2^50.
  [[nodiscard]] static IntegerLaw skellam(double mean) { return {2 * mean, std::numeric_limits<std::int64_t>::max()}; }

  /// Exactly.
  [[nodiscard]] double variance() const noexcept { return variance_; }
  /// No greater |k| is sampled: n / 2, or where samples saturate.
  [[nodiscard]] std::uint64_t largest() const noexcept { return largest_; }

  /// P(k), within about 2^-precision. O(sqrt(precision) (sqrt(precision) + k / sigma)) operations. \pre variance >= 2^14 (for few operations).
  [[nodiscard]] Interval probability(std::uint64_t k, mpfr_prec_t precision) const {
    return probability_by_sum(k, period(k, precision), precision);
  }
  /// The same by a sum over N values, as closely as N allows. \pre N is a multiple of 4 and above k.
  [[nodiscard]] Interval probability_by_sum(std::uint64_t k, std::uint64_t n, mpfr_prec_t precision) const;

  /// P(0) / 2, P(1), ..., P(c - 1), P(|k| >= c and k > 0), up to one factor, for a c of at least `at_least` + 1, or all of the law. The last is the
  /// widest, some 2^-precision of the sum. Of a binomial law every entry is exact from a precision of n + 64 on.
  /// O(sigma sqrt(precision) + precision + at_least) operations, for narrow laws.
  [[nodiscard]] std::vector<Interval> weights(mpfr_prec_t precision, std::uint64_t at_least) const;

 private:
  friend class IntegerWeight;

  IntegerLaw(double variance, std::uint64_t largest) : variance_{variance}, largest_{largest} {}

  [[nodiscard]] bool is_binomial() const { return largest_ != std::numeric_limits<std::int64_t>::max(); }
  /// The characteristic function at t, from sin(t/2).
  [[nodiscard]] Interval characteristic(const Interval& sine) const;
  /// N for `probability`, a multiple of 4.
  [[nodiscard]] std::uint64_t period(std::uint64_t k, mpfr_prec_t precision) const;
  /// An upper bound on P(|K| >= distance). \pre distance <= 2^64.
  [[nodiscard]] Interval beyond(std::uint64_t distance, mpfr_prec_t precision) const;
  /// `use(j, phi(2 pi j / N))` for j = 1, 2, ... until the value is below 2^-accuracy; returns that, a bound on what further terms add to P(k).
  Interval for_each_value(std::uint64_t period, mpfr_prec_t accuracy, mpfr_prec_t precision,
                          const std::function<void(std::uint64_t, const Interval&)>& use) const;
  [[nodiscard]] std::vector<Interval> binomial_weights(mpfr_prec_t precision, std::uint64_t count) const;
  [[nodiscard]] std::vector<Interval> skellam_weights(mpfr_prec_t precision, std::uint64_t count) const;

  double variance_;
  std::uint64_t largest_;
};

/// f(k) = 2^log2_scale P(k) in doubles, 2^log2_scale the power of two at most sigma, with a proved error. The work is the same for every k.
class IntegerWeight {
 public:
  /// More than the error of `near` and of what is computed from it with a few roundings. f(0) is from 0.19 to 0.4.
  static constexpr double margin = 0x1p-36;

  /// O(20) intervals. \pre law.variance() >= 2^14.
  explicit IntegerWeight(const IntegerLaw& law);

  [[nodiscard]] int log2_scale() const noexcept { return log2_scale_; }
  /// |near(k) - f(k)| < margin / 2. \pre k <= 7 sigma.
  [[nodiscard]] double near(std::uint64_t k) const;
  /// The same double on every machine, more slowly.
  [[nodiscard]] double near_everywhere(std::uint64_t k) const;

 private:
  [[nodiscard]] double sum_at(double cosine) const;

  std::uint64_t period_;
  int log2_scale_;
  double angle_;                      ///< 2 pi / N
  std::vector<double> coefficients_;  ///< f(k) = sum of c_j cos(j k angle)
};

}  // namespace surety::mechanisms
