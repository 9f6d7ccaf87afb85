// Numbers of statistics as intervals that hold them exactly.
#pragma once

#include <cstdint>

#include <surety/base/numbers/interval.h>

namespace surety::statistics {

/// Exact for sums and products of two doubles that matter to each other.
inline constexpr mpfr_prec_t exact_precision = 256;

inline Interval point(double value) { return {value, exact_precision}; }

/// A 63-bit integer as a point: both halves and their sum are exact.
inline Interval point(std::int64_t value) {
  return point(static_cast<double>(value >> 32)) * point(0x1p32) + point(static_cast<double>(value & 0xffffffff));
}

}  // namespace surety::statistics
