// What a query releases.
#pragma once

#include <vector>

#include <surety/accounting/events/units.h>
#include <surety/jobs/plans/schema.h>
#include <surety/jobs/release/query.h>
#include <surety/jobs/release/query_context.h>
#include <surety/statistics/parts.h>

namespace surety::jobs {

/// The query with bounds, categories and keys of its columns in the schema, where it has none. \throws PlanError for a column of another type.
[[nodiscard]] Query with_schema(Query query, const Schema* schema);
/// \throws PlanError for an option that is missing or that the function does not have.
[[nodiscard]] statistics::WeightedStatistic statistic_of(const Query& query, const QueryContext& context);

/// Gives queries of keys that nobody listed their part of the promised delta (`parse_queries`).
void share_delta(std::vector<statistics::WeightedStatistic>& queries, Delta delta);

}  // namespace surety::jobs
