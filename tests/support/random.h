// Random arguments for tests, the same on every machine: raw 64-bit words of the Mersenne Twister (whose sequence the standard
// fixes) or RapidCheck's integers, mapped by hand.
#pragma once

#include <rapidcheck.h>

#include <cmath>
#include <cstdint>
#include <random>

namespace surety::reference {

/// A number between `low` and `high` at position `unit` in [0, 1] of a logarithmic scale. \pre 0 < low < high.
inline double on_log_scale(double low, double high, double unit) {
  return std::exp(std::log(low) + (std::log(high) - std::log(low)) * unit);
}

/// Log-uniform between `low` and `high`.
inline double log_uniform(std::mt19937_64& words, double low, double high) {
  return on_log_scale(low, high, static_cast<double>(words() >> 11) * 0x1p-53);
}

/// The same inside a RapidCheck property.
inline double draw_log_uniform(double low, double high) {
  constexpr std::int64_t steps = std::int64_t{1} << 40;
  return on_log_scale(
      low, high, static_cast<double>(*rc::gen::resize(100, rc::gen::inRange<std::int64_t>(0, steps + 1))) / static_cast<double>(steps));
}

}  // namespace surety::reference
