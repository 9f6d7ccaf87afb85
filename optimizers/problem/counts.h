// How far one record moves counts.
#pragma once

#include <surety/accounting/events/units.h>
#include <surety/mechanisms/queries/sensitivity.h>

namespace surety::optimizers {

/// The l2 sensitivity of a sum of vectors without negative coordinates, of l2 norm at most 1 for each unit. Where one replaces another,
/// |a - b|^2 <= |a|^2 + |b|^2 <= 2. \source docs/proofs/shaped-descent.md#constant
[[nodiscard]] inline L2Sensitivity sensitivity_of_counts(Adjacency adjacency) {
  constexpr double root_of_two = 0x1.6a09e667f3bcdp0;  // rounded up
  return L2Sensitivity{adjacency == Adjacency::replace_one ? root_of_two : 1.0};
}

}  // namespace surety::optimizers
