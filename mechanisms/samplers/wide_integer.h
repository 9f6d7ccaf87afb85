// Nonnegative integers of a fixed number of 64-digit limbs. The time of every operation is independent of the integers, and of the numbers of digits by
// which `shifted_*_by_secret` shift. For vector noise (docs/proofs/vector-noise.md#vector-rounding).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <surety/mechanisms/samplers/masks.h>
#include <surety/mechanisms/samplers/trial.h>

// Loops over limbs, without a loop.
#if defined(__clang__)
#define SURETY_UNROLL _Pragma("unroll")
#else
#define SURETY_UNROLL _Pragma("GCC unroll 8")
#endif

namespace surety::mechanisms {

/// The sum of limbs[i] 2^(64 i), modulo 2^(64 n).
template <std::size_t n>
struct WideInteger {
  static constexpr std::size_t digits = 64 * n;
  std::array<std::uint64_t, n> limbs{};

  [[nodiscard]] static WideInteger of(UnsignedWide value) {
    static_assert(n >= 2);
    WideInteger result;
    result.limbs[0] = static_cast<std::uint64_t>(value);
    result.limbs[1] = static_cast<std::uint64_t>(value >> 64);
    return result;
  }

  /// Modulo 2^(64 n), both of them.
  [[nodiscard]] friend WideInteger operator+(const WideInteger& a, const WideInteger& b) {
    WideInteger result;
    UnsignedWide carry = 0;
    SURETY_UNROLL
    for (std::size_t i = 0; i < n; ++i) {
      carry += UnsignedWide{a.limbs[i]} + b.limbs[i];
      result.limbs[i] = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
    return result;
  }
  [[nodiscard]] friend WideInteger operator-(const WideInteger& a, const WideInteger& b) {
    bool borrows = false;
    return subtract(a, b, borrows);
  }
  [[nodiscard]] friend bool operator<(const WideInteger& a, const WideInteger& b) {
    bool borrows = false;
    static_cast<void>(subtract(a, b, borrows));
    return borrows;
  }

  /// a - b, and whether a < b.
  [[nodiscard]] static WideInteger subtract(const WideInteger& a, const WideInteger& b, bool& borrows) {
    WideInteger result;
    std::uint64_t borrow = 0;
    SURETY_UNROLL
    for (std::size_t i = 0; i < n; ++i) {
      const UnsignedWide difference = UnsignedWide{a.limbs[i]} - b.limbs[i] - borrow;
      result.limbs[i] = static_cast<std::uint64_t>(difference);
      borrow = static_cast<std::uint64_t>(difference >> 64) & 1;
    }
    borrows = borrow != 0;
    return result;
  }
};

/// Exactly.
template <std::size_t n, std::size_t m>
[[nodiscard]] WideInteger<n + m> product(const WideInteger<n>& a, const WideInteger<m>& b) {
  WideInteger<n + m> result;
  SURETY_UNROLL
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t carry = 0;
    SURETY_UNROLL
    for (std::size_t j = 0; j < m; ++j) {
      const UnsignedWide sum = UnsignedWide{a.limbs[i]} * b.limbs[j] + result.limbs[i + j] + carry;
      result.limbs[i + j] = static_cast<std::uint64_t>(sum);
      carry = static_cast<std::uint64_t>(sum >> 64);
    }
    result.limbs[i + m] = carry;
  }
  return result;
}

template <std::size_t n>
[[nodiscard]] bool is_zero(const WideInteger<n>& a) {
  std::uint64_t any = 0;
  for (const std::uint64_t limb : a.limbs) any |= limb;
  return any == 0;
}

/// The lowest limbs, or with zeros above.
template <std::size_t m, std::size_t n>
[[nodiscard]] WideInteger<m> resized(const WideInteger<n>& a) {
  WideInteger<m> result;
  for (std::size_t i = 0; i < n && i < m; ++i) result.limbs[i] = a.limbs[i];
  return result;
}

/// a 2^count modulo 2^(64 n). The time depends on `count`.
template <std::size_t n>
[[nodiscard]] WideInteger<n> shifted_up(const WideInteger<n>& a, std::size_t count) {
  WideInteger<n> result;
  const std::size_t words = count / 64;
  const std::size_t rest = count % 64;
  for (std::size_t i = words; i < n; ++i) {
    result.limbs[i] = a.limbs[i - words] << rest;
    if (i > words) result.limbs[i] |= a.limbs[i - words - 1] >> 1 >> (63 - rest);
  }
  return result;
}

/// The same by fewer digits than a limb has, and more than none.
template <unsigned count, std::size_t n>
[[nodiscard]] WideInteger<n> shifted_up(const WideInteger<n>& a) {
  WideInteger<n> result{{a.limbs[0] << count}};
  SURETY_UNROLL
  for (std::size_t i = 1; i < n; ++i) result.limbs[i] = a.limbs[i] << count | a.limbs[i - 1] >> (64 - count);
  return result;
}

/// floor(a / 2^count). The time depends on `count`.
template <std::size_t n>
[[nodiscard]] WideInteger<n> shifted_down(const WideInteger<n>& a, std::size_t count) {
  WideInteger<n> result;
  const std::size_t words = count / 64;
  const std::size_t rest = count % 64;
  for (std::size_t i = 0; i + words < n; ++i) {
    result.limbs[i] = a.limbs[i + words] >> rest;
    if (i + words + 1 < n) result.limbs[i] |= a.limbs[i + words + 1] << 1 << (63 - rest);
  }
  return result;
}

/// All limbs of a, or none.
template <std::size_t n>
[[nodiscard]] WideInteger<n> where(bool condition, const WideInteger<n>& a) {
  WideInteger<n> result;
  SURETY_UNROLL
  for (std::size_t i = 0; i < n; ++i) result.limbs[i] = where(condition, a.limbs[i]);
  return result;
}
template <std::size_t n>
[[nodiscard]] WideInteger<n> select(bool condition, const WideInteger<n>& one, const WideInteger<n>& other) {
  WideInteger<n> result;
  SURETY_UNROLL
  for (std::size_t i = 0; i < n; ++i) result.limbs[i] = select(condition, one.limbs[i], other.limbs[i]);
  return result;
}

/// floor(a / 2^count), by shifts of 1, 2, 4, ... digits that masks choose. \pre count < 2^8.
template <std::size_t n>
[[nodiscard]] WideInteger<n> shifted_down_by_secret(WideInteger<n> a, unsigned count) {
  for (unsigned bit = 0; bit < 8; ++bit) a = select((count >> bit & 1) != 0, shifted_down(a, std::size_t{1} << bit), a);
  return a;
}

/// A positive integer as mantissa 2^(exponent - 127), with the highest digit of the mantissa 1, towards zero.
struct Normalized {
  UnsignedWide mantissa = 0;
  unsigned exponent = 0;
};
/// Of a | 1. \pre n <= 4.
template <std::size_t n>
[[nodiscard]] Normalized normalized(WideInteger<n> a) {
  static_assert(n >= 2 && n <= 4);
  a.limbs[0] |= 1;
  unsigned exponent = WideInteger<n>::digits - 1;
  for (unsigned shift = n > 2 ? 128 : 64; shift > 0; shift /= 2) {
    const bool is_small = is_zero(shifted_down(a, WideInteger<n>::digits - shift));
    a = select(is_small, shifted_up(a, shift), a);
    exponent -= static_cast<unsigned>(where(is_small, std::uint64_t{shift}));
  }
  return {UnsignedWide{a.limbs[n - 1]} << 64 | a.limbs[n - 2], exponent};
}

/// floor(sqrt(a)), digit by digit. \pre n is even.
template <std::size_t n>
[[nodiscard]] WideInteger<n / 2> square_root(const WideInteger<n>& a) {
  static_assert(n % 2 == 0);
  // The remainder is at most twice the root.
  constexpr std::size_t m = n / 2 + 1;
  WideInteger<m> root;
  WideInteger<m> rest;
  for (std::size_t i = 64 * n; i > 0; i -= 2) {
    rest = shifted_up<2>(rest);
    rest.limbs[0] |= a.limbs[(i - 2) / 64] >> ((i - 2) % 64) & 3;
    // Of the root 2 r or 2 r + 1, whose squares differ by 4 r + 1.
    WideInteger<m> trial = shifted_up<2>(root);
    trial.limbs[0] |= 1;
    bool is_less = false;
    const WideInteger<m> less = WideInteger<m>::subtract(rest, trial, is_less);
    rest = select(is_less, rest, less);
    root = shifted_up<1>(root);
    root.limbs[0] |= std::uint64_t{!is_less};
  }
  return resized<n / 2>(root);
}

}  // namespace surety::mechanisms

#undef SURETY_UNROLL
