// Sensitivity: how far one record can move a query, in a stated norm and under a stated adjacency.
//
//   sensitivity of q in norm p  =  sup ||q(D) - q(D')||_p  over all neighbours D, D'
//
// The norm is a type, so that noise calibrated for one norm cannot be scaled by a bound in another. Sensitivities of queries on
// a grid are real numbers in data units, not in grid steps.
#pragma once

#include <cstddef>
#include <string_view>

#include <surety/accounting/events/units.h>
#include <surety/mechanisms/queries/grid.h>

namespace surety {

struct L1SensitivityRule : Positive {
  static constexpr std::string_view name = "l1 sensitivity";
};
struct L2SensitivityRule : Positive {
  static constexpr std::string_view name = "l2 sensitivity";
};
struct LinfSensitivityRule : Positive {
  static constexpr std::string_view name = "l-infinity sensitivity";
};
struct ClippingNormRule : Positive {
  static constexpr std::string_view name = "clipping norm";
};

using L1Sensitivity = Quantity<L1SensitivityRule>;
using L2Sensitivity = Quantity<L2SensitivityRule>;
using LinfSensitivity = Quantity<LinfSensitivityRule>;

/// The largest l2 norm that one record may contribute.
using ClippingNorm = Quantity<ClippingNormRule>;

/// Of a ball or a sphere, in data units.
struct RadiusRule : Positive {
  static constexpr std::string_view name = "radius";
};
using Radius = Quantity<RadiusRule>;

namespace mechanisms {

/// By how much one record moves one coordinate of a vector of integers when it moves no other: of a single number, its sensitivity; of a
/// histogram under add-or-remove-one, 1.
class CoordinateSensitivity {
 public:
  explicit CoordinateSensitivity(Count value) : value_{value} {}
  [[nodiscard]] Count value() const noexcept { return value_; }
  friend bool operator==(const CoordinateSensitivity&, const CoordinateSensitivity&) = default;

 private:
  Count value_;
};

/// l2 sensitivity of a sum of vectors, each of l2 norm at most `clip`: 2 clip under replace-one, where one such vector gives way
/// to another, and clip under add-or-remove-one and zero-out, where one such vector appears or vanishes. Exact.
/// \throws Error{invalid_argument} when 2 clip is beyond the range of double.
[[nodiscard]] L2Sensitivity sensitivity_of_clipped_sum(ClippingNorm clip, Adjacency adjacency);

/// Sensitivity after `round_to_nearest(query, grid)` of a query of `dimension` coordinates whose sensitivity was `sensitivity`:
/// rounding moves each coordinate by at most half a step g, hence the difference between two neighbours by at most g per coordinate,
/// which adds g dimension in l1, g sqrt(dimension) in l2 and g in l-infinity. The result is rounded up, so it is an upper bound.
/// \pre 1 <= dimension <= 2^53.
/// \throws Error{invalid_argument} when the dimension is out of range or the result is beyond the range of double.
[[nodiscard]] L1Sensitivity after_rounding(L1Sensitivity sensitivity, Grid grid, std::size_t dimension);
[[nodiscard]] L2Sensitivity after_rounding(L2Sensitivity sensitivity, Grid grid, std::size_t dimension);
[[nodiscard]] LinfSensitivity after_rounding(LinfSensitivity sensitivity, Grid grid, std::size_t dimension);

}  // namespace mechanisms
}  // namespace surety
