// Notes about a promise that protects little: from public numbers alone, before anything is charged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <surety/accounting/events/units.h>

namespace surety::jobs {

/// One note for an epsilon above 20, and one for a delta of at least one over the number of records, or without a public number of at least .01. Empty for
/// other promises.
/// \param records of the data, or units, where their number is public
[[nodiscard]] std::vector<std::string> notes_of(const Target& promise, std::optional<std::uint64_t> records);

}  // namespace surety::jobs
