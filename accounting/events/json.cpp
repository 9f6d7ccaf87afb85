#include <surety/accounting/events/json.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <surety/accounting/events/units.h>

namespace surety::accounting {

nlohmann::json parse_strict_json(std::string_view text, int max_depth, std::string_view what) {
  const auto refuse = [&](const std::string& reason) -> void {
    throw Error{ErrorCode::invalid_argument, fmt::format("{}: {}", what, reason)};
  };
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    using Kind = nlohmann::json::parse_event_t;
    if (depth > max_depth) refuse(fmt::format("nested deeper than {} levels", max_depth));
    if (event == Kind::object_start) keys.emplace_back();
    if (event == Kind::object_end) keys.pop_back();
    if (event == Kind::key && !keys.back().insert(parsed.get<std::string>()).second) {
      refuse(fmt::format("field '{}' appears twice", one_line(parsed.get<std::string>())));
    }
    return true;
  };
  try {
    return nlohmann::json::parse(text, watch);
  } catch (const nlohmann::json::parse_error& error) {
    refuse(fmt::format("not JSON (at byte {})", error.byte));
  } catch (const nlohmann::json::exception& error) {
    refuse(fmt::format("not JSON ({})", one_line(error.what())));
  }
  return {};
}

void require_fields(const nlohmann::json& object, std::span<const std::string_view> names, std::string_view what) {
  if (!object.is_object())
    throw Error{ErrorCode::invalid_argument, fmt::format("{}: an object is expected, not {}", what, object.type_name())};
  for (const auto& item : object.items()) {
    if (std::find(names.begin(), names.end(), item.key()) == names.end()) {
      throw Error{ErrorCode::invalid_argument, fmt::format("{}: unknown field '{}'", what, one_line(item.key()))};
    }
  }
  for (const auto field : names) {
    if (!object.contains(field)) throw Error{ErrorCode::invalid_argument, fmt::format("{}: field '{}' is missing", what, field)};
  }
}

nlohmann::json json_number(double value) {
  if (std::isinf(value)) return value > 0 ? "infinity" : "-infinity";
  return value;
}

nlohmann::json to_json(const Enclosure& enclosure) {
  return {{"lower", json_number(enclosure.lower)}, {"upper", json_number(enclosure.upper)}};
}

}  // namespace surety::accounting
