// `json_text` before it is a text, for who adds to it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <surety/jobs/release/released_statistics.h>

namespace surety::jobs {

[[nodiscard]] nlohmann::json to_json(const ReleasedStatistics& released);

}  // namespace surety::jobs
