// The arithmetic of bounds: numbers that are known from one side, and operations that keep the side.
//
// `Upper` is at least the number that it stands for, `Lower` at most. A difference takes its other side from the other type, so a slip of direction
// does not compile. Each operation rounds outward by what it may err, and the error is named here once: a formula in these types carries no factor
// near 1. A loop that adds many terms may keep raw numbers and make one bound of them at its end (`of_sum`, `within`).
//
// What cannot be bounded says so: NaN and overflow become the bound that says nothing, infinity above and -infinity below, and an overflow on the
// other side the largest finite number. Underflow is counted by a subnormal. Rounding must be to nearest without flushing (StandardFloatingPoint).
// The errors of the C library's functions are four times the largest that was measured. \source docs/proofs/bounds.md
#pragma once

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <concepts>
#include <limits>
#include <numbers>
#include <type_traits>

namespace surety {

template <std::floating_point T>
class UpperOf;
template <std::floating_point T>
class LowerOf;

/// A number without an error: an integer, or a floating-point number that is meant as it stands.
template <std::floating_point T>
struct ExactOf {
  T value;
  template <std::same_as<int> Int>                                  // and no other number, which would be cut to an int
  constexpr ExactOf(Int number) : value{static_cast<T>(number)} {}  // NOLINT(google-explicit-constructor): an int is exact in every T
  constexpr explicit ExactOf(T number) : value{number} {}
};

/// How far, in units of the last place, a function of the C library is taken to be from the exact value at its argument: four times the largest
/// error that was measured at 10^6 points, rounded up. \source docs/proofs/bounds.md#library
template <std::floating_point T>
struct LibraryError;
template <>
struct LibraryError<double> {
  static constexpr double exp = 2.5;
  static constexpr double expm1 = 4;
  static constexpr double log = 2.5;
  static constexpr double log1p = 4;
  static constexpr double erfc = 20;
  static constexpr double erf = 4;
  static constexpr double sinh = 8;
  static constexpr double sin = 2.5;
  static constexpr double cos = 2.5;
  static constexpr double atan2 = 2.5;
};
template <>
struct LibraryError<long double> {
  static constexpr long double exp = 5;
  static constexpr long double expm1 = 12;
  static constexpr long double log = 4;
  static constexpr long double log1p = 12;
  static constexpr long double erfc = 20;
  static constexpr long double erf = 5;
  static constexpr long double sinh = 12;
  static constexpr long double sin = 6;
  static constexpr long double cos = 6;
  static constexpr long double atan2 = 5;
};

/// The share of a number that so many units of its last place are at most. For loops that keep raw numbers and count the units of their results.
template <std::floating_point T>
[[nodiscard]] constexpr T share_of_units(T units) {
  return units * std::numeric_limits<T>::epsilon();
}

// Proved: docs/proofs/bounds.md#operations
/// Steps outward, which every operation below is made of.
template <std::floating_point T>
struct Outward {
  using Limits = std::numeric_limits<T>;
  static_assert(FLT_EVAL_METHOD == 0, "Surety counts an operation of double as rounded once");
  static_assert(Limits::is_iec559 && Limits::has_denorm == std::denorm_present);
  static constexpr T unit = Limits::epsilon() / 2;  ///< one operation, rounded to nearest, is within this share of its exact result
  static constexpr T least = Limits::denorm_min();

  /// At least the exact result that rounds to `value`: no less than the next number above it.
  static constexpr T up(T value) {
    const T of = size(value);
    return of <= Limits::max() ? value + (of * (unit * (1 + 2 * unit)) + least) : beyond(value);
  }
  static constexpr T down(T value) { return -up(-value); }

  /// At least any number within `ulps` units of the last place of `value`, or, where it is subnormal, as many of the least number. \pre ulps >= 0
  static constexpr T up(T value, T ulps) {
    const T of = size(value);
    return of <= Limits::max() ? value + (of * ((ulps + 1) * Limits::epsilon()) + (ulps + 1) * least) : beyond(value);
  }
  static constexpr T down(T value, T ulps) { return -up(-value, ulps); }

 private:
  static constexpr T size(T value) {
    if (std::is_constant_evaluated()) return value < 0 ? -value : value;
    return std::abs(value);  // without a branch
  }
  /// Above an overflow, or NaN.
  static constexpr T beyond(T value) { return value < 0 ? -Limits::max() : Limits::infinity(); }
};

/// At least the number that it stands for. Where a factor or divisor is a bound, too, the exact numbers on both sides must not be negative.
template <std::floating_point T>
class UpperOf {
  using Out = Outward<T>;
  using Exact = ExactOf<T>;
  using Lower = LowerOf<T>;

 public:
  constexpr UpperOf(Exact number)  // NOLINT(google-explicit-constructor): an exact number is its own bound
      : value_{number.value == number.value ? number.value : infinity} {}
  /// The claim that the exact number is at most `bound`; NaN claims nothing.
  [[nodiscard]] static constexpr UpperOf claim(T bound) { return UpperOf{Exact{bound}}; }
  /// From a number rounded to nearest, such as a constant of <numbers>.
  [[nodiscard]] static constexpr UpperOf rounded(T nearest) { return claim(Out::up(nearest)); }
  /// From a number within `ulps` units of its last place of the exact one. \pre ulps >= 0
  [[nodiscard]] static constexpr UpperOf within(T value, T ulps) { return claim(Out::up(value, ulps)); }
  /// From `sum`, a sum of `terms` numbers that are not negative, added one after another. \pre 0 <= terms < 2^-10 / unit roundoff
  [[nodiscard]] static constexpr UpperOf of_sum(T sum, T terms) { return within(sum, terms); }

  [[nodiscard]] constexpr T value() const { return value_; }

  friend constexpr UpperOf operator+(UpperOf x, UpperOf y) { return claim(Out::up(x.value_ + y.value_)); }
  friend constexpr UpperOf operator+(UpperOf x, Exact y) { return claim(Out::up(x.value_ + y.value)); }
  friend constexpr UpperOf operator+(Exact x, UpperOf y) { return y + x; }
  friend constexpr UpperOf operator-(UpperOf x, Lower y) { return claim(Out::up(x.value_ - y.value())); }
  friend constexpr UpperOf operator-(UpperOf x, Exact y) { return claim(Out::up(x.value_ - y.value)); }
  friend constexpr Lower operator-(Exact x, UpperOf y) { return Lower{x} - y; }
  friend constexpr Lower operator-(UpperOf x) { return Lower::claim(-x.value_); }

  /// \pre neither exact number is negative.
  friend constexpr UpperOf operator*(UpperOf x, UpperOf y) {
    return x.value_ >= 0 && y.value_ >= 0 ? claim(Out::up(x.value_ * y.value_)) : nothing();
  }
  /// x of either sign. \pre y >= 0
  friend constexpr UpperOf operator*(UpperOf x, Exact y) { return y.value >= 0 ? claim(Out::up(x.value_ * y.value)) : nothing(); }
  friend constexpr UpperOf operator*(Exact x, UpperOf y) { return y * x; }
  /// \pre neither exact number is negative. Infinity where the divisor may be 0.
  friend constexpr UpperOf operator/(UpperOf x, Lower y) {
    return x.value_ >= 0 && y.value() > 0 ? claim(Out::up(x.value_ / y.value())) : nothing();
  }
  friend constexpr Lower operator/(Exact x, UpperOf y) { return Lower{x} / y; }
  /// x of either sign. \pre y > 0
  friend constexpr UpperOf operator/(UpperOf x, Exact y) { return y.value > 0 ? claim(Out::up(x.value_ / y.value)) : nothing(); }
  constexpr UpperOf& operator+=(UpperOf y) { return *this = *this + y; }

  /// Of the smaller and of the larger of two numbers; the former is also the better of two bounds of one number.
  friend constexpr UpperOf min(UpperOf x, UpperOf y) { return claim(std::min(x.value_, y.value_)); }
  friend constexpr UpperOf max(UpperOf x, UpperOf y) { return claim(std::max(x.value_, y.value_)); }

  friend UpperOf sqrt(UpperOf x) { return claim(Out::up(std::sqrt(x.value_))); }  ///< \pre the exact number is >= 0
  friend UpperOf exp(UpperOf x) { return within(std::exp(x.value_), LibraryError<T>::exp); }
  friend UpperOf expm1(UpperOf x) { return within(std::expm1(x.value_), LibraryError<T>::expm1); }
  /// \pre the exact number is >= 0
  friend UpperOf log(UpperOf x) { return x.value_ == 0 ? claim(-infinity) : within(std::log(x.value_), LibraryError<T>::log); }
  /// \pre the exact number is >= -1
  friend UpperOf log1p(UpperOf x) { return x.value_ == -1 ? claim(-infinity) : within(std::log1p(x.value_), LibraryError<T>::log1p); }
  friend Lower erfc(UpperOf x) { return max(Lower::within(std::erfc(x.value_), LibraryError<T>::erfc), Lower{Exact{0}}); }

 private:
  static constexpr T infinity = std::numeric_limits<T>::infinity();
  static constexpr UpperOf nothing() { return claim(infinity); }

  T value_;
};

/// At most the number that it stands for. Where a factor or divisor is a bound, too, the exact numbers on both sides must not be negative.
template <std::floating_point T>
class LowerOf {
  using Out = Outward<T>;
  using Exact = ExactOf<T>;
  using Upper = UpperOf<T>;

 public:
  constexpr LowerOf(Exact number)  // NOLINT(google-explicit-constructor): an exact number is its own bound
      : value_{number.value == number.value ? number.value : -infinity} {}
  /// The claim that the exact number is at least `bound`; NaN claims nothing.
  [[nodiscard]] static constexpr LowerOf claim(T bound) { return LowerOf{Exact{bound}}; }
  [[nodiscard]] static constexpr LowerOf rounded(T nearest) { return claim(Out::down(nearest)); }
  [[nodiscard]] static constexpr LowerOf within(T value, T ulps) { return claim(Out::down(value, ulps)); }
  [[nodiscard]] static constexpr LowerOf of_sum(T sum, T terms) { return max(within(sum, terms), LowerOf{Exact{0}}); }

  [[nodiscard]] constexpr T value() const { return value_; }

  friend constexpr LowerOf operator+(LowerOf x, LowerOf y) { return claim(Out::down(x.value_ + y.value_)); }
  friend constexpr LowerOf operator+(LowerOf x, Exact y) { return claim(Out::down(x.value_ + y.value)); }
  friend constexpr LowerOf operator+(Exact x, LowerOf y) { return y + x; }
  friend constexpr LowerOf operator-(LowerOf x, Upper y) { return claim(Out::down(x.value_ - y.value())); }
  friend constexpr LowerOf operator-(LowerOf x, Exact y) { return claim(Out::down(x.value_ - y.value)); }
  friend constexpr Upper operator-(Exact x, LowerOf y) { return Upper{x} - y; }
  friend constexpr Upper operator-(LowerOf x) { return Upper::claim(-x.value_); }

  /// \pre neither exact number is negative.
  friend constexpr LowerOf operator*(LowerOf x, LowerOf y) {
    return x.value_ > 0 && y.value_ > 0 ? max(claim(Out::down(x.value_ * y.value_)), LowerOf{Exact{0}}) : LowerOf{Exact{0}};
  }
  /// x of either sign. \pre y >= 0
  friend constexpr LowerOf operator*(LowerOf x, Exact y) { return y.value >= 0 ? claim(Out::down(x.value_ * y.value)) : nothing(); }
  friend constexpr LowerOf operator*(Exact x, LowerOf y) { return y * x; }
  /// \pre neither exact number is negative, and the divisor is positive.
  friend constexpr LowerOf operator/(LowerOf x, Upper y) {
    return x.value_ > 0 && y.value() > 0 ? max(claim(Out::down(x.value_ / y.value())), LowerOf{Exact{0}}) : LowerOf{Exact{0}};
  }
  friend constexpr Upper operator/(Exact x, LowerOf y) { return Upper{x} / y; }
  /// x of either sign. \pre y > 0
  friend constexpr LowerOf operator/(LowerOf x, Exact y) { return y.value > 0 ? claim(Out::down(x.value_ / y.value)) : nothing(); }
  constexpr LowerOf& operator+=(LowerOf y) { return *this = *this + y; }

  friend constexpr LowerOf min(LowerOf x, LowerOf y) { return claim(std::min(x.value_, y.value_)); }
  friend constexpr LowerOf max(LowerOf x, LowerOf y) { return claim(std::max(x.value_, y.value_)); }

  /// \pre the exact number is >= 0
  friend LowerOf sqrt(LowerOf x) { return x.value_ > 0 ? claim(Out::down(std::sqrt(x.value_))) : LowerOf{Exact{0}}; }
  friend LowerOf exp(LowerOf x) { return max(within(std::exp(x.value_), LibraryError<T>::exp), LowerOf{Exact{0}}); }
  friend LowerOf expm1(LowerOf x) { return max(within(std::expm1(x.value_), LibraryError<T>::expm1), LowerOf{Exact{-1}}); }
  /// \pre the exact number is >= 0
  friend LowerOf log(LowerOf x) { return x.value_ > 0 ? within(std::log(x.value_), LibraryError<T>::log) : nothing(); }
  /// \pre the exact number is >= -1
  friend LowerOf log1p(LowerOf x) { return x.value_ > -1 ? within(std::log1p(x.value_), LibraryError<T>::log1p) : nothing(); }
  friend Upper erfc(LowerOf x) { return min(Upper::within(std::erfc(x.value_), LibraryError<T>::erfc), Upper{Exact{2}}); }

 private:
  static constexpr T infinity = std::numeric_limits<T>::infinity();
  static constexpr LowerOf nothing() { return claim(-infinity); }

  T value_;
};

// Proved so far.
using Exact = ExactOf<double>;
using Upper = UpperOf<double>;
using Lower = LowerOf<double>;
using LongExact = ExactOf<long double>;
using LongUpper = UpperOf<long double>;
using LongLower = LowerOf<long double>;

/// A bound of T from one of the other precision.
[[nodiscard]] inline Upper shortened(LongUpper x) { return Upper::rounded(static_cast<double>(x.value())); }
[[nodiscard]] inline Lower shortened(LongLower x) { return Lower::rounded(static_cast<double>(x.value())); }

/// first + first ratio + first ratio^2 + ..., which is first / (1 - ratio): what a series leaves out whose terms fall at least, or at most, so fast
/// from the first that is left out. Infinity where the ratio may be 1. \pre first and ratio are not negative.
template <std::floating_point T>
[[nodiscard]] constexpr UpperOf<T> geometric_tail(UpperOf<T> first, UpperOf<T> ratio) {
  return first / (ExactOf<T>{1} - ratio);
}
template <std::floating_point T>
[[nodiscard]] constexpr LowerOf<T> geometric_tail(LowerOf<T> first, LowerOf<T> ratio) {
  return first / (ExactOf<T>{1} - ratio);
}

/// The terms of the exponential series from x^n / n! on, of which `first` is a bound: its ratios x / (n + 1), x / (n + 2), ... only fall.
/// Infinity where x may be n + 1. \pre x >= 0, n >= 0, n + 1 exact in T.
template <std::floating_point T>
[[nodiscard]] constexpr UpperOf<T> exponential_tail(UpperOf<T> first, UpperOf<T> x, T n) {
  return geometric_tail(first, x / ExactOf<T>{n + 1});
}
/// Its first two terms. \pre as above
template <std::floating_point T>
[[nodiscard]] constexpr LowerOf<T> exponential_tail(LowerOf<T> first, LowerOf<T> x, T n) {
  return first * (ExactOf<T>{1} + x / ExactOf<T>{n + 1});
}

/// 1 / sqrt(2 pi), within two units of the last place, and log sqrt(2 pi), rounded to nearest.
inline constexpr double inverse_root_of_two_pi = std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2;
inline constexpr double log_root_of_two_pi = 0.91893853320467274178;

}  // namespace surety
