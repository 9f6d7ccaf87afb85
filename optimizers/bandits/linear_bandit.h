// A private bandit for contexts of high dimension: [HLL22] Algorithm 3 (DP-HDB), under joint differential privacy.
//
// User t comes with a context x_t, gets one of K arms, and answers with a reward r_t whose mean is a monotone function of <x_t, theta*_a>,
// where each arm a has parameters theta*_a of its own. The first K W users get arms by turns, W users for each (the warm-up); every later
// user gets an arm of largest <x_t, theta_a>. The theta_a are the iterates of online_frank_wolfe.h, one per arm,
//
//     g_t = i grad f(theta_a(i), x_t, r_t) - (i - 1) grad f(theta_a(i-1), x_t, r_t),  clipped to l2 norm C, in the block of arm a = a_t
//     G_t = noisy prefix sum of g_1 .. g_t, of K blocks of d,   theta_b moves by s / (i + 1) toward argmin of <block b of G_t, v>, all b
//
// where i is the arm's own step: the users of its warm-up, then all later ones. Blocks of the other arms get 0, the gradient at a context
// of zeros ("synthetic updates"), and the same noise as all others, so that nobody sees which arm a user got.
//
// What is private: the record of user t is x_t with the rewards that each arm would have brought, and neighbours differ in one record. All
// theta_a and the arms of all *other* users are post-processing of the prefix sums G; the arm a_t follows from x_t itself and is shown to
// user t alone (joint differential privacy). A record moves one push, by at most 2C: from C to C in one block, or in two blocks by C each.
//
// Differences from the paper, all in the direction of what its proof needs:
//   one stream   the paper runs K streams and its proof forgets that a record whose arm changes moves two of them; here they are the blocks
//                of one stream, whose sensitivity covers both
//   rewards      those of the paper are sub-Gaussian, so its gradients have no bound; here the objective clamps them and g_t is clipped
//   noise        Gaussian prefix sums in place of private choices of vertices (polyhedral_bandit.h), whose regret is larger at d = 50
//                (docs/results/linear-bandit.md)
//   first step   as in online_frank_wolfe.h
// Weights i never count how often an arm was chosen: that would be a function of the a_t, which no noise covers.
//
// [HLL22] Han, Liang, Liang, Wang, Yao, Zhang: On Private Online Convex Optimization, 2022. docs/proofs/bandits.md#hdb
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <surety/accounting/events/units.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/bandits/bandit.h>
#include <surety/optimizers/doors/stream.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/domain.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/problem/units.h>

namespace surety::optimizers {

struct PreselectionRule {
  static constexpr std::string_view name = "preselection margin";
  static constexpr std::string_view constraint = "greater than 0, or infinity";
  static bool holds(double x) { return x > 0; }
};
/// Arms whose score after the warm-up is that far below the best one are left out; infinity leaves out none.
using PreselectionMargin = Quantity<PreselectionRule>;

/// All public. Choosing options by the results of private runs is a release of its own.
struct LinearBanditOptions {
  Count steps;  ///< T, the horizon: the most users
  Count arms;   ///< K
  Adjacency adjacency = Adjacency::replace_one;
  Count warm_up{200};               ///< W, users per arm; K W is at most T
  ClippingNorm clip{0.7};           ///< C; a tenth of the contexts' norm does well
  StepScaleFactor step_scale{0.5};  ///< s
  /// h_sub / 2 of the paper. Under noise the scores after a short warm-up say little, so by default nothing is left out.
  PreselectionMargin preselection{std::numeric_limits<double>::infinity()};
};

/// What the bandit asks of its stream: one push per user, of a block of `features` for each arm, of sensitivity 2C under replace-one and C
/// under zero-out. \throws Error{unsupported} under add-or-remove-one; Error{invalid_argument} when the warm-up is longer than the horizon
/// or there are more than 2^32 coordinates.
[[nodiscard]] StreamShape<> shape(const LinearBanditOptions& options, Count features);

namespace detail {

/// What of `LinearBandit` is the same for all objectives and domains.
class LinearBanditSteps {
 public:
  LinearBanditSteps(const LinearBanditOptions& options, Count features);
  [[nodiscard]] std::size_t choose(const RowView& row) const;
  void learn(ObjectiveRef objective, const LinearlyMinimizable& domain, const RowView& row, double reward, StreamReleaser<>& stream);
  [[nodiscard]] std::span<const double> weights(std::size_t arm) const { return arms_.at(arm).weights; }
  [[nodiscard]] std::uint64_t users() const noexcept { return users_; }

 private:
  struct Arm {
    std::vector<double> weights;        ///< theta_a(i)
    std::vector<double> previous;       ///< theta_a(i - 1)
    std::vector<double> after_warm_up;  ///< empty until then
    std::uint64_t steps;                ///< i - 1, public
  };

  /// g_t = factor x row.
  [[nodiscard]] static double factor(ObjectiveRef objective, const RowView& row, double reward, const Arm& arm);
  void move(const LinearlyMinimizable& domain, Arm& arm, std::span<const double> sum) const;

  LinearBanditOptions options_;
  L2Sensitivity sensitivity_;
  WarmUp warm_up_;
  std::size_t features_;
  std::uint64_t users_ = 0;
  std::vector<Arm> arms_;
};

}  // namespace detail

/// The state between two users: released values and public ones alone.
///
/// The guarantee needs nothing of the data: contexts and rewards of any size are clipped or count as zero.
template <Objective O, std::derived_from<LinearlyMinimizable> D = LpBall>
class LinearBandit {
 public:
  /// All arms start at 0, which must lie in the domain. \throws as `shape`.
  LinearBandit(O objective, D domain, const LinearBanditOptions& options, Count features)
      : objective_{std::move(objective)}, domain_{std::move(domain)}, state_{options, features} {}

  /// The arm for the next user, whose context this is: to be shown to that user alone. O(arms x features).
  [[nodiscard]] std::size_t choose(const RowView& row) const { return state_.choose(row); }

  /// Learns from the reward that this user gave to the arm of `choose(row)`, and moves on to the next user. A reward that is no label of
  /// the objective counts as no answer at all. O(arms x features) and one push. \throws what the stream throws; Error{invalid_argument}
  /// when a dense row does not have `features` coordinates.
  void learn(const RowView& row, double reward, StreamReleaser<>& stream) { state_.learn(objective_, domain_, row, reward, stream); }

  /// theta_a: released, may be shown. \pre arm < arms.
  [[nodiscard]] std::span<const double> weights(std::size_t arm) const { return state_.weights(arm); }
  [[nodiscard]] std::uint64_t users() const noexcept { return state_.users(); }

 private:
  O objective_;
  D domain_;
  detail::LinearBanditSteps state_;
};

}  // namespace surety::optimizers
