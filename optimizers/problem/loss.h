// Losses of generalized linear models, as functions of the score s = <w, x> and the label y; all satisfy `Objective`.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include <surety/accounting/events/units.h>
#include <surety/optimizers/problem/domain.h>
#include <surety/optimizers/problem/problem.h>

namespace surety::optimizers {

/// Labels of two classes, -1 and +1; 0 means -1, and there are no others.
[[nodiscard]] inline std::optional<double> encode_sign(double label) noexcept {
  if (label == 1) return 1.0;
  if (label == 0 || label == -1) return -1.0;
  return std::nullopt;
}

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
  /// Half of twice the gradient bound: the derivative has the sign of -label at every score.
  [[nodiscard]] double gradient_difference_bound(double row_norm) const noexcept { return row_norm; }
  [[nodiscard]] double smoothness(double row_norm) const noexcept { return row_norm * row_norm / 4; }
  [[nodiscard]] std::optional<double> encode_label(double label) const noexcept { return encode_sign(label); }
  [[nodiscard]] bool has_label(double label) const noexcept { return label == 1 || label == -1; }

  static constexpr bool derivative_has_one_sign = true;
  /// An exponential within 4 units in the last place, a sum and a quotient: at most 2^-53 (8 s (1 - s) + 2 s) with s in [0, 1].
  [[nodiscard]] double monotone_derivative_error(double /*score*/) const noexcept { return 0x1p-50; }
};

/// max(0, 1 - y s) for labels y in {-1, +1}; a label 0 means -1. Convex and 1-Lipschitz in the score; not smooth. At its corner the
/// derivative is 0, a subgradient.
struct HingeLoss {
  static constexpr std::string_view name = "hinge";
  static constexpr std::string_view label_constraint = "must be -1, 0 or 1";

  [[nodiscard]] double value(double score, double label) const noexcept { return std::max(0.0, 1 - label * score); }
  [[nodiscard]] double derivative(double score, double label) const noexcept { return label * score < 1 ? -label : 0; }
  [[nodiscard]] double gradient_bound(double row_norm) const noexcept { return row_norm; }
  /// The derivative has the sign of -label or is 0.
  [[nodiscard]] double gradient_difference_bound(double row_norm) const noexcept { return row_norm; }
  [[nodiscard]] double smoothness(double /*row_norm*/) const noexcept { return std::numeric_limits<double>::infinity(); }
  [[nodiscard]] std::optional<double> encode_label(double label) const noexcept { return encode_sign(label); }
};

struct SmoothingWidthRule {
  static constexpr std::string_view name = "smoothing width";
  static constexpr std::string_view constraint = "greater than 0 and at most 1";
  static bool holds(double h) { return h > 0 && h <= 1; }
};
/// h below.
using SmoothingWidth = Quantity<SmoothingWidthRule>;

/// The hinge with a parabola in place of its corner, for labels y in {-1, +1}; a label 0 means -1. With the margin m = y s,
///
///     0                        for m >= 1 + h
///     (1 + h - m)^2 / (4 h)    between
///     1 - m                    for m <= 1 - h .
///
/// Convex, 1-Lipschitz and 1/(2 h)-smooth in the score, and between the hinge and the hinge + h/4.
/// \source Chapelle, Training a support vector machine in the primal, 2007, section 2.
struct SmoothedHingeLoss {
  static constexpr std::string_view name = "smoothed-hinge";
  static constexpr std::string_view label_constraint = "must be -1, 0 or 1";

  SmoothingWidth width{0.5};  ///< h, public

  [[nodiscard]] double value(double score, double label) const noexcept {
    const double margin = label * score;
    const double below = 1 + width.value() - margin;  // the end of the parabola
    if (below <= 0) return 0;
    return margin <= 1 - width.value() ? 1 - margin : below * below / (4 * width.value());
  }
  [[nodiscard]] double derivative(double score, double label) const noexcept {
    return -label * std::clamp((1 + width.value() - label * score) / (2 * width.value()), 0.0, 1.0);
  }
  [[nodiscard]] double gradient_bound(double row_norm) const noexcept { return row_norm; }
  /// The derivative has the sign of -label or is 0.
  [[nodiscard]] double gradient_difference_bound(double row_norm) const noexcept { return row_norm; }
  [[nodiscard]] double smoothness(double row_norm) const noexcept { return row_norm * row_norm / (2 * width.value()); }
  [[nodiscard]] std::optional<double> encode_label(double label) const noexcept { return encode_sign(label); }
  [[nodiscard]] bool has_label(double label) const noexcept { return label == 1 || label == -1; }

  static constexpr bool derivative_has_one_sign = true;
  /// Where the quotient is not clamped, 1 + h and 1 + h - m are at most 2 and 2 h <= 2: each errs by 2^-53, and is divided by 2 h.
  [[nodiscard]] double monotone_derivative_error(double /*score*/) const noexcept { return 0x1p-51 / width.value(); }
};

struct LabelBoundRule : Positive {
  static constexpr std::string_view name = "label bound";
};
/// Labels count as if clamped to [-bound, bound]; public.
using LabelBound = Quantity<LabelBoundRule>;

/// (s - y)^2 / 2 for labels less label_centre, clamped to [-label_bound, label_bound]. Its gradient (s - y) x is bounded only where the weights
/// are: by (r weight_radius + label_bound) r for rows of norm at most r and weights in the l2 ball of radius weight_radius
/// around 0. Beyond that ball only per-record clipping keeps the sensitivity. r^2-smooth for all weights.
struct SquaredLoss {
  static constexpr std::string_view name = "squared";
  static constexpr std::string_view label_constraint = "must be a finite number";

  LabelBound label_bound;
  Radius weight_radius;
  double label_centre = 0;  ///< finite; public, and what a prediction adds to the score

  [[nodiscard]] double value(double score, double label) const noexcept { return (score - label) * (score - label) / 2; }
  [[nodiscard]] double derivative(double score, double label) const noexcept { return score - label; }
  [[nodiscard]] double gradient_bound(double row_norm) const noexcept {
    return (row_norm * weight_radius.value() + label_bound.value()) * row_norm;
  }
  /// Between weights in the ball of radius weight_radius: the label cancels.
  [[nodiscard]] double gradient_difference_bound(double row_norm) const noexcept { return 2 * row_norm * row_norm * weight_radius.value(); }
  [[nodiscard]] double smoothness(double row_norm) const noexcept { return row_norm * row_norm; }
  [[nodiscard]] std::optional<double> encode_label(double label) const noexcept {
    if (!std::isfinite(label)) return std::nullopt;
    return std::clamp(label - label_centre, -label_bound.value(), label_bound.value());
  }
  [[nodiscard]] bool has_label(double label) const noexcept { return std::abs(label) <= label_bound.value(); }

  static constexpr bool derivative_has_one_sign = false;
  [[nodiscard]] double monotone_derivative_error(double score) const noexcept { return 0x1p-53 * (score + label_bound.value()); }
};

static_assert(ConvexObjective<LogisticLoss> && ConvexObjective<SmoothedHingeLoss> && ConvexObjective<SquaredLoss>);
static_assert(!ConvexObjective<HingeLoss>);
static_assert(Objective<LogisticLoss> && Objective<HingeLoss> && Objective<SmoothedHingeLoss> && Objective<SquaredLoss>);

}  // namespace surety::optimizers
