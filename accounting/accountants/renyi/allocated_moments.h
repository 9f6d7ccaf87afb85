// Renyi divergences of one epoch of random allocation, in both directions, from above.
//
// R = dP/dQ is under Q the mean of t independent log-normal variables Y of mean 1 (docs/proofs/allocated.md). Its whole moments are sums of
// positive terms; its negative ones are a mean over a gamma variable V of e^V E e^(-V R), which is convex in V.
// docs/proofs/allocated.md#divergences.
#pragma once

#include <memory>
#include <vector>

namespace surety::accounting {

class AllocatedMoments {
 public:
  /// \pre rounds is a whole number, at least 2; mu = 1 / z > 0. \complexity some 10 to 50 ms; 0.2 s at mu = 32, the largest with negative moments.
  AllocatedMoments(double rounds, double mu);

  /// At least the larger of D_order(P || Q) and D_order(Q || P), and at most that of one round, order mu^2 / 2. \pre order > 1.
  [[nodiscard]] double divergence(double order) const;
  /// At least D_order(P || P'), P' = (1/t) sum of N(-e_i mu, I), where a record is replaced, and at most order mu^2, that of two rounds.
  /// The pair is its own reverse. \pre order > 1.
  [[nodiscard]] double replaced_divergence(double order) const;
  /// At least log E R^k under Q, k = 0, 1, ...; and log E R^-k. As many as are known.
  [[nodiscard]] const std::vector<double>& log_moments() const noexcept { return positive_; }
  [[nodiscard]] const std::vector<double>& log_negative_moments() const noexcept { return negative_; }

 private:
  double mu_;
  std::vector<double> positive_;
  std::vector<double> negative_;
};

/// Those of these rounds and this mu. The last few are kept.
[[nodiscard]] std::shared_ptr<const AllocatedMoments> allocated_moments(double rounds, double mu);

}  // namespace surety::accounting
