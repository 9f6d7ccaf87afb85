// Confidence sets by exact laws: all values of a parameter that the released numbers do not contradict.
//
// A statistic that is no sum itself (a ratio, a variance) is judged by a *pivot*: for the true value of the parameter the released numbers
// combine to a sum of noise alone, whose law is known. A value whose pivot is farther from 0 than its noise is with probability `exceeded`
// is excluded; the interval is the hull of what is left.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>

#include <surety/base/numbers/enclosure.h>
#include <surety/base/numbers/interval.h>

namespace surety::statistics {

/// The law of the ideal noise: N(0, scale^2), or density exp(-|x| / scale) / (2 scale).
enum class NoiseLaw { gaussian, laplace };

/// At least P(|sum_i c_i Z_i| > t) for independent standard Z_i of this law and all |c_i| <= scales[i], and little more: by interval
/// arithmetic, from erfc(t / sqrt(2 sum c_i^2)), or from the partial fractions sum_i w_i exp(-t / c_i), w_i = prod_j c_i^2 / (c_i^2 - c_j^2),
/// of scales that are told apart by a relative 2^-20 (docs/proofs/statistics.md#confidence-sets). \pre Scales are finite and not negative.
[[nodiscard]] double exceedance(NoiseLaw law, std::span<const double> scales, double t);

/// Whether noise exceeds what is seen at most as often as a fixed probability. Some milliseconds to make, some microseconds to ask.
class NoiseTest {
 public:
  /// \pre 2^-60 <= exceeded < 1.
  NoiseTest(NoiseLaw law, double exceeded);
  [[nodiscard]] NoiseLaw law() const noexcept { return law_; }
  [[nodiscard]] double exceeded() const noexcept { return exceeded_; }

  /// P(|sum_i c_i Z_i| > t) <= exceeded for all |c_i| <= scales[i]. In doubt, within some 2^-40 of t, no: some 0.1 microseconds by bounds in doubles, and
  /// more where one or more than two Laplace scales, or two nearly equal ones, leave a doubt. \pre As of `exceedance`, and there is a scale.
  [[nodiscard]] bool excludes(std::span<const double> scales, double t) const;

 private:
  /// Of two Laplace scales, by bounds in doubles; nothing in doubt. \pre larger >= smaller > 0, t > 0
  [[nodiscard]] std::optional<bool> excludes_two(double larger, double smaller, double t) const;
  /// By doubles, and surely right only where it says yes of what is well above `exceeded`.
  [[nodiscard]] bool is_likely(std::span<const double> scales, double t) const;

  NoiseLaw law_;
  double exceeded_;
  double deviations_ = 0;  ///< of Gaussian noise, the quantile in standard deviations, rounded up
};

/// The hull of the values of [from, to] that `is_excluded` does not exclude, outward by at most about `tolerance`; nothing where it excludes
/// all. `is_excluded(a, b)` says that every value of [a, b] is excluded, and may say no in doubt: the hull is then wider.
/// Some 2 log2((to - from) / tolerance) calls. \pre from <= to, tolerance > 0.
[[nodiscard]] std::optional<Enclosure> hull_of_the_rest(double from, double to, double tolerance,
                                                        const std::function<bool(double, double)>& is_excluded);

/// The number as an interval of the precision of these laws.
[[nodiscard]] inline Interval exactly(double value) { return {value, 128}; }

}  // namespace surety::statistics
