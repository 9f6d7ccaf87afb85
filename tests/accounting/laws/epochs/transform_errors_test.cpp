// Bounds on rounding against the numbers themselves, which MPFR finds with 200 bits from the same arguments.
#include <surety/accounting/laws/epochs/transform_errors.h>

#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

namespace surety::accounting::transform_errors_test {
namespace {

using Complex = std::complex<long double>;
constexpr long double unit = std::numeric_limits<long double>::epsilon();

/// A real number of 200 bits.
class Wide {
 public:
  Wide(long double value) {  // NOLINT(google-explicit-constructor): every long double is one
    mpfr_init2(value_, 200);
    mpfr_set_ld(value_, value, MPFR_RNDN);
  }
  Wide(const Wide& other) : Wide{0} { mpfr_set(value_, other.value_, MPFR_RNDN); }
  Wide& operator=(const Wide&) = delete;
  ~Wide() { mpfr_clear(value_); }

  [[nodiscard]] long double value() const { return mpfr_get_ld(value_, MPFR_RNDN); }
  friend Wide operator+(const Wide& x, const Wide& y) { return of(mpfr_add, x, y); }
  friend Wide operator-(const Wide& x, const Wide& y) { return of(mpfr_sub, x, y); }
  friend Wide operator*(const Wide& x, const Wide& y) { return of(mpfr_mul, x, y); }
  friend Wide operator/(const Wide& x, const Wide& y) { return of(mpfr_div, x, y); }
  friend Wide atan2(const Wide& y, const Wide& x) { return of(mpfr_atan2, y, x); }
  friend Wide exp(const Wide& x) { return of(mpfr_exp, x); }
  friend Wide log(const Wide& x) { return of(mpfr_log, x); }
  friend Wide sin(const Wide& x) { return of(mpfr_sin, x); }
  friend Wide cos(const Wide& x) { return of(mpfr_cos, x); }

 private:
  static Wide of(int (*function)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t), const Wide& x, const Wide& y) {
    Wide found{0};
    function(found.value_, x.value_, y.value_, MPFR_RNDN);
    return found;
  }
  static Wide of(int (*function)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t), const Wide& x) {
    Wide found{0};
    function(found.value_, x.value_, MPFR_RNDN);
    return found;
  }

  mpfr_t value_;
};

/// How far a complex number is from size e^(i angle).
long double distance(const Complex& z, const Wide& size, const Wide& angle) {
  return std::abs(Complex{(Wide{z.real()} - size * cos(angle)).value(), (Wide{z.imag()} - size * sin(angle)).value()});
}

/// How far it is from (1 + d + moved)^exponent.
long double distance_from_power(const Complex& z, const Complex& d, const Complex& moved, long double exponent) {
  const Wide real = Wide{1} + Wide{d.real()} + Wide{moved.real()};
  const Wide imag = Wide{d.imag()} + Wide{moved.imag()};
  return distance(z, exp(Wide{exponent} * Wide{0.5L} * log(real * real + imag * imag)), Wide{exponent} * atan2(imag, real));
}

// A node is weight times |Y| e^(-i mu b), as the transforms compute it. Far out, at large mu, its exponents are all that counts.
TEST(TransformErrors, CoverANode) {
  constexpr long double units_of_functions = 50;
  int beyond_functions = 0;
  for (const long double mu : {0.1L, 1.0L, 7.3L, 50.0L}) {
    const long double b = std::min(1.2L, 0.78L / mu);
    for (int i = -40; i <= 40; ++i) {
      const long double g = static_cast<long double>(i) * (10.1L + mu) / 40;
      const long double modulus = std::exp(0.5L * (b - g) * (b + g));
      const long double y = std::exp(mu * (g - 0.5L * mu));
      const Complex node =
          Complex{modulus * std::cos(b * g), modulus * std::sin(b * g)} * Complex{y * std::cos(mu * b), -y * std::sin(mu * b)};
      const Wide size = exp(Wide{0.5L} * (Wide{b} - g) * (Wide{b} + g) + Wide{mu} * (Wide{g} - Wide{0.5L} * mu));
      const long double off = distance(node, size, Wide{b} * g - Wide{mu} * b);
      EXPECT_LE(off, rounding_of_node(mu, b, g, units_of_functions) * modulus * y) << mu << ' ' << g;
      if (off > units_of_functions * unit * modulus * y) ++beyond_functions;
    }
  }
  EXPECT_GT(beyond_functions, 0);
}

// Powers of numbers that are known exactly: rounding alone.
TEST(TransformErrors, CoverAPower) {
  for (const long double exponent : {1.0L, 99.0L, 1e5L}) {
    for (const long double size : {1e-9L, 1e-4L, 0.1L, 0.5L, 0.9L, 1.3L}) {
      for (const long double angle : {1.58L, 2.0L, 2.7L, 3.1L}) {
        const Complex d = std::polar(size, angle);
        const auto found = power_of(log_one_plus(d, 0), exponent);
        EXPECT_LE(distance_from_power(found.value, d, 0, exponent), found.error) << exponent << ' ' << size << ' ' << angle;
      }
    }
  }
}

// And of numbers that are known within an error, little and more than they are themselves.
TEST(TransformErrors, CoverWhatAPowerIsTakenOf) {
  for (const long double exponent : {1.0L, 99.0L, 1e5L}) {
    for (const long double share : {1e-12L, 1e-5L, 1e-3L, 0.1L, 0.9L}) {
      const Complex d = std::polar(1e-3L, 2.5L);
      const long double error = share * 1e-3L;
      const auto found = power_of(log_one_plus(d, error), exponent);
      for (const long double angle : {0.0L, 1.3L, 2.5L, 4.0L, 5.5L})
        EXPECT_LE(distance_from_power(found.value, d, std::polar(0.999999L * error, angle), exponent), found.error)
            << exponent << ' ' << share << ' ' << angle;
    }
  }
}

// Of two numbers that are off by all of their errors, and of exact ones, which are rounded all the same.
TEST(TransformErrors, CoverAProduct) {
  for (const long double error : {0.0L, 1e-19L, 1e-6L, 0.3L}) {
    for (const long double other_error : {0.0L, 1e-18L, 0.01L}) {
      for (int i = 0; i < 40; ++i) {
        const long double angle = 0.157L * static_cast<long double>(i);
        const Complex x = std::polar(0.7L, angle);
        const Complex y = std::polar(1.9L, 2.1L * angle);
        const Complex exact_x = x + std::polar(0.999999L * error, angle);
        const Complex exact_y = y + std::polar(0.999999L * other_error, 2.1L * angle);
        const Complex found = x * y;
        const Wide real = Wide{exact_x.real()} * exact_y.real() - Wide{exact_x.imag()} * exact_y.imag();
        const Wide imag = Wide{exact_x.real()} * exact_y.imag() + Wide{exact_x.imag()} * exact_y.real();
        const long double off = std::abs(Complex{(real - found.real()).value(), (imag - found.imag()).value()});
        EXPECT_LE(off, error_of_product(std::abs(x), error, std::abs(y), other_error)) << error << ' ' << other_error << ' ' << i;
      }
    }
  }
}

// 1 and terms below half of its last place, all of which are lost.
TEST(TransformErrors, CoverASum) {
  SumWithError sum;
  sum.add(1, 0.25L);
  for (int i = 0; i < 100; ++i) sum.add(0.49L * unit, 0);
  EXPECT_EQ(sum.value, 1);
  EXPECT_GE(sum.error, 0.25L + 49 * unit);
  EXPECT_LE(sum.error, 0.25L + 102 * unit);
}

// What follows a sum over frequencies n h: factors of pi, a product and a difference, with the period that the rounded h has.
TEST(TransformErrors, CoverAnInversion) {
  constexpr long double pi = std::numbers::pi_v<long double>;
  const Wide exact_pi = Wide{4} * atan2(Wide{1}, Wide{1});
  for (const long double half_period : {0.3L, 7.1L, 1e3L}) {
    const long double h = pi / half_period;
    const Wide exact_half = exact_pi / h;
    for (int i = 0; i < 40; ++i) {
      const long double sum = 0.031L * static_cast<long double>(i);
      const long double found = half_period / 2 - 4 * half_period / (pi * pi) * sum;
      const Wide exact = Wide{0.5L} * exact_half - Wide{4} * exact_half / (exact_pi * exact_pi) * sum;
      EXPECT_LE(std::abs((Wide{found} - exact).value()), rounding_of_inversion * half_period) << half_period << ' ' << i;
      EXPECT_LE(std::abs((Wide{4 / pi * sum} - Wide{4} / exact_pi * sum).value()), rounding_of_inversion) << i;
    }
  }
}

}  // namespace
}  // namespace surety::accounting::transform_errors_test
