// What a job says of itself before it has read anything.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <surety/accounting/ledger/ledger.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::jobs {

/// The least noise that keeps a promise, and what that costs, as JSON on one line:
///
///   {"version": 1, "command": "train", "adjacency": "replace-one", "target": {"epsilon": 1, "delta": 1e-05}, "event": {...}, "noise": 37.3,
///    "epsilon": {"lower": 0.99, "upper": 1}, "delta": 1e-05, "unit": {...}}
///
/// and "notes" where the plan has some: [text, ...].
/// \param charge what a ledger is asked for, with a promise. \param epsilon at the promise's delta
[[nodiscard]] std::string prepared_json_text(std::string_view command, const accounting::Plan& charge, double noise,
                                             const Enclosure& epsilon, const std::vector<std::string>& notes = {});

}  // namespace surety::jobs
