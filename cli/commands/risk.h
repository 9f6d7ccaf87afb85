// What an attacker gets, of `surety account --risk` and `surety audit --risk`.
#pragma once

#include <optional>

#include <surety/accounting/answers/risk.h>

namespace surety::cli {

inline constexpr const char* prior_option_help = "With --risk: the probability that the record is there, for the accuracy; default 0.5";

/// \throws Error{invalid_argument} for a prior that is not between 0 and 1.
[[nodiscard]] accounting::RiskQuestions risk_questions(const std::optional<double>& prior);

/// A line for each number.
void say_risk(const accounting::Risk& risk, const accounting::RiskQuestions& questions);

}  // namespace surety::cli
