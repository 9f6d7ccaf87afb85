// Renyi divergences of one epoch of random allocation, in both directions, from above.
//
// R = dP/dQ is under Q the mean of t independent log-normal variables Y of mean 1 (docs/proofs/allocated.md). Its whole moments are sums of
// positive terms; its negative ones are a mean over a gamma variable V of e^V E e^(-V R), which is convex in V.
// docs/proofs/allocated.md#divergences.
#pragma once

#include <cstdint>
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

/// Of a user's records, each dealt to a round for itself: at least D_2(P || Q), P = E N(mu c, I), c the counts of the records in the rounds, Q = N(0, I);
/// infinite for more records or rounds than these, and for too little noise. The last few are kept.
/// \complexity O(records^4 log rounds). \source docs/proofs/allocated.md#order-2
inline constexpr std::uint64_t most_records_of_order_2 = 64;
inline constexpr std::uint64_t most_rounds_of_order_2 = 1'000'000;
[[nodiscard]] double users_divergence_of_order_2(std::uint64_t records, std::uint64_t rounds, double mu);
/// At least D_order(Q || P) of the same. \pre order > 1.
[[nodiscard]] double users_reversed_divergence(std::uint64_t records, std::uint64_t rounds, double mu, double order);

}  // namespace surety::accounting
