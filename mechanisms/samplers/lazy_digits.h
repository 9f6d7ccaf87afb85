// Reals of which the first binary digits are known, and decisions about them by interval arithmetic, for what samplers decide exactly.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include <surety/base/numbers/interval.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/samplers/trial.h>

namespace surety::mechanisms {

inline constexpr mpfr_prec_t first_precision = 128;

/// `value` as a point: both halves and their sum are exact.
[[nodiscard]] inline Interval exact_interval(std::uint64_t value, mpfr_prec_t precision) {
  const Interval high{static_cast<double>(value >> 32), precision};
  const Interval low{static_cast<double>(value & 0xffffffff), precision};
  return high * Interval{0x1p32, precision} + low;
}

[[nodiscard]] inline Interval exact_interval(UnsignedWide value, mpfr_prec_t precision) {
  return exact_interval(static_cast<std::uint64_t>(value >> 64), precision) * Interval{0x1p64, precision} +
         exact_interval(static_cast<std::uint64_t>(value), precision);
}

/// The integer nearest to all points of x, clamped to int64, where they have one.
[[nodiscard]] inline std::optional<std::int64_t> nearest_integer(const Interval& x) {
  static_assert(sizeof(long) == sizeof(std::int64_t));
  // Of a NaN `mpfr_get_si` makes 0.
  if (mpfr_nan_p(x.lower()) != 0 || mpfr_nan_p(x.upper()) != 0) return std::nullopt;
  const long low = mpfr_get_si(x.lower(), MPFR_RNDN);
  if (low != mpfr_get_si(x.upper(), MPFR_RNDN)) return std::nullopt;
  return low;
}

/// floor(2^bits x) of a number, below 2^128.
[[nodiscard]] inline UnsignedWide floor_digits(const mpfr_t& x, unsigned bits) {
  mpfr_t scaled;
  mpfr_init2(scaled, mpfr_get_prec(x));
  mpfr_mul_2ui(scaled, x, bits, MPFR_RNDD);
  mpz_t integer;
  mpz_init(integer);
  mpfr_get_z(integer, scaled, MPFR_RNDD);
  std::array<std::uint64_t, 2> words{};
  mpz_export(words.data(), nullptr, -1, sizeof words[0], 0, 0, integer);
  mpz_clear(integer);
  mpfr_clear(scaled);
  return UnsignedWide{words[1]} << 64 | words[0];
}

/// The same of a real number, where the two ends of x agree on it. \pre 0 <= x.
[[nodiscard]] inline std::optional<UnsignedWide> leading_digits(const Interval& x, unsigned bits) {
  const UnsignedWide low = floor_digits(x.lower(), bits);
  if (low != floor_digits(x.upper(), bits)) return std::nullopt;
  return low;
}

/// A real number in [0, 1) whose first binary digits are known.
class LazyReal {
 public:
  LazyReal(std::uint64_t digits, int count) : first_{digits}, count_{count} {}

  void extend(std::uint64_t word) { more_.push_back(word); }
  /// Enough for `low` and `high` to be exact.
  [[nodiscard]] mpfr_prec_t precision() const { return first_precision + 64 * static_cast<mpfr_prec_t>(more_.size()); }
  [[nodiscard]] Interval low(mpfr_prec_t precision) const { return end(0, precision); }
  [[nodiscard]] Interval high(mpfr_prec_t precision) const { return end(1, precision); }
  [[nodiscard]] bool is_extended() const { return !more_.empty(); }
  /// Its first 63 digits. \pre They are known, and not all from the start.
  [[nodiscard]] std::uint64_t first_63() const { return first_ << (63 - count_) | more_.front() >> (count_ + 1); }

 private:
  [[nodiscard]] Interval end(double last_place, mpfr_prec_t precision) const {
    const Interval word_size{0x1p64, precision};
    Interval digits = exact_interval(first_, precision);
    Interval units{std::ldexp(1.0, count_), precision};
    for (const auto word : more_) {
      digits = digits * word_size + exact_interval(word, precision);
      units = units * word_size;
    }
    return (digits + Interval{last_place, precision}) / units;
  }

  std::uint64_t first_;
  int count_;
  std::vector<std::uint64_t> more_;
};

[[nodiscard]] inline bool surely_below(const Interval& a, const Interval& b) { return mpfr_lessequal_p(a.upper(), b.lower()) != 0; }

/// Whether t is below a positive real number; draws a word exactly where the number lies strictly inside the interval that t is known to be in.
template <class Enclose>
[[nodiscard]] bool is_surely_below(LazyReal& t, Enclose enclose, const NextWord& next) {
  for (mpfr_prec_t precision = t.precision();;) {
    const Interval threshold = enclose(precision);
    const Interval low = t.low(precision);
    const Interval high = t.high(precision);
    // The number is positive, also where its enclosure underflows to zero.
    const bool is_from_zero = mpfr_zero_p(low.lower()) != 0;
    if (!is_from_zero && surely_below(threshold, low)) return false;
    if (surely_below(high, threshold)) return true;
    if ((is_from_zero || surely_below(low, threshold)) && surely_below(threshold, high)) {
      t.extend(next());
      precision = std::max(precision, t.precision());
    } else {
      precision *= 2;
    }
  }
}

/// The last number below `limit` of which `holds` is true, by doubling strides and bisection. \pre it is true of `first` and of no number after one of
/// which it is false.
template <class Holds>
[[nodiscard]] std::uint64_t last_that_holds(std::uint64_t first, std::uint64_t limit, Holds holds) {
  std::uint64_t low = first;
  std::uint64_t high = limit;
  for (std::uint64_t stride = 1; stride < limit - low; stride *= 2) {
    if (!holds(low + stride)) {
      high = low + stride;
      break;
    }
    low += stride;
  }
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (holds(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace surety::mechanisms
