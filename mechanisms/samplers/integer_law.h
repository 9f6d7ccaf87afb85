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

/// 2^log2_scale P(k) as a sum of cosines, within `left_out` for every k up to the one it was made for.
struct CosineSum {
  std::uint64_t quarter = 1;                ///< N / 4
  std::vector<Interval> coefficients = {};  ///< 2^log2_scale P(k) = sum of coefficients[j] cos(2 pi j k / N); none is negative
  double left_out = 0;                      ///< upper bound on the absolute error of the sum

  /// An enclosure of 2^log2_scale P(k), `left_out` included. O(terms) operations. \pre k is at most the `farthest` of the sum.
  [[nodiscard]] Interval at(std::uint64_t k) const;
};

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

  /// P(k), within about 2^-precision. O(sqrt(precision) (sqrt(precision) + k / sigma)) operations. \pre variance >= 2^8 (for few operations).
  [[nodiscard]] Interval probability(std::uint64_t k, mpfr_prec_t precision) const {
    return probability_by_sum(k, period(k, precision), precision);
  }
  /// The same by a sum over N values, as closely as N allows. \pre N is a multiple of 4 and above k.
  [[nodiscard]] Interval probability_by_sum(std::uint64_t k, std::uint64_t n, mpfr_prec_t precision) const;

  /// 2^log2_scale P(k) for k <= farthest, of coefficients of about 2^-accuracy and more. O(sqrt(accuracy) (sqrt(accuracy) + farthest / sigma)) terms.
  /// \pre 2^log2_scale <= sigma, variance >= 2^8. \throws Error{internal} where the sum leaves out more than 2^(2 - accuracy).
  [[nodiscard]] CosineSum cosine_sum(int log2_scale, std::uint64_t farthest, mpfr_prec_t accuracy) const;

  /// P(0) / 2, P(1), ..., P(c - 1), P(|k| >= c and k > 0), up to one factor, for a c of at least `at_least` + 1, or all of the law. The last is the
  /// widest, some 2^-precision of the sum. Of a binomial law every entry is exact from a precision of n + 64 on.
  /// O(sigma sqrt(precision) + precision + at_least) operations, for narrow laws.
  [[nodiscard]] std::vector<Interval> weights(mpfr_prec_t precision, std::uint64_t at_least) const;

 private:
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

}  // namespace surety::mechanisms
