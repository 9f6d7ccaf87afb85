// A statistical test that can fail: does a sampler of integers have the law of a rounded Gaussian?
//
// `fits(samples, law)` computes nine statistics of n = 2^22 samples and compares each with a threshold that the law exceeds with
// probability at most alpha. Every tail probability is exact (a binomial count) or proved (a Chernoff bound); none is an asymptotic
// approximation, whose error at 1e-11 nobody knows. Below Y = sigma N + U with U uniform on (-1/2, 1/2): summing over the lattice a
// function whose product with the law is smooth gives Y's expectation up to a relative e^(-13 sigma^2) (Poisson summation), far
// below the rounding of doubles for sigma >= 8.
//
//   mean        E e^(tK) = e^(t^2 sigma^2/2) sinh(t/2)/(t/2) <= e^(t^2 v/2), v = sigma^2 + 1/12, so P(|sum K| >= s sqrt(n v)) <= 2
//   e^(-s^2/2) variance    E e^(tK^2) = (1 - 2 t sigma^2)^(-1/2) E e^(a U^2), a = t / (1 - 2 t sigma^2), and ln E e^(a U^2) <= a/12 +
//   a^2/128 (Hoeffding:
//               U^2 lies in [0, 1/4] and has mean 1/12); Chernoff with the best t
//   bins        the likelihood-ratio chi-square n KL(observed || law) over about 64 bins with the tails pooled into the outer ones;
//               P(n KL >= x) <= e^(m - x) (x / m)^m for m = bins - 1 and x > m (Agrawal, "Finite-sample concentration of the
//               multinomial in relative entropy", IEEE Trans. Inf. Theory 66, 2020, Theorem I.2)
//   largest     the largest deviation of one bin: an exact binomial tail each, alpha shared among the bins
//   sign        positive samples: exact binomial
//   low bit     odd samples: exact binomial
//   tails       samples beyond 3, 4 and 5 sigma: exact binomials
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace surety::statistical {

/// The size of every sample, fixed because the stated power depends on it.
inline constexpr std::int64_t sample_size = std::int64_t{1} << 22;

/// Statistics per call of `fits`, and calls on a true law in one run of the tests: the false alarms of a run have probability
/// family_wise at most, by the union bound.
inline constexpr int statistics = 9;
inline constexpr int true_laws = 3;
inline constexpr double family_wise = 1e-9;
inline constexpr double alpha = family_wise / (statistics * true_laws);

/// The law of round(sigma N), N ~ N(0, 1). \pre sigma >= 8.
struct RoundedGaussianLaw {
  double sigma;

  /// P(lowest <= K <= highest), accurate also in the tails.
  [[nodiscard]] double probability(double lowest, double highest) const {
    const double a = (lowest - 0.5) / (sigma * std::numbers::sqrt2);
    const double b = (highest + 0.5) / (sigma * std::numbers::sqrt2);
    if (b < 0) return (boost::math::erfc(-b) - boost::math::erfc(-a)) / 2;
    if (a > 0) return (boost::math::erfc(a) - boost::math::erfc(b)) / 2;
    return (boost::math::erf(b) - boost::math::erf(a)) / 2;
  }
};

/// Consecutive bins of integers; bin i ends at last[i], and the last bin is endless.
struct Bins {
  std::vector<std::int64_t> last;
  std::vector<double> probability;
};

/// About 64 bins of equal probability, fewer where single integers are more probable.
inline Bins equal_bins(const RoundedGaussianLaw& law) {
  constexpr int wanted = 64;
  Bins bins;
  double lowest = -HUGE_VAL;
  for (int i = 1; i < wanted; ++i) {
    const double last = std::round(law.sigma * boost::math::quantile(boost::math::normal{}, static_cast<double>(i) / wanted));
    if (last < lowest) continue;
    bins.last.push_back(static_cast<std::int64_t>(last));
    bins.probability.push_back(law.probability(lowest, last));
    lowest = last + 1;
  }
  bins.probability.push_back(law.probability(lowest, HUGE_VAL));
  return bins;
}

/// Everything that the statistics need, gathered in one pass.
struct Summary {
  double sum = 0;
  double sum_of_squares = 0;
  std::int64_t positive = 0;
  std::int64_t odd = 0;
  std::vector<std::int64_t> beyond = std::vector<std::int64_t>(3);  ///< |K| > 3, 4, 5 sigma
  std::vector<std::int64_t> counts;                                 ///< per bin
};

/// Doubles sum n = 2^22 terms below sigma^2 64 within a relative n 2^-53 of their absolute sum, which no threshold here notices.
inline Summary summarise(std::span<const std::int64_t> samples, double sigma, const Bins& bins) {
  Summary summary;
  summary.counts.resize(bins.probability.size());
  const std::int64_t* const first = bins.last.data();
  const std::int64_t* const end = first + bins.last.size();
  std::int64_t* const counts = summary.counts.data();
  for (const std::int64_t sample : samples) {
    const auto value = static_cast<double>(sample);
    summary.sum += value;
    summary.sum_of_squares += value * value;
    if (sample > 0) ++summary.positive;
    if ((sample & 1) != 0) ++summary.odd;
    const double magnitude = std::abs(value);
    if (magnitude > 3 * sigma) {
      for (std::size_t i = 0; i < 3; ++i) summary.beyond[i] += magnitude > (3 + static_cast<double>(i)) * sigma ? 1 : 0;
    }
    ++counts[std::lower_bound(first, end, sample) - first];
  }
  return summary;
}

/// min(P(count <= observed), P(count >= observed)) <= level / 2, for a binomial count; so this happens with probability at most `level`.
inline bool is_rare(std::int64_t observed, double p, double level) {
  const boost::math::binomial_distribution<double> count{static_cast<double>(sample_size), p};
  const double below = boost::math::cdf(count, static_cast<double>(observed));
  const double above = observed == 0 ? 1 : boost::math::cdf(boost::math::complement(count, static_cast<double>(observed - 1)));
  return std::min(below, above) <= level / 2;
}

/// A Chernoff bound on the natural logarithm of P(sum of K^2 beyond `observed`), on the side of the mean where `observed` lies.
inline double log_tail_of_squares(double observed, double sigma) {
  const auto n = static_cast<double>(sample_size);
  const double ratio = observed / (n * sigma * sigma);
  // With u = 2 t sigma^2 < 1; the best u of the chi-square part is 1 - 1 / ratio, and that of the whole lies nearby.
  const auto log_bound = [&](double u) {
    const double a = u / (2 * sigma * sigma) / (1 - u);
    return n * (-std::log1p(-u) / 2 + a / 12 + a * a / 128 - u * ratio / 2);
  };
  const double centre = 1 + 1 / (12 * sigma * sigma);
  const bool is_above = ratio > centre;
  const double widest = std::min(0.5, 2 * std::abs(ratio - centre) + 1e-12);
  const auto best = boost::math::tools::brent_find_minima(log_bound, is_above ? 0.0 : -widest, is_above ? widest : 0.0, 40);
  return best.second;
}

/// Whether the samples are consistent with the law; if not, the message names every statistic that is not.
/// \pre samples.size() == sample_size and sigma >= 8.
inline ::testing::AssertionResult fits(std::span<const std::int64_t> samples, const RoundedGaussianLaw& law) {
  if (samples.size() != sample_size || !(law.sigma >= 8))
    return ::testing::AssertionFailure() << "not a sample that the thresholds are for";
  const double sigma = law.sigma;
  const auto n = static_cast<double>(sample_size);
  const Bins bins = equal_bins(law);
  const Summary summary = summarise(samples, sigma, bins);
  const double log_half_alpha = std::log(alpha / 2);
  std::string misfits;
  const auto judge = [&misfits](bool is_misfit, const std::string& text) {
    if (is_misfit) misfits += (misfits.empty() ? "" : "; ") + text;
  };

  const double standard_score = summary.sum / std::sqrt(n * (sigma * sigma + 1.0 / 12));
  judge(-standard_score * standard_score / 2 <= log_half_alpha, fmt::format("mean is {:.2f} standard errors off", standard_score));

  const double variance_ratio = summary.sum_of_squares / n / (sigma * sigma + 1.0 / 12);
  judge(log_tail_of_squares(summary.sum_of_squares, sigma) <= log_half_alpha,
        fmt::format("variance is {:.5f} of the law's", variance_ratio));

  double divergence = 0;
  std::int64_t misfit_bins = 0;
  for (std::size_t i = 0; i < summary.counts.size(); ++i) {
    const auto count = static_cast<double>(summary.counts[i]);
    if (count > 0) divergence += count * std::log(count / n / bins.probability[i]);
    if (is_rare(summary.counts[i], bins.probability[i], alpha / static_cast<double>(summary.counts.size()))) ++misfit_bins;
  }
  const auto freedom = static_cast<double>(summary.counts.size() - 1);
  const bool is_divergent = divergence > freedom && freedom - divergence + freedom * std::log(divergence / freedom) <= std::log(alpha);
  judge(is_divergent, fmt::format("chi-square is {:.0f} for {:.0f} degrees of freedom", 2 * divergence, freedom));
  judge(misfit_bins > 0, fmt::format("{} bins deviate", misfit_bins));

  judge(is_rare(summary.positive, law.probability(1, HUGE_VAL), alpha), fmt::format("{} are positive", summary.positive));
  judge(is_rare(summary.odd, 0.5, alpha), fmt::format("{} are odd", summary.odd));
  for (std::size_t i = 0; i < 3; ++i) {
    const double t = 3 + static_cast<double>(i);
    const double p = 2 * law.probability(std::floor(t * sigma) + 1, HUGE_VAL);
    judge(is_rare(summary.beyond[i], p, alpha), fmt::format("{} lie beyond {} sigma, {:.1f} are expected", summary.beyond[i], t, n * p));
  }
  return misfits.empty() ? ::testing::AssertionSuccess() << "fits" : ::testing::AssertionFailure() << misfits;
}

}  // namespace surety::statistical
