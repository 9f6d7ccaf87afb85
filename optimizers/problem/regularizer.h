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
#include <memory>
#include <span>
#include <vector>

#include <surety/optimizers/problem/domain.h>
#include <surety/optimizers/problem/units.h>

namespace surety::optimizers {

/// value(w)                h(w); infinity outside the domain of h
/// proximal(step, target)  the map above; step is finite and at least 0
/// strong_convexity()      a number m >= 0 such that h(w) - (m / 2) ||w||_2^2 is convex
template <class H>
concept Regularizer = requires(const H& h, std::span<const double> weights, std::span<double> target, double step) {
  { h.value(weights) } -> std::same_as<double>;
  h.proximal(step, target);
  { h.strong_convexity() } -> std::same_as<double>;
};

/// Any `Regularizer`, which must outlive the reference: called once a step.
class RegularizerRef {
 public:
  template <class H>
  requires(!std::same_as<H, RegularizerRef>) &&
      Regularizer<H> RegularizerRef(const H& h) noexcept  // NOLINT(google-explicit-constructor): callers pass the regularizer itself
      : h_{std::addressof(h)},
  value_{[](const void* o, std::span<const double> weights) { return static_cast<const H*>(o)->value(weights); }},
  proximal_{[](const void* o, double step, std::span<double> target) { static_cast<const H*>(o)->proximal(step, target); }},
  strong_convexity_{[](const void* o) { return static_cast<const H*>(o)->strong_convexity(); }} {}

  [[nodiscard]] double value(std::span<const double> weights) const { return value_(h_, weights); }
  void proximal(double step, std::span<double> target) const { proximal_(h_, step, target); }
  [[nodiscard]] double strong_convexity() const { return strong_convexity_(h_); }

 private:
  const void* h_;
  double (*value_)(const void*, std::span<const double>);
  void (*proximal_)(const void*, double, std::span<double>);
  double (*strong_convexity_)(const void*);
};

/// h = 0.
struct NoRegularizer {
  [[nodiscard]] double value(std::span<const double> /*weights*/) const noexcept { return 0; }
  void proximal(double /*step*/, std::span<double> target) const noexcept {
    for (double& w : target) w = completed(w);
  }
  [[nodiscard]] double strong_convexity() const noexcept { return 0; }
};

/// h(w) = (lambda / 2) ||w||_2^2; its map divides by 1 + step lambda, within a relative 2^-51.
struct L2Regularizer {
  Regularization lambda;

  [[nodiscard]] double value(std::span<const double> weights) const noexcept {
    double sum = 0;
    for (const double w : weights) sum += w * w;
    return lambda.value() == 0 ? 0 : lambda.value() / 2 * sum;
  }
  void proximal(double step, std::span<double> target) const noexcept {
    for (double& w : target) w = completed(w) / (1 + step * lambda.value());
  }
  [[nodiscard]] double strong_convexity() const noexcept { return lambda.value(); }
};

/// h(w) = lambda ||w||_1; its map moves every coordinate toward 0 by step lambda, and no further ("soft thresholding").
struct L1Regularizer {
  Regularization lambda;

  [[nodiscard]] double value(std::span<const double> weights) const noexcept {
    double sum = 0;
    for (const double w : weights) sum += std::abs(w);
    return lambda.value() == 0 ? 0 : lambda.value() * sum;
  }
  void proximal(double step, std::span<double> target) const noexcept {
    const double threshold = step * lambda.value();
    for (double& w : target) {
      const double complete = completed(w);
      w = std::copysign(std::max(0.0, std::abs(complete) - threshold), complete);
    }
  }
  [[nodiscard]] double strong_convexity() const noexcept { return 0; }
};

/// h(w) = l1 ||w||_1 + (l2 / 2) ||w||_2^2; its map is that of the first, then that of the second.
/// \source docs/proofs/empirical-risk.md#regularizers
struct ElasticNet {
  Regularization l1;
  Regularization l2;

  [[nodiscard]] double value(std::span<const double> weights) const noexcept {
    return L1Regularizer{l1}.value(weights) + L2Regularizer{l2}.value(weights);
  }
  void proximal(double step, std::span<double> target) const noexcept {
    L1Regularizer{l1}.proximal(step, target);
    L2Regularizer{l2}.proximal(step, target);
  }
  [[nodiscard]] double strong_convexity() const noexcept { return l2.value(); }
};

/// Whether projecting moves no coordinate by more than (size + 16) 2^-52 of the largest one: the tolerance of the projections here.
template <Projectable D>
[[nodiscard]] bool contains(const D& domain, std::span<const double> weights) {
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
template <Projectable D>
struct L2RegularizerOn {
  Regularization lambda;
  D domain;

  [[nodiscard]] double value(std::span<const double> weights) const {
    return contains(domain, weights) ? L2Regularizer{lambda}.value(weights) : std::numeric_limits<double>::infinity();
  }
  void proximal(double step, std::span<double> target) const {
    L2Regularizer{lambda}.proximal(step, target);
    domain.project(target);
  }
  [[nodiscard]] double strong_convexity() const noexcept { return lambda.value(); }
};
template <class D>
L2RegularizerOn(Regularization, D) -> L2RegularizerOn<D>;

/// h(w) = 0 on the closed convex set `domain`, infinity outside of it; its map is the projection.
template <Projectable D>
struct Indicator {
  D domain;

  [[nodiscard]] double value(std::span<const double> weights) const {
    return contains(domain, weights) ? 0 : std::numeric_limits<double>::infinity();
  }
  void proximal(double /*step*/, std::span<double> target) const {
    for (double& w : target) w = completed(w);
    domain.project(target);
  }
  [[nodiscard]] double strong_convexity() const noexcept { return 0; }
};
template <class D>
Indicator(D) -> Indicator<D>;

static_assert(Regularizer<NoRegularizer> && Regularizer<L2Regularizer> && Regularizer<L1Regularizer> && Regularizer<ElasticNet>);
static_assert(Regularizer<Indicator<Simplex>> && Regularizer<L2RegularizerOn<L2Ball>>);

}  // namespace surety::optimizers
