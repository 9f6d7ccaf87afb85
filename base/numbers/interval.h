// Interval arithmetic over MPFR: every operation rounds its lower end down and its upper end up, so that the interval of a
// formula contains the formula's exact value. MPFR rounds each elementary function correctly in the asked direction, hence
// the only error of an interval is its width, and more precision makes it narrower.
#pragma once

#include <mpfr.h>

#include <surety/base/numbers/enclosure.h>

namespace surety {

class Interval {
 public:
  /// The single point `value`, at `precision` bits (a double is exact from 53 bits on). \pre value is finite.
  Interval(double value, mpfr_prec_t precision);
  [[nodiscard]] static Interval pi(mpfr_prec_t precision);
  Interval(const Interval& other);
  Interval(Interval&& other) noexcept;
  Interval& operator=(Interval other) noexcept;
  ~Interval();

  /// The narrowest enclosure by doubles: lower end rounded down, upper end rounded up.
  [[nodiscard]] Enclosure enclosure() const;
  [[nodiscard]] mpfr_prec_t precision() const { return mpfr_get_prec(lower_); }
  [[nodiscard]] const mpfr_t& lower() const { return lower_; }
  [[nodiscard]] const mpfr_t& upper() const { return upper_; }

  /// -1 where the interval lies at or below `value`, +1 where it lies above, 0 where that is in doubt.
  [[nodiscard]] int compare(double value) const;
  /// A double near the natural logarithm, also where the value itself is below the range of double; -infinity near 0.
  [[nodiscard]] double approximate_log() const;
  /// The two ends of one interval agree to a relative 2^-bits. A pure zero agrees with itself.
  [[nodiscard]] bool agrees_to(int bits) const;

  friend Interval operator-(const Interval& a);
  friend Interval operator+(const Interval& a, const Interval& b);
  friend Interval operator-(const Interval& a, const Interval& b);
  friend Interval operator*(const Interval& a, const Interval& b);
  /// \pre b does not contain 0.
  friend Interval operator/(const Interval& a, const Interval& b);

  friend Interval sqrt(const Interval& a);  ///< \pre a >= 0
  friend Interval exp(const Interval& a);
  friend Interval expm1(const Interval& a);
  friend Interval log(const Interval& a);    ///< \pre a > 0
  friend Interval log1p(const Interval& a);  ///< \pre a > -1
  friend Interval erfc(const Interval& a);
  friend Interval sin(const Interval& a);        ///< \pre 0 <= a <= pi / 2, where it increases
  friend Interval log_gamma(const Interval& a);  ///< log(Gamma(a)). \pre a >= 2, from where it increases, or a is a point > 0
  /// The part of `a` between `lowest` and `highest`, where the caller knows the exact value to lie.
  friend Interval clamp(const Interval& a, double lowest, double highest);
  /// max(x, y) for x in a, y in b.
  friend Interval maximum(const Interval& a, const Interval& b);
  /// The smallest interval that holds both.
  friend Interval hull(const Interval& a, const Interval& b);

 private:
  struct Uninitialised {};
  Interval(Uninitialised, mpfr_prec_t precision);
  /// The range of a function that increases in every argument.
  static Interval increasing(int (*function)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t), const Interval& a);
  static Interval increasing(int (*function)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t), const Interval& a, const Interval& b);

  mpfr_t lower_;
  mpfr_t upper_;
};

/// Phi(x), the distribution function of N(0, 1).
[[nodiscard]] Interval normal_cdf(const Interval& x);
/// phi(x), the density of N(0, 1).
[[nodiscard]] Interval normal_density(const Interval& x);
/// (1 - Phi(x)) / phi(x), without the underflow of its parts; narrow where x is large. \pre x > 0.
/// \source Laplace's continued fraction 1/(x + 1/(x + 2/(x + 3/(x + ...)))), whose successive convergents lie on either side.
[[nodiscard]] Interval mills_ratio(const Interval& x);

}  // namespace surety
