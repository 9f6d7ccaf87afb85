// A pass over a table, or over one part of it: the one way in which a release reads, whether the rest is elsewhere or not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include <surety/data/units/owner_buckets.h>
#include <surety/data/units/unit_selection.h>
#include <surety/jobs/release/release_plan.h>
#include <surety/statistics/parts.h>

namespace surety::jobs {

struct TableOptions {
  bool may_be_empty;                          ///< a file without records is one like any other
  data::UnitSelectionOptions selection = {};  ///< of owners of several rows
};

/// All of it is private, but for the number of records where that is public.
struct ReadTable {
  std::uint64_t records;       ///< that are kept
  data::OwnerBuckets buckets;  ///< where they were asked for
};

/// Gives each record that is kept to all parts. \param key by which rows are kept; nothing where the unit is one row \throws Error{bad_data, environment} as
/// `statistics::read_parts` and `keep_units`.
[[nodiscard]] ReadTable read_table(const std::filesystem::path& path, const ReleasePlan& plan, const std::optional<data::UnitKey>& key,
                                   const statistics::Parts& parts, const TableOptions& options);
[[nodiscard]] ReadTable read_table(data::ArrowStream stream, const ReleasePlan& plan, const std::optional<data::UnitKey>& key,
                                   const statistics::Parts& parts, const TableOptions& options);

}  // namespace surety::jobs
