// A private linear bandit that is optimistic about what it does not know: [SS18] (DP-UCB), under joint differential privacy.
//
// Each arm a has the noisy Gram matrix and moments of its users: with v = (x / L, r / B), x clipped to l2 norm L and r to [-B, B],
//
//     sum over users of arm a of v v^T + noise = ( G_a  u_a ; u_a^T  . ),   V_a = G_a + rho I,
//     the arm for x is the one of largest <V_a^-1 u_a, x / L> + beta sqrt((x / L)^T V_a^-1 (x / L))
//
// V_a is kept positive definite with pivots of at least rho / 4: where noise, against all odds, is larger than rho allows for, rho of that
// arm is doubled until it is. All this is post-processing of the noisy sums.
//
// As in linear_bandit.h the arms are blocks of one stream, a user is in the block of the own arm and 0 in the others, and what is private
// is the user's context with the rewards that each arm would have brought. A block holds the upper triangle of v v^T, clipped to l2 norm C.
// Two such blocks never point away from each other: sum over i <= j of v_i v_j w_i w_j = (<v, w>^2 + sum v_i^2 w_i^2) / 2 >= 0. So
// replacing a user moves a push by at most sqrt(2) C and not by 2C. (The corner r^2 / B^2 is of no use but to this inequality.)
//
// Differences from the paper: contexts and rewards are clipped in place of assumed to be bounded; the noise is calibrated for the whole
// stream by the accountant, where the paper splits (epsilon, delta) over the levels of a tree, and may come from any continual sum; one
// regression per arm, where the paper has one for all.
//
// [SS18] Shariff, Sheffet: Differentially Private Contextual Linear Bandits, 2018. docs/proofs/bandits.md#ucb
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <surety/accounting/events/units.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/stream.h>
#include <surety/optimizers/problem/dataset.h>

namespace surety::optimizers {

struct RewardBoundRule : Positive {
  static constexpr std::string_view name = "reward bound";
};
/// Rewards count as if clamped to [-bound, bound]; public.
using RewardBound = Quantity<RewardBoundRule>;

struct BanditRidgeRule : Positive {
  static constexpr std::string_view name = "ridge";
};
/// rho above.
using Ridge = Quantity<BanditRidgeRule>;

struct ExplorationRule : NonNegative {
  static constexpr std::string_view name = "exploration";
};
/// beta above; 0 is greedy.
using Exploration = Quantity<ExplorationRule>;

/// All public.
struct LinearUcbOptions {
  Count steps;  ///< T, the horizon: the most users
  Count arms;   ///< K
  Adjacency adjacency = Adjacency::replace_one;
  ClippingNorm row_norm{1};     ///< L
  RewardBound reward_bound{1};  ///< B
  /// C, at most 2. A context of norm L whose coordinates are alike has (1 + (r / B)^2) / sqrt(2), one on an axis 1 + (r / B)^2.
  ClippingNorm clip{1};
  Ridge ridge{1};
  Exploration exploration{1};
};

/// Coordinates of an arm's block: the upper triangle of a matrix of one row more than there are features.
[[nodiscard]] constexpr std::uint64_t block_size(std::uint64_t features) { return (features + 1) * (features + 2) / 2; }

/// What the bandit asks of its stream: one push per user, of `block_size(features)` coordinates for each arm, of sensitivity sqrt(2) C
/// under replace-one and C under zero-out. \throws Error{unsupported} under add-or-remove-one; Error{invalid_argument} when there are more
/// than 2^32 coordinates.
[[nodiscard]] StreamShape<> shape(const LinearUcbOptions& options, Count features);

/// \throws Error{invalid_argument} when `grid` is so coarse that rounding could turn two blocks away from each other: its step times
/// sqrt(block_size) must be at most 2^-12 C.
void require_fine_grid(const LinearUcbOptions& options, Count features, Grid grid);

/// Ridge and exploration as the paper sets them.
struct PaperWidth {
  Ridge ridge;
  Exploration exploration;
};

/// What the paper's width is computed from.
struct PaperWidthOptions {
  double deviation;         ///< the largest standard deviation of the noise on a coordinate of the prefix sums; public; 0 without noise
  double reward_deviation;  ///< of the rewards around their mean
  double parameter_norm;    ///< a bound on the l2 norm of the arms' parameters
  double failure;           ///< alpha, the probability with which the confidence sets may miss
};

/// ridge 2 N and the beta of [SS18] Proposition 4 for eigenvalues of the noise plus ridge in [N, 3 N], where the noise of all T K matrices
/// of d + 1 rows is at most N = deviation (2 sqrt(d + 1) + 2 sqrt(log(4 T K / alpha))) in operator norm with probability 1 - alpha / 2
/// [Gordon's inequality and concentration], in the units of x / L and r / B. N = 1 without noise. Utility only: no guarantee rests on it.
[[nodiscard]] PaperWidth paper_width(const LinearUcbOptions& options, Count features, const PaperWidthOptions& width);

/// The state between two users: released values and public ones alone.
class LinearUcb {
 public:
  /// \throws as `shape`.
  LinearUcb(const LinearUcbOptions& options, Count features);

  /// The arm for the next user, whose context this is: to be shown to that user alone. A context without a finite norm counts as 0.
  /// O(arms x features^2). \throws Error{invalid_argument} when a dense row does not have `features` coordinates.
  [[nodiscard]] std::size_t choose(const RowView& row) const;

  /// Learns from the reward that this user gave to the arm of `choose(row)`, and moves on to the next user. A reward that is not finite
  /// counts as no answer at all. O(arms x features^3) and one push.
  /// \throws what the stream throws; Error{invalid_argument} as `choose`, and as `require_fine_grid` for the stream's.
  void learn(const RowView& row, double reward, StreamReleaser<>& stream) {
    const std::vector<double> sums = stream.push(contribution(row, reward, stream.grid()), sensitivity_);
    estimate(sums);
    ++users_;
  }

  /// V_a^-1 u_a times B / L, so that its product with a context estimates a reward: released, may be shown. \pre arm < arms.
  [[nodiscard]] std::vector<double> weights(std::size_t arm) const;
  [[nodiscard]] std::uint64_t users() const noexcept { return users_; }

 private:
  struct Arm {
    std::vector<double> factor;   ///< lower triangular, V_a = factor factor^T, row by row
    std::vector<double> weights;  ///< V_a^-1 u_a
  };

  /// x / L.
  [[nodiscard]] std::vector<double> scaled(const RowView& row) const;
  [[nodiscard]] GridVector contribution(const RowView& row, double reward, Grid grid) const;
  void estimate(std::span<const double> sums);

  LinearUcbOptions options_;
  L2Sensitivity sensitivity_;
  std::size_t features_;
  std::uint64_t users_ = 0;
  std::vector<Arm> arms_;
};

}  // namespace surety::optimizers
