// `json_text` of a training before it is a text, for who adds to it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <surety/jobs/train/train_job.h>

namespace surety::jobs {

[[nodiscard]] nlohmann::json to_json(const TrainedModel& trained);

}  // namespace surety::jobs
