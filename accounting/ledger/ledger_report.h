// What a ledger holds, what it proves and what its budget has left, for people. No text of a ledger ends a line or moves a terminal.
#pragma once

#include <optional>
#include <string>

#include <surety/accounting/ledger/audit.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/accounting/ledger/standing.h>

namespace surety::accounting {

/// "renyi filter at order 21.9845".
[[nodiscard]] std::string filter_words(const Budget& budget);

/// Whether a report says that all was kept: every promise, the budget, and all runs together within `asked`, where that is said.
[[nodiscard]] bool is_kept(const Audit& audit, const std::optional<Epsilon>& asked);
/// Lines as `surety audit` prints them below the ledger's name, the verdict last. \complexity linear in the runs
[[nodiscard]] std::string report_text(const Audit& audit, const std::optional<Epsilon>& asked = std::nullopt);

/// Lines as `surety ledger show` prints them below the ledger's name.
[[nodiscard]] std::string report_text(const Standing& stands);
/// One run of several lines, and of one. \param costs what is known of others
[[nodiscard]] std::string report_text(const Run& run, RunCosts& costs);
[[nodiscard]] std::string line_of(const Run& run, RunCosts& costs);

}  // namespace surety::accounting
