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
//                ones, and the printed noise for pure privacy composes log2(2T) nodes at the price of its square root: `printed_noise`
//                and `printed_pure_noise` refuse where the claim is wrong
//   constants    xi_t and nu_t of Theorem 10 hold an unnamed universal constant; here their scale is an option
//
// [ZTC22] Zhang, Tran, Cutkosky: Differentially Private Online-to-Batch for Smooth Losses, 2022.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/accountants/best.h>
#include <surety/accounting/accountants/closed_form.h>
#include <surety/accounting/events/continual.h>
#include <surety/accounting/events/event.h>
#include <surety/accounting/events/units.h>
#include <surety/accounting/numbers/error.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/stream.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/problem/units.h>
#include <surety/optimizers/streams/online_learner.h>

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
  Diameter diameter;             ///< D of the learner's set
};

/// C_t = (k + 1) t^(k-1) (G + H min(max_{i<=t} ||w_i - x_{i-1}||, D)): the bound that the paper's noise is printed for.
struct PrintedScale {
  GradientBound gradient_bound;
  Smoothness smoothness;
  Diameter diameter;
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
  Regularization strong_convexity{0};  ///< mu
  std::optional<TowardsStart> towards_start = {};
};

namespace detail {

inline constexpr std::uint64_t largest_power = 8;

/// t^k.
[[nodiscard]] inline double weight(std::uint64_t t, Count power) {
  double product = 1;
  for (std::uint64_t i = 0; i < power.value(); ++i) product *= static_cast<double>(t);
  return product;
}

/// C_T with the largest distance there is, which no C_t exceeds: beta_t - beta_{t-1} grows with t, and beta_t^2 / beta_{1:t} is at most
/// (k + 1) t^(k-1). \throws Error{invalid_argument} when the power is above 8 or the bound beyond the range of double.
[[nodiscard]] inline ClippingNorm largest_clip(const OnlineToBatchOptions& options) {
  if (options.power.value() > largest_power) {
    throw Error{ErrorCode::invalid_argument, fmt::format("power is {}, must be at most {}", options.power.value(), largest_power)};
  }
  const std::uint64_t last = options.steps.value();
  const double growth = weight(last, options.power) - weight(last - 1, options.power);
  const double pull =
      static_cast<double>(options.power.value() + 1) * weight(last, Count{options.power.value()}) / static_cast<double>(last);
  return std::visit(
      [&](const auto& scale) {
        using Scale = std::remove_cvref_t<decltype(scale)>;
        if constexpr (std::is_same_v<Scale, FixedScale>) {
          return ClippingNorm{growth * scale.clip.value()};
        } else {
          const double first = std::is_same_v<Scale, FollowingScale> ? growth : pull;
          return ClippingNorm{first * scale.gradient_bound.value() + pull * scale.smoothness.value() * scale.diameter.value()};
        }
      },
      options.scale);
}

}  // namespace detail

/// What the algorithm asks of its stream: one push per record, of sensitivity 2 C_t under replace-one and C_t under zero-out; said here is
/// the largest. For k = 1 and a fixed scale all pushes are alike, and any continual sum will do; otherwise one that follows the
/// sensitivities of the pushes is more accurate.
/// \throws Error{unsupported} under add-or-remove-one: which record comes at which step is public;
///         Error{invalid_argument} when the power is above 8 or the sensitivity is beyond the range of double.
[[nodiscard]] inline StreamShape<> shape(const OnlineToBatchOptions& options, Count features) {
  require_fixed_places(options.adjacency);
  return {.steps = options.steps,
          .dimension = features,
          .sensitivity = mechanisms::sensitivity_of_clipped_sum(detail::largest_clip(options), options.adjacency),
          .adjacency = options.adjacency};
}

/// The state between two records: released values and public ones alone.
///
/// The guarantee needs nothing of the data: rows longer than expected, labels out of range and overflowing scores are clipped or count as
/// zero. \pre labels are as the objective wants them.
/// \source [ZTC22] Algorithm 1; docs/proofs/online-to-batch.md#conversion.
template <Objective O, OnlineLearner L>
class OnlineToBatch {
 public:
  /// Starts where the learner starts. \throws as `shape`.
  OnlineToBatch(O objective, L learner, const OnlineToBatchOptions& options)
      : objective_{std::move(objective)},
        learner_{std::move(learner)},
        options_{options},
        largest_clip_{detail::largest_clip(options).value()},
        start_(learner_.predict().begin(), learner_.predict().end()),
        point_{start_},
        previous_{start_} {
    static_cast<void>(shape(options, Count{start_.size()}));
  }

  /// Reads the next record and moves on. O(features), one push and one update of the learner. \throws what the stream throws;
  /// Error{invalid_argument} when the row has not one coordinate per weight.
  void observe(const RowView& row, double label, StreamReleaserRef<> stream) {
    const std::uint64_t t = ++steps_;
    const double before = detail::weight(t - 1, options_.power);
    const double now = detail::weight(t, options_.power);
    // x_t = x_{t-1} + (beta_t / beta_{1:t}) (w_t - x_{t-1}), where x_0 = w_1.
    const std::span<const double> played = learner_.predict();
    const double distance = move_to(played, now);
    const double there = t == 1 ? 0 : before * objective_.derivative(row.dot(previous_), label);
    const double factor = now * objective_.derivative(row.dot(point_), label) - there;

    const ClippingNorm clip = clip_of(before, now, distance);
    std::vector<double> gradient =
        stream.push(contribution(factor, row, clip, stream.grid()), mechanisms::sensitivity_of_clipped_sum(clip, options_.adjacency));
    const double convexity = add_regularizers(now, played, gradient);
    learner_.update({.gradient = gradient, .strong_convexity = convexity});
  }

  /// x_t after t records, w_1 before the first: released, may be shown.
  [[nodiscard]] std::span<const double> weights() const noexcept { return point_; }
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

 private:
  /// Moves the point by its share of the way to `played`. \return how far that is away.
  double move_to(std::span<const double> played, double weight) {
    total_ += weight;
    previous_ = point_;
    double squares = 0;
    for (std::size_t j = 0; j < point_.size(); ++j) {
      const double way = played[j] - previous_[j];
      squares += way * way;
      point_[j] += weight / total_ * way;
    }
    return std::sqrt(squares);
  }

  [[nodiscard]] ClippingNorm clip_of(double before, double now, double distance) {
    farthest_ = std::max(farthest_, distance);
    const double clip = std::visit(
        [&](const auto& scale) {
          using Scale = std::remove_cvref_t<decltype(scale)>;
          if constexpr (std::is_same_v<Scale, FixedScale>) {
            return (now - before) * scale.clip.value();
          } else {
            const double bound = scale.gradient_bound.value();
            const auto pull = [&](double away) { return scale.smoothness.value() * std::min(scale.diameter.value(), away); };
            if constexpr (std::is_same_v<Scale, FollowingScale>) {
              return (now - before) * bound + before * (now / total_) * pull(distance);
            } else {
              const auto k = static_cast<double>(options_.power.value());
              return (k + 1) * now / static_cast<double>(steps_) * (bound + pull(farthest_));
            }
          }
        },
        options_.scale);
    // Equal to the bound in exact arithmetic at most; the noise is for no more than it.
    return ClippingNorm{clip < largest_clip_ ? clip : largest_clip_};
  }

  [[nodiscard]] GridVector contribution(double factor, const RowView& row, ClippingNorm clip, Grid grid) const {
    // What is shorter than a grid step rounds to zero: no need of a sum that refuses it.
    if (clip.value() < grid.step()) return {.grid = grid, .steps = std::vector<std::int64_t>(point_.size())};
    return clipped_contribution(factor, row, clip, grid, point_.size());
  }

  /// Adds the regularisers' gradients at `played`. \return their strong convexity.
  double add_regularizers(double weight, std::span<const double> played, std::vector<double>& gradient) const {
    double convexity = 0;
    if (const double mu = options_.strong_convexity.value(); mu > 0) {
      convexity += weight * mu / 2;
      for (std::size_t j = 0; j < gradient.size(); ++j) gradient[j] += weight * mu / 2 * (played[j] - point_[j]);
    }
    if (options_.towards_start) {
      const auto t = static_cast<double>(steps_);
      const double xi = weight * (options_.towards_start->xi.value() / std::sqrt(t) + options_.towards_start->xi_noise.value() / t);
      const double nu = weight * options_.towards_start->nu.value() / std::sqrt(t);
      convexity += 2 * nu;
      double squares = 0;
      for (std::size_t j = 0; j < start_.size(); ++j) squares += (played[j] - start_[j]) * (played[j] - start_[j]);
      const double pull = (squares > 0 ? xi / std::sqrt(squares) : 0) + 2 * nu;
      for (std::size_t j = 0; j < gradient.size(); ++j) gradient[j] += pull * (played[j] - start_[j]);
    }
    return convexity;
  }

  O objective_;
  L learner_;
  OnlineToBatchOptions options_;
  double largest_clip_;
  std::vector<double> start_;  ///< w_1
  std::vector<double> point_;  ///< x_t
  std::vector<double> previous_;
  double total_ = 0;     ///< beta_{1:t}
  double farthest_ = 0;  ///< max_{i<=t} ||w_i - x_{i-1}||
  std::uint64_t steps_ = 0;
};

namespace detail {
inline void require_replace_one(Adjacency adjacency) {
  if (adjacency != Adjacency::replace_one) {
    throw Error{ErrorCode::unsupported, fmt::format("adjacency is {}, must be replace-one for the printed noise", name(adjacency))};
  }
}
}  // namespace detail

/// What the paper's formula (6) adds, and what it really costs.
template <class Scale>
struct PrintedNoise {
  Scale scale;        ///< of a node's noise, over the sensitivity of its pushes
  Event event;        ///< a tree of nodes of that noise
  Enclosure epsilon;  ///< of the event, at the target's delta
};

/// Noise by formula (6), sigma_t = sqrt(log2(2T)) / rho times the sensitivity 2 C_t of `PrintedScale`, for the rho that the printed
/// conversion gives, epsilon = 2 rho sqrt(log(1/delta)). For an AdaptiveTreeSum of the event's nodes.
/// \throws Error{unsupported} when this noise costs more than the target (the conversion holds for small delta, delta <= exp(-0.73 rho^2),
///         and is printed for large ones, delta >= exp(-rho^2)), or unless neighbours replace one record, as in the paper;
///         Error{invalid_argument} when epsilon or delta is 0.
/// \source [ZTC22] (6) and section 1.1, docs/proofs/online-to-batch.md#printed.
[[nodiscard]] inline PrintedNoise<NoiseMultiplier> printed_noise(Count steps, const Target& target) {
  detail::require_replace_one(target.adjacency);
  if (!(target.epsilon.value() > 0 && target.delta.value() > 0)) {
    throw Error{ErrorCode::invalid_argument, "epsilon and delta must be greater than 0 for the printed noise"};
  }
  const double rho = target.epsilon.value() / (2 * std::sqrt(-std::log(target.delta.value())));
  const NoiseMultiplier multiplier{std::sqrt(1 + std::log2(static_cast<double>(steps.value()))) / rho};
  Event event = accounting::tree(steps, gaussian(multiplier, target.adjacency));
  const Enclosure epsilon = accounting::epsilon(accounting::ClosedForm{}, event, target.delta);
  if (epsilon.upper > target.epsilon.value()) {
    throw Error{ErrorCode::unsupported,
                fmt::format("the printed noise for epsilon = {} at delta = {} costs epsilon = {:.4g}: it is not as private as it says",
                            target.epsilon.value(), target.delta.value(), epsilon.upper)};
  }
  return {.scale = multiplier, .event = std::move(event), .epsilon = epsilon};
}

/// The paper's pure variant in l2, formula (6) read with rho = epsilon and density exp(-||x||): node scale sqrt(log2(2T)) / epsilon.
/// A record is in up to log2(2T) nodes, so it needs log2(2T) / epsilon (`accounting::tree_noise_scale`).
/// \throws Error{unsupported} unless T = 1, where there is one node, or unless neighbours replace one record;
///         Error{invalid_argument} when epsilon is 0.
/// \source [ZTC22] Appendix C.2, docs/proofs/online-to-batch.md#printed.
[[nodiscard]] inline PrintedNoise<NoiseScale> printed_pure_noise(Count steps, Count features, Epsilon target, Adjacency adjacency) {
  detail::require_replace_one(adjacency);
  if (!(target.value() > 0)) throw Error{ErrorCode::invalid_argument, "epsilon is 0, must be greater than 0 for the printed noise"};
  const NoiseScale scale{std::sqrt(1 + std::log2(static_cast<double>(steps.value()))) / target.value()};
  Event event = accounting::tree(steps, release(Event::KNorm{NormName::l2, features, scale}, adjacency));
  const Enclosure epsilon = accounting::best_epsilon(event, Delta{0}).value;
  if (epsilon.upper > target.value() * (1 + 1e-9)) {
    throw Error{ErrorCode::unsupported, fmt::format("the printed pure noise for epsilon = {} costs epsilon = {:.4g}: it is for one node, a "
                                                    "record is in {}",
                                                    target.value(), epsilon.upper, accounting::tree_levels(steps).value())};
  }
  return {.scale = scale, .event = std::move(event), .epsilon = epsilon};
}

}  // namespace surety::optimizers
