// A ledger as an entry of the public registry of deployments of differential privacy (https://registry.opendp.org).
#pragma once

#include <cstddef>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include <surety/base/system/place.h>

namespace surety::jobs {

/// An entry as a file.
inline constexpr FileKind registry_entry_file{"an entry of the registry in YAML",
                                              "# An entry for the registry of deployments, made by Surety"};

struct RegistryEntry {
  std::string yaml;           ///< the fields with values, and a comment with a question for each other field
  std::size_t questions = 0;  ///< fields without a value
  std::size_t required = 0;   ///< those of them without which the registry refuses the entry
};

/// The values come from the report and from `facts`, an object of the entry's own shape, such as {"deployment": {"basic": {"name": "Trips"}}}. Nothing is
/// guessed: a field that neither of them has is a question. The fields are those of the registry's schema of July 2026; its texts are not copied.
/// With a budget, (epsilon, delta) are the budget's; otherwise what all releases spent at the report's delta, rounded up to 6 digits.
/// \param facts null, or the object; fields that come from the ledger alone (variant, unit, parameters, tier) must not be in it
/// \throws Error{invalid_argument} for an unknown field, a value of another type, a choice or date that the registry does not accept; and where the ledger has
///         no release, replayed noise, or a total without a finite epsilon
/// \complexity linear in the report
[[nodiscard]] RegistryEntry registry_entry_of(const nlohmann::json& report, const nlohmann::json& facts);

}  // namespace surety::jobs
