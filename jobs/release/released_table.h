// What a job of statistics released, for programs that read Arrow.
#pragma once

#include <surety/data/arrow/arrow_table.h>
#include <surety/jobs/release/released_statistics.h>

namespace surety::jobs {

/// The numbers, one a row, and what each is of: texts "query", "group" and "cell", null where the query has none, and numbers "value", "lower" and "upper",
/// of which the last two are null of what has a rank error in the place of an interval; "used", "used_lower", "used_upper" and "total" are null where the
/// number of used records was not released; "rank_error" in records and "rank_error_share" of all records are null of what has an interval.
[[nodiscard]] data::ArrowTable table_of(const ReleasedStatistics& released);

}  // namespace surety::jobs
