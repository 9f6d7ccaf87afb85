#include <surety/cli/print/output_version_2.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/event_text.h>
#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>
#include <surety/accounting/events/json_values.h>
#include <surety/base/text/error.h>
#include <surety/base/text/safe_text.h>

namespace surety::cli {
namespace {

/// The fields that hold an event, in all that is printed.
constexpr std::array<std::string_view, 4> fields_of_events{"event", "charged", "planned", "released"};

nlohmann::json envelope(const std::string& command) { return {{"version", 2}, {"surety", SURETY_VERSION}, {"command", command}}; }

bool is_event_json(const nlohmann::json& value) {
  return value.is_object() && value.size() == 3 && value.contains("version") && value.contains("adjacency") && value.contains("event");
}

nlohmann::json event_of_text(const std::string& text, const std::optional<Adjacency>& adjacency) {
  nlohmann::json object{{"text", text}, {"json", nullptr}};
  if (!adjacency) return object;
  try {
    object["json"] = to_json(parse_event(text, *adjacency));
  } catch (const Error&) {  // "nothing" is no event
  }
  return object;
}

nlohmann::json event_of_json(nlohmann::json value) {
  const auto text = describe(event_from_json(value.dump()));
  return {{"text", text}, {"json", std::move(value)}};
}

/// Replaces the events below `value`. \param adjacency of the nearest object around it that says one
void replace_events(nlohmann::json& value, std::optional<Adjacency> adjacency) {
  if (value.is_array()) {
    for (auto& one : value) replace_events(one, adjacency);
    return;
  }
  if (!value.is_object()) return;
  if (value.contains("adjacency") && value["adjacency"].is_string())
    adjacency = parse_adjacency(accounting::text_of(value["adjacency"], "adjacency"));
  for (auto& [name, inner] : value.items()) {
    const bool is_event = std::find(fields_of_events.begin(), fields_of_events.end(), name) != fields_of_events.end();
    if (is_event && inner.is_string()) {
      inner = event_of_text(accounting::text_of(inner, name), adjacency);
    } else if (is_event && is_event_json(inner)) {
      inner = event_of_json(std::move(inner));
    } else {
      replace_events(inner, adjacency);
    }
  }
}

std::string_view name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::budget_exceeded: return "budget_exceeded";
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::bad_data: return "bad_data";
    case ErrorCode::damaged_ledger: return "damaged_ledger";
    case ErrorCode::environment: return "environment";
    case ErrorCode::unreachable: return "unreachable";
    case ErrorCode::memory: return "memory";
    case ErrorCode::stopped: return "stopped";
    case ErrorCode::internal: return "internal";
  }
  return "internal";
}

}  // namespace

nlohmann::json document_in_version_2(nlohmann::json document, const std::string& command) {
  auto object = envelope(command);
  object["result"] = std::move(document);
  return object;
}

nlohmann::json result_in_version_2(nlohmann::json result, const std::string& command) {
  result.erase("version");
  replace_events(result, std::nullopt);
  return document_in_version_2(std::move(result), command);
}

nlohmann::json error_in_version_2(ErrorCode error, int exit_code, std::string_view message, const std::string& command) {
  auto object = envelope(command);
  constexpr std::size_t most = 1000;
  object["error"] = {{"code", name_of(error)}, {"exit_code", exit_code}, {"message", one_line(message, most)}};
  return object;
}

}  // namespace surety::cli
