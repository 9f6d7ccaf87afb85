// What a job of statistics released.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <surety/accounting/calibration/solve.h>
#include <surety/accounting/events/unit.h>
#include <surety/accounting/events/units.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/jobs/plans/field_names.h>
#include <surety/jobs/run/released.h>
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

/// What a report warns of: numbers of fewer than nine tenths of the records, and `interval_warnings_of`. Released values alone decide it.
struct ReleasedStatistics;
[[nodiscard]] std::vector<std::string> warnings_of(const ReleasedStatistics& released, const PrintName& print_name = plain_name);
/// Of one number, that it is of few records; empty where it is not.
[[nodiscard]] std::string warning_of(const ReleasedQuery& query, const statistics::Answer& answer,
                                     const PrintName& print_name = plain_name);
/// Of one number, that its interval is as wide as its bounds; empty where it is not.
[[nodiscard]] std::string width_warning_of(const ReleasedQuery& query, const statistics::Answer& answer);
/// That all counts of a query may be 0; empty where one of them is not, and for other numbers.
[[nodiscard]] std::string zero_warning_of(const ReleasedQuery& query);
/// The last two, one line each.
[[nodiscard]] std::vector<std::string> interval_warnings_of(const ReleasedQuery& query);

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
  std::vector<std::string> notes = {};                  ///< about the promise, known before the charge
  std::optional<OverPeriods> over_time = std::nullopt;  ///< where a column of the unit holds periods
};

/// The one JSON form, that of `surety release --json` but for the ledger's name, as text.
[[nodiscard]] std::string json_text(const ReleasedStatistics& released);

}  // namespace surety::jobs
