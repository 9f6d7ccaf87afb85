// A query as a JSON object.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <surety/jobs/plans/field_text.h>
#include <surety/jobs/release/query.h>
#include <surety/jobs/release/query_context.h>

namespace surety::jobs {

/// \param is_column as of `parse_query_text`, here and below
/// Parses `query.text` into its function, columns and condition. \throws PlanError for a text that is no query
void read_text(Query& query, bool may_have_condition, const IsColumn& is_column);
/// \param place before each message. \throws PlanError for another form than the grammar has, and for columns or fractions that the function does
///        not take.
[[nodiscard]] Query query_of(const nlohmann::json& object, const FieldText& place, QueryGrammar grammar, const IsColumn& is_column);

/// The object that `query_of` reads as this query in a plan of version 2.
[[nodiscard]] nlohmann::json json_of(const Query& query);

}  // namespace surety::jobs
