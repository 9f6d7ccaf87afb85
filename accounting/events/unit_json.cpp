#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include <surety/accounting/events/json.h>
#include <surety/accounting/events/json_values.h>
#include <surety/base/text/safe_text.h>

namespace surety {
namespace {

/// The one way to compare names, as it is written down.
constexpr std::string_view by_bytes = "bytes";

using accounting::text_of;
using accounting::whole_number_of;

OwnerRule rule_from_json(const nlohmann::json& json) {
  if (json.at("names") != by_bytes) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("names of a unit are compared by {}, must be by {}", one_line(json.at("names").dump()), by_bytes)};
  }
  OwnerRule rule{.empty = parse_empty_unit(text_of(json.at("empty"), "rule of a unit for rows without a name"))};
  const auto delimiter = text_of(json.at("delimiter"), "delimiter of a unit");
  if (delimiter.size() != 1) {
    throw Error{ErrorCode::invalid_argument, fmt::format("delimiter of a unit is '{}', must be one character", one_line(delimiter))};
  }
  rule.delimiter = delimiter.front();
  if (const auto& place = json.at("place"); !place.is_null()) {
    const bool is_of_several = place.is_object() && place.contains("further");
    is_of_several ? accounting::require_fields(place, {"column", "columns", "further"}, "place of a unit's column")
                  : accounting::require_fields(place, {"column", "columns"}, "place of a unit's column");
    rule.place = {.column = whole_number_of(place.at("column"), "place of a unit's column"),
                  .columns = whole_number_of(place.at("columns"), "number of columns beside a unit's")};
    if (is_of_several) {
      const auto& further = place.at("further");
      if (!further.is_array() || further.empty() || further.size() >= UnitOfPrivacy::most_columns) {
        throw Error{ErrorCode::invalid_argument, fmt::format("further places of a unit's columns are {}, must be a list of 1 to {} numbers",
                                                             one_line(further.dump()), UnitOfPrivacy::most_columns - 1)};
      }
      for (const auto& one : further) rule.place->further.push_back(whole_number_of(one, "place of a unit's column"));
    }
  }
  rule.record_bytes.reset();
  if (const auto& bytes = json.at("record_bytes"); !bytes.is_null()) rule.record_bytes = whole_number_of(bytes, "longest record of a unit");
  rule.quoted_lines = whole_number_of(json.at("quoted_lines"), "line ends in a cell of a unit");
  return rule;
}

}  // namespace

nlohmann::json to_json(const UnitOfPrivacy& unit) {
  nlohmann::json json{{"name", unit.name()}, {"most", unit.most().value()}};
  if (unit.is_row() || !unit.says_rule()) return json;
  const auto& rule = unit.rule();
  json["names"] = by_bytes;
  json["empty"] = name(rule.empty);
  json["delimiter"] = std::string(1, rule.delimiter);
  json["place"] = nullptr;
  if (rule.place) json["place"] = {{"column", rule.place->column}, {"columns", rule.place->columns}};
  if (rule.place && !rule.place->further.empty()) json["place"]["further"] = rule.place->further;
  json["record_bytes"] = nullptr;
  if (rule.record_bytes) json["record_bytes"] = *rule.record_bytes;
  json["quoted_lines"] = rule.quoted_lines;
  return json;
}

nlohmann::json reported_json(const UnitOfPrivacy& unit) {
  if (unit.says_rule()) return to_json(unit);
  auto json = to_json(UnitOfPrivacy{unit.name(), unit.most()});
  json["rule_is_said"] = false;
  return json;
}

UnitOfPrivacy unit_from_json(const nlohmann::json& json) {
  const bool says_rule = json.is_object() && json.contains("empty");
  says_rule
      ? accounting::require_fields(json, {"name", "most", "names", "empty", "delimiter", "place", "record_bytes", "quoted_lines"}, "unit")
      : accounting::require_fields(json, {"name", "most"}, "unit");
  auto name = text_of(json.at("name"), "name of a unit");
  const Count most{whole_number_of(json.at("most"), "number of rows of a unit")};
  if (!says_rule)
    return name == UnitOfPrivacy::row ? UnitOfPrivacy{std::move(name), most} : UnitOfPrivacy::without_rule(std::move(name), most);
  if (name == UnitOfPrivacy::row) throw Error{ErrorCode::invalid_argument, "a row has a rule for its owner, must have none"};
  return {std::move(name), most, rule_from_json(json)};
}

}  // namespace surety
