// Audits and calibrations of logs as JSON: what the command prints and what other languages are given. For use inside Surety.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <surety/accounting/logs/log_audit.h>

namespace surety::accounting {

[[nodiscard]] nlohmann::json to_json(const LogAudit& audit);
[[nodiscard]] nlohmann::json to_json(const LogCalibration& calibration);
[[nodiscard]] nlohmann::json to_json(const LogRisk& risk, const RiskQuestions& questions);

/// From the text of a log to that JSON on one line, with its version. \throws as run_log_from_json, audit_log and calibrate_log.
[[nodiscard]] std::string audit_log_text(std::string_view log, const LogQuestion& question);
[[nodiscard]] std::string calibrate_log_text(std::string_view log, const LogQuestion& question);

}  // namespace surety::accounting
