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

#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <surety/accounting/events/units.h>
#include <surety/optimizers/problem/domain.h>
#include <surety/optimizers/problem/units.h>

namespace surety::optimizers {

/// What a learner is told of a round's loss.
struct Feedback {
  std::span<const double> gradient;  ///< a subgradient g_t at the point that was played
  double strong_convexity = 0;       ///< m_t: loss(u) >= loss(w_t) + <g_t, u - w_t> + (m_t / 2) ||u - w_t||_2^2 for all u in W
};

/// Asked twice a round. Both O(dimension) and a projection.
class OnlineLearner {
 public:
  virtual ~OnlineLearner() = default;

  /// The point w_t, in W.
  [[nodiscard]] virtual std::span<const double> predict() const = 0;
  /// Ends the round.
  virtual void update(const Feedback& feedback) = 0;
};

template <class D>
concept BoundedConvexSet = std::derived_from<D, Projectable> && Bounded<D>;

namespace detail {

/// A learner over D of which everything but the domain is `Rounds`, compiled once: made of a start in the domain, the domain's diameter in
/// l2 and the learner's own options; update(feedback, domain) ends a round.
template <BoundedConvexSet D, class Rounds>
class LearnerOver : public OnlineLearner {
 public:
  [[nodiscard]] std::span<const double> predict() const noexcept final { return rounds_.predict(); }

  /// \throws Error{invalid_argument} when the gradient has not one coordinate per weight; so do all learners.
  void update(const Feedback& feedback) final { rounds_.update(feedback, domain_); }

 protected:
  template <class... Options>
  explicit LearnerOver(D domain, std::vector<double> start, const Options&... options)
      : domain_{std::move(domain)}, rounds_{rounds_from(domain_, start_in(domain_, std::move(start)), options...)} {}

 private:
  template <class... Options>
  static Rounds rounds_from(const D& domain, std::vector<double> start, const Options&... options) {
    const double diameter = domain.diameter(Norm::l2, start.size());
    return Rounds{std::move(start), diameter, options...};
  }

  D domain_;
  Rounds rounds_;
};

}  // namespace detail

struct InitialAccumulatorRule : NonNegative {
  static constexpr std::string_view name = "initial accumulator";
};
/// A sum of squared gradient norms that is counted before the first; public. It bounds the steps, by D / sqrt(2 B) for descent: helpful
/// where gradients become small, as those of smooth losses do, and steps that follow them would grow.
using InitialAccumulator = Quantity<InitialAccumulatorRule>;

namespace detail {

class SubgradientRounds {
 public:
  SubgradientRounds(std::vector<double> start, double diameter, InitialAccumulator accumulator);
  [[nodiscard]] std::span<const double> predict() const noexcept { return weights_; }
  void update(const Feedback& feedback, const Projectable& domain);

 private:
  std::vector<double> weights_;
  double diameter_;
  double squares_;  ///< B + S_t
};

/// With the guess h_{t+1} = g_t where it is optimistic, and h = 0 otherwise.
class LeaderRounds {
 public:
  LeaderRounds(std::vector<double> start, double diameter, bool optimistic, InitialAccumulator accumulator);
  [[nodiscard]] std::span<const double> predict() const noexcept { return weights_; }
  void update(const Feedback& feedback, const Projectable& domain);

 private:
  std::vector<double> start_;
  double diameter_;
  bool optimistic_;
  double squares_;
  std::vector<double> weights_;
  std::vector<double> sum_;
  std::vector<double> guess_;
};

class StronglyConvexRounds {
 public:
  StronglyConvexRounds(std::vector<double> start, double /*diameter*/) : weights_{std::move(start)} {}
  [[nodiscard]] std::span<const double> predict() const noexcept { return weights_; }
  void update(const Feedback& feedback, const Projectable& domain);

 private:
  double convexity_ = 0;
  std::vector<double> weights_;
};

}  // namespace detail

/// w_{t+1} = project(w_t - eta_t g_t) with eta_t = D / sqrt(2 (B + S_t)), B the initial accumulator. \source [SM12], [Ora19] Theorem 4.14.
template <BoundedConvexSet D>
class SubgradientDescent : public detail::LearnerOver<D, detail::SubgradientRounds> {
 public:
  /// Starts at the point of the domain nearest to `start`. \throws Error{invalid_argument} when it has no coordinates.
  SubgradientDescent(D domain, std::vector<double> start, InitialAccumulator accumulator = InitialAccumulator{0})
      : detail::LearnerOver<D, detail::SubgradientRounds>{std::move(domain), std::move(start), accumulator} {}
};

/// Follow the regularized leader: w_{t+1} = project(w_1 - eta_{t+1} (g_1 + ... + g_t + h_{t+1})) with h the guess of the next gradient and
/// eta_{t+1} = D / (2 sqrt(B + sum_{i<=t} ||g_i - h_i||^2)), B the initial accumulator.
///
/// Dual averaging guesses nothing, h = 0; the optimistic learner guesses that the next gradient is like the last, h_{t+1} = g_t.
/// \source [OP18] (steps), [RS13] (guesses), docs/proofs/online-to-batch.md#learners (the constants).
template <BoundedConvexSet D, bool optimistic>
class RegularizedLeader : public detail::LearnerOver<D, detail::LeaderRounds> {
 public:
  /// As `SubgradientDescent`.
  RegularizedLeader(D domain, std::vector<double> start, InitialAccumulator accumulator = InitialAccumulator{0})
      : detail::LearnerOver<D, detail::LeaderRounds>{std::move(domain), std::move(start), optimistic, accumulator} {}
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
class StronglyConvexDescent : public detail::LearnerOver<D, detail::StronglyConvexRounds> {
 public:
  /// As `SubgradientDescent`; `update` throws Error{invalid_argument} also unless the loss is said to be strongly convex.
  StronglyConvexDescent(D domain, std::vector<double> start)
      : detail::LearnerOver<D, detail::StronglyConvexRounds>{std::move(domain), std::move(start)} {}
};

struct InitialWealthRule : Positive {
  static constexpr std::string_view name = "initial wealth";
};
/// What a betting learner may lose, in units of gradient bound x weights; public.
using InitialWealth = Quantity<InitialWealthRule>;

struct CoinBettingOptions {
  GradientBound gradient_bound;  ///< L
  InitialWealth wealth;          ///< e
};

namespace detail {

class CoinBettingRounds {
 public:
  CoinBettingRounds(std::vector<double> start, double diameter, const CoinBettingOptions& options);
  [[nodiscard]] std::span<const double> predict() const noexcept { return weights_; }
  void update(const Feedback& feedback, const Projectable& domain);

 private:
  void remove_outward_pull(std::vector<double>& coin) const;

  double bound_;
  double wealth_;
  double share_ = 0;    ///< v_t
  double squares_ = 1;  ///< 1 + sum of squared slopes
  std::vector<double> start_;
  std::vector<double> weights_;
  std::vector<double> bet_;  ///< v_t wealth_t q_t
  SubgradientDescent<L2Ball> direction_;
};

}  // namespace detail

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
class CoinBetting : public detail::LearnerOver<D, detail::CoinBettingRounds> {
 public:
  using Options = CoinBettingOptions;

  /// As `SubgradientDescent`.
  CoinBetting(D domain, std::vector<double> start, const CoinBettingOptions& options)
      : detail::LearnerOver<D, detail::CoinBettingRounds>{std::move(domain), std::move(start), options} {}
};

}  // namespace surety::optimizers
