#include <surety/base/numbers/ball.h>

#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <random>

namespace surety::accounting::ball_test {
namespace {

/// A real number of 300 bits, far more than balls have.
class Number {
 public:
  explicit Number(long double value) {
    mpfr_init2(value_, 300);
    mpfr_set_ld(value_, value, MPFR_RNDN);
  }
  Number(const Number& other) : Number{0} { mpfr_set(value_, other.value_, MPFR_RNDN); }
  Number& operator=(const Number&) = delete;
  ~Number() { mpfr_clear(value_); }
  [[nodiscard]] const mpfr_t& get() const { return value_; }
  mpfr_t& get() { return value_; }

 private:
  mpfr_t value_;
};

using Unary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
using Binary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);

Number of(Unary function, const Number& x) {
  Number out{0};
  function(out.get(), x.get(), MPFR_RNDN);
  return out;
}
Number of(Binary function, const Number& x, const Number& y) {
  Number out{0};
  function(out.get(), x.get(), y.get(), MPFR_RNDN);
  return out;
}

/// A number of the ball: its middle at 0, its ends at -1 and 1.
template <class T>
Number inside(const BallOf<T>& ball, double at) {
  return of(mpfr_add, Number{ball.value()}, of(mpfr_mul, Number{ball.radius()}, Number{at}));
}

template <class T>
bool holds(const BallOf<T>& ball, const Number& exact) {
  if (!std::isfinite(ball.radius()) || !std::isfinite(ball.value())) return true;  // it says nothing
  const Number apart = of(mpfr_abs, of(mpfr_sub, exact, Number{ball.value()}));
  return mpfr_cmp_ld(apart.get(), ball.radius()) <= 0;
}

/// Balls of sizes between 2^-40 and 2^6 and far away, of radii from none to the size itself.
template <class T>
class Drawn {
 public:
  double share() { return std::uniform_real_distribution<double>{0, 1}(bits_); }
  BallOf<T> ball(bool is_positive) {
    const auto choice = bits_() % 8;
    const int exponents = std::numeric_limits<T>::max_exponent;
    const int exponent = choice == 0 ? static_cast<int>(bits_() % static_cast<unsigned>(2 * exponents + 40)) - exponents - 40
                                     : static_cast<int>(bits_() % 46) - 40;
    T value = std::ldexp(1 + static_cast<T>(share()), choice < 4 ? exponent : static_cast<int>(bits_() % 9) - 4);
    if (!is_positive && (bits_() & 1) != 0) value = -value;
    const auto width = bits_() % 4;
    const T radius = width == 0 ? T{0} : std::abs(value) * std::ldexp(static_cast<T>(share()), width == 1 ? -2 : -40);
    return BallOf<T>::around(value, radius);
  }

 private:
  std::mt19937_64 bits_{20240611};
};

template <class T>
class BallsOf : public testing::Test {};
using Precisions = testing::Types<double, long double>;
TYPED_TEST_SUITE(BallsOf, Precisions);

constexpr double places[] = {-1, -0.37, 0, 0.61, 1};

TYPED_TEST(BallsOf, HoldWhatOperationsMakeOfTheirNumbers) {
  using T = TypeParam;
  using B = BallOf<T>;
  Drawn<T> draw;
  int told = 0;
  for (int i = 0; i < 3000; ++i) {
    const B x = draw.ball(false);
    const B y = draw.ball(false);
    const auto exact = ExactOf<T>{y.value()};
    for (const double p : places) {
      for (const double q : places) {
        const Number a = inside(x, p);
        const Number b = inside(y, q);
        ASSERT_TRUE(holds(x + y, of(mpfr_add, a, b)));
        ASSERT_TRUE(holds(x - y, of(mpfr_sub, a, b)));
        ASSERT_TRUE(holds(x * y, of(mpfr_mul, a, b)));
        ASSERT_TRUE(holds(x / y, of(mpfr_div, a, b)));
      }
      const Number a = inside(x, p);
      const Number b{y.value()};
      ASSERT_TRUE(holds(x * exact, of(mpfr_mul, a, b)));
      ASSERT_TRUE(holds(x / exact, of(mpfr_div, a, b)));
      ASSERT_TRUE(holds(-x, of(mpfr_neg, a)));
    }
    told += std::isfinite((x * y).radius()) && std::isfinite((x / y).radius());
  }
  EXPECT_GT(told, 2500);
}

TYPED_TEST(BallsOf, HoldWhatFunctionsMakeOfTheirNumbers) {
  using T = TypeParam;
  using B = BallOf<T>;
  Drawn<T> draw;
  struct Case {
    const char* name;
    std::function<B(B)> of_ball;
    Unary exact;
    bool is_positive;
  };
  const Case cases[] = {
      {"exp", [](B x) { return exp(x); }, mpfr_exp, false},       {"expm1", [](B x) { return expm1(x); }, mpfr_expm1, false},
      {"sinh", [](B x) { return sinh(x); }, mpfr_sinh, false},    {"erf", [](B x) { return erf(x); }, mpfr_erf, false},
      {"erfc", [](B x) { return erfc(x); }, mpfr_erfc, false},    {"log", [](B x) { return log(x); }, mpfr_log, true},
      {"log1p", [](B x) { return log1p(x); }, mpfr_log1p, false}, {"sqrt", [](B x) { return sqrt(x); }, mpfr_sqrt, true}};
  for (const auto& one : cases) {
    int told = 0;
    for (int i = 0; i < 1500; ++i) {
      B x = draw.ball(one.is_positive);
      if (std::string{one.name} == "log1p" && x.value() < 0)
        x = B::around(-std::min(T{1}, -x.value()) / 2, 0) + B::around(0, x.radius() / 64);
      const B found = one.of_ball(x);
      for (const double p : places) ASSERT_TRUE(holds(found, of(one.exact, inside(x, p)))) << one.name << " " << x.value();
      told += std::isfinite(found.radius());
    }
    EXPECT_GT(told, 1000) << one.name;
  }
}

/// What was known exactly comes out within a few dozen units of the last place, and a radius grows as the slope says, not more.
TYPED_TEST(BallsOf, AreClose) {
  using T = TypeParam;
  using B = BallOf<T>;
  constexpr T unit = std::numeric_limits<T>::epsilon();
  const auto exact = [](double x) { return B{ExactOf<T>{static_cast<T>(x)}}; };
  for (const double x : {1e-3, 0.3, 1.0, 2.7, 5.0}) {
    for (const double y : {1e-3, 0.7, 3.0}) {
      for (const B& found : {exact(x) + exact(y), exact(x) * exact(y), exact(x) / exact(y), sqrt(exact(x))})
        EXPECT_LE(found.radius(), T{0.51} * unit * std::abs(found.value()));
    }
    for (const B& found : {exp(exact(x)), expm1(exact(x)), sinh(exact(x)), log(exact(x)), log1p(exact(x)), erf(exact(x)), erfc(exact(x))})
      EXPECT_LE(found.radius(), T{20.1} * unit * std::abs(found.value()) + 32 * std::numeric_limits<T>::denorm_min());
    const auto known = [&](T radius) { return B::around(static_cast<T>(x), radius); };
    const T r = T{1e-9};
    EXPECT_LE(exp(known(r)).radius(), T{1.00001} * r * static_cast<T>(std::exp(x)));
    EXPECT_LE(log(known(r)).radius(), T{1.00001} * r / static_cast<T>(x));
    EXPECT_LE(sqrt(known(r)).radius(), T{1.00001} * r / std::sqrt(static_cast<T>(x)));
    EXPECT_LE(erfc(known(r)).radius(), T{1.15} * r * static_cast<T>(std::exp(-x * x)));
    EXPECT_LE(sinh(known(r)).radius(), T{1.00001} * r * (1 + static_cast<T>(std::sinh(x))));
  }
}

TYPED_TEST(BallsOf, SayWhatTheyHold) {
  using T = TypeParam;
  using B = BallOf<T>;
  Drawn<T> draw;
  for (int i = 0; i < 2000; ++i) {
    const B x = draw.ball(false);
    for (const double p : places) {
      const Number a = inside(x, p);
      EXPECT_GE(mpfr_cmp_ld(a.get(), x.lower().value()), 0);
      EXPECT_LE(mpfr_cmp_ld(a.get(), x.upper().value()), 0);
      EXPECT_TRUE(holds(B::of_share(x.value(), x.share()), a));
      const T error = static_cast<T>(draw.share()) / 8;
      for (const double q : places)
        EXPECT_TRUE(holds(x.widened(error), of(mpfr_mul, a, of(mpfr_exp, of(mpfr_mul, Number{error}, Number{q})))));
    }
    const T units = std::floor(static_cast<T>(draw.share()) * 64);
    const T spacing = std::nextafter(std::abs(x.value()), std::numeric_limits<T>::infinity()) - std::abs(x.value());
    EXPECT_GE(B::within(x.value(), units).radius(), units * spacing);
  }
}

TYPED_TEST(BallsOf, WhatCannotBeEnclosedSaysNothing) {
  using T = TypeParam;
  using B = BallOf<T>;
  using E = ExactOf<T>;
  constexpr T inf = std::numeric_limits<T>::infinity();
  const B wide = B::around(1, T{1.5});
  const B huge{E{std::numeric_limits<T>::max()}};
  for (const B& found : {B{1} / wide, log(wide), log1p(B::around(-1, T{1e-9})), huge * huge, huge + huge, exp(huge),
                         exp(B::around(0, 20000)), B{1} / B{0}, (B{1} / wide) * 0, B{1} / B::around(1, inf)}) {
    EXPECT_FALSE(found.radius() < inf);
    EXPECT_EQ(found.upper().value(), inf);
    EXPECT_EQ(found.lower().value(), -inf);
  }
  EXPECT_FALSE(B{0}.share() < inf);
  EXPECT_GE(exp(B{-20000}).radius(), std::numeric_limits<T>::denorm_min());
  const B small{E{std::numeric_limits<T>::min()}};
  EXPECT_GE((small * small).radius(), std::numeric_limits<T>::denorm_min());
}

TEST(Ball, ShortenedHoldsTheLongOne) {
  Drawn<long double> draw;
  for (int i = 0; i < 2000; ++i) {
    const LongBall x = draw.ball(false);
    const Ball found = shortened(x);
    for (const double p : places) EXPECT_TRUE(holds(found, inside(x, p)));
  }
}

}  // namespace
}  // namespace surety::accounting::ball_test
