#include <surety/optimizers/streams/online_to_batch.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/optimizers/problem/gradient_sum.h>

namespace surety::optimizers {

namespace {

constexpr std::uint64_t largest_power = 8;

/// t^k.
double weight_of(std::uint64_t t, Count power) {
  double product = 1;
  for (std::uint64_t i = 0; i < power.value(); ++i) product *= static_cast<double>(t);
  return product;
}

/// C_T with the largest distance there is, which no C_t exceeds: beta_t - beta_{t-1} grows with t, and beta_t^2 / beta_{1:t} is at most
/// (k + 1) t^(k-1). \throws Error{invalid_argument} when the power is above 8 or the bound beyond the range of double.
ClippingNorm largest_clip(const OnlineToBatchOptions& options) {
  if (options.power.value() > largest_power) {
    throw Error{ErrorCode::invalid_argument, fmt::format("power is {}, must be at most {}", options.power.value(), largest_power)};
  }
  const std::uint64_t last = options.steps.value();
  const double growth = weight_of(last, options.power) - weight_of(last - 1, options.power);
  const double pull =
      static_cast<double>(options.power.value() + 1) * weight_of(last, Count{options.power.value()}) / static_cast<double>(last);
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

}  // namespace

StreamShape<> shape(const OnlineToBatchOptions& options, Count features) {
  require_fixed_places(options.adjacency);
  return one_push_per_record(options.steps, features, largest_clip(options), options.adjacency);
}

namespace detail {

OnlineToBatchSteps::OnlineToBatchSteps(std::span<const double> start, const OnlineToBatchOptions& options)
    : options_{options},
      largest_clip_{largest_clip(options).value()},
      start_(start.begin(), start.end()),
      point_{start_},
      previous_{start_} {
  static_cast<void>(shape(options, Count{start_.size()}));
}

void OnlineToBatchSteps::observe(ObjectiveRef objective, OnlineLearner& learner, const RowView& row, double label,
                                 StreamReleaser<>& stream) {
  const std::uint64_t t = ++steps_;
  const double before = weight_of(t - 1, options_.power);
  const double now = weight_of(t, options_.power);
  // x_t = x_{t-1} + (beta_t / beta_{1:t}) (w_t - x_{t-1}), where x_0 = w_1.
  const std::span<const double> played = learner.predict();
  const double distance = move_to(played, now);
  const double there = t == 1 ? 0 : before * objective.derivative(row.dot(previous_), label);
  const double factor = now * objective.derivative(row.dot(point_), label) - there;

  const ClippingNorm clip = clip_of(before, now, distance);
  std::vector<double> gradient =
      stream.push(contribution(factor, row, clip, stream.grid()), mechanisms::sensitivity_of_clipped_sum(clip, options_.adjacency));
  const double convexity = add_regularizers(now, played, gradient);
  learner.update({.gradient = gradient, .strong_convexity = convexity});
}

double OnlineToBatchSteps::move_to(std::span<const double> played, double weight) {
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

ClippingNorm OnlineToBatchSteps::clip_of(double before, double now, double distance) {
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

GridVector OnlineToBatchSteps::contribution(double factor, const RowView& row, ClippingNorm clip, Grid grid) const {
  // What is shorter than a grid step rounds to zero: no need of a sum that refuses it.
  if (clip.value() < grid.step()) return {.grid = grid, .steps = std::vector<std::int64_t>(point_.size())};
  return clipped_contribution(factor, row, clip, grid, point_.size());
}

double OnlineToBatchSteps::add_regularizers(double weight, std::span<const double> played, std::vector<double>& gradient) const {
  double convexity = 0;
  if (const double lambda = options_.regularization.value(); lambda > 0) {
    for (std::size_t j = 0; j < gradient.size(); ++j) gradient[j] += weight * lambda * point_[j];
  }
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

}  // namespace detail

}  // namespace surety::optimizers
