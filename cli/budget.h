// A ledger's budget and where it stands, in words and as JSON.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include <surety/accounting/ledger/ledger.h>

namespace surety::cli {

/// "renyi filter at order 21.9845".
[[nodiscard]] std::string filter_words(const accounting::Budget& budget);

/// {"epsilon", "delta"}.
[[nodiscard]] nlohmann::json target_json(const Target& target);

/// A budget, and with what is spent of it.
[[nodiscard]] nlohmann::json budget_json(const accounting::Budget& budget);
[[nodiscard]] nlohmann::json balance_json(const accounting::Balance& balance);

}  // namespace surety::cli
