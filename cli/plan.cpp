#include "plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>
#include <surety/accounting/numbers/error.h>
#include <surety/data/text_reader.h>
#include <surety/jobs/plans/text_lists.h>

#include "files.h"
#include "private_run.h"

namespace surety::cli {
namespace {

constexpr int plan_version = 1;
constexpr std::string_view plan_option = "--plan";
/// A plan says these by themselves.
constexpr std::array target_options{"--epsilon", "--delta", "--adjacency"};
/// What is asked of a plan, and no part of it. Who writes a plan does not decide that a file may be lost.
constexpr std::array asking_options{"--plan", "--print-plan", "--json", "--list-algorithms", "--overwrite", "--limit-seconds"};

/// Without dashes.
std::string field_of(const Option& option) { return option.is_positional() ? option.name() : option.name().substr(2); }

nlohmann::json value_of(const Option& option, const std::string& text) {
  if (option.placeholder() == "COUNT") return std::strtoull(text.c_str(), nullptr, 10);
  if (option.placeholder() == "NUMBER") return jobs::parse_double(text, field_of(option));
  return text;
}

/// Of an option that may be repeated: a text alone where there is one, and JSON where a query is an object.
nlohmann::json values_of(const Option& option) {
  if (option.name() != "--query") return option.given();
  auto values = nlohmann::json::array();
  for (const auto& text : option.given()) {
    // What looks like an object and is none is refused where queries are read.
    auto object = data::trimmed(text).starts_with('{') ? nlohmann::json::parse(text, nullptr, false) : nlohmann::json{};
    values.push_back(object.is_object() ? std::move(object) : nlohmann::json(text));
  }
  return values.size() == 1 ? values.front() : values;
}

[[noreturn]] void refuse_plan(const std::string& file, const std::string& reason) {
  throw Error{ErrorCode::bad_data, fmt::format("{}: {}", one_line(file), reason)};
}

std::string text_of(const std::string& file, const std::string& field, const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_unsigned()) return fmt::format("{}", value.get<std::uint64_t>());
  if (value.is_number()) return fmt::format("{}", value.get<double>());
  if (value.is_object() && field == "query") return value.dump();
  refuse_plan(file, fmt::format("'{}' is {}, must be a text or a number", one_line(field), one_line(value.dump())));
}

/// What begins with a dash would be no option, or another one's value where it has an equals sign.
void require_name(const std::string& file, const std::string& field) {
  const auto is_of_a_name = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  if (!field.empty() && field.front() != '-' && std::all_of(field.begin(), field.end(), is_of_a_name)) return;
  refuse_plan(file, fmt::format("options have an unknown field '{}'", one_line(field)));
}

/// "--steps=3"
void append_option(Arguments& words, const std::string& file, const std::string& field, const nlohmann::json& value) {
  if (value.is_boolean()) {
    if (value.get<bool>()) words.push_back("--" + field);
    return;
  }
  if (value.is_array()) {
    for (const auto& one : value) words.push_back(fmt::format("--{}={}", field, text_of(file, field, one)));
    return;
  }
  words.push_back(fmt::format("--{}={}", field, text_of(file, field, value)));
}

const nlohmann::json& number_in(const std::string& file, const nlohmann::json& object, const char* field) {
  if (!object.contains(field) || !object[field].is_number()) refuse_plan(file, fmt::format("'{}' is no number", field));
  return object[field];
}

}  // namespace

nlohmann::json options_json(std::string_view command, const OptionTable& given) {
  auto options = nlohmann::json::object();
  for (const auto& group : given.groups()) {
    for (const auto& option : group.options) {
      const auto is_named = [&](const char* name) { return option.name() == name; };
      // The format of a report; of records, in a training.
      if (is_named("--format") && command == "release") continue;
      // What is run stands in a plan, also where nobody said it.
      const bool is_shown = option.is_given() || is_named("--algorithm") || is_named("--loss");
      if (!is_shown || std::any_of(target_options.begin(), target_options.end(), is_named) ||
          std::any_of(asking_options.begin(), asking_options.end(), is_named)) {
        continue;
      }
      if (option.is_flag()) {
        options[field_of(option)] = true;
      } else if (option.is_repeatable()) {
        options[field_of(option)] = values_of(option);
      } else {
        options[field_of(option)] = value_of(option, option.is_given() ? option.given().front() : option.standard());
      }
    }
  }
  return options;
}

nlohmann::json to_json(const PlannedRun& plan) {
  nlohmann::json json{{"version", plan_version},
                      {"command", plan.command},
                      {"options", options_json(plan.command, plan.options)},
                      {"adjacency", name(plan.target.adjacency)},
                      {"target", {{"epsilon", plan.target.epsilon.value()}, {"delta", plan.target.delta.value()}}},
                      {"unit", to_json(plan.unit)},
                      {"event", to_json(plan.event)},
                      {"noise", plan.noise}};
  if (plan.schema_sha256) json["schema_sha256"] = *plan.schema_sha256;
  return json;
}

PlannedArguments with_plan_as_options(const Arguments& words) {
  if (words.empty() || (words.front() != "train" && words.front() != "release")) return {words};
  const auto file = value_in(words, plan_option);
  if (!file || std::find(words.begin(), words.end(), "--help") != words.end()) return {words};
  constexpr std::size_t largest_plan = std::size_t{1} << 20;
  const std::string text = read_text(*file, largest_plan, "a plan");
  nlohmann::json plan;
  try {
    constexpr int deepest = 70;  // an event has at most 64 levels
    plan = accounting::parse_strict_json(text, deepest, "plan");
  } catch (const Error& error) {
    refuse_plan(*file, error.what());
  }
  if (!plan.is_object()) refuse_plan(*file, "is no plan, must be a JSON object");
  for (const auto& [field, value] : plan.items()) {
    constexpr std::array fields{"version", "command", "options", "adjacency", "target", "unit", "event", "noise", "schema_sha256"};
    if (std::find(fields.begin(), fields.end(), field) == fields.end())
      refuse_plan(*file, fmt::format("unknown field '{}'", one_line(field)));
  }
  for (const char* field : {"version", "command", "options", "adjacency", "target"}) {
    if (!plan.contains(field)) refuse_plan(*file, fmt::format("field '{}' is missing", field));
  }
  if (plan["version"] != plan_version) {
    refuse_plan(*file, fmt::format("version is {}, must be {}", one_line(plan["version"].dump()), plan_version));
  }
  if (plan["command"] != words.front()) {
    refuse_plan(*file, fmt::format("command is {}, must be \"{}\"", one_line(plan["command"].dump()), words.front()));
  }
  if (!plan["options"].is_object()) refuse_plan(*file, "options are no object");
  if (!plan["adjacency"].is_string()) refuse_plan(*file, "adjacency is no text");
  if (!plan["target"].is_object() || plan["target"].size() != 2) refuse_plan(*file, "target is no object with epsilon and delta");

  PlannedArguments result{.words = {words.front()}, .expected = ExpectedRun{*file, text}};
  for (const auto& [field, value] : plan["options"].items()) {
    require_name(*file, field);
    if (field == "data") {
      const auto data = text_of(*file, field, value);
      if (data == "-" && *file == "-") refuse_plan(*file, "the plan and its data are both standard input, must be two");
      // A path that begins as an option does is none.
      result.words.push_back(data.starts_with('-') && data != "-" ? "./" + data : data);
    } else if (field == "epsilon" || field == "delta" || field == "adjacency" || field == "plan") {
      refuse_plan(*file, fmt::format("options have '{}', which must stand in target or adjacency", field));
    } else if (field == "overwrite") {
      refuse_plan(*file, "options have 'overwrite', which must be said where the plan is run");
    } else {
      append_option(result.words, *file, field, value);
    }
  }
  for (const char* field : {"epsilon", "delta"}) append_option(result.words, *file, field, number_in(*file, plan["target"], field));
  append_option(result.words, *file, "adjacency", plan["adjacency"]);
  for (std::size_t k = 1; k < words.size(); ++k) {
    if (words[k] == plan_option) {
      ++k;
    } else if (!words[k].starts_with(std::string{plan_option} + "=")) {
      result.words.push_back(words[k]);
    }
  }
  return result;
}

void require_as_expected(const ExpectedRun& expected, const PlannedRun& plan) {
  const auto said = nlohmann::json::parse(expected.text);
  const auto follows = to_json(plan);
  if (said.contains("schema_sha256") && said["schema_sha256"] != follows.value("schema_sha256", nlohmann::json{})) {
    invalid(fmt::format("{}: schema_sha256 is {}, must be {}, the hash of the schema's file: it has changed since", one_line(expected.file),
                        one_line(said["schema_sha256"].dump()), one_line(follows.value("schema_sha256", nlohmann::json{}).dump())));
  }
  const auto agrees = [&](const char* field) {
    if (std::string_view{field} != "unit") return said[field] == follows[field];
    try {
      // A plan that does not say the rule of its unit has it in its options.
      const auto unit = unit_from_json(said[field]);
      return unit.says_rule() ? unit == plan.unit : unit.name() == plan.unit.name() && unit.most() == plan.unit.most();
    } catch (const std::exception&) {  // it is none
      return false;
    }
  };
  for (const char* field : {"event", "noise", "unit"}) {
    if (said.contains(field) && !agrees(field)) {
      invalid(fmt::format("{}: {} is {}, must be {} as follows from the plan's options here", one_line(expected.file), field,
                          one_line(said[field].dump()), one_line(follows[field].dump())));
    }
  }
}

}  // namespace surety::cli
