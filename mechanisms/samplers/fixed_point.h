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

/// exp(-x), within 2^-112. \pre x <= 88.
[[nodiscard]] constexpr FixedPoint exp_of_minus(FixedPoint x) {
  // x = n ln 2 + 8 f with 0 <= f < ln 2 / 8; the Taylor polynomial of exp(-f), squared three times.
  const auto n = static_cast<unsigned>((x * inverse_log_of_2).value >> FixedPoint::digits);
  const FixedPoint f{(x - log_of_2.times(n)).value >> 3};
  const UnsignedWide short_f = f.value >> (FixedPoint::digits - 67);
  std::uint64_t rest = short_inverse_factorials[terms - 1];
  for (std::size_t k = terms - 2; k >= first_short; --k) {
    rest = short_inverse_factorials[k] - static_cast<std::uint64_t>(short_f * rest >> 67);
  }
  FixedPoint sum{UnsignedWide{rest} << (FixedPoint::digits - short_digits)};
  for (std::size_t k = first_short; k > 0; --k) sum = inverse_factorials[k - 1] - f * sum;
  for (int i = 0; i < 3; ++i) sum = sum * sum;
  return {shifted_down(sum.value, n)};
}

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
