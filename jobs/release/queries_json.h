// Statistics as a plan of version 2 has them: objects whose members are names and numbers, and no text to parse but that of a condition.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <surety/jobs/release/queries.h>
#include <surety/statistics/parts.h>

namespace surety::jobs {

/// [{"function": "quantile", "column": "age", "fractions": [0.25, 0.5], "bounds": [0, 90], "where": "visits>0", ...}, ...]: in a plan of version 2
/// `parse_queries` reads the same statistics, where names are UTF-8 and keys have the chance that it gives them.
[[nodiscard]] nlohmann::json queries_json(const std::vector<statistics::WeightedStatistic>& queries);
/// The same for queries that were read with this context. \throws Error{unsupported} where others would be read back: for a name that is not UTF-8
[[nodiscard]] nlohmann::json queries_json(const std::vector<statistics::WeightedStatistic>& queries, const QueryContext& context);

}  // namespace surety::jobs
