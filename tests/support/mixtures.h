// Mixtures of normal laws of one deviation, and what it costs to tell two of them apart, in plain double arithmetic.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>

namespace surety::reference {

/// A mixture of normal laws of one deviation: where each lies, and how likely it is.
using Mixture = std::map<double, double>;

/// delta(epsilon) of P against Q by the trapezoid rule: a kink costs at most some 1e-6.
inline double delta_of_mixtures(const Mixture& p, const Mixture& q, double deviation, double epsilon) {
  const double low = std::min(p.begin()->first, q.begin()->first) - 9 * deviation;
  const double high = std::max(p.rbegin()->first, q.rbegin()->first) + 9 * deviation;
  const auto density = [&](const Mixture& mixture, double x) {
    double sum = 0;
    for (const auto& [mean, weight] : mixture) sum += weight * std::exp(-0.5 * std::pow((x - mean) / deviation, 2));
    return sum / (deviation * 2.5066282746310002);
  };
  constexpr int points = 6000;
  const double step = (high - low) / points;
  double sum = 0;
  for (int i = 0; i <= points; ++i) {
    const double x = low + i * step;
    sum += std::max(0.0, density(p, x) - std::exp(epsilon) * density(q, x)) * step;
  }
  return sum;
}

inline double binomial(int n, int k, double q) {
  return std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * std::log(q) + (n - k) * std::log1p(-q));
}

/// The larger of both directions.
inline double delta_of_pair(const Mixture& p, const Mixture& q, double deviation, double epsilon) {
  return std::max(delta_of_mixtures(p, q, deviation, epsilon), delta_of_mixtures(q, p, deviation, epsilon));
}

/// D_order of P against Q by the trapezoid rule.
inline double divergence_of_mixtures(const Mixture& p, const Mixture& q, double deviation, double order) {
  const auto log_density = [&](const Mixture& mixture, double x) {
    double sum = 0;
    for (const auto& [mean, weight] : mixture) sum += weight * std::exp(-0.5 * std::pow((x - mean) / deviation, 2));
    return std::log(sum);
  };
  double farthest = 0;
  for (const auto* mixture : {&p, &q}) {
    for (const auto& part : *mixture) farthest = std::max(farthest, std::abs(part.first));
  }
  const double reach = farthest * order + 12 * deviation;
  const double step = deviation / 100;
  double sum = 0;
  for (double x = -reach; x <= reach; x += step) {
    const double at_q = log_density(q, x);
    const double at_p = log_density(p, x);
    if (std::isfinite(at_q) && std::isfinite(at_p)) sum += std::exp(order * at_p - (order - 1) * at_q) * step;
  }
  return std::log(sum / (deviation * 2.5066282746310002)) / (order - 1);
}

}  // namespace surety::reference
