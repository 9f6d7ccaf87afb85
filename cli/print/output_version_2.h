// The shape of JSON under --json=2 (docs/reference/output.schema.json).
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <surety/base/text/error.h>

namespace surety::cli {

/// {"version": 2, "surety", "command", "result"}: the result with every event as {"text", "json"}, where `json` is what --event takes, or null for what
/// is no event, such as "nothing". \param result as --json prints it
[[nodiscard]] nlohmann::json result_in_version_2(nlohmann::json result, const std::string& command);
/// The same around a document that has a schema of its own: it stays as it is.
[[nodiscard]] nlohmann::json document_in_version_2(nlohmann::json document, const std::string& command);
/// {"version": 2, "surety", "command", "error": {"code", "exit_code", "message"}}.
[[nodiscard]] nlohmann::json error_in_version_2(ErrorCode error, int exit_code, std::string_view message, const std::string& command);

}  // namespace surety::cli
