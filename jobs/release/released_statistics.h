// What a job of statistics released.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <surety/accounting/calibration/solve.h>
#include <surety/accounting/events/unit.h>
#include <surety/accounting/events/units.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/statistics/parts.h>

namespace surety::jobs {

struct ReleasedQuery {
  statistics::PartFacts facts;
  /// "left out", "count as 0" or "promised complete": what a missing cell of the query's column is; empty where none is read.
  std::string missing_cells;
  double weight;
  Event event;
  std::vector<statistics::Answer> answers;
};

/// What a report warns of: numbers of fewer than nine tenths of the records, for each query at most one line. Released values alone decide it.
struct ReleasedStatistics;
[[nodiscard]] std::vector<std::string> warnings_of(const ReleasedStatistics& released);
/// The same of one number; empty where there is nothing to warn of.
[[nodiscard]] std::string warning_of(const ReleasedQuery& query, const statistics::Answer& answer);

/// All that may be published of a release.
struct ReleasedStatistics {
  Target promise;
  UnitOfPrivacy unit;
  double confidence;                           ///< of each interval alone
  Solution cost;                               ///< of all queries
  accounting::RunId run;                       ///< in its ledger
  bool not_private;                            ///< its bits were a replay
  std::map<std::string, std::string> missing;  ///< of columns, as what value a missing cell counts
  std::optional<std::uint64_t> records;        ///< where their number is public, and the queries are about all of them
  std::vector<ReleasedQuery> queries;
};

/// The one JSON form, that of `surety release --json` but for the ledger's name, as text.
[[nodiscard]] std::string json_text(const ReleasedStatistics& released);

}  // namespace surety::jobs
