// Whom a plan protects, as its fields say it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <surety/accounting/events/unit.h>
#include <surety/jobs/plans/fields.h>
#include <surety/jobs/plans/reading_fields.h>

namespace surety::jobs {

struct UnitFields {
  std::optional<std::string> column = {};  ///< as `parse_unit` reads it
  std::optional<std::uint64_t> most = {};
  std::optional<EmptyUnit> empty = {};
  std::optional<std::string> period = {};  ///< the column of periods, as it is named

  void add(FieldTable& table);
  /// `empty-unit`.
  void add_empty(FieldTable& table);
  /// What a schema says, where no field does.
  void take_schema(const Schema& schema);
  /// The columns that are named; none where nothing is said. \throws as `parse_unit`
  [[nodiscard]] std::vector<std::string> columns() const;
};

/// The columns of "user" or "user,day": one to three names, with commas between them. A name with a comma, a bar, a leading quote or blanks at its ends
/// stands in double quotes, as `columns_text` writes it. \throws PlanError for an empty name, one that is named twice, more names than a unit has, and
/// for bars outside quotes, which would name several owners of one row
[[nodiscard]] std::vector<std::string> parse_unit(std::string_view text);

/// The value of the field `unit` in a plan: a text is the name of one column, a list names those of a combination.
[[nodiscard]] nlohmann::json unit_json(const std::vector<std::string>& columns);

/// One row where nothing is said, else the owners that column names, found as `reading` says that files are read.
/// \throws PlanError for a part of it alone, a name that no ledger takes, or one that is none of the columns that are named.
[[nodiscard]] UnitOfPrivacy unit_of(const UnitFields& said, const ReadingFields& reading);
/// The same, for a plan that reads records. \throws the same, and PlanError where it is said what a missing cell of its column counts as.
[[nodiscard]] UnitOfPrivacy unit_of_records(const UnitFields& said, const ReadingFields& reading);
/// The column of periods, which is one of the unit's columns. \throws PlanError for another column, and for a unit that is no combination
[[nodiscard]] std::optional<std::string> period_of(const UnitFields& said, const UnitOfPrivacy& unit);

}  // namespace surety::jobs
