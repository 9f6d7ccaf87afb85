// Trials for g > 0 of density proportional to exp(-g^r), r >= 2, in a time that is independent of what they hold (docs/proofs/vector-noise.md#lp-noise).
//
// A trial proposes 1 + E / r with probability 1 / (1 + e r), else V, with E exponential and V uniform, and is accepted when U is below exp(-(g^r - 1 - E)) or
// exp(-g^r).
#pragma once

#include <array>
#include <cstdint>

#include <surety/base/numbers/interval.h>
#include <surety/mechanisms/samplers/exact_product.h>
#include <surety/mechanisms/samplers/fixed_point.h>
#include <surety/mechanisms/samplers/ideal_reals.h>
#include <surety/mechanisms/samplers/wide_integer.h>

namespace surety::mechanisms {

namespace fixed_point {

// Signed numbers are in units of 2^-120 modulo 2^128, from -128 to below 128.

/// The logarithm of an integer in units of 2^-units, within 2^11 units and the error of its 128 digits. \pre units <= 255
[[nodiscard]] inline UnsignedWide log_of(const Normalized& x, unsigned units) {
  return log_of_mantissa(x.mantissa).value + log_of_2.times(x.exponent).value - log_of_2.times(units).value;
}
[[nodiscard]] inline bool is_negative(UnsignedWide x) { return (x >> 127) != 0; }
/// x, or 0 where it is negative.
[[nodiscard]] inline UnsignedWide at_least_zero(UnsignedWide x) { return where(!is_negative(x), x); }
[[nodiscard]] inline UnsignedWide at_most(UnsignedWide x, UnsignedWide limit) { return select(x < limit, x, limit); }
[[nodiscard]] constexpr UnsignedWide whole(std::uint64_t x) { return UnsignedWide{x} << FixedPoint::digits; }

}  // namespace fixed_point

class PowerTrial {
 public:
  /// Exponents that are larger count as this.
  static constexpr std::uint64_t largest_exponent = 88;

  /// Microseconds. \pre 2 <= r <= 2^20
  explicit PowerTrial(double r);

  struct Decision {
    std::int64_t accepted = 0;  ///< a mask: 0 or -1
    std::int64_t in_doubt = 0;  ///< a mask
    std::uint64_t is_tail = 0;  ///< a mask
    IdealReal real;             ///< E or V
    UnsignedWide log = 0;       ///< log g, signed
  };
  /// \param e,v of 159 digits; \param t,u 128 digits of uniform numbers, the first ones first
  [[nodiscard]] Decision decide(const IdealReal& e, const IdealReal& v, const std::array<std::uint64_t, 2>& t,
                                const std::array<std::uint64_t, 2>& u) const;
  /// g of a decision that is not in doubt.
  [[nodiscard]] Magnitude magnitude(const IdealReal& real, std::uint64_t is_tail) const;
  /// min(r x, limit). \pre 0 <= x
  [[nodiscard]] UnsignedWide times_r(UnsignedWide x, UnsignedWide limit) const;
  /// x / r, within x / r units. \pre 0 <= x
  [[nodiscard]] UnsignedWide over_r(UnsignedWide x) const { return (FixedPoint{x} * inverse_).value; }

  // ---- By definition ----

  /// 1 / (1 + e r).
  [[nodiscard]] Interval tail_probability(mpfr_prec_t precision) const;
  /// g of E or V.
  [[nodiscard]] Interval enclose(const Interval& real, bool is_tail) const;
  /// g^r - 1 - E or g^r.
  [[nodiscard]] Interval exponent(const Interval& real, bool is_tail) const;

 private:
  double r_;
  std::uint64_t mantissa_ = 0;  ///< r is mantissa 2^-shift
  std::size_t shift_ = 0;
  FixedPoint inverse_;
  UnsignedWide tail_ = 0;    ///< floor(2^128 / (1 + e r))
  UnsignedWide margin_ = 0;  ///< of U and an exponential function, in units of 2^-120
};

}  // namespace surety::mechanisms
