// Ball arithmetic: a number and how far the exact one may be from it.
//
// It is for numbers that are wanted themselves, with the error of what was computed; who wants one side alone takes a bound (bound.h). The radius of each
// result is summed in the same precision and raised once for what that sum may err by, so an operation costs little more than a few products: no
// branch, no step for each term. What cannot be enclosed says so: its radius is infinite or NaN, and all that is made of it. Underflow is counted.
// Rounding must be to nearest without flushing (StandardFloatingPoint). \source docs/proofs/bounds.md#balls
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>

#include <surety/base/numbers/bound.h>

namespace surety {

template <std::floating_point T>
class BallOf {
  using Out = Outward<T>;
  using Exact = ExactOf<T>;
  using Library = LibraryError<T>;
  static constexpr T unit = Out::unit;
  static constexpr T least = Out::least;

 public:
  template <std::same_as<int> Int>
  constexpr BallOf(Int number) : BallOf{Exact{number}} {}  // NOLINT(google-explicit-constructor): as an exact number of that type
  constexpr BallOf(Exact number)
      : value_{number.value}, radius_{0} {}  // NOLINT(google-explicit-constructor): an exact number is its own ball
  /// The claim that the exact number is within `radius` of `value`.
  [[nodiscard]] static constexpr BallOf around(T value, T radius) { return BallOf{value, radius}; }
  /// From a number rounded to nearest, such as a constant of <numbers>.
  [[nodiscard]] static constexpr BallOf rounded(T nearest) { return BallOf{nearest, raised(size(nearest) * unit)}; }
  /// From a number within `units` units of its last place of the exact one, or, where it is subnormal, as many of the least number.
  [[nodiscard]] static constexpr BallOf within(T value, T units) { return BallOf{value, raised(spread(value, units))}; }
  /// From a number that is off by at most the share `error` of itself.
  [[nodiscard]] static constexpr BallOf of_share(T value, T error) { return BallOf{value, raised(size(value) * error)}; }

  [[nodiscard]] constexpr T value() const { return value_; }
  [[nodiscard]] constexpr T radius() const { return radius_; }
  [[nodiscard]] constexpr UpperOf<T> upper() const { return UpperOf<T>::claim(value_) + Exact{radius_}; }
  [[nodiscard]] constexpr LowerOf<T> lower() const { return LowerOf<T>::claim(value_) - Exact{radius_}; }
  /// At least the radius over the size of the value; infinite or NaN where the value is 0.
  [[nodiscard]] constexpr T share() const { return raised(radius_ / size(value_)); }
  /// The number times any factor from e^-log_error to e^log_error. \pre log_error >= 0
  [[nodiscard]] constexpr BallOf widened(T log_error) const {
    return {value_, raised(radius_ + (size(value_) + radius_) * grown(log_error))};
  }

  friend constexpr BallOf operator+(BallOf x, BallOf y) {
    const T sum = x.value_ + y.value_;
    return {sum, raised(x.radius_ + y.radius_ + size(sum) * unit)};
  }
  friend constexpr BallOf operator-(BallOf x) { return {-x.value_, x.radius_}; }
  friend constexpr BallOf operator-(BallOf x, BallOf y) { return x + -y; }
  friend constexpr BallOf operator*(BallOf x, BallOf y) {
    const T product = x.value_ * y.value_;
    return {product, raised((size(x.value_) + x.radius_) * y.radius_ + size(y.value_) * x.radius_ + size(product) * unit)};
  }
  friend constexpr BallOf operator*(BallOf x, Exact y) {
    const T product = x.value_ * y.value;
    return {product, raised(size(y.value) * x.radius_ + size(product) * unit)};
  }
  friend constexpr BallOf operator*(Exact x, BallOf y) { return y * x; }
  template <std::same_as<int> Int>
  friend constexpr BallOf operator*(Int x, BallOf y) {
    return y * Exact{x};
  }
  template <std::same_as<int> Int>
  friend constexpr BallOf operator*(BallOf x, Int y) {
    return x * Exact{y};
  }
  /// Infinite where the divisor may be 0.
  friend constexpr BallOf operator/(BallOf x, BallOf y) {
    const T quotient = x.value_ / y.value_;
    const T smallest = size(y.value_) - y.radius_;
    const T off = (x.radius_ + ((size(quotient) + least) * y.radius_ + least)) / smallest;
    return {quotient, smallest > 0 ? raised(off + size(quotient) * unit) : infinite};
  }
  friend constexpr BallOf operator/(BallOf x, Exact y) {
    const T quotient = x.value_ / y.value;
    return {quotient, raised(x.radius_ / size(y.value) + size(quotient) * unit)};
  }
  constexpr BallOf& operator+=(BallOf y) { return *this = *this + y; }

  friend BallOf exp(BallOf x) {
    const T value = std::exp(x.value_);
    const T own = spread(value, Library::exp);
    if (x.radius_ > 1) return {value, (UpperOf<T>{exp(x.upper())} + Exact{value} + Exact{own}).value()};  // between 0 and its upper end
    return {value, raised(own + (value + own) * grown(x.radius_))};
  }
  friend BallOf expm1(BallOf x) {
    const T value = std::expm1(x.value_);
    const T own = spread(value, Library::expm1);
    return {value, raised(own + (size(1 + value) + own) * grown(x.radius_))};
  }
  friend BallOf sinh(BallOf x) {
    const T value = std::sinh(x.value_);
    const T own = spread(value, Library::sinh);
    return {value, raised(own + (1 + size(value) + own) * grown(x.radius_))};
  }
  /// Infinite where the number may not be positive.
  friend BallOf log(BallOf x) {
    const T value = std::log(x.value_);
    const T smallest = x.value_ - x.radius_;
    return {value, smallest > 0 ? raised(x.radius_ / smallest + spread(value, Library::log)) : infinite};
  }
  /// Infinite where the number may not be above -1.
  friend BallOf log1p(BallOf x) {
    const T value = std::log1p(x.value_);
    const T smallest = (1 + x.value_) * (1 - 4 * unit) - x.radius_;
    return {value, smallest > 0 ? raised(x.radius_ / smallest + spread(value, Library::log1p)) : infinite};
  }
  /// \pre the exact number is >= 0
  friend BallOf sqrt(BallOf x) {
    const T value = x.value_ > 0 ? std::sqrt(x.value_) : 0;
    return {value, raised(value > 0 ? x.radius_ / value + value * unit : std::sqrt(x.radius_ + size(x.value_)))};
  }
  friend BallOf erf(BallOf x) {
    const T value = std::erf(x.value_);
    return {value, raised(spread(value, Library::erf) + x.radius_ * steepest(x))};
  }
  friend BallOf erfc(BallOf x) {
    const T value = std::erfc(x.value_);
    return {value, raised(spread(value, Library::erfc) + x.radius_ * steepest(x))};
  }

 private:
  static constexpr T infinite = std::numeric_limits<T>::infinity();

  constexpr BallOf(T value, T radius) : value_{value}, radius_{radius} {}

  static constexpr T size(T value) {
    if (std::is_constant_evaluated()) return value < 0 ? -value : value;
    return std::abs(value);
  }
  /// At least what at most 16 operations on numbers that are not negative round to `sum`.
  static constexpr T raised(T sum) { return sum * (1 + 32 * unit) + 16 * least; }
  static constexpr T spread(T value, T units) { return size(value) * (units * (2 * unit)) + units * least; }
  /// At least e^radius - 1.
  static constexpr T grown(T radius) { return radius <= 1 ? radius + radius * radius : std::exp(radius); }

  /// At least the slope of erf in the ball, 2 / sqrt(pi) e^(-n^2) at its number nearest to 0; 2 / sqrt(pi) < 1.1284 leaves room for the rounding.
  static T steepest(BallOf x) {
    const T nearest = std::max(T{0}, size(x.value_) - x.radius_);
    return T{8} / 7 * (std::exp(-nearest * nearest) + least);
  }

  T value_;
  T radius_;
};

using Ball = BallOf<double>;
using LongBall = BallOf<long double>;

/// A ball of double around one of long double.
[[nodiscard]] inline Ball shortened(LongBall x) {
  const auto value = static_cast<double>(x.value());
  return Ball::rounded(value) + Ball::around(0, shortened(LongUpper{LongExact{x.radius()}}).value());
}

}  // namespace surety
