// What is added to the loss, and the noise on summed gradients.
#pragma once

#include <optional>
#include <span>

#include <surety/base/text/error.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/problem/regularizer.h>

namespace surety::jobs {

/// h of loss + h: l1 and l2 parts, or the l2 part on a ball.
class Penalty final : public optimizers::Regularizer {
 public:
  /// \throws Error{invalid_argument} for an l1 part on a ball.
  Penalty(const std::optional<double>& l1, const std::optional<double>& radius, double l2)
      : net_{{.l1 = optimizers::Regularization{l1.value_or(0)}, .l2 = optimizers::Regularization{l2}}} {
    if (!radius) return;
    if (l1) refuse_plan("{} is for weights without a {}: there is no proximal map of both", "l1"_field, "radius"_field);
    on_ball_.emplace(optimizers::L2RegularizerOn{net_.l2, optimizers::L2Ball{optimizers::Radius{*radius}}});
  }
  [[nodiscard]] double value(std::span<const double> weights) const override {
    return on_ball_ ? on_ball_->value(weights) : net_.value(weights);
  }
  void proximal(double step, std::span<double> target) const override {
    on_ball_ ? on_ball_->proximal(step, target) : net_.proximal(step, target);
  }
  [[nodiscard]] double strong_convexity() const override { return net_.strong_convexity(); }

 private:
  optimizers::ElasticNet net_;
  std::optional<optimizers::L2RegularizerOn<optimizers::L2Ball>> on_ball_;
};

/// On each coordinate of a sum of clipped gradients.
[[nodiscard]] inline double summed_sigma(NoiseMultiplier multiplier, ClippingNorm clip, Adjacency adjacency) {
  return multiplier.value() * mechanisms::sensitivity_of_clipped_sum(clip, adjacency).value();
}

}  // namespace surety::jobs
