// Whom a plan protects, as its fields say it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <surety/accounting/events/unit.h>
#include <surety/jobs/plans/fields.h>
#include <surety/jobs/plans/reading_fields.h>

namespace surety::jobs {

struct UnitFields {
  std::optional<std::string> column = {};
  std::optional<std::uint64_t> most = {};
  std::optional<EmptyUnit> empty = {};

  void add(FieldTable& table);
  /// `empty-unit`.
  void add_empty(FieldTable& table);
  /// What a schema says, where no field does.
  void take_schema(const Schema& schema);
};

/// One row where nothing is said, else the owners that column names, found as `reading` says that files are read.
/// \throws PlanError for a part of it alone, a name that no ledger takes, or one that is none of the columns that are named.
[[nodiscard]] UnitOfPrivacy unit_of(const UnitFields& said, const ReadingFields& reading);
/// The same, for a plan that reads records. \throws the same, and PlanError where it is said what a missing cell of its column counts as.
[[nodiscard]] UnitOfPrivacy unit_of_records(const UnitFields& said, const ReadingFields& reading);

}  // namespace surety::jobs
