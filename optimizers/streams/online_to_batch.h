// Private online-to-batch: [ZTC22] Algorithm 1, which makes a private stochastic optimizer of any online learner. With beta_t = t^k:
//
//     x_t = x_{t-1} + (beta_t / beta_{1:t}) (w_t - x_{t-1})                     w_t played by the learner, beta_{1:t} the sum of beta_i
//     d_t = beta_t grad l(x_t, z_t) - beta_{t-1} grad l(x_{t-1}, z_t)           clipped to l2 norm C_t
//     g_t = noisy prefix sum of d_1 .. d_t, which estimates beta_t grad L(x_t); the learner is told the loss <g_t, w>
//
// x_t moves by at most D beta_t / beta_{1:t}, so a smooth loss has small d_t, and what the noise must cover does not grow with beta_t
// itself but with beta_t - beta_{t-1}. Record z_t enters d_t and nothing else, given the released sums: replacing it moves one push by at
// most 2 C_t. C_t is public or follows from released values alone, so the noise may follow it (mechanisms::AdaptiveTreeSum).
//
// The loss is l(w, z) + (lambda / 2) ||w||^2; the gradient of its second part at x_t is a function of released values, and is added to g_t.
//
// Two regularisers make the learner's loss curved; their gradients are functions of released values:
//   strong convexity  + (beta_t mu / 4) ||w - x_t||^2, for losses that are mu-strongly convex
//   towards start     + xi_t ||w - w_1|| + nu_t ||w - w_1||^2, for a parameter-free learner
//
// Differences from the paper, all in the direction of what its proof needs:
//   clipping     that losses are G-Lipschitz and H-smooth is an assumption; here d_t is clipped, and the guarantee needs none
//   sensitivity  (k + 1) t^(k-1) (G + H D) there, (beta_t - beta_{t-1}) G + beta_{t-1} (beta_t / beta_{1:t}) H ||w_t - x_{t-1}|| here,
//   which
//                holds under the same assumptions and is smaller
//   noise        calibrated by the accountant. The printed conversion of rho to epsilon holds for small delta and is printed for large
//                ones, and the printed noise for pure privacy composes log2(2T) nodes at the price of its square root
//                (docs/proofs/online-to-batch.md#printed)
//   constants    xi_t and nu_t of Theorem 10 hold an unnamed universal constant; here their scale is an option
//
// [ZTC22] Zhang, Tran, Cutkosky: Differentially Private Online-to-Batch for Smooth Losses, 2022.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/units.h>
#include <surety/base/numbers/enclosure.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/stream.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/problem/units.h>
#include <surety/optimizers/streams/online_learner.h>
#include <surety/optimizers/streams/record_by_record.h>

namespace surety::optimizers {

/// C_t = clip (beta_t - beta_{t-1}): constant for k = 1.
struct FixedScale {
  ClippingNorm clip{0.5};
};

/// C_t = (beta_t - beta_{t-1}) G + beta_{t-1} (beta_t / beta_{1:t}) H min(||w_t - x_{t-1}||, D). Where the loss is G-Lipschitz and H-smooth
/// nothing is clipped. G, H and D may be smaller than they really are: then more is clipped.
struct FollowingScale {
  GradientBound gradient_bound;  ///< G
  Smoothness smoothness;         ///< H
  DomainDiameter diameter;       ///< D of the learner's set
};

/// C_t = (k + 1) t^(k-1) (G + H min(max_{i<=t} ||w_i - x_{i-1}||, D)): the bound that the paper's noise is printed for.
struct PrintedScale {
  GradientBound gradient_bound;
  Smoothness smoothness;
  DomainDiameter diameter;
};

/// xi_t = xi t^(k-1/2) + xi_noise t^(k-1) and nu_t = nu t^(k-1/2): the shape of Theorem 10, where the first terms answer the variance of
/// gradients and the second one the noise.
struct TowardsStart {
  Regularization xi;
  Regularization xi_noise;
  Regularization nu;
};

/// All public. The defaults were fixed once, for rows of unit norm; choosing options by the results of private runs is a release of its
/// own.
struct OnlineToBatchOptions {
  Count steps;  ///< T, the horizon: the most records
  Adjacency adjacency = Adjacency::replace_one;
  Count power{1};  ///< k, at most 8
  std::variant<FixedScale, FollowingScale, PrintedScale> scale = FixedScale{};
  Regularization regularization{0};    ///< lambda of the loss
  Regularization strong_convexity{0};  ///< mu, at most what the loss has: lambda, where it has no more
  std::optional<TowardsStart> towards_start = {};
};

/// What the algorithm asks of its stream: one push per record, of sensitivity 2 C_t under replace-one and C_t under zero-out; said here is
/// the largest. For k = 1 and a fixed scale all pushes are alike, and any continual sum will do; otherwise one that follows the
/// sensitivities of the pushes is more accurate.
/// \throws Error{unsupported} under add-or-remove-one: which record comes at which step is public;
///         Error{invalid_argument} when the power is above 8 or the sensitivity is beyond the range of double.
[[nodiscard]] StreamShape<> shape(const OnlineToBatchOptions& options, Count features);

namespace detail {

/// What of `OnlineToBatch` is the same for all losses and learners.
class OnlineToBatchSteps {
 public:
  using Door = StreamReleaser<>;

  OnlineToBatchSteps(std::span<const double> start, const OnlineToBatchOptions& options);
  void observe(ObjectiveRef objective, OnlineLearner& learner, const RowView& row, double label, StreamReleaser<>& stream);
  [[nodiscard]] std::span<const double> weights() const noexcept { return point_; }
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

 private:
  /// Moves the point by its share of the way to `played`. \return how far that is away.
  double move_to(std::span<const double> played, double weight);
  [[nodiscard]] ClippingNorm clip_of(double before, double now, double distance);
  [[nodiscard]] GridVector contribution(double factor, const RowView& row, ClippingNorm clip, Grid grid) const;
  /// Adds the regularisers' gradients at `played`. \return their strong convexity.
  double add_regularizers(double weight, std::span<const double> played, std::vector<double>& gradient) const;

  OnlineToBatchOptions options_;
  double largest_clip_;
  std::vector<double> start_;  ///< w_1
  std::vector<double> point_;  ///< x_t
  std::vector<double> previous_;
  double total_ = 0;     ///< beta_{1:t}
  double farthest_ = 0;  ///< max_{i<=t} ||w_i - x_{i-1}||
  std::uint64_t steps_ = 0;
};

}  // namespace detail

/// The state between two records: released values and public ones alone.
///
/// The guarantee needs nothing of the data: rows longer than expected, labels out of range and overflowing scores are clipped or count as
/// zero. \pre labels are as the objective wants them.
/// \source [ZTC22] Algorithm 1; docs/proofs/online-to-batch.md#conversion.
///
/// `observe` takes O(features), one push and one update of the learner. It throws Error{invalid_argument} when the row has not one
/// coordinate per weight. `weights` are x_t after t records, w_1 before the first.
template <Objective O, std::derived_from<OnlineLearner> L>
class OnlineToBatch : public detail::RecordByRecord<detail::OnlineToBatchSteps, O, L> {
 public:
  /// Starts where the learner starts. \throws as `shape`.
  OnlineToBatch(O objective, L learner, const OnlineToBatchOptions& options)
      : detail::RecordByRecord<detail::OnlineToBatchSteps, O, L>{std::move(objective), std::move(learner), [&](const L& starting) {
                                                                   return detail::OnlineToBatchSteps{starting.predict(), options};
                                                                 }} {}
};

}  // namespace surety::optimizers
