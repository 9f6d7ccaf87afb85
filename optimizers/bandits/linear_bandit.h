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

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/events/units.h>
#include <surety/accounting/numbers/error.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/bandits/bandit.h>
#include <surety/optimizers/doors/stream.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/domain.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/streams/online_frank_wolfe.h>

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
[[nodiscard]] inline StreamShape<> shape(const LinearBanditOptions& options, Count features) {
  require_fixed_places(options.adjacency);
  const double users = static_cast<double>(options.arms.value()) * static_cast<double>(options.warm_up.value());
  if (!(users <= static_cast<double>(options.steps.value()))) {
    throw Error{ErrorCode::invalid_argument, fmt::format("warm-up is {} users for each of {} arms, must be at most the {} users in all",
                                                         options.warm_up.value(), options.arms.value(), options.steps.value())};
  }
  if (!(static_cast<double>(options.arms.value()) * static_cast<double>(features.value()) <= 0x1p32)) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("arms x features is {} x {}, must be at most 2^32", options.arms.value(), features.value())};
  }
  return {.steps = options.steps,
          .dimension = Count{options.arms.value() * features.value()},
          .sensitivity = mechanisms::sensitivity_of_clipped_sum(options.clip, options.adjacency),
          .adjacency = options.adjacency};
}

/// The state between two users: released values and public ones alone.
///
/// The guarantee needs nothing of the data: contexts and rewards of any size are clipped or count as zero.
template <Objective O, LinearlyMinimizable D = LpBall>
class LinearBandit {
 public:
  /// All arms start at 0, which must lie in the domain. \throws as `shape`.
  LinearBandit(O objective, D domain, const LinearBanditOptions& options, Count features)
      : objective_{std::move(objective)},
        domain_{std::move(domain)},
        options_{options},
        sensitivity_{shape(options, features).sensitivity},
        features_{features.value()},
        arms_(options.arms.value(), Arm{std::vector<double>(features_, 0.0), std::vector<double>(features_, 0.0), {}, 0}) {}

  /// The arm for the next user, whose context this is: to be shown to that user alone. O(arms x features).
  [[nodiscard]] std::size_t choose(const RowView& row) const {
    if (const auto turn = warm_up_arm()) return *turn;
    std::vector<double> scores(arms_.size());
    for (std::size_t a = 0; a < arms_.size(); ++a) scores[a] = row.dot(arms_[a].after_warm_up);
    const double least = scores[best_arm(scores)] - options_.preselection.value();
    for (std::size_t a = 0; a < arms_.size(); ++a) {
      scores[a] = scores[a] < least ? -std::numeric_limits<double>::infinity() : row.dot(arms_[a].weights);
    }
    return best_arm(scores);
  }

  /// Learns from the reward that this user gave to the arm of `choose(row)`, and moves on to the next user. A reward that is no label of
  /// the objective counts as no answer at all. O(arms x features) and one push. \throws what the stream throws; Error{invalid_argument}
  /// when a dense row does not have `features` coordinates.
  void learn(const RowView& row, double reward, StreamReleaserRef<> stream) {
    const std::size_t chosen = choose(row);
    const auto turn = warm_up_arm();
    GridVector contribution{.grid = stream.grid(), .steps = std::vector<std::int64_t>(arms_.size() * features_)};
    const GridVector block = clipped_contribution(factor(row, reward, arms_[chosen]), row, options_.clip, contribution.grid, features_);
    std::copy(block.steps.begin(), block.steps.end(), contribution.steps.begin() + static_cast<std::ptrdiff_t>(chosen * features_));
    const std::vector<double> sum = stream.push(contribution, sensitivity_);
    for (std::size_t a = 0; a < arms_.size(); ++a) {
      if (!turn || *turn == a) move(arms_[a], std::span{sum}.subspan(a * features_, features_));
    }
    ++users_;
    if (turn && !warm_up_arm()) {
      for (Arm& arm : arms_) arm.after_warm_up = arm.weights;
    }
  }

  /// theta_a: released, may be shown. \pre arm < arms.
  [[nodiscard]] std::span<const double> weights(std::size_t arm) const { return arms_.at(arm).weights; }
  [[nodiscard]] std::uint64_t users() const noexcept { return users_; }

 private:
  struct Arm {
    std::vector<double> weights;        ///< theta_a(i)
    std::vector<double> previous;       ///< theta_a(i - 1)
    std::vector<double> after_warm_up;  ///< empty until then
    std::uint64_t steps;                ///< i - 1, public
  };

  /// Whose turn it is in the warm-up: public.
  [[nodiscard]] std::optional<std::size_t> warm_up_arm() const {
    const std::uint64_t arm = users_ / options_.warm_up.value();
    if (arm < arms_.size()) return static_cast<std::size_t>(arm);
    return std::nullopt;
  }

  /// g_t = factor x row.
  [[nodiscard]] double factor(const RowView& row, double reward, const Arm& arm) const {
    const std::optional<double> label = objective_.encode_label(reward);
    if (!label) return 0;
    const auto i = static_cast<double>(arm.steps + 1);
    return i * objective_.derivative(row.dot(arm.weights), *label) - (i - 1) * objective_.derivative(row.dot(arm.previous), *label);
  }

  void move(Arm& arm, std::span<const double> sum) const {
    const std::vector<double> vertex = domain_.minimize_linear(sum);
    const double step = options_.step_scale.value() / static_cast<double>(++arm.steps + 1);
    arm.previous = arm.weights;
    for (std::size_t j = 0; j < features_; ++j) arm.weights[j] += step * (vertex[j] - arm.weights[j]);
  }

  O objective_;
  D domain_;
  LinearBanditOptions options_;
  L2Sensitivity sensitivity_;
  std::size_t features_;
  std::uint64_t users_ = 0;
  std::vector<Arm> arms_;
};

}  // namespace surety::optimizers
