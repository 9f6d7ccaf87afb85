// surety audit --log and surety calibrate --log: what a log may mean, in a table.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/answers/risk.h>

namespace surety::cli {

inline constexpr const char* reading_option_help =
    "With --log: this way to draw batches alone, beside what the log says happened; may be repeated. All, if not given";
inline constexpr const char* log_option_help = "The log of a training run, a JSON object: docs/reference/log.md; - is standard input";

/// What is asked of a log beside what it says itself.
struct LogOptions {
  std::string file;
  std::string adjacency;
  std::optional<double> epsilon;
  std::optional<double> delta;
  std::vector<std::string> readings;
  double width = accounting::Effort{}.width;
  bool require_tight = false;  ///< of calibrate_log: an answer that is not tight is no answer
  bool json = false;
};

/// All return the exit code. \throws Error{bad_data} naming the file, for what is no log.
[[nodiscard]] int audit_log(const LogOptions& options);
[[nodiscard]] int calibrate_log(const LogOptions& options);
/// What an attacker gets; \pre no epsilon and no delta are given.
[[nodiscard]] int audit_log_risk(const LogOptions& options, const accounting::RiskQuestions& questions);

}  // namespace surety::cli
