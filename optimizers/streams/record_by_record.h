// What the algorithms that learn record by record share.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/objective.h>

namespace surety::optimizers::detail {

/// An algorithm whose `Steps` are compiled once, for all losses and all `Companion`s (a domain or a learner) of which they are told at each
/// record. This owns loss and part. `Steps::Door` is what its releases go through.
template <class Steps, Objective O, class Companion>
class RecordByRecord {
 public:
  /// Reads the next record and moves on. \throws as the algorithm says, and what the door throws.
  void observe(const RowView& row, double label, typename Steps::Door& door) { steps_.observe(objective_, part_, row, label, door); }

  /// Released, may be shown.
  [[nodiscard]] std::span<const double> weights() const noexcept { return steps_.weights(); }
  /// Records read.
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_.steps(); }

 protected:
  /// make(part) -> Steps.
  template <class Make>
  RecordByRecord(O objective, Companion part, Make make) : objective_{std::move(objective)}, part_{std::move(part)}, steps_{make(part_)} {}

 private:
  O objective_;
  Companion part_;
  Steps steps_;
};

}  // namespace surety::optimizers::detail
