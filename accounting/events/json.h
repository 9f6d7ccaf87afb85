// Events and units as JSON, and reading JSON that may be hostile or damaged. For use inside Surety: who embeds it has the texts of event.h.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/unit.h>
#include <surety/base/numbers/enclosure.h>

namespace surety {

/// The JSON form with its version and adjacency; event_from_json reads its text.
[[nodiscard]] nlohmann::json to_json(const Event& event);

/// {"name": "row", "most": 1}; of owners {"name": "patient", "most": 5, "names": "bytes", "empty": "one", "delimiter": ",", "place": null,
/// "record_bytes": 67108864, "quoted_lines": 100}, without the rule where the unit does not say it.
[[nodiscard]] nlohmann::json to_json(const UnitOfPrivacy& unit);
/// The same for reports: a rule that is not said is what it is taken for, beside "rule_is_said": false.
[[nodiscard]] nlohmann::json reported_json(const UnitOfPrivacy& unit);
/// The inverse of `to_json`. \throws Error{invalid_argument}
[[nodiscard]] UnitOfPrivacy unit_from_json(const nlohmann::json& json);

}  // namespace surety

namespace surety::accounting {

/// Parses JSON and refuses what nlohmann-json would accept in silence: duplicate keys, and nesting deeper than `max_depth`.
/// \throws Error{invalid_argument} with `what` and the reason.
[[nodiscard]] nlohmann::json parse_strict_json(std::string_view text, int max_depth, std::string_view what);
/// The same, whose reasons begin with the fields that lie around what is wrong: "plan: options.query: field 'where' appears twice".
[[nodiscard]] nlohmann::json parse_strict_json_by_path(std::string_view text, int max_depth, std::string_view what);

/// \throws Error{invalid_argument} unless `object` is an object with exactly the fields `names`.
void require_fields(const nlohmann::json& object, std::span<const std::string_view> names, std::string_view what);
inline void require_fields(const nlohmann::json& object, std::initializer_list<std::string_view> names, std::string_view what) {
  require_fields(object, std::span{names.begin(), names.size()}, what);
}

/// A number for JSON, where infinity has no spelling of its own: finite values as they are, others as the string "infinity" or "-infinity".
[[nodiscard]] nlohmann::json json_number(double value);
/// {"lower", "upper"}; infinity is the string "infinity".
[[nodiscard]] nlohmann::json to_json(const Enclosure& enclosure);

}  // namespace surety::accounting
