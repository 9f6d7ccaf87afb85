// A real number for tests: plain MPFR, rounded to nearest. It shares nothing with the interval arithmetic that it judges; the
// caller asks for so many bits that rounding is far below anything a test looks at.
#pragma once

#include <mpfr.h>

#include <algorithm>
#include <ostream>
#include <string>

namespace surety::reference {

constexpr mpfr_prec_t default_bits = 400;

class Real {
 public:
  explicit Real(double value, mpfr_prec_t bits = default_bits) {
    mpfr_init2(value_, bits);
    mpfr_set_d(value_, value, MPFR_RNDN);
  }
  explicit Real(const mpfr_t& value) {
    mpfr_init2(value_, mpfr_get_prec(value));
    mpfr_set(value_, value, MPFR_RNDN);
  }
  Real(const Real& other) : Real{other.value_} {}
  Real& operator=(const Real& other) {
    if (this != &other) {
      mpfr_set_prec(value_, other.bits());
      mpfr_set(value_, other.value_, MPFR_RNDN);
    }
    return *this;
  }
  ~Real() { mpfr_clear(value_); }

  [[nodiscard]] mpfr_prec_t bits() const { return mpfr_get_prec(value_); }
  [[nodiscard]] const mpfr_t& get() const { return value_; }
  [[nodiscard]] double nearest_double() const { return mpfr_get_d(value_, MPFR_RNDN); }
  /// As a double that is not greater, and as one that is not less.
  [[nodiscard]] double rounded_down() const { return mpfr_get_d(value_, MPFR_RNDD); }
  [[nodiscard]] double rounded_up() const { return mpfr_get_d(value_, MPFR_RNDU); }

  using Binary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);
  using Unary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
  static Real apply(Binary function, const Real& a, const Real& b) {
    Real result{0, std::max(a.bits(), b.bits())};
    function(result.value_, a.value_, b.value_, MPFR_RNDN);
    return result;
  }
  static Real apply(Unary function, const Real& a) {
    Real result{0, a.bits()};
    function(result.value_, a.value_, MPFR_RNDN);
    return result;
  }

  friend Real operator+(const Real& a, const Real& b) { return apply(mpfr_add, a, b); }
  friend Real operator-(const Real& a, const Real& b) { return apply(mpfr_sub, a, b); }
  friend Real operator*(const Real& a, const Real& b) { return apply(mpfr_mul, a, b); }
  friend Real operator/(const Real& a, const Real& b) { return apply(mpfr_div, a, b); }
  friend Real operator-(const Real& a) { return apply(mpfr_neg, a); }
  friend Real operator+(const Real& a, double b) { return a + Real{b, a.bits()}; }
  friend Real operator-(const Real& a, double b) { return a - Real{b, a.bits()}; }
  friend Real operator*(const Real& a, double b) { return a * Real{b, a.bits()}; }
  friend Real operator/(const Real& a, double b) { return a / Real{b, a.bits()}; }
  friend Real operator+(double a, const Real& b) { return Real{a, b.bits()} + b; }
  friend Real operator-(double a, const Real& b) { return Real{a, b.bits()} - b; }
  friend Real operator*(double a, const Real& b) { return Real{a, b.bits()} * b; }
  friend Real operator/(double a, const Real& b) { return Real{a, b.bits()} / b; }
  friend Real sqrt(const Real& a) { return apply(mpfr_sqrt, a); }
  friend Real exp(const Real& a) { return apply(mpfr_exp, a); }
  friend Real expm1(const Real& a) { return apply(mpfr_expm1, a); }
  friend Real log(const Real& a) { return apply(mpfr_log, a); }
  friend Real log1p(const Real& a) { return apply(mpfr_log1p, a); }
  friend Real erfc(const Real& a) { return apply(mpfr_erfc, a); }

  friend bool operator<(const Real& a, const Real& b) { return mpfr_less_p(a.value_, b.value_) != 0; }
  friend bool operator<=(const Real& a, const Real& b) { return mpfr_lessequal_p(a.value_, b.value_) != 0; }
  friend bool operator>(const Real& a, const Real& b) { return b < a; }
  friend bool operator>=(const Real& a, const Real& b) { return b <= a; }
  friend bool operator<(const Real& a, double b) { return mpfr_cmp_d(a.value_, b) < 0; }
  friend bool operator<=(const Real& a, double b) { return mpfr_cmp_d(a.value_, b) <= 0; }
  friend bool operator>(const Real& a, double b) { return mpfr_cmp_d(a.value_, b) > 0; }
  friend bool operator>=(const Real& a, double b) { return mpfr_cmp_d(a.value_, b) >= 0; }

  friend std::ostream& operator<<(std::ostream& out, const Real& a) {
    char text[64];
    mpfr_snprintf(text, sizeof text, "%.30Rg", a.value_);
    return out << text;
  }

 private:
  mpfr_t value_;
};

inline Real pi(mpfr_prec_t bits = default_bits) {
  mpfr_t value;
  mpfr_init2(value, bits);
  mpfr_const_pi(value, MPFR_RNDN);
  Real result{value};
  mpfr_clear(value);
  return result;
}

/// An enclosure (anything with ends `lower` and `upper` in double) contains `truth`.
template <class Ends>
bool contains(const Ends& ends, const Real& truth) {
  return truth >= ends.lower && truth <= ends.upper;
}

/// |value - truth| / |truth|, as a double.
inline double relative_error(double value, const Real& truth) {
  const Real error = (value - truth) / truth;
  return std::max(error.nearest_double(), (-error).nearest_double());
}

}  // namespace surety::reference
