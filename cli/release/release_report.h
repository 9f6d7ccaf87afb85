// What `release` says of what it released: a table for people, JSON, or CSV.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <surety/accounting/calibration/solve.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/statistics/parts.h>

#include "../data_options.h"
#include "../private_run.h"

namespace surety::cli {

struct ReleasedQuery {
  statistics::PartFacts facts;
  double weight;
  Event event;
  std::vector<statistics::Answer> answers;
};

struct ReleaseReport {
  const PrivateRunOptions& options;
  const DataOptions& reading;
  double confidence;
  Solution cost;  ///< of all queries
  accounting::RunId run;
  std::optional<std::uint64_t> records;  ///< where their number is public
  std::vector<ReleasedQuery> queries;
};

void print_table(const ReleaseReport& report);
void print_json(const ReleaseReport& report);
/// One line a number. A text that a spreadsheet would take for a formula, beginning with = + - @, a tab or a carriage return, gets an
/// apostrophe before it; numbers never do.
void print_csv(const ReleaseReport& report);
/// A picture: for each query its numbers as bars, with their intervals.
[[nodiscard]] std::string svg_of(const ReleaseReport& report);

}  // namespace surety::cli
