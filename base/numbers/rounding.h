// The numbers that every bound on rounding is made of.
#pragma once

#include <cmath>
#include <limits>

namespace surety {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// One operation of double, rounded to nearest, is within this share of its exact result; `ulp` is the distance of 1 to the next double.
inline constexpr double unit_roundoff = 0x1p-53;
inline constexpr double ulp = 2 * unit_roundoff;
/// The same for the 64 bits of long double on x86-64; a long double of more bits errs less.
inline constexpr long double long_unit_roundoff = 0x1p-63L;

/// A double at least, or at most, as large as any real number that rounds to `value`. The next one, also where nothing was rounded.
[[nodiscard]] inline double round_up(long double value) { return std::nextafter(static_cast<double>(value), infinity); }
[[nodiscard]] inline double round_down(long double value) { return std::nextafter(static_cast<double>(value), -infinity); }

}  // namespace surety
