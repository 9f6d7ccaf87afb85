// What a job of statistics released, for people: lines of text, CSV, and a picture.
#pragma once

#include <string>
#include <string_view>

#include <surety/jobs/pictures/bar_picture.h>
#include <surety/jobs/release/released_statistics.h>

namespace surety::jobs {

/// Lines as `surety release` prints them: the queries with their intervals, and what was promised, charged and added as noise. No text of a query, a cell or
/// a group ends a line or moves a terminal. \param ledger where the charge stands, "run.db, run 2" \pre at least one query \complexity linear in the answers
[[nodiscard]] std::string report_text(const ReleasedStatistics& released, std::string_view ledger,
                                      const PrintName& print_name = plain_name);

/// A line for each number, below a line of heads; texts are those of `csv_text`. A quantile has no interval. \complexity linear in the answers
[[nodiscard]] std::string csv(const ReleasedStatistics& released, const PrintName& print_name = plain_name);

/// For each query its numbers as bars, with their intervals.
[[nodiscard]] BarPicture picture_of(const ReleasedStatistics& released);

}  // namespace surety::jobs
