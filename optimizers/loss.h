// Losses of generalized linear models, as functions of the score s = <w, x> and the label y; all satisfy `Objective`.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include <surety/accounting/units.h>
#include <surety/optimizers/domain.h>
#include <surety/optimizers/problem.h>

namespace surety::optimizers {

/// log(1 + exp(-y s)) for labels y in {-1, +1}; a label 0 means -1. Convex, 1-Lipschitz and 1/4-smooth in the score, so for rows
/// of norm at most r the gradient is at most r and r^2/4-Lipschitz, for all weights.
struct LogisticLoss {
  static constexpr std::string_view name = "logistic";
  static constexpr std::string_view label_constraint = "must be -1, 0 or 1";

  /// No overflow and no cancellation for any finite margin.
  [[nodiscard]] double value(double score, double label) const noexcept {
    const double margin = label * score;
    return margin > 0 ? std::log1p(std::exp(-margin)) : std::log1p(std::exp(margin)) - margin;
  }
  [[nodiscard]] double derivative(double score, double label) const noexcept { return -label / (1 + std::exp(label * score)); }
  [[nodiscard]] double gradient_bound(double row_norm) const noexcept { return row_norm; }
  [[nodiscard]] double smoothness(double row_norm) const noexcept { return row_norm * row_norm / 4; }
  [[nodiscard]] std::optional<double> encode_label(double label) const noexcept {
    if (label == 1) return 1.0;
    if (label == 0 || label == -1) return -1.0;
    return std::nullopt;
  }
};

struct LabelBoundRule : Positive {
  static constexpr std::string_view name = "label bound";
};
/// Labels count as if clamped to [-bound, bound]; public.
using LabelBound = Quantity<LabelBoundRule>;

/// (s - y)^2 / 2 for labels clamped to [-label_bound, label_bound]. Its gradient (s - y) x is bounded only where the weights
/// are: by (r weight_radius + label_bound) r for rows of norm at most r and weights in the l2 ball of radius weight_radius
/// around 0. Beyond that ball only per-record clipping keeps the sensitivity. r^2-smooth for all weights.
struct SquaredLoss {
  static constexpr std::string_view name = "squared";
  static constexpr std::string_view label_constraint = "must be a finite number";

  LabelBound label_bound;
  Radius weight_radius;

  [[nodiscard]] double value(double score, double label) const noexcept { return (score - label) * (score - label) / 2; }
  [[nodiscard]] double derivative(double score, double label) const noexcept { return score - label; }
  [[nodiscard]] double gradient_bound(double row_norm) const noexcept {
    return (row_norm * weight_radius.value() + label_bound.value()) * row_norm;
  }
  [[nodiscard]] double smoothness(double row_norm) const noexcept { return row_norm * row_norm; }
  [[nodiscard]] std::optional<double> encode_label(double label) const noexcept {
    if (!std::isfinite(label)) return std::nullopt;
    return std::clamp(label, -label_bound.value(), label_bound.value());
  }
};

static_assert(Objective<LogisticLoss> && Objective<SquaredLoss>);

}  // namespace surety::optimizers
