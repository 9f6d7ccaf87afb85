#include <support/exact_counts.h>

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cstddef>
#include <numeric>

namespace surety::testing {

bool is_rare(std::int64_t observed, std::int64_t n, double p, double level) {
  if (p <= 0) return observed > 0;
  if (p >= 1) return observed < n;
  const boost::math::binomial_distribution<double> count{static_cast<double>(n), p};
  const double below = boost::math::cdf(count, static_cast<double>(observed));
  const double above = observed == 0 ? 1 : boost::math::cdf(boost::math::complement(count, static_cast<double>(observed - 1)));
  return std::min(below, above) <= level / 2;
}

::testing::AssertionResult counts_fit(std::span<const std::int64_t> counts, std::span<const double> probabilities) {
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
