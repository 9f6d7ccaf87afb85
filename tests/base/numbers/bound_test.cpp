#include <surety/base/numbers/bound.h>

#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace surety::accounting::bound_test {
namespace {

/// A real number of 160 bits, rounded in one direction; MPFR's exponents hold every product and quotient of long doubles.
class Wide {
 public:
  explicit Wide(long double value) {
    mpfr_init2(value_, 160);
    mpfr_set_ld(value_, value, MPFR_RNDN);
  }
  Wide(const Wide&) = delete;
  Wide& operator=(const Wide&) = delete;
  ~Wide() { mpfr_clear(value_); }
  mpfr_t& operator*() { return value_; }

 private:
  mpfr_t value_;
};

using Unary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
using Binary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);

/// Whether `bound` is at least, or at most, function(arguments). A bound has fewer bits than `Wide`, so the rounding of the latter decides nothing.
bool is_above(long double bound, Unary function, long double x) {
  Wide exact{x};
  function(*exact, *exact, MPFR_RNDU);
  return mpfr_cmp_ld(*exact, bound) <= 0;
}
bool is_below(long double bound, Unary function, long double x) {
  Wide exact{x};
  function(*exact, *exact, MPFR_RNDD);
  return mpfr_cmp_ld(*exact, bound) >= 0;
}
bool is_above(long double bound, Binary function, long double x, long double y) {
  Wide exact{x};
  Wide other{y};
  function(*exact, *exact, *other, MPFR_RNDU);
  return mpfr_cmp_ld(*exact, bound) <= 0;
}
bool is_below(long double bound, Binary function, long double x, long double y) {
  Wide exact{x};
  Wide other{y};
  function(*exact, *exact, *other, MPFR_RNDD);
  return mpfr_cmp_ld(*exact, bound) >= 0;
}

template <class T>
class Drawn {
 public:
  using Limits = std::numeric_limits<T>;

  /// A number of any exponent, or one of those where arithmetic is hard: ends of ranges, powers of two and their neighbours.
  T any() {
    static const std::vector<T> hard{0,
                                     Limits::denorm_min(),
                                     Limits::min(),
                                     std::nextafter(Limits::min(), T{0}),
                                     Limits::min() / Limits::epsilon(),
                                     Limits::epsilon(),
                                     1,
                                     std::nextafter(T{1}, T{0}),
                                     std::nextafter(T{1}, T{2}),
                                     2,
                                     T{1} / 3,
                                     std::sqrt(Limits::max()),
                                     Limits::max() / 2,
                                     std::nextafter(Limits::max(), T{0}),
                                     Limits::max()};
    const auto choice = bits_() % 8;
    if (choice == 0) return sign() * hard[bits_() % hard.size()];
    if (choice < 3)
      return sign() * std::ldexp(1 + share() * (choice == 1 ? 1 : Limits::epsilon() * 4), static_cast<int>(bits_() % 80) - 40);
    const int exponents = Limits::max_exponent - Limits::min_exponent + Limits::digits;
    const int exponent = static_cast<int>(bits_() % static_cast<unsigned>(exponents)) + Limits::min_exponent - Limits::digits;
    return sign() * std::ldexp(1 + share() * (choice == 3 ? Limits::epsilon() * 8 : 1), exponent);
  }
  T share() { return static_cast<T>(std::uniform_real_distribution<long double>{0, 1}(bits_)); }

 private:
  T sign() { return (bits_() & 1) != 0 ? T{1} : T{-1}; }
  std::mt19937_64 bits_{20240521};
};

template <class T>
class BoundOf : public testing::Test {};
using Precisions = testing::Types<double, long double>;
TYPED_TEST_SUITE(BoundOf, Precisions);

/// Both bounds of one operation hold, and where nothing over- or underflows they are `steps` units of the last place apart at most.
template <class T>
void expect_around(UpperOf<T> upper, LowerOf<T> lower, Binary function, T x, T y, const char* what) {
  EXPECT_TRUE(is_above(upper.value(), function, x, y)) << what << " " << x << " " << y;
  EXPECT_TRUE(is_below(lower.value(), function, x, y)) << what << " " << x << " " << y;
  const T middle = std::abs(upper.value());
  if (!(middle < std::numeric_limits<T>::max()) || std::abs(lower.value()) > std::numeric_limits<T>::max()) return;
  EXPECT_LE(upper.value() - lower.value(), 4 * std::numeric_limits<T>::epsilon() * middle + 8 * std::numeric_limits<T>::denorm_min())
      << what;
}

TYPED_TEST(BoundOf, OneOperationIsEnclosedClosely) {
  using T = TypeParam;
  using U = UpperOf<T>;
  using L = LowerOf<T>;
  using E = ExactOf<T>;
  Drawn<T> draw;
  for (int i = 0; i < 5000; ++i) {
    const T x = draw.any();
    const T y = draw.any();
    expect_around(U{E{x}} + U{E{y}}, L{E{x}} + L{E{y}}, mpfr_add, x, y, "+");
    expect_around(E{x} + U{E{y}}, E{x} + L{E{y}}, mpfr_add, x, y, "+ exact");
    expect_around(U{E{x}} - L{E{y}}, L{E{x}} - U{E{y}}, mpfr_sub, x, y, "-");
    expect_around(E{x} - L{E{y}}, E{x} - U{E{y}}, mpfr_sub, x, y, "exact -");
    const T p = std::abs(x);
    const T q = std::abs(y);
    expect_around(U{E{p}} * U{E{q}}, L{E{p}} * L{E{q}}, mpfr_mul, p, q, "*");
    expect_around(U{E{x}} * E{q}, E{q} * L{E{x}}, mpfr_mul, x, q, "* exact");
    if (q == 0) continue;
    expect_around(U{E{p}} / L{E{q}}, L{E{p}} / U{E{q}}, mpfr_div, p, q, "/");
    expect_around(U{E{x}} / E{q}, L{E{x}} / E{q}, mpfr_div, x, q, "/ exact");
  }
}

/// x and y are known to some error each: what is computed of the wrong ends of both must still enclose what is computed of the numbers.
TYPED_TEST(BoundOf, FormulaOfBoundsIsEnclosed) {
  using T = TypeParam;
  Drawn<T> draw;
  for (int i = 0; i < 1500; ++i) {
    const T x = draw.share() * 4;
    const T y = draw.share() * 4 + std::numeric_limits<T>::epsilon();
    const T off_x = draw.share() * 64;
    const T off_y = draw.share() * 64;
    const auto above = UpperOf<T>::within(x, off_x);
    const auto below = LowerOf<T>::within(x, off_x);
    const auto above_y = UpperOf<T>::within(y, off_y);
    const auto below_y = LowerOf<T>::within(y, off_y);
    EXPECT_TRUE(is_above((above - below_y).value(), mpfr_sub, x, y) && is_below((below - above_y).value(), mpfr_sub, x, y));
    EXPECT_TRUE(is_above((above / below_y).value(), mpfr_div, x, y) && is_below((below / above_y).value(), mpfr_div, x, y));
    EXPECT_TRUE(is_above((above * above_y).value(), mpfr_mul, x, y) && is_below((below * below_y).value(), mpfr_mul, x, y));
    EXPECT_TRUE(is_above(exp(above).value(), mpfr_exp, x) && is_below(exp(below).value(), mpfr_exp, x));
    EXPECT_TRUE(is_above(log(above_y).value(), mpfr_log, y) && is_below(log(below_y).value(), mpfr_log, y));
    EXPECT_TRUE(is_above(erfc(below).value(), mpfr_erfc, x) && is_below(erfc(above).value(), mpfr_erfc, x));
    EXPECT_TRUE(is_above((-below).value(), mpfr_neg, x) && is_below((-above).value(), mpfr_neg, x));
    // A number that is `ulps` units away on either side is within.
    const T spacing = std::nextafter(y, T{1000}) - y;
    const T whole = std::floor(off_y);
    EXPECT_GE(UpperOf<T>::within(y, whole).value(), y + whole * spacing);
    EXPECT_LE(LowerOf<T>::within(y, whole).value(), y - whole * spacing);
  }
}

TYPED_TEST(BoundOf, SumOfManyTermsIsEnclosed) {
  using T = TypeParam;
  Drawn<T> draw;
  for (const int terms : {1, 2, 10, 1000, 20000}) {
    Wide exact{0};
    T sum = 0;
    for (int i = 0; i < terms; ++i) {
      const T term = i == 0 ? T{1} : std::numeric_limits<T>::epsilon() / 4 * (1 + draw.share());
      sum += term;
      mpfr_add(*exact, *exact, *Wide{term}, MPFR_RNDN);
    }
    EXPECT_LE(mpfr_cmp_ld(*exact, UpperOf<T>::of_sum(sum, static_cast<T>(terms)).value()), 0) << terms;
    EXPECT_GE(mpfr_cmp_ld(*exact, LowerOf<T>::of_sum(sum, static_cast<T>(terms)).value()), 0) << terms;
  }
}

TYPED_TEST(BoundOf, WhatCannotBeBoundedSaysNothing) {
  using T = TypeParam;
  using U = UpperOf<T>;
  using L = LowerOf<T>;
  constexpr T inf = std::numeric_limits<T>::infinity();
  constexpr T largest = std::numeric_limits<T>::max();
  constexpr T least = std::numeric_limits<T>::denorm_min();
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const U huge{ExactOf<T>{largest}};
  const L deep{ExactOf<T>{largest}};
  EXPECT_EQ(U::claim(nan).value(), inf);
  EXPECT_EQ(L::claim(nan).value(), -inf);
  EXPECT_EQ(U{ExactOf<T>{nan}}.value(), inf);
  EXPECT_EQ((huge + huge).value(), inf);
  EXPECT_EQ((deep + deep).value(), largest);
  EXPECT_EQ((huge * huge).value(), inf);
  EXPECT_EQ((deep * deep).value(), largest);
  EXPECT_EQ((U::claim(-largest) - deep).value(), -largest);
  EXPECT_EQ((L::claim(-largest) - huge).value(), -inf);
  EXPECT_EQ((U::claim(inf) - L::claim(inf)).value(), inf);
  EXPECT_EQ((U::claim(inf) * 0).value(), inf);
  EXPECT_EQ((U{1} / L{0}).value(), inf);
  EXPECT_EQ((U{1} / L{-1}).value(), inf);
  EXPECT_EQ((U{-1} * U{2}).value(), inf);
  EXPECT_EQ((U{1} * -1).value(), inf);
  EXPECT_EQ((L{1} * -1).value(), -inf);
  EXPECT_EQ((L{-1} * L{2}).value(), 0);
  EXPECT_EQ((L{1} / U::claim(inf)).value(), 0);
  EXPECT_EQ(exp(huge).value(), inf);
  EXPECT_EQ(exp(deep).value(), largest);
  EXPECT_GE(exp(U::claim(-largest)).value(), least);
  EXPECT_EQ(exp(L::claim(-largest)).value(), 0);
  EXPECT_EQ(expm1(L::claim(-inf)).value(), -1);
  EXPECT_EQ(log(U{0}).value(), -inf);
  EXPECT_EQ(log(U{-1}).value(), inf);
  EXPECT_EQ(log(L{0}).value(), -inf);
  EXPECT_EQ(log1p(U{-1}).value(), -inf);
  EXPECT_EQ(log1p(L{-2}).value(), -inf);
  EXPECT_EQ(sqrt(U{-1}).value(), inf);
  EXPECT_EQ(sqrt(L{-1}).value(), 0);
  EXPECT_EQ(erfc(L::claim(-inf)).value(), 2);
  EXPECT_EQ(erfc(U::claim(inf)).value(), 0);
  EXPECT_EQ(geometric_tail(U{1}, U{1}).value(), inf);
  EXPECT_EQ(exponential_tail(U{1}, U{5}, T{3}).value(), inf);
  EXPECT_GE((U{ExactOf<T>{least}} * U{ExactOf<T>{least}}).value(), least);
  EXPECT_EQ((L{ExactOf<T>{least}} * L{ExactOf<T>{least}}).value(), 0);
}

TYPED_TEST(BoundOf, TailsAreEnclosed) {
  using T = TypeParam;
  Drawn<T> draw;
  for (int i = 0; i < 500; ++i) {
    const T first = draw.share();
    const T ratio = draw.share();
    Wide exact{1};
    Wide part{ratio};
    mpfr_sub(*exact, *exact, *part, MPFR_RNDN);
    mpfr_set_ld(*part, first, MPFR_RNDN);
    mpfr_div(*exact, *part, *exact, MPFR_RNDN);
    const auto above = geometric_tail(UpperOf<T>{ExactOf<T>{first}}, UpperOf<T>{ExactOf<T>{ratio}});
    const auto below = geometric_tail(LowerOf<T>{ExactOf<T>{first}}, LowerOf<T>{ExactOf<T>{ratio}});
    EXPECT_LE(mpfr_cmp_ld(*exact, above.value()), 0);
    EXPECT_GE(mpfr_cmp_ld(*exact, below.value()), 0);
    EXPECT_LE(above.value() - below.value(), above.value() * 12 * std::numeric_limits<T>::epsilon() / (1 - ratio));
    const T x = draw.share() * 3;
    const T n = std::floor(draw.share() * 12) + 3;
    mpfr_set_zero(*exact, 1);
    mpfr_set_ld(*part, first, MPFR_RNDN);
    for (int k = 1; k < 120; ++k) {
      mpfr_add(*exact, *exact, *part, MPFR_RNDN);
      mpfr_mul(*part, *part, *Wide{x}, MPFR_RNDN);
      mpfr_div(*part, *part, *Wide{n + static_cast<T>(k)}, MPFR_RNDN);
    }
    EXPECT_LE(mpfr_cmp_ld(*exact, exponential_tail(UpperOf<T>{ExactOf<T>{first}}, UpperOf<T>{ExactOf<T>{x}}, n).value()), 0)
        << x << " " << n;
    EXPECT_GE(mpfr_cmp_ld(*exact, exponential_tail(LowerOf<T>{ExactOf<T>{first}}, LowerOf<T>{ExactOf<T>{x}}, n).value()), 0)
        << x << " " << n;
  }
}

/// The distance of the C library's answer from MPFR's, in units of the answer's last place.
template <class T>
long double units_off(T answer, Unary function, T x) {
  if (!std::isfinite(answer)) return 0;
  Wide exact{static_cast<long double>(x)};
  function(*exact, *exact, MPFR_RNDN);
  mpfr_sub(*exact, *exact, *Wide{answer}, MPFR_RNDN);
  const T size = std::abs(answer);
  return std::abs(mpfr_get_ld(*exact, MPFR_RNDN)) / (std::nextafter(size, std::numeric_limits<T>::infinity()) - size);
}

/// A function of the library over [low, high]: a quarter each uniform, of any exponent, near 0, and at numbers whose last bits are zeros or ones,
/// where table-driven functions change their entry. SURETY_BOUND_POINTS asks for more than the few thousand points of a test.
template <class T>
void measure(const std::string& name, T (*function)(T), Unary exact, T low, T high, long double assumed) {
  const char* asked = std::getenv("SURETY_BOUND_POINTS");
  const long points = asked != nullptr ? std::atol(asked) : 2000;
  Drawn<T> draw;
  long double worst = 0;
  T at = 0;
  for (long i = 0; i < points; ++i) {
    T x = low + (high - low) * draw.share();
    if (i % 4 == 1) x = draw.any();
    if (i % 4 == 2) x = (draw.share() * 2 - 1) * 4;
    if (i % 4 == 3) x = std::nextafter(std::round(x * 256) / 256, i % 8 == 3 ? low : high);
    if (!(x >= low && x <= high)) x = std::clamp(std::abs(x), low, high);
    const auto off = units_off<T>(function(x), exact, x);
    if (off > worst) {
      worst = off;
      at = x;
    }
  }
  if (asked != nullptr) std::printf("%s, %zu bytes: %.4Lf units at %.21Lg\n", name.c_str(), sizeof(T), worst, static_cast<long double>(at));
  EXPECT_LE(4 * worst, assumed) << name << " at " << at;
  EXPECT_GE(worst, 0.4L) << name << ": such a function would be better than correctly rounded";
}

TYPED_TEST(BoundOf, LibraryErrsAtMostAFourthOfWhatIsAssumed) {
  using T = TypeParam;
  using Error = LibraryError<T>;
  using Limits = std::numeric_limits<T>;
  const T highest = std::log(Limits::max());
  measure<T>("exp", std::exp, mpfr_exp, std::log(Limits::denorm_min()), highest, Error::exp);
  measure<T>("expm1", std::expm1, mpfr_expm1, -60, highest, Error::expm1);
  measure<T>("log", std::log, mpfr_log, Limits::denorm_min(), Limits::max(), Error::log);
  measure<T>("log1p", std::log1p, mpfr_log1p, std::nextafter(T{-1}, T{0}), Limits::max(), Error::log1p);
  measure<T>("erf", std::erf, mpfr_erf, -7, 7, Error::erf);
  measure<T>("sin", std::sin, mpfr_sin, -0x1p40, 0x1p40, Error::sin);
  measure<T>("cos", std::cos, mpfr_cos, -0x1p40, 0x1p40, Error::cos);
  measure<T>("sinh", std::sinh, mpfr_sinh, -highest, highest, Error::sinh);
  measure<T>("erfc", std::erfc, mpfr_erfc, -7, std::sqrt(-std::log(Limits::denorm_min())), Error::erfc);
}

TYPED_TEST(BoundOf, AnglesErrAtMostAFourthOfWhatIsAssumed) {
  using T = TypeParam;
  const char* asked = std::getenv("SURETY_BOUND_POINTS");
  const long points = asked != nullptr ? std::atol(asked) : 2000;
  Drawn<T> draw;
  long double worst = 0;
  for (long i = 0; i < points; ++i) {
    // Of any size, near the axes, and of one size.
    const T y = i % 3 == 0 ? draw.any() : draw.share() * 2 - 1;
    const T x = i % 3 == 2 ? std::ldexp(draw.share() * 2 - 1, -static_cast<int>(i % 60)) : draw.share() * 2 - 1;
    const T answer = std::atan2(y, x);
    if (!(std::abs(answer) >= std::numeric_limits<T>::min())) continue;
    Wide exact{static_cast<long double>(y)};
    mpfr_atan2(*exact, *exact, *Wide{x}, MPFR_RNDN);
    mpfr_sub(*exact, *exact, *Wide{answer}, MPFR_RNDN);
    const T size = std::abs(answer);
    worst = std::max(worst, std::abs(mpfr_get_ld(*exact, MPFR_RNDN)) / (std::nextafter(size, std::numeric_limits<T>::infinity()) - size));
  }
  if (asked != nullptr) std::printf("atan2, %zu bytes: %.4Lf units\n", sizeof(T), worst);
  EXPECT_LE(4 * worst, LibraryError<T>::atan2);
  EXPECT_GE(worst, 0.4L);
}

TEST(Bound, ConstantsAreWithinTheirErrors) {
  Wide exact{2};
  Wide pi{0};
  mpfr_const_pi(*pi, MPFR_RNDN);
  mpfr_mul(*exact, *exact, *pi, MPFR_RNDN);
  mpfr_log(*exact, *exact, MPFR_RNDN);
  mpfr_div_ui(*exact, *exact, 2, MPFR_RNDN);
  EXPECT_LT(mpfr_cmp_ld(*exact, Upper::rounded(log_root_of_two_pi).value()), 0);
  EXPECT_GT(mpfr_cmp_ld(*exact, Lower::rounded(log_root_of_two_pi).value()), 0);
  mpfr_neg(*exact, *exact, MPFR_RNDN);
  mpfr_exp(*exact, *exact, MPFR_RNDN);
  EXPECT_LT(mpfr_cmp_ld(*exact, Upper::within(inverse_root_of_two_pi, 2).value()), 0);
  EXPECT_GT(mpfr_cmp_ld(*exact, Lower::within(inverse_root_of_two_pi, 2).value()), 0);
  EXPECT_LT(mpfr_cmp_ld(*pi, Upper::rounded(std::numbers::pi).value()), 0);
  EXPECT_GT(mpfr_cmp_ld(*pi, LongLower::rounded(std::numbers::pi_v<long double>).value()), 0);
  const LongUpper third = LongUpper{1} / LongLower{3};
  EXPECT_GE(static_cast<long double>(shortened(third).value()), third.value());
  EXPECT_LE(static_cast<long double>(shortened(LongLower{1} / LongUpper{3}).value()), third.value());
}

// What would be a slip of direction has no operation.
template <class A, class B>
concept Subtracts = requires(A a, B b) {
  a - b;
};
template <class A, class B>
concept Divides = requires(A a, B b) {
  a / b;
};
template <class A, class B>
concept Adds = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Multiplies = requires(A a, B b) {
  a* b;
};
static_assert(Subtracts<Upper, Lower> && Subtracts<Lower, Upper> && !Subtracts<Upper, Upper> && !Subtracts<Lower, Lower>);
static_assert(Divides<Upper, Lower> && Divides<Lower, Upper> && !Divides<Upper, Upper> && !Divides<Lower, Lower>);
static_assert(Adds<Upper, Upper> && Adds<Lower, Lower> && !Adds<Upper, Lower> && !Adds<Lower, Upper>);
static_assert(Multiplies<Upper, Upper> && Multiplies<Lower, Lower> && !Multiplies<Upper, Lower> && !Multiplies<Lower, Upper>);
static_assert(!Adds<Upper, double> && !Multiplies<Upper, double> && Adds<Upper, int> && Multiplies<int, Lower>);
static_assert(!Adds<Upper, LongUpper> && !std::is_constructible_v<Upper, Lower> && !std::is_constructible_v<Lower, Upper>);
static_assert(!std::is_convertible_v<double, Upper> && !std::is_convertible_v<Upper, double>);

}  // namespace
}  // namespace surety::accounting::bound_test
