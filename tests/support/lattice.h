// Laws on the integers, and the statistics of samples from them, gathered in one pass over any number of samples.
//
// Beyond suite.h: sign, bits 0 to 7 of two's complement, tails beyond 3, 4 and 5 standard deviations, neighbours (pairs at even and at odd
// places, each 8 x 8 categories), and repeated blocks. Samples are cut into blocks of L, each with a fingerprint: the values of its
// polynomial at two random points modulo 2^61 - 1. Two blocks of a true law are equal with probability at most (P(mode))^L and different
// ones have one fingerprint with probability at most (L / 2^61)^2, so that any repetition alarms when the sum of both over all pairs is
// below alpha; L is the least power of two, at least 64, for which it is.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include <support/suite.h>

namespace surety::statistical {

struct LatticeLaw {
  std::string name;
  double deviation;                        ///< standard deviation, or near it: where cells and tails are
  double mean = 0;                         ///< the law is symmetric when it is 0, and otherwise nonnegative
  std::function<double(double)> at_least;  ///< P(K >= j) for j >= 1, with a small relative error

  /// P(lowest <= K <= highest).
  [[nodiscard]] double probability(double lowest, double highest) const {
    if (lowest > highest) return 0;
    const auto from = [this](double j) { return std::isinf(j) ? 0.0 : at_least(j); };
    if (lowest >= 1) return from(lowest) - from(highest + 1);
    const double above = highest < 0 && mean == 0 ? 0 : from(std::max(1.0, highest + 1));
    if (mean > 0) return highest < 0 ? 0 : 1 - above;
    if (highest <= -1) return from(-highest) - from(1 - lowest);
    return 1 - above - from(1 - lowest);
  }
};

LatticeLaw rounded_gaussian(double sigma);
LatticeLaw rounded_laplace(double scale);
LatticeLaw discrete_laplace(double scale);
LatticeLaw geometric(double scale);
LatticeLaw discrete_gaussian(double variance);
/// \pre n is even, at most 2^32, or from 2^50 on.
LatticeLaw binomial(std::uint64_t flips);
/// \pre mean <= 2^30, or from 2^48 on.
LatticeLaw skellam(double mean);

using Samples = std::span<std::int64_t>;
using Fill = std::function<void(Samples)>;

/// The statistics of n samples, drawn in whole blocks.
Report judge(const LatticeLaw& law, const Fill& fill, std::int64_t n);

Report judge(const LatticeLaw& law, std::span<const std::int64_t> samples);

}  // namespace surety::statistical
