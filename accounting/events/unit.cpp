#include <surety/accounting/events/unit.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/json.h>

namespace surety {
namespace {

bool is_printable_text(const std::string& text) {
  if (std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; })) return false;
  try {
    static_cast<void>(nlohmann::json(text).dump());
    return true;
  } catch (const nlohmann::json::exception&) {  // not UTF-8
    return false;
  }
}

}  // namespace

UnitOfPrivacy::UnitOfPrivacy(std::string name, Count most) : name_{std::move(name)}, most_{most} {
  if (name_.empty() || name_.size() > longest_name || !is_printable_text(name_)) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("unit of privacy is '{}', must be named by 1 to {} bytes of printable UTF-8", one_line(name_), longest_name)};
  }
  if (name_ == row && most_.value() != 1) {
    throw Error{ErrorCode::invalid_argument, fmt::format("rows of a row are {}, must be 1", most_.value())};
  }
}

std::string describe(const UnitOfPrivacy& unit) {
  if (unit == UnitOfPrivacy{}) return "one row";
  return fmt::format("one {} of at most {} row{}", unit.name(), unit.most().value(), unit.most().value() == 1 ? "" : "s");
}

nlohmann::json to_json(const UnitOfPrivacy& unit) { return {{"name", unit.name()}, {"most", unit.most().value()}}; }

UnitOfPrivacy unit_from_json(const nlohmann::json& json) {
  accounting::require_fields(json, {"name", "most"}, "unit");
  if (!json.at("most").is_number_unsigned()) throw Error{ErrorCode::invalid_argument, "rows of a unit are no whole number"};
  return {json.at("name").get<std::string>(), Count{json.at("most").get<std::uint64_t>()}};
}

}  // namespace surety
