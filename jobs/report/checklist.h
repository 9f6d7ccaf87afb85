// What a reviewer asks about a claim of differential privacy: the answers that a ledger has, and the questions that it leaves open.
#pragma once

#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace surety::jobs {

/// By the topics of NIST SP 800-226, "Guidelines for Evaluating Differential Privacy Guarantees", 2025. The publication has no list of questions: these are
/// Surety's.
inline constexpr std::string_view nist_800_226 = "nist-800-226";

/// {"name", "title", "items": [{"topic", "question", "answer", "quoted", "evidence"}, ...]} of a report. Of a question that the ledger leaves open, answer,
/// quoted and evidence are null. `evidence` is a JSON pointer (RFC 6901) into the report; `quoted` is a text of the ledger that belongs to the answer, or null.
/// \throws Error{invalid_argument} for another name, or where it is no report.
[[nodiscard]] nlohmann::json checklist_of(const nlohmann::json& report, std::string_view name);

}  // namespace surety::jobs
