// Which rows of a data set are those of one unit.
#pragma once

#include <cstddef>
#include <span>

#include <surety/optimizers/problem/dataset.h>

namespace surety::optimizers {

/// The records at first .. end - 1.
struct RecordRange {
  std::size_t first;
  std::size_t end;
};

/// Rows of units: those of unit i stand from ends[i - 1] (0 for the first) up to ends[i]. No ends where each row is a unit.
using UnitEnds = std::span<const std::size_t>;

/// How many units there are.
[[nodiscard]] inline std::size_t units_in(const Dataset& data, UnitEnds ends) { return ends.empty() ? data.size() : ends.size(); }

/// \pre unit < units_in(data, ends)
[[nodiscard]] inline RecordRange rows_of_unit(UnitEnds ends, std::size_t unit) {
  if (ends.empty()) return {.first = unit, .end = unit + 1};
  return {.first = unit == 0 ? 0 : ends[unit - 1], .end = ends[unit]};
}

}  // namespace surety::optimizers
