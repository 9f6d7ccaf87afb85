// Batches of releases that are not Gaussian, by the moments of one release. docs/proofs/renyi.md#poisson, #fixed-size.
#pragma once

#include <utility>
#include <vector>

#include <surety/accounting/accountants/renyi/order_bound.h>
#include <surety/base/numbers/interval.h>

namespace surety::accounting::renyi {

/// E[((1 - q) + q l)^a] from the moments of l, at integer orders; between them (a - 1) D_a is convex in a and lies below its chord.
class BinomialMoments {
 public:
  BinomialMoments(double q, Curve inner) : q_{q}, inner_{std::move(inner)} {}

  [[nodiscard]] OrderBound operator()(At at);

 private:
  [[nodiscard]] double log_moment_at(int order);

  double q_;
  Curve inner_;
  std::vector<double> inner_moments_;
  std::vector<double> answers_;
};

/// Sampling of a release whose worst case is a likelihood ratio of e^epsilon with probability `mass` under Q. By Poisson sampling
/// the other end, e^-epsilon of mass mass e^epsilon, counts as well; by fixed-size batches the profile is symmetric.
[[nodiscard]] double sampled_two_point(double q, const Interval& epsilon, const Interval& mass, double order, bool poisson);

}  // namespace surety::accounting::renyi
