// Ranges of columns that a training releases before it learns, in the same charge (docs/proofs/ranges.md).
//
// Each of the 16 releases has the same noise. Together they have 4/25 of the squared mu of the promise.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/data/features/dataset.h>
#include <surety/data/features/features.h>
#include <surety/jobs/algorithms/algorithm.h>
#include <surety/optimizers/doors/run.h>

namespace surety::jobs {

/// The standard deviation of a count of `optimizers::release_ranges`, over the number of records, with the noise that a training of this target has.
/// \throws Error{unreachable} for a target that no Gaussian noise meets, as with delta = 0
[[nodiscard]] double share_of_range_noise(const Target& target, std::size_t columns, double records);

class PrivateRanges {
 public:
  /// `shared` outlives it. \param uses_no_column the model is the same for every record: nothing is released
  /// \throws Error{unreachable} for a target that no Gaussian noise meets; Error{unsupported} for a unit of privacy other than a record
  PrivateRanges(const TrainPlan& shared, bool uses_no_column);

  [[nodiscard]] bool are_released() const noexcept { return noise_.has_value(); }
  /// All that is released: the event of the ranges and the training, or the training alone.
  [[nodiscard]] Event with_ranges(const Event& training) const;
  /// \throws PlanError where they are to be released and no column of the map has one. \param planned the map that follows from the header
  void require_columns(const data::FeatureMap& planned) const;
  /// Releases a range for each column that has none, and keeps them. \param rows read with `data::map_before_ranges(planned)`
  /// \param count how many records there are, a public number or a guess \pre are_released()
  [[nodiscard]] std::span<const data::Bounds> release(const data::Dataset& rows, const data::FeatureMap& planned, double count,
                                                      optimizers::Releaser& releaser);
  /// What there is to say once `release` was called; nothing before.
  void add_to(TrainingFacts& facts) const;

 private:
  const TrainPlan& plan_;
  std::optional<NoiseMultiplier> noise_;
  std::vector<std::string> columns_;
  std::vector<data::Bounds> ranges_;
};

}  // namespace surety::jobs
