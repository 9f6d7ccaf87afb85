// The words that draw one ideal real (mechanisms/samplers/ideal_reals.h), and reals against a continuous distribution.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include <boost/math/distributions/uniform.hpp>

#include <support/exact_counts.h>
#include <support/real.h>

namespace surety::testing {

/// A block of eight equal trials for the geometric integer k, digits of F, and U. \pre k < 2^35
inline std::vector<std::uint64_t> exponential_tape(std::uint64_t k, std::array<std::uint64_t, 2> f, std::array<std::uint64_t, 2> u) {
  // Blocks of 2^28 integers have the rate 1/8. T in the middle of its block: 52 digits; 28 digits of V; U is 0.
  const double t = std::exp(-(static_cast<double>(k >> 28) + 0.5) / 8);
  const std::uint64_t v = k << 36;
  const std::uint64_t first = static_cast<std::uint64_t>(t * 0x1p52) << 12 | v >> 53 << 1;
  const std::uint64_t second = v << 11;
  std::vector<std::uint64_t> words(8, first);
  words.insert(words.end(), 8, second);
  words.insert(words.end(), {0, 0});  // further words of the trial in doubt
  words.insert(words.end(), {f[0], f[1], u[0], u[1]});
  return words;
}

/// The same of a half-normal k. \pre k < 2^31
inline std::vector<std::uint64_t> half_normal_tape(std::uint64_t k, std::array<std::uint64_t, 2> f, std::array<std::uint64_t, 2> u) {
  // The first block of 2^31 integers, by the largest T of 44 digits; 31 digits of V; U is 0.
  const std::uint64_t v = k << 33;
  std::vector<std::uint64_t> words(8, ~std::uint64_t{0} << 20 | v >> 45 << 1);
  words.insert(words.end(), 8, v << 19);
  words.insert(words.end(), {0, 0});
  words.insert(words.end(), {f[0], f[1], u[0], u[1]});
  return words;
}

/// The first 159 digits after the point of a real, and the next 64.
struct IdealDigits {
  explicit IdealDigits(const reference::Real& x) {
    reference::Real rest = x * 0x1p31;
    k = mpfr_get_ui(rest.get(), MPFR_RNDD);
    rest = rest - whole(k);
    for (auto* word : {&f[0], &f[1], &next}) {
      rest = rest * 0x1p64;
      *word = mpfr_get_ui(rest.get(), MPFR_RNDD);
      rest = rest - whole(*word);
    }
  }
  /// One unit of the last of the 159 digits more or less. \pre that changes no other word
  [[nodiscard]] IdealDigits moved_by(int unit) const {
    IdealDigits result = *this;
    result.f[1] += static_cast<std::uint64_t>(static_cast<std::int64_t>(unit));
    return result;
  }

  std::uint64_t k = 0;
  std::array<std::uint64_t, 2> f{};
  std::uint64_t next = 0;

 private:
  static reference::Real whole(std::uint64_t x) {
    return reference::Real{static_cast<double>(x >> 32)} * 0x1p32 + static_cast<double>(x & 0xffffffff);
  }
};

/// Whether values have a continuous distribution, by their number between its 16-quantiles.
template <class Distribution>
::testing::AssertionResult have_law(const std::vector<double>& values, const Distribution& law) {
  std::vector<std::int64_t> counts(16, 0);
  for (const double value : values) ++counts[std::min<std::size_t>(15, static_cast<std::size_t>(16 * boost::math::cdf(law, value)))];
  return counts_fit(counts, std::vector<double>(16, 1.0 / 16));
}

}  // namespace surety::testing
