// What `release` says of what it released: a table for people, JSON, or CSV.
#pragma once

#include <string>

#include <surety/cli/commands/private_run.h>
#include <surety/jobs/release/released_statistics.h>

namespace surety::cli {

/// What was released, and what the options say of its ledger and of how records are read.
struct ReleaseReport {
  const PrivateRunOptions& options;
  const jobs::ReadingFields& reading;
  jobs::ReleasedStatistics released;
};

void print_table(const ReleaseReport& report);
void print_json(const ReleaseReport& report);
/// One line a number, whose texts are those of `csv_text`.
void print_csv(const ReleaseReport& report);
/// A picture: for each query its numbers as bars, with their intervals.
[[nodiscard]] std::string svg_of(const ReleaseReport& report);

}  // namespace surety::cli
