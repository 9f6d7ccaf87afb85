// What a ledger proves, as JSON: what the command prints and what other languages are given. For use inside Surety.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/json.h>
#include <surety/accounting/ledger/audit.h>

namespace surety::accounting {

/// {"epsilon", "delta"}.
[[nodiscard]] nlohmann::json to_json(const Target& target);
/// A target with its filter, and with what is spent of it.
[[nodiscard]] nlohmann::json to_json(const Budget& budget);
[[nodiscard]] nlohmann::json to_json(const Balance& balance);
[[nodiscard]] nlohmann::json to_json(const RunAudit& audited);
[[nodiscard]] nlohmann::json to_json(const Audit& report);

/// The same on one line, with its version. What is not UTF-8 in a note becomes U+FFFD.
[[nodiscard]] std::string to_json_text(const Audit& report);

}  // namespace surety::accounting
