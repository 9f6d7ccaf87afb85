// What a query releases.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <surety/accounting/events/units.h>
#include <surety/jobs/plans/schema.h>
#include <surety/jobs/release/query.h>
#include <surety/jobs/release/query_context.h>
#include <surety/statistics/parts.h>

namespace surety::jobs {

/// The bounds of a column in a schema. \param column nullptr where the schema does not name it
[[nodiscard]] std::optional<data::Bounds> bounds_in(const SchemaColumn* column);
/// Bounds of an expression by those of its columns; nothing where one of them has none. \pre it has an expression \throws PlanError as `Expression::bounds`
[[nodiscard]] std::optional<data::Bounds> derived_bounds(
    const Query& query, const std::function<std::optional<data::Bounds>(const std::string&)>& bounds_of_column);
/// The query with bounds, categories and keys of its columns in the schema, where it has none. \throws PlanError for a column of another type.
[[nodiscard]] Query with_schema(Query query, const Schema* schema);
/// \throws PlanError for an option that is missing or that the function does not have.
[[nodiscard]] statistics::WeightedStatistic statistic_of(const Query& query, const QueryContext& context);

/// Gives queries of keys that nobody listed their part of the promised delta (`parse_queries`).
void share_delta(std::vector<statistics::WeightedStatistic>& queries, Delta delta);

}  // namespace surety::jobs
