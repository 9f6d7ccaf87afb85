// The nearest integer to a product of real numbers whose first digits are known, in a time that is independent of them
// (docs/proofs/vector-noise.md#vector-rounding).
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <surety/base/text/error.h>
#include <surety/mechanisms/samplers/masks.h>
#include <surety/mechanisms/samplers/wide_integer.h>

namespace surety::mechanisms {

/// Digits after the point of a magnitude.
inline constexpr int magnitude_digits = 159;

// Proved: docs/proofs/vector-noise.md#vector-rounding
/// A real number from `low` on and at most `width` above it, in units of 2^-159. \pre the high end is below 2^190.
struct Magnitude {
  WideInteger<3> low;
  std::uint64_t width = 0;
};

/// A real number from low 2^exponent on and at most width 2^exponent above it. The exponent, and whether the number is known exactly, is public.
struct WideFactor {
  WideInteger<3> low;
  WideInteger<3> width;
  int exponent = 0;
  bool is_exact = false;

  /// The product of three doubles, exactly, from 2^190 on and below 2^191. \pre they are positive.
  [[nodiscard]] static WideFactor product_of(const std::array<double, 3>& doubles) {
    WideFactor result;
    WideInteger<3> mantissa = WideInteger<3>::of(1);
    for (const double value : doubles) {
      int exponent = 0;
      const double fraction = std::frexp(value, &exponent);
      const auto digits = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
      mantissa = resized<3>(product(mantissa, WideInteger<1>{{digits}}));
      result.exponent += exponent - 53;
    }
    std::size_t shift = 0;
    while ((shifted_up(mantissa, shift).limbs[2] >> 62 & 1) == 0) ++shift;
    result.low = shifted_up(mantissa, shift);
    result.exponent -= static_cast<int>(shift);
    result.is_exact = true;
    return result;
  }

  /// The low end towards zero, the high one upward. \pre the high ends are below 2^191.
  [[nodiscard]] friend WideFactor operator*(const WideFactor& scale, const WideFactor& factor) {
    const auto top = [](const WideInteger<6>& a) { return WideInteger<3>{{a.limbs[3], a.limbs[4], a.limbs[5]}}; };
    const WideInteger<3> least = top(product(scale.low, factor.low));
    const WideInteger<3> most = top(product(scale.low + scale.width, factor.low + factor.width));
    return {.low = least, .width = most - least + WideInteger<3>::of(1), .exponent = scale.exponent + factor.exponent + 192};
  }
};

/// An integer from -largest to largest, or not decided.
struct RoundedProduct {
  static constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  std::int64_t value = 0;
  std::int64_t in_doubt = 0;  ///< a mask: 0 or -1
};

/// The nearest integer to the product of a factor and a magnitude, with the sign minus where `is_negative` is all ones (else 0).
/// \pre the factor's high end is below 2^191 2^exponent, and the exponent at most -33
[[nodiscard]] inline RoundedProduct rounded_product(const WideFactor& factor, const Magnitude& magnitude, std::uint64_t is_negative) {
  const int shift = magnitude_digits - factor.exponent;
  if (shift < 192) throw Error{ErrorCode::internal, "a factor is too large"};
  // The product is below 2^382.
  if (shift > 383) return {};
  const auto places = static_cast<std::size_t>(shift);
  const std::size_t word = places / 64;  // 3 or more
  const std::size_t rest = places % 64;
  WideInteger<6> half;
  half.limbs[(places - 1) / 64] = std::uint64_t{1} << (places - 1) % 64;
  const WideInteger<1> width{{magnitude.width}};
  const WideInteger<6> low = product(factor.low, magnitude.low);
  WideInteger<6> high = low + resized<6>(product(factor.low, width));
  if (!factor.is_exact) high = high + product(factor.width, magnitude.low + resized<3>(width));
  const auto nearest = [&](const WideInteger<6>& end) {
    const WideInteger<6> sum = end + half;
    const auto limb = [&sum](std::size_t i) { return i < 6 ? sum.limbs[i] : 0; };
    const std::uint64_t integer = limb(word) >> rest | limb(word + 1) << 1 << (63 - rest);
    const std::uint64_t above = integer >> 63 | limb(word + 1) >> rest | limb(word + 2);
    return select(above != 0, static_cast<std::uint64_t>(RoundedProduct::largest), integer);
  };
  const std::uint64_t from = nearest(low);
  const std::uint64_t to = nearest(high);
  return {.value = static_cast<std::int64_t>((from ^ is_negative) - is_negative), .in_doubt = where(from != to, std::int64_t{-1})};
}

// Proved so far.
}  // namespace surety::mechanisms
