// Records of a training's source, one at a time or all, with labels as a loss wants them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <surety/data/features/dataset.h>
#include <surety/jobs/plans/train_plan.h>
#include <surety/jobs/run/kept_units.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/optimizers/problem/record_stream.h>

namespace surety::jobs {

/// In a path of data: the number of a learner, whose own file it is.
inline constexpr std::string_view learner_word = "{learner}";
/// The path of a learner's own data; where learners share one file, that one.
[[nodiscard]] std::string data_of_learner(std::string path, std::uint64_t learner);

/// The map of sparse features. \pre source.inputs holds them
[[nodiscard]] data::FeatureMap sparse_map_of(const TrainingSource& source);

/// Records one at a time, and the map that makes their features. Reads the header alone. \throws Error{bad_data}.
struct OpenStream {
  optimizers::RecordStream records;
  data::FeatureMap features;
};
/// \param units whose kept rows are read alone, if any
[[nodiscard]] OpenStream open_stream(const TrainingSource& source, const KeptUnits* units = nullptr);

/// Where rows of a record file are while an algorithm runs.
enum class KeepRows {
  in_memory,
  in_their_file,  ///< for algorithms that read them through a `RowReader`
};

/// All records, with labels as an objective wants them.
struct ReadRecords {
  data::Dataset data;
  data::FeatureMap features;
  std::uint64_t damaged = 0;  ///< of them are records of zeros: private
};

/// Takes records as they are read, where no loss looks at them: labels are as good as any.
struct AnyLabel {
  static constexpr std::string_view name = "any";
  static constexpr std::string_view label_constraint = "may be anything";
  [[nodiscard]] double value(double, double) const noexcept { return 0; }
  [[nodiscard]] double derivative(double, double) const noexcept { return 0; }
  [[nodiscard]] double gradient_bound(double) const noexcept { return 1; }
  [[nodiscard]] double gradient_difference_bound(double) const noexcept { return 1; }
  [[nodiscard]] double smoothness(double) const noexcept { return 1; }
  [[nodiscard]] std::optional<double> encode_label(double label) const noexcept { return label; }
};

/// \throws Error{bad_data} for a file without records where their number is public, always.
void require_records(const TrainPlan& plan, std::size_t records);
/// \throws PlanError{bad_data} where the file has another number of records than is said.
void require_said_records(const TrainPlan& plan, std::size_t records, std::uint64_t said);

/// \throws Error{bad_data} for what is wrong with the file, or with a record where its form is public, and where the number of records is
///         public for a file without any.
/// \param units whose kept rows are read alone, if any
[[nodiscard]] ReadRecords read(const TrainPlan& plan, optimizers::ObjectiveRef objective, const KeptUnits* units = nullptr,
                               KeepRows keep = KeepRows::in_memory);

}  // namespace surety::jobs
