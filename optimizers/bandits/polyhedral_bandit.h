// The high-dimensional bandit of linear_bandit.h with the paper's own estimator: for each arm the private choice of vertices of
// polyhedral_frank_wolfe.h over the l1 ball, [HLL22] Algorithm 3 on Algorithm 2. For comparison: at d = 50 its noise is larger
// (docs/results/linear-bandit.md).
//
// The first K W users get arms by turns and only that arm makes a step; every later user gets an arm of largest <x, theta_a>, and *all*
// arms make a step, those that were not chosen on a context of zeros. So from then on all arms are at the same step i of their own.
//
// What is private and what is shown is as in linear_bandit.h. At each step a record moves the scores of one arm by a range of at most 4C,
// or, where another record gives another arm, those of two arms by 2C each. Given all earlier choices the arms choose independently, so the
// losses of two arms add up, and their ranges to that of one: step i costs choice(options, i) once for all arms, and the run costs
// plan(...) of one arm. (In the warm-up the arms' records are disjoint.) For Laplace noise the same with losses in place of their ranges.
//
// [HLL22] Han, Liang, Liang, Wang, Yao, Zhang: On Private Online Convex Optimization, 2022. docs/proofs/bandits.md#choices
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/optimizers/bandits/bandit.h>
#include <surety/optimizers/doors/selector.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/streams/polyhedral_frank_wolfe.h>

namespace surety::optimizers {

/// All public.
struct PolyhedralBanditOptions {
  PolyhedralFrankWolfeOptions arm;  ///< of each arm; `steps` is T, the horizon of users
  Count arms;                       ///< K
  Count warm_up{200};               ///< W, users per arm; K W is at most T
};

/// What a run releases: the steps of one arm, each charged once for all arms.
/// \throws as plan(PolyhedralFrankWolfeOptions); Error{invalid_argument} when the warm-up is longer than the horizon.
[[nodiscard]] Event plan(const PolyhedralBanditOptions& options);

namespace detail {

/// What of `PolyhedralBandit` is the same for all objectives.
class PolyhedralBanditSteps {
 public:
  PolyhedralBanditSteps(const PolyhedralBanditOptions& options, Count features);
  [[nodiscard]] std::size_t choose(const RowView& row) const;
  void learn(ObjectiveRef objective, const RowView& row, double reward, Selector& selector);
  [[nodiscard]] std::span<const double> weights(std::size_t arm) const { return arms_.at(arm).weights(); }
  [[nodiscard]] std::uint64_t users() const noexcept { return users_; }

 private:
  WarmUp warm_up_;
  std::uint64_t users_ = 0;
  std::vector<PolyhedralFrankWolfeSteps> arms_;
};

}  // namespace detail

/// The state between two users: released values, public ones, and each arm's exact sum, which leaves it through choices alone.
template <Objective O>
class PolyhedralBandit {
 public:
  /// All arms start at 0. \throws as `plan`.
  PolyhedralBandit(O objective, const PolyhedralBanditOptions& options, Count features)
      : objective_{std::move(objective)}, state_{options, features} {}

  /// The arm for the next user, whose context this is: to be shown to that user alone. O(arms x features).
  [[nodiscard]] std::size_t choose(const RowView& row) const { return state_.choose(row); }

  /// Learns from the reward that this user gave to the arm of `choose(row)`, and moves on. A reward that is no label of the objective
  /// counts as no answer at all. O(arms x features). \throws as PolyhedralFrankWolfe::observe, and what the selector throws.
  void learn(const RowView& row, double reward, Selector& selector) { state_.learn(objective_, row, reward, selector); }

  /// theta_a: released, may be shown. \pre arm < arms.
  [[nodiscard]] std::span<const double> weights(std::size_t arm) const { return state_.weights(arm); }
  [[nodiscard]] std::uint64_t users() const noexcept { return state_.users(); }

 private:
  O objective_;
  detail::PolyhedralBanditSteps state_;
};

}  // namespace surety::optimizers
