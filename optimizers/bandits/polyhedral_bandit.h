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

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/events/event.h>
#include <surety/accounting/numbers/error.h>
#include <surety/mechanisms/choices/selection.h>
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

namespace detail {
/// An arm makes no steps in the warm-up of the others.
[[nodiscard]] inline PolyhedralFrankWolfeOptions arm_options(const PolyhedralBanditOptions& options) {
  const double users = static_cast<double>(options.arms.value()) * static_cast<double>(options.warm_up.value());
  if (!(users <= static_cast<double>(options.arm.steps.value()))) {
    throw Error{ErrorCode::invalid_argument, fmt::format("warm-up is {} users for each of {} arms, must be at most the {} users in all",
                                                         options.warm_up.value(), options.arms.value(), options.arm.steps.value())};
  }
  auto arm = options.arm;
  arm.steps = Count{arm.steps.value() - (options.arms.value() - 1) * options.warm_up.value()};
  return arm;
}
}  // namespace detail

/// What a run releases: the steps of one arm, each charged once for all arms.
/// \throws as plan(PolyhedralFrankWolfeOptions); Error{invalid_argument} when the warm-up is longer than the horizon.
[[nodiscard]] inline Event plan(const PolyhedralBanditOptions& options) { return plan(detail::arm_options(options)); }

/// The multiplier of the noise that [HLL22] Algorithm 2 prints, for arms of `steps` steps: Laplace noise with epsilon_t = sqrt(t) / (t + 1)
/// / z and z = 2 sqrt(log n log(1/delta)) / epsilon. With `arm.laplace` set, the cost of plan(...) at this multiplier is what the printed
/// noise really costs (for first steps of weight 1, and with the diameter of the ball for D: as printed, with D read as its radius, it is
/// half the noise and costs about twice). \throws Error{invalid_argument} when epsilon or delta is 0 or there are fewer than 2 steps.
[[nodiscard]] inline NoiseMultiplier printed_multiplier(Count steps, Epsilon epsilon, Delta delta) {
  if (!(epsilon.value() > 0 && delta.value() > 0) || steps.value() < 2) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("epsilon, delta and steps are {}, {} and {}, must be greater than 0, 0 and 1 for the printed noise",
                            epsilon.value(), delta.value(), steps.value())};
  }
  return NoiseMultiplier{2 * std::sqrt(std::log(static_cast<double>(steps.value())) * -std::log(delta.value())) / epsilon.value()};
}

/// The state between two users: released values, public ones, and each arm's exact sum, which leaves it through choices alone.
template <Objective O>
class PolyhedralBandit {
 public:
  /// All arms start at 0. \throws as `plan`.
  PolyhedralBandit(O objective, const PolyhedralBanditOptions& options, Count features)
      : objective_{std::move(objective)},
        options_{options},
        arm_options_{detail::arm_options(options)},
        arms_(options.arms.value(), PolyhedralFrankWolfe<O>{objective_, arm_options_, features}) {}

  /// The arm for the next user, whose context this is: to be shown to that user alone. O(arms x features).
  [[nodiscard]] std::size_t choose(const RowView& row) const {
    if (const auto turn = warm_up_arm()) return *turn;
    std::vector<double> scores;
    for (const auto& arm : arms_) scores.push_back(row.dot(arm.weights()));
    return best_arm(scores);
  }

  /// Learns from the reward that this user gave to the arm of `choose(row)`, and moves on. A reward that is no label of the objective
  /// counts as no answer at all. O(arms x features). \throws as PolyhedralFrankWolfe::observe, and what the selector throws.
  void learn(const RowView& row, double reward, SelectorRef selector) {
    const std::size_t chosen = choose(row);
    const std::optional<double> label = objective_.encode_label(reward);
    const RowView nobody{.indices = {}, .values = {}, .norm = 0};
    const auto turn = warm_up_arm();
    for (std::size_t a = 0; a < arms_.size(); ++a) {
      if (turn && *turn != a) continue;
      arms_[a].observe(a == chosen && label ? row : nobody, label.value_or(0), selector);
    }
    ++users_;
  }

  /// theta_a: released, may be shown. \pre arm < arms.
  [[nodiscard]] std::span<const double> weights(std::size_t arm) const { return arms_.at(arm).weights(); }
  [[nodiscard]] std::uint64_t users() const noexcept { return users_; }

 private:
  /// Whose turn it is in the warm-up: public.
  [[nodiscard]] std::optional<std::size_t> warm_up_arm() const {
    const std::uint64_t arm = users_ / options_.warm_up.value();
    if (arm < arms_.size()) return static_cast<std::size_t>(arm);
    return std::nullopt;
  }

  O objective_;
  PolyhedralBanditOptions options_;
  PolyhedralFrankWolfeOptions arm_options_;
  std::uint64_t users_ = 0;
  std::vector<PolyhedralFrankWolfe<O>> arms_;
};

}  // namespace surety::optimizers
