#include <surety/mechanisms/queries/sensitivity.h>

#include <fmt/format.h>

#include <surety/base/numbers/interval.h>

namespace surety::mechanisms {
namespace {

// Proved: docs/proofs/mechanisms.md#sensitivities
// Wide enough that the sum of two doubles that matter to each other is nearly exact; its last step rounds up.
constexpr mpfr_prec_t precision = 128;

Interval checked(std::size_t dimension) {
  if (!(dimension >= 1 && dimension <= std::size_t{1} << 53)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("dimension is {}, must be from 1 to 2^53", dimension)};
  }
  return {static_cast<double>(dimension), precision};
}

double sum_up(double sensitivity, const Interval& charge) { return (Interval{sensitivity, precision} + charge).enclosure().upper; }

}  // namespace

L2Sensitivity sensitivity_of_clipped_sum(ClippingNorm clip, Adjacency adjacency) {
  return L2Sensitivity{adjacency == Adjacency::replace_one ? 2 * clip.value() : clip.value()};
}

L1Sensitivity after_rounding(L1Sensitivity sensitivity, Grid grid, std::size_t dimension) {
  return L1Sensitivity{sum_up(sensitivity.value(), Interval{grid.step(), precision} * checked(dimension))};
}

L2Sensitivity after_rounding(L2Sensitivity sensitivity, Grid grid, std::size_t dimension) {
  return L2Sensitivity{sum_up(sensitivity.value(), Interval{grid.step(), precision} * sqrt(checked(dimension)))};
}

LinfSensitivity after_rounding(LinfSensitivity sensitivity, Grid grid, std::size_t dimension) {
  static_cast<void>(checked(dimension));
  return LinfSensitivity{sum_up(sensitivity.value(), Interval{grid.step(), precision})};
}

// Proved so far.
}  // namespace surety::mechanisms
