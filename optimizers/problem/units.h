// Quantities that several algorithms or problems have in common. What one of them alone means stands in its own header.
#pragma once

#include <string_view>

#include <surety/accounting/events/units.h>

namespace surety::optimizers {

struct RegularizationRule : NonNegative {
  static constexpr std::string_view name = "regularization";
};
/// lambda of (lambda / 2) ||w||_2^2, or of another penalty.
using Regularization = Quantity<RegularizationRule>;

struct StepSizeRule : Positive {
  static constexpr std::string_view name = "step size";
};
using StepSize = Quantity<StepSizeRule>;

struct StepScaleFactorRule {
  static constexpr std::string_view name = "step scale";
  static constexpr std::string_view constraint = "greater than 0 and at most 2";
  static bool holds(double x) { return x > 0 && x <= 2; }
};
/// s of the steps eta_t = s / (t + 1); at most 2, so that eta_1 is at most 1.
using StepScaleFactor = Quantity<StepScaleFactorRule>;

struct GradientBoundRule : Positive {
  static constexpr std::string_view name = "gradient bound";
};
/// The largest l2 norm of a gradient; public.
using GradientBound = Quantity<GradientBoundRule>;

struct SmoothnessRule : NonNegative {
  static constexpr std::string_view name = "smoothness";
};
/// A Lipschitz constant of gradients in l2; public.
using Smoothness = Quantity<SmoothnessRule>;

struct DomainDiameterRule : Positive {
  static constexpr std::string_view name = "diameter";
};
/// The l2 diameter of a domain, in the units of its coordinates; public. `surety::Diameter`, of an event, is a multiple of a sensitivity.
using DomainDiameter = Quantity<DomainDiameterRule>;

}  // namespace surety::optimizers
