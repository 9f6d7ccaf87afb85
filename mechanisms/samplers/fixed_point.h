// Numbers with 120 binary digits after the point, whose operations take the same time whatever the numbers are: no branch, no address and
// no instruction of variable duration depends on them. For the decisions of isochronous samplers (docs/proofs/samplers.md#precise).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <surety/mechanisms/samplers/masks.h>
#include <surety/mechanisms/samplers/trial.h>

namespace surety::mechanisms {

// Proved: docs/proofs/samplers.md#precise
/// value 2^-120, from 0 to below 256.
struct FixedPoint {
  static constexpr int digits = 120;
  UnsignedWide value = 0;

  /// Towards zero: within one unit of 2^-120. \pre the product is below 256.
  [[nodiscard]] friend constexpr FixedPoint operator*(FixedPoint a, FixedPoint b) {
    const auto low = [](UnsignedWide x) { return UnsignedWide{static_cast<std::uint64_t>(x)}; };
    const auto high = [](UnsignedWide x) { return x >> 64; };
    const UnsignedWide lowest = low(a.value) * low(b.value);
    const UnsignedWide one = low(a.value) * high(b.value);
    const UnsignedWide other = high(a.value) * low(b.value);
    const UnsignedWide middle = high(lowest) + low(one) + low(other);
    const UnsignedWide highest = high(a.value) * high(b.value) + high(one) + high(other) + high(middle);
    return {highest << (128 - digits) | low(middle) >> (digits - 64)};
  }
  /// The same in fewer steps. \pre a + b is below 255, too.
  [[nodiscard]] friend constexpr FixedPoint product(FixedPoint a, FixedPoint b) {
    const auto low = [](UnsignedWide x) { return UnsignedWide{static_cast<std::uint64_t>(x)}; };
    const auto high = [](UnsignedWide x) { return x >> 64; };
    const UnsignedWide middle = low(a.value) * high(b.value) + high(a.value) * low(b.value) + high(low(a.value) * low(b.value));
    return {(high(a.value) * high(b.value) << (128 - digits)) + (middle >> (digits - 64))};
  }
  /// Exactly. \pre it is below 256, from 0 on.
  [[nodiscard]] friend constexpr FixedPoint operator+(FixedPoint a, FixedPoint b) { return {a.value + b.value}; }
  [[nodiscard]] friend constexpr FixedPoint operator-(FixedPoint a, FixedPoint b) { return {a.value - b.value}; }
  [[nodiscard]] constexpr FixedPoint times(std::uint64_t factor) const { return {value * factor}; }
};

namespace fixed_point {

/// value >> n. \pre n < 128. In parts: a shift of two words by a number that is not known may be a branch.
[[nodiscard]] constexpr UnsignedWide shifted_down(UnsignedWide value, unsigned n) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  const auto low = static_cast<std::uint64_t>(value);
  const std::uint64_t by_words = std::uint64_t{0} - std::uint64_t{n >> 6 & 1};
  const unsigned digits = n & 63;
  const std::uint64_t first = (high & by_words) | (low & ~by_words);
  const std::uint64_t second = high & ~by_words;
  return UnsignedWide{second >> digits} << 64 | (first >> digits | second << 1 << (63 - digits));
}

/// ln 2 and 1 / ln 2, towards zero.
inline constexpr FixedPoint log_of_2{(UnsignedWide{0x00b17217f7d1cf79} << 64) | 0xabc9e3b39803f2f6};
inline constexpr FixedPoint inverse_log_of_2{(UnsignedWide{0x0171547652b82fe1} << 64) | 0x777d0ffda0d23a7d};

/// 1 / k!, towards zero: of k < first_short in units of 2^-120, from there on in units of 2^-85, which is enough for what is multiplied by
/// (ln 2 / 8)^10 < 2^-35.
inline constexpr std::size_t terms = 19;
inline constexpr std::size_t first_short = 10;
inline constexpr int short_digits = 85;
/// Of f and f^2 there.
inline constexpr int short_f_digits = 67;
inline constexpr int short_square_digits = 71;
inline constexpr std::array<FixedPoint, first_short> inverse_factorials = [] {
  std::array<FixedPoint, first_short> result{};
  UnsignedWide value = UnsignedWide{1} << FixedPoint::digits;
  for (std::size_t k = 0; k < first_short; ++k) {
    value /= k == 0 ? 1 : k;
    result[k].value = value;
  }
  return result;
}();
inline constexpr std::array<std::uint64_t, terms> short_inverse_factorials = [] {
  std::array<std::uint64_t, terms> result{};
  UnsignedWide value = UnsignedWide{1} << short_digits;
  for (std::size_t k = 1; k < terms; ++k) {
    value /= k;
    if (k >= first_short) result[k] = static_cast<std::uint64_t>(value);
  }
  return result;
}();

/// exp(-x) for each x, within 2^-112: together, as one alone waits for its own products. \pre x <= 88.
template <std::size_t count>
[[nodiscard]] constexpr std::array<FixedPoint, count> exps_of_minus(const std::array<FixedPoint, count>& x) {
  // x = n ln 2 + 8 f with 0 <= f < ln 2 / 8; the Taylor polynomial of exp(-f), squared three times. Its even terms and its odd ones are polynomials of f^2.
  std::array<unsigned, count> n{};
  std::array<FixedPoint, count> f{};
  std::array<FixedPoint, count> square{};
  std::array<FixedPoint, count> even{};
  std::array<FixedPoint, count> odd{};
  std::array<std::uint64_t, count> short_square{};
  std::array<std::uint64_t, count> short_even{};
  std::array<std::uint64_t, count> short_odd{};
  for (std::size_t i = 0; i < count; ++i) {
    n[i] = static_cast<unsigned>(product(x[i], inverse_log_of_2).value >> FixedPoint::digits);
    f[i].value = (x[i] - log_of_2.times(n[i])).value >> 3;
    square[i] = product(f[i], f[i]);
    const UnsignedWide short_f = f[i].value >> (FixedPoint::digits - short_f_digits);
    short_square[i] = static_cast<std::uint64_t>(short_f * short_f >> (2 * short_f_digits - short_square_digits));
    short_even[i] = short_inverse_factorials[terms - 1];
    short_odd[i] = short_inverse_factorials[terms - 2];
    odd[i] = inverse_factorials[first_short - 1];
  }
  const auto step = [](std::uint64_t term, UnsignedWide factor, std::uint64_t sum) {
    return term + static_cast<std::uint64_t>(factor * sum >> short_square_digits);
  };
  for (std::size_t k = terms - 3; k > first_short; k -= 2) {
    for (std::size_t i = 0; i < count; ++i) {
      short_even[i] = step(short_inverse_factorials[k], short_square[i], short_even[i]);
      short_odd[i] = step(short_inverse_factorials[k - 1], short_square[i], short_odd[i]);
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    short_even[i] = step(short_inverse_factorials[first_short], short_square[i], short_even[i]);
    const UnsignedWide short_f = f[i].value >> (FixedPoint::digits - short_f_digits);
    short_even[i] -= static_cast<std::uint64_t>(short_f * short_odd[i] >> short_f_digits);
    even[i].value = UnsignedWide{short_even[i]} << (FixedPoint::digits - short_digits);
  }
  for (std::size_t k = first_short - 2; k > 0; k -= 2) {
    for (std::size_t i = 0; i < count; ++i) {
      even[i] = inverse_factorials[k] + product(square[i], even[i]);
      odd[i] = inverse_factorials[k - 1] + product(square[i], odd[i]);
    }
  }
  std::array<FixedPoint, count> result{};
  for (std::size_t i = 0; i < count; ++i) result[i] = inverse_factorials[0] + product(square[i], even[i]) - product(f[i], odd[i]);
  for (int squaring = 0; squaring < 3; ++squaring) {
    for (std::size_t i = 0; i < count; ++i) result[i] = product(result[i], result[i]);
  }
  for (std::size_t i = 0; i < count; ++i) result[i].value = shifted_down(result[i].value, n[i]);
  return result;
}

/// exp(-x), within 2^-112. \pre x <= 88.
[[nodiscard]] constexpr FixedPoint exp_of_minus(FixedPoint x) { return exps_of_minus<1>({x})[0]; }

// Proved so far.

// Proved: docs/proofs/vector-noise.md#vector-rounding
/// 1 / k, towards zero, for the terms of log(1 + t).
inline constexpr std::size_t log_terms = 14;
inline constexpr std::array<FixedPoint, log_terms + 1> inverses = [] {
  std::array<FixedPoint, log_terms + 1> result{};
  for (std::size_t k = 1; k <= log_terms; ++k) result[k].value = (UnsignedWide{1} << FixedPoint::digits) / k;
  return result;
}();

/// log(mantissa 2^-127), within 2^-110. \pre 2^127 <= mantissa, that is, the highest digit is 1.
[[nodiscard]] inline FixedPoint log_of_mantissa(UnsignedWide mantissa) {
  constexpr UnsignedWide one = UnsignedWide{1} << FixedPoint::digits;
  const FixedPoint y{mantissa >> (127 - FixedPoint::digits)};
  const FixedPoint f = y - FixedPoint{one};
  // Least squares on [0, 1], within .001, less .002 and at least 0.
  constexpr FixedPoint first{UnsignedWide{0xfc97c7a73c80700} << 60};
  constexpr FixedPoint second{UnsignedWide{0x684c0f7ea5c8880} << 60};
  constexpr FixedPoint third{UnsignedWide{0x1d6219f4d7e04d0} << 60};
  constexpr FixedPoint shift{one / 500};
  const FixedPoint rough = f * (first - f * (second - f * third));
  const FixedPoint z{where(shift.value < rough.value, rough.value - shift.value)};
  // More than the errors of the product, so that t is not negative.
  constexpr FixedPoint more{UnsignedWide{1} << 10};
  const FixedPoint t = y * exp_of_minus(z) + more - FixedPoint{one};
  FixedPoint sum = inverses[log_terms];
  for (std::size_t k = log_terms - 1; k > 0; --k) sum = inverses[k] - t * sum;
  return z + t * sum - more;
}

// Proved so far.
}  // namespace fixed_point
}  // namespace surety::mechanisms
