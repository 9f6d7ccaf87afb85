#include <surety/jobs/plans/schema.h>

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>
#include <surety/accounting/events/json_values.h>
#include <surety/accounting/events/unit.h>
#include <surety/base/text/error.h>
#include <surety/base/text/escaped_text.h>
#include <surety/data/reading/condition.h>
#include <surety/data/reading/text_reader.h>
#include <surety/jobs/plans/small_text.h>
#include <surety/jobs/plans/text_lists.h>

namespace surety::jobs {
namespace {

using accounting::number_of;
using accounting::numbers_of;
using accounting::text_of;
using accounting::texts_of;
using accounting::truth_of;
using accounting::whole_number_of;

constexpr int schema_version = 1;
constexpr const char* about =
    "Names and form only, from the header line: no record was read. Fill in type (number, text or date), bounds ([lower, upper]), categories ([text, ...]), missing (what an empty cell counts as), complete (true: no cell is missing) and drop from public knowledge, never from the records.";

std::string sha256_of(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1) {
    throw Error{ErrorCode::environment, "OpenSSL cannot compute SHA-256"};
  }
  std::string result;
  for (unsigned k = 0; k < length; ++k) result += fmt::format("{:02x}", digest[k]);
  return result;
}

void require_known_fields(const nlohmann::json& object, std::initializer_list<std::string_view> names, const std::string& what) {
  if (!object.is_object()) invalid(fmt::format("{} is no object", what));
  for (const auto& [field, value] : object.items()) {
    if (std::find(names.begin(), names.end(), field) == names.end())
      invalid(fmt::format("{} has an unknown field '{}'", what, one_line(field)));
  }
}

/// The field, or nothing where it is null or left out.
const nlohmann::json* said(const nlohmann::json& object, const char* field) {
  const auto found = object.find(field);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::optional<std::string> text_in(const nlohmann::json& object, const char* field, const std::string& what) {
  const auto* const value = said(object, field);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string() || data::trimmed(text_of(*value, field)).empty()) {
    invalid(fmt::format("{} of {} is {}, must be a text that is not empty, or null", field, what, one_line(value->dump())));
  }
  return text_of(*value, field);
}

std::optional<bool> flag_in(const nlohmann::json& object, const char* field, const std::string& what) {
  const auto* const value = said(object, field);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) invalid(fmt::format("{} of {} is {}, must be true, false or null", field, what, one_line(value->dump())));
  return truth_of(*value, field);
}

SchemaColumn column_from_json(const nlohmann::json& json) {
  require_known_fields(json, {"name", "type", "bounds", "categories", "missing", "complete", "drop"}, "a column");
  const auto* const name = said(json, "name");
  if (name == nullptr) invalid("a column has no name");
  if (!name->is_string() || *name == "") {
    invalid(fmt::format("name of a column is {}, must be a text that is not empty", one_line(name->dump())));
  }
  // As it is: a frame may have the columns "pad" and " pad".
  SchemaColumn column{.name = text_of(*name, "name of a column")};
  const std::string what = "column " + data::in_quotes(column.name);
  column.type = text_in(json, "type", what);
  if (column.type && std::find(data::column_types.begin(), data::column_types.end(), *column.type) == data::column_types.end()) {
    invalid(fmt::format("type of {} is {}, must be number, text, date, integer, boolean or null", what, data::in_quotes(*column.type)));
  }
  if (const auto* const bounds = said(json, "bounds")) {
    const bool are_two = bounds->is_array() && bounds->size() == 2 && (*bounds)[0].is_number() && (*bounds)[1].is_number();
    const auto ends = are_two ? numbers_of(*bounds, "bounds") : std::vector<double>{};
    if (!are_two || !(ends[0] < ends[1])) {
      invalid(fmt::format("bounds of {} are {}, must be [lower, upper], ascending, or null", what, one_line(bounds->dump())));
    }
    column.bounds = {ends[0], ends[1]};
  }
  if (const auto* const categories = said(json, "categories")) {
    const bool are_texts = categories->is_array() && !categories->empty() &&
                           std::all_of(categories->begin(), categories->end(), [](const auto& one) { return one.is_string(); });
    if (!are_texts) invalid(fmt::format("categories of {} are {}, must be a list of texts or null", what, one_line(categories->dump())));
    column.categories = texts_of(*categories, "categories");
  }
  if (const auto* const missing = said(json, "missing"); missing != nullptr && missing->is_number()) {
    column.missing = missing->is_number_float() ? fmt::format("{}", number_of(*missing, "missing")) : missing->dump();
  } else {
    column.missing = text_in(json, "missing", what);
  }
  column.is_complete = flag_in(json, "complete", what).value_or(false);
  if (column.is_complete && column.missing) invalid(fmt::format("{} is complete, must say nothing of missing cells", what));
  column.is_dropped = flag_in(json, "drop", what).value_or(false);
  if (column.bounds && column.categories) invalid(fmt::format("{} has both bounds and categories, must have one of them", what));
  if (column.type == "date" && (column.bounds || column.categories)) {
    invalid(fmt::format("{} is a date with {}, must have none", what, column.bounds ? "bounds" : "categories"));
  }
  if (column.type == "date" && column.missing && !data::parse_date(*column.missing)) {
    invalid(fmt::format("{} is a date whose missing cells count as {}, must count as a date such as 2017-06-01", what,
                        data::in_quotes(*column.missing)));
  }
  if (column.type == "text" && column.bounds) invalid(fmt::format("{} is a text with bounds, must have categories", what));
  const bool is_number = column.type && data::kind_of_type(*column.type) == data::CellKind::number;
  if (is_number && column.missing && data::parse_number(*column.missing).fault != data::NumberFault::none) {
    invalid(fmt::format("{} is a number whose missing cells count as {}, must count as a number", what, data::in_quotes(*column.missing)));
  }
  return column;
}

/// The unit as `parse_unit` reads it. A text is the name of one column; a list names columns whose combination is the owner.
std::optional<std::string> unit_in(const nlohmann::json& json, const std::string& what) {
  const auto* const value = said(json, "unit");
  if (value == nullptr || !value->is_array()) {
    auto column = text_in(json, "unit", what);
    return column ? std::optional{columns_text({*column})} : std::nullopt;
  }
  const bool are_texts = !value->empty() && std::all_of(value->begin(), value->end(), [](const auto& one) { return one.is_string(); });
  if (!are_texts) invalid(fmt::format("unit of {} is {}, must be a text, a list of texts, or null", what, one_line(value->dump())));
  return list_text(texts_of(*value, "unit"));
}

Schema schema_from_json(const nlohmann::json& json) {
  if (!json.is_object() || !json.contains("surety_schema")) invalid("is no schema of surety");
  if (json["surety_schema"] != schema_version) {
    invalid(fmt::format("version is {}, must be {}", one_line(json["surety_schema"].dump()), schema_version));
  }
  const std::string what = "the schema";
  require_known_fields(
      json, {"surety_schema", "about", "delimiter", "decimal", "thousands", "header", "columns", "label", "unit", "most", "empty_unit"},
      what);
  Schema schema;
  // A tab or a blank is a text here.
  if (const auto* const delimiter = said(json, "delimiter")) {
    if (!delimiter->is_string() || text_of(*delimiter, "delimiter").empty()) invalid("delimiter of the schema is no text");
    schema.delimiter = text_of(*delimiter, "delimiter");
  }
  schema.decimal = text_in(json, "decimal", what);
  if (schema.decimal && *schema.decimal != "." && *schema.decimal != ",") {
    invalid(fmt::format("decimal of the schema is {}, must be a point or a comma", data::in_quotes(*schema.decimal)));
  }
  if (const auto* const thousands = said(json, "thousands")) {
    if (!thousands->is_string()) invalid("thousands of the schema is no text");
    schema.thousands = text_of(*thousands, "thousands");
  }
  schema.has_header = flag_in(json, "header", what).value_or(true);
  const auto* const columns = said(json, "columns");
  if (columns == nullptr || !columns->is_array() || columns->empty()) invalid("columns of the schema are no list, must name each column");
  for (const auto& column : *columns) {
    schema.columns.push_back(column_from_json(column));
    const auto& name = schema.columns.back().name;
    if (schema.find(name) != &schema.columns.back()) invalid(fmt::format("column {} stands twice", data::in_quotes(name)));
  }
  schema.label = text_in(json, "label", what);
  schema.unit = unit_in(json, what);
  if (const auto* const most = said(json, "most")) {
    if (!most->is_number_unsigned())
      invalid(fmt::format("most of the schema is {}, must be a whole number or null", one_line(most->dump())));
    schema.most = whole_number_of(*most, "most");
  }
  if (const auto empty = text_in(json, "empty_unit", what)) schema.empty_unit = parse_empty_unit(*empty);
  return schema;
}

}  // namespace

const SchemaColumn* Schema::find(std::string_view column) const {
  const auto found = std::find_if(columns.begin(), columns.end(), [&](const auto& one) { return one.name == column; });
  return found == columns.end() ? nullptr : &*found;
}

Schema read_schema(const std::string& file) {
  constexpr std::size_t largest = std::size_t{1} << 24;
  constexpr int deepest_of_schema = 6;
  const std::string text = read_text(file, largest, "a schema");
  try {
    auto schema = accounting::translating_json_errors(
        "schema", [&] { return schema_from_json(accounting::parse_strict_json(text, deepest_of_schema, "schema")); });
    schema.file = file;
    schema.sha256 = sha256_of(text);
    return schema;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    throw Error{ErrorCode::bad_data, fmt::format("{}: {}", one_line(file), error.what())};
  }
}

std::string schema_text(const std::string& data, std::string_view delimiter, char decimal, bool has_header,
                        const std::vector<std::string>& columns) {
  const auto quoted = [&](const std::string& name) {
    if (!is_utf8(name)) {
      throw Error{ErrorCode::bad_data, fmt::format("{}: column {} is not UTF-8, must be where a schema names it", one_line(data),
                                                   surety::data::in_quotes(name))};
    }
    return json_for_terminals(nlohmann::json(name).dump());
  };
  std::string text = fmt::format(
      "{{\n  \"surety_schema\": {},\n  \"about\": {},\n  \"delimiter\": {},\n  \"decimal\": \"{}\",\n  \"header\": {},\n  \"columns\": [\n",
      schema_version, nlohmann::json(about).dump(), nlohmann::json(delimiter).dump(), decimal, has_header);
  for (std::size_t k = 0; k < columns.size(); ++k) {
    text += fmt::format(
        R"(    {{"name": {}, "type": null, "bounds": null, "categories": null, "missing": null, "complete": null, "drop": false}}{})",
        quoted(columns[k]), k + 1 < columns.size() ? ",\n" : "\n");
  }
  return text + "  ],\n  \"label\": null,\n  \"unit\": null,\n  \"most\": null,\n  \"empty_unit\": null\n}\n";
}

}  // namespace surety::jobs
