#include <surety/accounting/events/json_values.h>

#include <fmt/format.h>

#include <surety/base/text/error.h>

namespace surety::accounting {
namespace {

[[noreturn]] void refuse(std::string_view what, std::string_view needed, const nlohmann::json& json) {
  invalid(fmt::format("{} must be {} (got {})", what, needed, kind_of(json)));
}

}  // namespace

std::string_view kind_of(const nlohmann::json& json) noexcept {
  switch (json.type()) {
    case nlohmann::json::value_t::null: return "null";
    case nlohmann::json::value_t::boolean: return "true or false";
    case nlohmann::json::value_t::string: return "a text";
    case nlohmann::json::value_t::array: return "a list";
    case nlohmann::json::value_t::object: return "an object";
    case nlohmann::json::value_t::number_integer:
    case nlohmann::json::value_t::number_unsigned:
    case nlohmann::json::value_t::number_float: return "a number";
    case nlohmann::json::value_t::binary:
    case nlohmann::json::value_t::discarded: break;
  }
  return "no JSON";
}

std::string text_of(const nlohmann::json& json, std::string_view what) {
  if (!json.is_string()) refuse(what, "a text", json);
  return json.get<std::string>();
}

bool truth_of(const nlohmann::json& json, std::string_view what) {
  if (!json.is_boolean()) refuse(what, "true or false", json);
  return json.get<bool>();
}

double number_of(const nlohmann::json& json, std::string_view what) {
  if (!json.is_number()) refuse(what, "a number", json);
  return json.get<double>();
}

std::uint64_t whole_number_of(const nlohmann::json& json, std::string_view what, std::uint64_t most) {
  if (!json.is_number()) refuse(what, "a whole number", json);
  if (!json.is_number_unsigned() || json.get<std::uint64_t>() > most) {
    invalid(fmt::format("{} must be a whole number from 0 to {}, in digits alone", what, most));
  }
  return json.get<std::uint64_t>();
}

std::vector<std::string> texts_of(const nlohmann::json& json, std::string_view what) {
  std::vector<std::string> texts;
  texts.reserve(json.size());
  for (const auto& one : list_of(json, what)) {
    if (!one.is_string()) refuse(fmt::format("each of {}", what), "a text", one);
    texts.push_back(one.get<std::string>());
  }
  return texts;
}

std::vector<double> numbers_of(const nlohmann::json& json, std::string_view what) {
  std::vector<double> numbers;
  numbers.reserve(json.size());
  for (const auto& one : list_of(json, what)) {
    if (!one.is_number()) refuse(fmt::format("each of {}", what), "a number", one);
    numbers.push_back(one.get<double>());
  }
  return numbers;
}

const nlohmann::json& list_of(const nlohmann::json& json, std::string_view what) {
  if (!json.is_array()) refuse(what, "a list", json);
  return json;
}

const nlohmann::json& field_of(const nlohmann::json& json, const char* field, std::string_view what) {
  if (!json.is_object()) refuse(what, "an object", json);
  const auto found = json.find(field);
  if (found == json.end()) invalid(fmt::format("{}: field '{}' is missing", what, field));
  return *found;
}

void rethrow_json_error(std::string_view what, std::string_view reason) {
  try {
    throw;
  } catch (const nlohmann::json::exception&) {
    // The library's own words name types and places of its code, and may repeat a value.
    invalid(fmt::format("{}: {}", what, reason.empty() ? "a value has another type than is needed there" : reason));
  }
}

}  // namespace surety::accounting
