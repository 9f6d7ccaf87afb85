// Online convex optimization: a learner plays points of a bounded convex set W, sees a subgradient of each round's loss at the point that
// it played, and should do nearly as well as the best fixed point u. With D the diameter of W in l2, S_t the sum of ||g_i||^2 for i <= t:
//
//   learner                 regret(u) = sum of loss_t(w_t) - loss_t(u) is at most
//   SubgradientDescent      sqrt(2) D sqrt(S_T)                                                  any losses, any scale
//   DualAveraging           4 D sqrt(S_T)                                                        any losses, any scale
//   OptimisticAveraging     4 D sqrt(sum of ||g_t - g_{t-1}||^2)                                 any losses, any scale
//   StronglyConvexDescent   sum of ||g_t||^2 / (2 sum_{i<=t} m_i)                                loss t is m_t-strongly convex
//   CoinBetting             L (e + r max(sqrt(2 S log(1 + 2 S r^2 / f^2)), 4 log(4 r / (2.7 f))) + sqrt(8 S) r)   ||g_t|| <= L
//
// where in the last line r = ||u - w_1||, e is the initial wealth, S = S_T / L^2 and f = e / (1.06 (1 + 4 S)^1.11).
// An initial accumulator B, which the first three take, is added to their sums of squares.
//
// None of them knows anything of privacy: fed with released gradients, all that they compute is post-processing. The steps of all but the
// last follow the gradients seen, so there is no step size to choose. Proofs: docs/proofs/online-to-batch.md#learners.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/events/units.h>
#include <surety/accounting/numbers/error.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/problem/domain.h>
#include <surety/optimizers/problem/units.h>

namespace surety::optimizers {

/// What a learner is told of a round's loss.
struct Feedback {
  std::span<const double> gradient;  ///< a subgradient g_t at the point that was played
  double strong_convexity = 0;       ///< m_t: loss(u) >= loss(w_t) + <g_t, u - w_t> + (m_t / 2) ||u - w_t||_2^2 for all u in W
};

/// predict(): the point w_t, in W. update(feedback): ends the round. Both O(dimension) and a projection.
template <class L>
concept OnlineLearner = requires(L& learner, const L& constant, const Feedback& feedback) {
  { constant.predict() } -> std::same_as<std::span<const double>>;
  learner.update(feedback);
};

template <class D>
concept BoundedConvexSet = Projectable<D> && Bounded<D>;

namespace detail {

[[nodiscard]] inline double inner(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}
[[nodiscard]] inline double squared_norm(std::span<const double> a) { return inner(a, a); }

/// \throws Error{invalid_argument} unless the gradient has one coordinate per weight.
inline void require_dimension(const Feedback& feedback, std::size_t dimension) {
  if (feedback.gradient.size() != dimension) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("the gradient has {} coordinates, must have {}", feedback.gradient.size(), dimension)};
  }
}

/// The nearest point of the domain. \throws Error{invalid_argument} when there are no coordinates.
template <Projectable D>
[[nodiscard]] std::vector<double> start_in(const D& domain, std::vector<double> start) {
  if (start.empty()) throw Error{ErrorCode::invalid_argument, "the start has no coordinates, must have at least 1"};
  domain.project(start);
  return start;
}

}  // namespace detail

struct InitialAccumulatorRule : NonNegative {
  static constexpr std::string_view name = "initial accumulator";
};
/// A sum of squared gradient norms that is counted before the first; public. It bounds the steps, by D / sqrt(2 B) for descent: helpful
/// where gradients become small, as those of smooth losses do, and steps that follow them would grow.
using InitialAccumulator = Quantity<InitialAccumulatorRule>;

/// w_{t+1} = project(w_t - eta_t g_t) with eta_t = D / sqrt(2 (B + S_t)), B the initial accumulator. \source [SM12], [Ora19] Theorem 4.14.
template <BoundedConvexSet D>
class SubgradientDescent {
 public:
  /// Starts at the point of the domain nearest to `start`. \throws Error{invalid_argument} when it has no coordinates.
  SubgradientDescent(D domain, std::vector<double> start, InitialAccumulator accumulator = InitialAccumulator{0})
      : domain_{std::move(domain)},
        weights_{detail::start_in(domain_, std::move(start))},
        diameter_{domain_.diameter(Norm::l2, weights_.size())},
        squares_{accumulator.value()} {}

  [[nodiscard]] std::span<const double> predict() const noexcept { return weights_; }

  /// \throws Error{invalid_argument} when the gradient has not one coordinate per weight; so do all learners.
  void update(const Feedback& feedback) {
    detail::require_dimension(feedback, weights_.size());
    squares_ += detail::squared_norm(feedback.gradient);
    if (!(squares_ > 0)) return;
    const double step = diameter_ / std::sqrt(2 * squares_);
    for (std::size_t j = 0; j < weights_.size(); ++j) weights_[j] -= step * feedback.gradient[j];
    domain_.project(weights_);
  }

 private:
  D domain_;
  std::vector<double> weights_;
  double diameter_;
  double squares_;  ///< B + S_t
};

/// Follow the regularized leader: w_{t+1} = project(w_1 - eta_{t+1} (g_1 + ... + g_t + h_{t+1})) with h the guess of the next gradient and
/// eta_{t+1} = D / (2 sqrt(B + sum_{i<=t} ||g_i - h_i||^2)), B the initial accumulator.
///
/// Dual averaging guesses nothing, h = 0; the optimistic learner guesses that the next gradient is like the last, h_{t+1} = g_t.
/// \source [OP18] (steps), [RS13] (guesses), docs/proofs/online-to-batch.md#learners (the constants).
template <BoundedConvexSet D, bool optimistic>
class RegularizedLeader {
 public:
  /// As `SubgradientDescent`.
  RegularizedLeader(D domain, std::vector<double> start, InitialAccumulator accumulator = InitialAccumulator{0})
      : domain_{std::move(domain)},
        start_{detail::start_in(domain_, std::move(start))},
        diameter_{domain_.diameter(Norm::l2, start_.size())},
        squares_{accumulator.value()},
        weights_{start_},
        sum_(start_.size(), 0.0),
        guess_(start_.size(), 0.0) {}

  [[nodiscard]] std::span<const double> predict() const noexcept { return weights_; }

  void update(const Feedback& feedback) {
    detail::require_dimension(feedback, weights_.size());
    for (std::size_t j = 0; j < sum_.size(); ++j) {
      const double surprise = feedback.gradient[j] - guess_[j];
      squares_ += surprise * surprise;
      sum_[j] += feedback.gradient[j];
      if constexpr (optimistic) guess_[j] = feedback.gradient[j];
    }
    if (!(squares_ > 0)) return;
    const double step = diameter_ / (2 * std::sqrt(squares_));
    for (std::size_t j = 0; j < sum_.size(); ++j) weights_[j] = start_[j] - step * (sum_[j] + guess_[j]);
    domain_.project(weights_);
  }

 private:
  D domain_;
  std::vector<double> start_;
  double diameter_;
  double squares_;
  std::vector<double> weights_;
  std::vector<double> sum_;
  std::vector<double> guess_;
};

template <BoundedConvexSet D>
struct DualAveraging : RegularizedLeader<D, false> {
  using RegularizedLeader<D, false>::RegularizedLeader;
};
template <BoundedConvexSet D>
struct OptimisticAveraging : RegularizedLeader<D, true> {
  using RegularizedLeader<D, true>::RegularizedLeader;
};

/// w_{t+1} = project(w_t - g_t / sum_{i<=t} m_i), for losses that are m_t-strongly convex. \source [HAK07] Theorem 1.
template <BoundedConvexSet D>
class StronglyConvexDescent {
 public:
  /// As `SubgradientDescent`.
  StronglyConvexDescent(D domain, std::vector<double> start)
      : domain_{std::move(domain)}, weights_{detail::start_in(domain_, std::move(start))} {}

  [[nodiscard]] std::span<const double> predict() const noexcept { return weights_; }

  /// \throws Error{invalid_argument} also unless the loss is said to be strongly convex.
  void update(const Feedback& feedback) {
    detail::require_dimension(feedback, weights_.size());
    if (!(feedback.strong_convexity > 0 && std::isfinite(feedback.strong_convexity))) {
      throw Error{ErrorCode::invalid_argument,
                  fmt::format("strong convexity is {}, must be finite and greater than 0 for this learner", feedback.strong_convexity)};
    }
    convexity_ += feedback.strong_convexity;
    for (std::size_t j = 0; j < weights_.size(); ++j) weights_[j] -= feedback.gradient[j] / convexity_;
    domain_.project(weights_);
  }

 private:
  D domain_;
  double convexity_ = 0;
  std::vector<double> weights_;
};

struct InitialWealthRule : Positive {
  static constexpr std::string_view name = "initial wealth";
};
/// What a betting learner may lose, in units of gradient bound x weights; public.
using InitialWealth = Quantity<InitialWealthRule>;

/// Parameter-free: bets a share v_t of its wealth on a direction q_t, reduced to W,
///
///     w_t = project(w_1 + v_t wealth_t q_t),   wealth_{t+1} = wealth_t (1 - s_t v_t),   s_t = <c_t, q_t>,   c_t = g~_t / L,
///
/// where g~_t is g_t without its part along w_1 + v_t wealth_t q_t - w_t when that part would pull the bet further out of W. The share
/// follows an online Newton step on -log(1 - s_t v) over |v| <= 1/2, the direction subgradient descent on the unit ball. Close to w_1 it is
/// better than learners that know D alone. Gradients longer than L count as if of length L; the regret bound is for shorter ones, and
/// depends on L, beside the gradients themselves, by a logarithmic term alone.
/// \source [CO18] Algorithms 1 and 4 and Theorem 2, [Cut20] Theorem 2 (reduction), docs/proofs/online-to-batch.md#learners (constants).
template <BoundedConvexSet D>
class CoinBetting {
 public:
  struct Options {
    GradientBound gradient_bound;  ///< L
    InitialWealth wealth;          ///< e
  };

  /// As `SubgradientDescent`.
  CoinBetting(D domain, std::vector<double> start, Options options)
      : domain_{std::move(domain)},
        bound_{options.gradient_bound.value()},
        wealth_{options.wealth.value()},
        start_{detail::start_in(domain_, std::move(start))},
        weights_{start_},
        bet_(start_.size(), 0.0),
        direction_{L2Ball{Radius{1}}, std::vector<double>(start_.size(), 0.0)} {}

  [[nodiscard]] std::span<const double> predict() const noexcept { return weights_; }

  void update(const Feedback& feedback) {
    detail::require_dimension(feedback, weights_.size());
    std::vector<double> coin(feedback.gradient.begin(), feedback.gradient.end());
    const double scale = 1 / std::max(bound_, mechanisms::l2_norm(coin));
    for (double& coordinate : coin) coordinate *= scale;
    remove_outward_pull(coin);

    const double outcome = detail::inner(coin, direction_.predict());
    wealth_ *= 1 - outcome * share_;
    const double slope = outcome / (1 - outcome * share_);
    squares_ += slope * slope;
    // log(1 + x) <= x - (2 - log 3) x^2 / 4 for x in [-1, 2] is the curvature that the Newton step relies on.
    share_ = std::clamp(share_ - 2 / (2 - log_of_three) * slope / squares_, -0.5, 0.5);
    direction_.update({.gradient = coin});

    for (std::size_t j = 0; j < bet_.size(); ++j) {
      bet_[j] = share_ * wealth_ * direction_.predict()[j];
      weights_[j] = start_[j] + bet_[j];
    }
    domain_.project(weights_);
  }

 private:
  static constexpr double log_of_three = 1.0986122886681098;

  void remove_outward_pull(std::vector<double>& coin) const {
    std::vector<double> outward(bet_.size());
    for (std::size_t j = 0; j < outward.size(); ++j) outward[j] = start_[j] + bet_[j] - weights_[j];
    const double distance = mechanisms::l2_norm(outward);
    if (!(distance > 0)) return;
    for (double& coordinate : outward) coordinate /= distance;
    const double pull = detail::inner(coin, outward);
    if (!(pull < 0)) return;
    for (std::size_t j = 0; j < coin.size(); ++j) coin[j] -= pull * outward[j];
  }

  D domain_;
  double bound_;
  double wealth_;
  double share_ = 0;    ///< v_t
  double squares_ = 1;  ///< 1 + sum of squared slopes
  std::vector<double> start_;
  std::vector<double> weights_;
  std::vector<double> bet_;  ///< v_t wealth_t q_t
  SubgradientDescent<L2Ball> direction_;
};

static_assert(OnlineLearner<SubgradientDescent<L2Ball>> && OnlineLearner<DualAveraging<L2Ball>> &&
              OnlineLearner<OptimisticAveraging<L2Ball>> && OnlineLearner<StronglyConvexDescent<L2Ball>> &&
              OnlineLearner<CoinBetting<L2Ball>>);

}  // namespace surety::optimizers
