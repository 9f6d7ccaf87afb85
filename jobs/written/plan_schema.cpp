#include <surety/jobs/written/plan_schema.h>

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/base/numbers/overload.h>
#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/plans/plan_json.h>
#include <surety/jobs/release/queries.h>
#include <surety/jobs/release/query.h>
#include <surety/jobs/release/query_text.h>
#include <surety/jobs/release/release_fields.h>
#include <surety/jobs/train/train_fields.h>

namespace surety::jobs {
namespace {

using nlohmann::json;

/// A value that a field takes. Texts of numbers are numbers, too.
json value_schema(const Field& field) {
  const auto with_range = [](const WholeNumber& its) {
    json schema{{"type", {"integer", "string"}}, {"minimum", its.least}};
    if (its.most != std::numeric_limits<std::uint64_t>::max()) schema["maximum"] = its.most;
    return schema;
  };
  if (std::holds_alternative<bool*>(field.value())) return {{"type", "boolean"}};
  return std::visit(Overload{[&](const AnyText&) -> json {
                               if (field.takes_numbers()) return {{"type", {"string", "number"}}};
                               if (field.takes_names())
                                 return {{"type", {"string", "array"}}, {"items", {{"type", "string"}}}, {"minItems", 1}};
                               return {{"type", "string"}};
                             },
                             [](const AnyNumber&) -> json {
                               return {{"type", {"number", "string"}}};
                             },
                             [&](const WholeNumber& its) -> json { return with_range(its); },
                             [](const OneOfWords& its) -> json {
                               return {{"enum", its.words}};
                             }},
                    field.constraint());
}

/// What holds where a field is not said; nothing where that is nothing.
std::optional<std::string> standard_of(const Field& field) {
  if (field.standard()) return field.standard()->plain();
  return std::visit(Overload{[](const auto* value) -> std::optional<std::string> {
                               using Value = std::remove_cvref_t<decltype(*value)>;
                               if constexpr (std::is_same_v<Value, double> || std::is_same_v<Value, std::uint64_t>)
                                 return fmt::format("{}", *value);
                               if constexpr (std::is_same_v<Value, std::string>) {
                                 if (!value->empty()) return *value;
                               }
                               return std::nullopt;
                             },
                             [](const ChoiceField& choice) -> std::optional<std::string> {
                               return choice.is_optional() ? std::nullopt : std::optional{std::string{choice.name().value_or("")}};
                             }},
                    field.value());
}

json schema_of(bool /*flag*/) { return {{"type", "boolean"}}; }
json schema_of(const std::optional<std::string>& /*text*/) { return {{"type", "string"}}; }
json schema_of(const std::optional<std::uint64_t>& /*count*/) { return {{"type", "integer"}, {"minimum", 1}}; }
json schema_of(const std::optional<data::Bounds>& /*bounds*/) {
  return {{"type", "array"}, {"items", {{"type", "number"}}}, {"minItems", 2}, {"maxItems", 2}};
}
json schema_of(const std::optional<data::Categories>& /*texts*/) { return {{"type", "array"}, {"items", {{"type", "string"}}}}; }
json schema_of(const std::optional<statistics::Edges>& /*edges*/) {
  return {{"type", "array"}, {"items", {{"type", "number"}}}, {"minItems", 3}};
}
json schema_of(const std::vector<std::string>& /*columns*/) {
  return {{"anyOf", {schema_of(std::optional<std::string>{}), schema_of(std::optional<data::Categories>{})}}};
}
json schema_of(const QueryKeys& /*keys*/) {
  const auto texts = schema_of(std::optional<data::Categories>{});
  const json bins{
      {"type", "object"},
      {"properties", {{"bounds", schema_of(std::optional<data::Bounds>{})}, {"bins", schema_of(std::optional<std::uint64_t>{})}}},
      {"required", {"bounds", "bins"}},
      {"additionalProperties", false}};
  const json edges{{"type", "object"},
                   {"properties", {{"edges", schema_of(std::optional<statistics::Edges>{})}}},
                   {"required", json::array({"edges"})},
                   {"additionalProperties", false}};
  return {{"anyOf", {texts, {{"type", "array"}, {"items", {{"anyOf", {texts, bins, edges}}}}}, {{"const", discovered}}}}};
}

/// A query of a version of plans: as text, or by its function with its column and fractions.
json query_schema(int version) {
  json schema{{"type", "object"},
              {"properties",
               {{"types", {{"type", "object"}, {"additionalProperties", {{"enum", {"number", "text", "date", "integer", "boolean"}}}}}},
                {"weight", {{"type", "number"}, {"exclusiveMinimum", 0}}}}},
              {"additionalProperties", false}};
  auto& properties = schema["properties"];
  const QueryOptions options;
  for_each_option([&](FieldName option, const auto& value) { properties[member_name(std::string{option.name})] = schema_of(value); },
                  options);
  const auto text = schema_of(std::optional<std::string>{});
  if (version == 1) {
    properties["query"] = text;
    schema["required"] = {"query"};
    return schema;
  }
  auto names = json::array();
  for (const auto& form : function_forms) names.push_back(form.name);
  properties["function"] = {{"enum", std::move(names)}};
  properties["column"] = schema_of(std::vector<std::string>{});
  properties["expression"] = text;
  properties["fractions"] = {{"type", "array"}, {"items", {{"type", "number"}}}};
  schema["required"] = {"function"};
  return schema;
}

json field_schema(const Field& field) {
  auto one = value_schema(field);
  json schema = one;
  if (std::holds_alternative<std::vector<std::string>*>(field.value())) {
    schema = {{"anyOf", {one, {{"type", "array"}, {"items", one}}}}};
  }
  auto description = field.help().plain();
  if (const auto standard = standard_of(field)) description += fmt::format(" (where it is not said: {})", *standard);
  schema["description"] = std::move(description);
  return schema;
}

/// The fields of a table, but for those that `shared` has with the same words.
json properties_of(const FieldTable& table, const json& shared = json::object()) {
  auto properties = json::object();
  for (const auto& group : table.groups()) {
    for (const auto& field : group.fields) {
      auto schema = field_schema(field);
      if (!shared.contains(field.name()) || shared[field.name()] != schema) properties[field.name()] = std::move(schema);
    }
  }
  return properties;
}

/// The fields that all tables have with the same words.
json shared_by(const std::vector<json>& all) {
  auto shared = all.front();
  for (const auto& [name, schema] : all.front().items()) {
    for (const auto& one : all) {
      if (!one.contains(name) || one[name] != schema) {
        shared.erase(name);
        break;
      }
    }
  }
  return shared;
}

/// The options of a release: in version 2 queries are objects that say all themselves.
json release_options(int version) {
  auto properties = properties_of(ReleaseFields{}.table());
  const json object{{"$ref", version == 1 ? "#/$defs/query_text" : "#/$defs/query"}};
  const json one = version == 1 ? json{{"anyOf", {{{"type", {"string", "number"}}}, object}}} : object;
  properties["query"]["anyOf"] = {one, {{"type", "array"}, {"items", one}}};
  if (version > 1) {
    properties["query"]["description"] =
        "What is released, all in one charge: an object, or a list of them, as queries names a file of them";
    QueryFields of_queries;
    FieldTable fields;
    of_queries.add(fields);
    for (const auto& group : fields.groups()) {
      for (const auto& field : group.fields) {
        if (field.name() != "query" && field.name() != "queries") properties.erase(field.name());
      }
    }
  }
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"oneOf", {{{"required", {"query"}}}, {{"required", {"queries"}}}}},
          {"additionalProperties", false}};
}

json plan_of(std::string_view command, json version, json options) {
  json properties{{"command", {{"const", command}}}, {"version", std::move(version)}, {"options", std::move(options)}};
  return {{"properties", std::move(properties)}, {"required", {"command", "options"}}};
}

}  // namespace

std::string plan_schema() {
  std::vector<json> tables;
  const auto algorithms = all_algorithms();
  for (const auto& algorithm : algorithms) tables.push_back(properties_of(TrainFields{*algorithm}.table()));
  const auto shared = shared_by(tables);
  auto alternatives = json::array();
  for (const auto& algorithm : algorithms) {
    auto own = properties_of(TrainFields{*algorithm}.table(), shared);
    own["algorithm"] = {{"const", algorithm->name()}, {"description", algorithm->summary()}};
    alternatives.push_back(plan_of("train", {{"enum", {1, 2}}},
                                   {{"type", "object"},
                                    {"allOf", {{{"$ref", "#/$defs/training"}}}},
                                    {"properties", std::move(own)},
                                    {"required", {"algorithm"}},
                                    {"unevaluatedProperties", false}}));
  }
  for (const int version : {1, 2}) alternatives.push_back(plan_of("release", {{"const", version}}, release_options(version)));
  const json number{{"type", "number"}};
  const json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                    {"title", "A plan of Surety"},
                    {"type", "object"},
                    {"properties",
                     {{"version", {{"enum", {1, 2}}}},
                      {"command", {{"enum", {"train", "release"}}}},
                      {"adjacency", {{"enum", {"add-or-remove-one", "replace-one", "zero-out"}}}},
                      {"target",
                       {{"type", "object"},
                        {"properties",
                         {{"epsilon", {{"type", "number"}, {"exclusiveMinimum", 0}}},
                          {"delta", {{"type", "number"}, {"minimum", 0}, {"exclusiveMaximum", 1}}}}},
                        {"required", {"epsilon", "delta"}},
                        {"additionalProperties", false}}},
                      {"options", {{"type", "object"}}},
                      {"event", {{"type", "object"}, {"description", "All that is released; follows from the rest"}}},
                      {"noise", {{"type", "number"}, {"description", "The noise multiplier or scale; follows from the rest"}}},
                      {"unit", {{"type", "object"}, {"description", "Whom the promise protects; follows from the rest"}}},
                      {"schema_sha256", {{"type", "string"}, {"description", "Of the schema that the options name; follows from it"}}}}},
                    {"required", {"version", "command", "adjacency", "target", "options"}},
                    {"additionalProperties", false},
                    {"oneOf", std::move(alternatives)},
                    {"$defs", {{"query", query_schema(2)}, {"query_text", query_schema(1)}, {"training", {{"properties", shared}}}}}};
  return schema.dump(1) + "\n";
}

}  // namespace surety::jobs
