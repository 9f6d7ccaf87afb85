#include <surety/accounting/events/json.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <surety/accounting/events/json_values.h>
#include <surety/accounting/events/units.h>

namespace surety::accounting {

namespace {

/// The objects around the place that is read.
class Around {
 public:
  void begin() { levels_.emplace_back(); }
  void end() { levels_.pop_back(); }
  /// False where the object has that key already.
  bool take(const std::string& key) {
    levels_.back().at = key;
    return levels_.back().keys.insert(key).second;
  }
  /// "options.query: " of the keys by which it is reached, the first few; "" at the top. \param of_object which of its keys does not count
  [[nodiscard]] std::string path(bool of_object) const {
    constexpr std::size_t shown = 4;
    std::vector<std::string> keys;
    const std::size_t count = levels_.size() - (of_object && !levels_.empty() ? 1 : 0);
    for (std::size_t k = 0; k < std::min(count, shown); ++k) keys.push_back(one_line(levels_[k].at));
    return keys.empty() ? std::string{} : fmt::format("{}{}: ", fmt::join(keys, "."), count > shown ? "..." : "");
  }

 private:
  struct Level {
    std::set<std::string> keys = {};
    std::string at = {};  ///< the last of them
  };
  std::vector<Level> levels_;
};

nlohmann::json parse(std::string_view text, int max_depth, std::string_view what, bool names_path) {
  Around around;
  const auto refuse = [&](const std::string& reason, bool of_object = false) -> void {
    throw Error{ErrorCode::invalid_argument, fmt::format("{}: {}{}", what, names_path ? around.path(of_object) : "", reason)};
  };
  const auto watch = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    using Token = nlohmann::json::parse_event_t;
    if (depth > max_depth) refuse(fmt::format("nested deeper than {} levels", max_depth));
    if (event == Token::object_start) around.begin();
    if (event == Token::object_end) around.end();
    if (event == Token::key && !around.take(text_of(parsed, "a key"))) {
      refuse(fmt::format("field '{}' appears twice", one_line(text_of(parsed, "a key"))), true);
    }
    return true;
  };
  try {
    return nlohmann::json::parse(text, watch);
  } catch (const nlohmann::json::parse_error& error) {
    refuse(fmt::format("not JSON (at byte {})", error.byte));
  } catch (const nlohmann::json::out_of_range& error) {
    refuse(names_path ? "not JSON (a number is beyond the range of double)" : fmt::format("not JSON ({})", one_line(error.what())));
  } catch (const nlohmann::json::exception& error) {
    refuse(fmt::format("not JSON ({})", one_line(error.what())));
  }
  return {};
}

}  // namespace

nlohmann::json parse_strict_json(std::string_view text, int max_depth, std::string_view what) {
  return parse(text, max_depth, what, false);
}
nlohmann::json parse_strict_json_by_path(std::string_view text, int max_depth, std::string_view what) {
  return parse(text, max_depth, what, true);
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
