// `json_text` before it is a text, for who adds to it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <surety/jobs/release/released_statistics.h>

namespace surety::jobs {

/// \param always_lists whether one query is in a list of one, as several are; otherwise its fields are those of the object
[[nodiscard]] nlohmann::json to_json(const ReleasedStatistics& released, bool always_lists = false);

}  // namespace surety::jobs
