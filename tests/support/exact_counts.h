// Counts against exact probabilities: each count of n independent draws is binomial, its tails are computed, not approximated.
#pragma once

#include <gtest/gtest.h>

#include <boost/math/distributions/binomial.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace surety::testing {

/// The chance that a whole call of `counts_fit` fails on a true law: below this, by the union bound over its counts.
inline constexpr double false_alarm = 1e-10;

/// min(P(count <= observed), P(count >= observed)) <= level / 2, for a binomial count: of probability at most `level`.
inline bool is_rare(std::int64_t observed, std::int64_t n, double p, double level) {
  if (p <= 0) return observed > 0;
  if (p >= 1) return observed < n;
  const boost::math::binomial_distribution<double> count{static_cast<double>(n), p};
  const double below = boost::math::cdf(count, static_cast<double>(observed));
  const double above = observed == 0 ? 1 : boost::math::cdf(boost::math::complement(count, static_cast<double>(observed - 1)));
  return std::min(below, above) <= level / 2;
}

/// Whether the counts are consistent with independent draws of these probabilities.
inline ::testing::AssertionResult counts_fit(std::span<const std::int64_t> counts, std::span<const double> probabilities) {
  const auto n = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const double level = false_alarm / static_cast<double>(counts.size());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (is_rare(counts[i], n, probabilities[i], level)) {
      return ::testing::AssertionFailure() << "count " << i << " is " << counts[i] << " of " << n << ", expected "
                                           << static_cast<double>(n) * probabilities[i];
    }
  }
  return ::testing::AssertionSuccess() << "fits";
}

}  // namespace surety::testing
