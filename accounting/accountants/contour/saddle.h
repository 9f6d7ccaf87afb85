// Where the line stands: at the saddle point of the integrand, which need not be exact.
#pragma once

#include <functional>

#include <surety/accounting/accountants/contour/cumulants.h>

namespace surety::accounting::contour {

struct Saddle {
  double s;
  double epsilon;    ///< where s is the saddle point
  double log_delta;  ///< there, by the saddle point's approximation
  double variance;   ///< Lambda''(s)
};

/// The largest s, or nearly, that is still too small; to within `within` in its logarithm, and so closely that the integrand does
/// not grow by more than a factor between it and the turn (the cumulants of heavy tails turn sharply).
[[nodiscard]] Saddle find_saddle(Cumulants& cumulants, const std::function<bool(const Saddle&)>& too_small, double within);

}  // namespace surety::accounting::contour
