// Where the records of a training come from, as its fields say it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <surety/jobs/plans/fields.h>
#include <surety/jobs/plans/reading_fields.h>
#include <surety/jobs/plans/train_plan.h>
#include <surety/jobs/plans/unit_fields.h>

namespace surety::jobs {

struct TableFields {
  std::string data = {};
  std::vector<std::string> data_of_ranks = {};  ///< of all ranks, where each has a file of its own: {rank} in its name
  DataFormat format = DataFormat::csv;
  std::string label = {};
  std::vector<std::string> drop = {};
  std::vector<std::string> bounds = {};
  std::vector<std::string> categories = {};
  RowScale rows = RowScale::unit;
  data::Terms terms = data::Terms::automatic;
  data::Ranges ranges = data::Ranges::automatic;
  std::vector<std::string> pairs = {};
  std::optional<std::uint64_t> features = {};

  /// All but `data`. \param formats that are known
  void add(FieldTable& table, const std::vector<DataFormat>& formats);
  /// A file for each rank, where {rank} stands in its name. \throws PlanError for such a name in one process.
  void take_rank(std::size_t rank, std::size_t size);
  /// What a schema says of the label, where no field does.
  void take_schema(const Schema& schema);
};

/// What else says how records become features.
struct TableContext {
  const ReadingFields& reading;
  const UnitFields& said_unit = {};
  bool has_unit = false;                    ///< of several rows
  bool has_unit_of_ledger = false;          ///< which nothing but the ledger says
  std::string classes = {};                 ///< of the problem
  std::optional<std::string> weight = {};   ///< the column of weights, which is no feature
  std::optional<double> weight_bound = {};  ///< the largest one
};

/// Where records come from and how they are read: public, and checked before they are. The form of records is that of `context.reading`.
/// \throws PlanError for fields that do not suit the format; Error{bad_data} for a record file that cannot be opened.
[[nodiscard]] TrainingSource source_of(const TableFields& said, const TableContext& context);

}  // namespace surety::jobs
