// A ledger's budget in words.
#pragma once

#include <string>

#include <surety/accounting/ledger/ledger.h>

namespace surety::cli {

/// "renyi filter at order 21.9845".
[[nodiscard]] std::string filter_words(const accounting::Budget& budget);
/// Behind what is spent of a limit: the sum of epsilons, where a renyi filter compares that as well, and which of the two rules admitted the runs.
[[nodiscard]] std::string rule_words(const accounting::Balance& balance);

}  // namespace surety::cli
