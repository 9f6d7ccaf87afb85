// A ledger's budget in words.
#pragma once

#include <string>

#include <surety/accounting/ledger/ledger.h>

namespace surety::cli {

/// "renyi filter at order 21.9845".
[[nodiscard]] std::string filter_words(const accounting::Budget& budget);

}  // namespace surety::cli
