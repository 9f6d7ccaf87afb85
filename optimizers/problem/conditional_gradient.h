// The nearest point of a set by linear minimisation alone: the conditional gradient method (Frank and Wolfe 1956) with line search.
//
//     v_k = argmin over v in the set of <x_k - target, v>,   x_{k+1} = x_k + gamma_k (v_k - x_k),
//     gamma_k = min(1, <x_k - target, x_k - v_k> / ||x_k - v_k||^2)
//
// Every iterate is a convex combination of the start and of minima, so it is in the set without a projection. The gap
// <x_k - target, x_k - v_k> is known at each step and bounds ||x_k - nearest||^2, since h = ||x - target||^2 / 2 is 1-strongly convex and
// the nearest point is optimal: ||x_k - nearest||^2 <= <x_k - target, x_k - nearest> <= gap.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <surety/accounting/events/units.h>
#include <surety/optimizers/problem/domain.h>

namespace surety::optimizers {

struct NearestPoint {
  std::vector<double> point;
  double gap;  ///< at `point`: its squared distance from the nearest point is at most this, to within rounding; infinite if unknown
  std::uint64_t calls;  ///< of the linear minimisation oracle
};

/// A point of the set near `target`, from `start` in the set with at most `calls` calls of the oracle; stops where the gap is at most
/// `gap`. After k steps ||point - nearest||^2 <= 4 diameter^2 / (k + 2). O(dimension) beside each call.
///
/// Coordinates of the target beyond +-2^300 count as these, and a NaN as 0, so that nothing overflows.
/// \throws Error{invalid_argument} when start and target are not of one length; what the oracle throws.
/// \source docs/proofs/projection-free-bandit.md#conditional-gradient
template <std::derived_from<LinearlyMinimizable> D>
[[nodiscard]] NearestPoint nearest_by_conditional_gradient(const D& domain, std::span<const double> target, std::vector<double> start,
                                                           Count calls, double gap = 0) {
  require_dimension("a start", start.size(), target.size());
  constexpr double largest = 0x1p300;
  NearestPoint found{.point = std::move(start), .gap = std::numeric_limits<double>::infinity(), .calls = 0};
  std::vector<double>& x = found.point;
  std::vector<double> slope(x.size());
  const auto set_slope = [&] {
    for (std::size_t j = 0; j < x.size(); ++j) slope[j] = x[j] - std::clamp(std::isnan(target[j]) ? 0.0 : target[j], -largest, largest);
  };
  while (found.calls < calls.value()) {
    set_slope();
    const std::vector<double> v = domain.minimize_linear(slope);
    ++found.calls;
    double descent = 0;
    double length = 0;
    for (std::size_t j = 0; j < x.size(); ++j) {
      descent += slope[j] * (x[j] - v[j]);
      length += (x[j] - v[j]) * (x[j] - v[j]);
    }
    found.gap = std::max(descent, 0.0);
    if (!(descent > gap) || !(length > 0)) break;
    const double step = std::min(1.0, descent / length);
    for (std::size_t j = 0; j < x.size(); ++j) x[j] = step == 1 ? v[j] : x[j] + step * (v[j] - x[j]);
    found.gap = std::numeric_limits<double>::infinity();
  }
  return found;
}

}  // namespace surety::optimizers
