// The plan of a release as a value.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <surety/accounting/events/unit.h>
#include <surety/accounting/events/units.h>
#include <surety/data/reading/data_policy.h>
#include <surety/jobs/plans/written_plan.h>
#include <surety/jobs/release/shared_noise.h>
#include <surety/jobs/run/kept_units.h>
#include <surety/statistics/parts.h>

namespace surety::jobs {

/// What is to be released, of any table. All of it is public.
struct ReleasePlan {
  Target target;                                       ///< of all queries together
  std::vector<statistics::WeightedStatistic> queries;  ///< of the target's adjacency and of the unit
  UnitOfPrivacy unit = {};                             ///< `unit_of_column` where it is not one row
  std::optional<std::string> period = {};              ///< the column of a combination that holds periods, for `over_periods`
  NoiseChoice noise = NoiseChoice::best;
  double confidence = 0.95;       ///< of each interval alone, between 0 and 1
  data::DataPolicy reading = {};  ///< how a file becomes records
  std::string note = {};          ///< for the ledger; empty: the queries
  static constexpr std::size_t most_queries = 4096;
  friend bool operator==(const ReleasePlan&, const ReleasePlan&) = default;
};

/// A plan that was read, and what its text says beside it.
struct WrittenRelease : WrittenPlan {
  ReleasePlan plan;
  std::optional<std::string> data = {};     ///< where its records are
  std::optional<std::string> picture = {};  ///< where its picture is to go
};

}  // namespace surety::jobs
