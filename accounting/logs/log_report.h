// What a log may mean and what each reading costs, for people.
#pragma once

#include <string>

#include <surety/accounting/logs/log_audit.h>

namespace surety::accounting {

/// Lines as `surety audit --log` and `surety calibrate --log` print them below the log's name: the run, a table of its readings, in which '*' stands before
/// the one that happened, what is proved, and of a claim the verdict. No text of the log ends a line or moves a terminal.
[[nodiscard]] std::string report_text(const LogAudit& audit);
[[nodiscard]] std::string report_text(const LogCalibration& calibration);
/// \param questions what `risk` answers.
[[nodiscard]] std::string report_text(const LogRisk& risk, const RiskQuestions& questions);

}  // namespace surety::accounting
