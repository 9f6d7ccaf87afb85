// What a ledger proves, as JSON: what the command prints and what other languages are given. For use inside Surety.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/json.h>
#include <surety/accounting/ledger/audit.h>

namespace surety::accounting {

/// The rules of its filter that admit what is spent, at least one: the balance's `unit`, and "epsilon" where the sum of epsilons does.
[[nodiscard]] std::vector<std::string_view> admitting_rules(const Balance& balance);

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
