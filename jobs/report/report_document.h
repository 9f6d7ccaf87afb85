// The page that people read of a report.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <surety/jobs/report/document.h>

namespace surety::jobs {

/// A report, in words. Nothing but the JSON value is read. \throws Error{invalid_argument} where it is no report (docs/reference/report.schema.json)
/// \complexity linear in the report
[[nodiscard]] Document document_of(const nlohmann::json& report);

}  // namespace surety::jobs
