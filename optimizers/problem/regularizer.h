// Regularizers: the convex part h of a composite objective F(w) + h(w) that needs no data, and that a method meets by its proximal map
//
//     proximal(step, target):   target <- argmin_v  step h(v) + ||v - target||_2^2 / 2 .
//
// The argument of the argmin is strongly convex, so there is one minimum. All of this is post-processing: no guarantee depends on it.
//
// Every regularizer here follows the rules of domains: targets may be any doubles, a NaN counts as 0 and an infinity as the largest double
// of its sign, and what the map returns is finite.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <surety/optimizers/problem/domain.h>
#include <surety/optimizers/problem/units.h>

namespace surety::optimizers {

/// Asked once a step.
class Regularizer {
 public:
  virtual ~Regularizer() = default;

  /// h(w); infinity outside the domain of h.
  [[nodiscard]] virtual double value(std::span<const double> weights) const = 0;
  /// The map above. \pre step is finite and at least 0.
  virtual void proximal(double step, std::span<double> target) const = 0;
  /// A number m >= 0 such that h(w) - (m / 2) ||w||_2^2 is convex.
  [[nodiscard]] virtual double strong_convexity() const = 0;
};

/// h = 0.
struct NoRegularizer final : Regularizer {
  [[nodiscard]] double value(std::span<const double> /*weights*/) const noexcept override { return 0; }
  void proximal(double /*step*/, std::span<double> target) const noexcept override {
    for (double& w : target) w = completed(w);
  }
  [[nodiscard]] double strong_convexity() const noexcept override { return 0; }
};

/// h(w) = (lambda / 2) ||w||_2^2; its map divides by 1 + step lambda, within a relative 2^-51.
struct L2Regularizer final : Regularizer {
  explicit L2Regularizer(Regularization strength) : lambda{strength} {}

  Regularization lambda;

  [[nodiscard]] double value(std::span<const double> weights) const noexcept override {
    double sum = 0;
    for (const double w : weights) sum += w * w;
    return lambda.value() == 0 ? 0 : lambda.value() / 2 * sum;
  }
  void proximal(double step, std::span<double> target) const noexcept override {
    for (double& w : target) w = completed(w) / (1 + step * lambda.value());
  }
  [[nodiscard]] double strong_convexity() const noexcept override { return lambda.value(); }
};

/// h(w) = lambda ||w||_1; its map moves every coordinate toward 0 by step lambda, and no further ("soft thresholding").
struct L1Regularizer final : Regularizer {
  explicit L1Regularizer(Regularization strength) : lambda{strength} {}

  Regularization lambda;

  [[nodiscard]] double value(std::span<const double> weights) const noexcept override {
    double sum = 0;
    for (const double w : weights) sum += std::abs(w);
    return lambda.value() == 0 ? 0 : lambda.value() * sum;
  }
  void proximal(double step, std::span<double> target) const noexcept override {
    const double threshold = step * lambda.value();
    for (double& w : target) {
      const double complete = completed(w);
      w = std::copysign(std::max(0.0, std::abs(complete) - threshold), complete);
    }
  }
  [[nodiscard]] double strong_convexity() const noexcept override { return 0; }
};

/// h(w) = l1 ||w||_1 + (l2 / 2) ||w||_2^2; its map is that of the first, then that of the second.
/// \source docs/proofs/empirical-risk.md#regularizers
struct ElasticNet final : Regularizer {
  struct Parts {
    Regularization l1;
    Regularization l2;
  };
  explicit ElasticNet(const Parts& parts) : l1{parts.l1}, l2{parts.l2} {}

  Regularization l1;
  Regularization l2;

  [[nodiscard]] double value(std::span<const double> weights) const noexcept override {
    return L1Regularizer{l1}.value(weights) + L2Regularizer{l2}.value(weights);
  }
  void proximal(double step, std::span<double> target) const noexcept override {
    L1Regularizer{l1}.proximal(step, target);
    L2Regularizer{l2}.proximal(step, target);
  }
  [[nodiscard]] double strong_convexity() const noexcept override { return l2.value(); }
};

/// Whether projecting moves no coordinate by more than (size + 16) 2^-52 of the largest one: the tolerance of the projections here.
[[nodiscard]] inline bool contains(const Projectable& domain, std::span<const double> weights) {
  std::vector<double> nearest(weights.begin(), weights.end());
  domain.project(nearest);
  double largest = 0;
  for (const double w : weights) largest = std::max(largest, std::abs(w));
  const double tolerance = (static_cast<double>(weights.size()) + 16) * 0x1p-52 * largest;
  for (std::size_t j = 0; j < nearest.size(); ++j) {
    if (!(std::abs(nearest[j] - weights[j]) <= tolerance)) return false;
  }
  return true;
}

/// h(w) = (lambda / 2) ||w||_2^2 on the closed convex set `domain`, infinity outside of it; its map is project(target / (1 + step lambda)),
/// for any such set, as completing the square shows. As accurate as the set's projection.
/// \source docs/proofs/empirical-risk.md#regularizers
template <std::derived_from<Projectable> D>
struct L2RegularizerOn final : Regularizer {
  L2RegularizerOn(Regularization strength, D set) : lambda{strength}, domain{std::move(set)} {}

  Regularization lambda;
  D domain;

  [[nodiscard]] double value(std::span<const double> weights) const override {
    return contains(domain, weights) ? L2Regularizer{lambda}.value(weights) : std::numeric_limits<double>::infinity();
  }
  void proximal(double step, std::span<double> target) const override {
    L2Regularizer{lambda}.proximal(step, target);
    domain.project(target);
  }
  [[nodiscard]] double strong_convexity() const noexcept override { return lambda.value(); }
};

/// h(w) = 0 on the closed convex set `domain`, infinity outside of it; its map is the projection.
template <std::derived_from<Projectable> D>
struct Indicator final : Regularizer {
  explicit Indicator(D set) : domain{std::move(set)} {}

  D domain;

  [[nodiscard]] double value(std::span<const double> weights) const override {
    return contains(domain, weights) ? 0 : std::numeric_limits<double>::infinity();
  }
  void proximal(double /*step*/, std::span<double> target) const override {
    for (double& w : target) w = completed(w);
    domain.project(target);
  }
  [[nodiscard]] double strong_convexity() const noexcept override { return 0; }
};

}  // namespace surety::optimizers
