#include <surety/jobs/plans/unit_fields.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include <surety/base/text/safe_text.h>
#include <surety/data/reading/text_reader.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/jobs/plans/text_lists.h>

namespace surety::jobs {
namespace {

OwnerRule rule_of(const std::vector<std::string>& names, std::optional<EmptyUnit> empty, const ReadingFields& reading) {
  const auto policy = reading.policy();
  OwnerRule rule{.empty = empty.value_or(EmptyUnit::one), .delimiter = policy.csv.delimiter};
  if (reading.no_limits) rule.record_bytes.reset();
  rule.quoted_lines = policy.csv.quoted_lines;
  const auto& columns = policy.csv.columns;
  if (columns.empty()) return rule;
  std::vector<std::uint64_t> places;
  for (const auto& name : names) {
    const auto found = std::find_if(columns.begin(), columns.end(), [&](const auto& one) { return data::trimmed(one) == name; });
    if (found == columns.end()) {
      refuse_plan("{} is '{}', must be one of the {} columns that are named", "unit"_field, one_line(name), columns.size());
    }
    places.push_back(static_cast<std::uint64_t>(found - columns.begin()) + 1);
  }
  rule.place = {.column = places.front(), .columns = columns.size(), .further = {places.begin() + 1, places.end()}};
  return rule;
}

}  // namespace

void UnitFields::add(FieldTable& table) {
  table
      .add(
          "unit", column,
          field_text(
              "CSV: the column that names the owner of a row, or two or three columns, such as user,day (in JSON a list), whose combination is the owner; in a text with commas, a name with a comma or a bar stands in double quotes. What is promised is then promised to an owner with all rows, of which {} are used; names are compared byte by byte",
              "most"_field))
      .is_of_names()
      .standard("the ledger's, else one row");
  table.add("most", most,
            field_text("How many rows of a {} are used, at most: chosen by a secret hash of that unit's rows alone", "unit"_field),
            WholeNumber{1, std::uint64_t{1} << 53});
  add_empty(table);
  table.add(
      "unit-period", period,
      field_text(
          "The column of {}, a combination, that holds a period, such as the day: the report also states what one user has over 7, 31 and 365 periods",
          "unit"_field));
}

void UnitFields::add_empty(FieldTable& table) {
  table
      .add("empty-unit", empty,
           field_text("What records are whose {} is empty, as in damaged ones: one, all of them are one unit, or each, each is a unit",
                      "unit"_field))
      .standard("one");
}

void UnitFields::take_schema(const Schema& schema) {
  if (column || !schema.unit) return;
  column = schema.unit;
  if (!most) most = schema.most;
  if (!empty) empty = schema.empty_unit;
}

std::vector<std::string> UnitFields::columns() const { return column ? parse_unit(*column) : std::vector<std::string>{}; }

std::vector<std::string> parse_unit(std::string_view text) {
  bool is_quoted = false;
  for (const char c : text) {
    if (c == '"') is_quoted = !is_quoted;
    if (c == '|' && !is_quoted) {
      refuse_plan(
          "{} is '{}', must name one owner of a row: with several, the removal of one owner may change how many rows of any other owner are used, and no bound is known (a name with a bar stands in double quotes)",
          "unit"_field, one_line(text));
    }
  }
  // One name is left as it is.
  const bool is_list = text.starts_with('"') || text.find(',') != std::string_view::npos;
  auto columns = is_list ? parse_values(text, "unit") : std::vector{std::string{text}};
  if (columns.size() > UnitOfPrivacy::most_columns) {
    refuse_plan("{} names {} columns, must name at most {}", "unit"_field, columns.size(), UnitOfPrivacy::most_columns);
  }
  for (auto column = columns.begin(); column != columns.end(); ++column) {
    if (column->empty() && columns.size() > 1)
      refuse_plan("{} is '{}', must name a column on both sides of each comma", "unit"_field, one_line(text));
    if (std::find(columns.begin(), column, *column) != column) {
      refuse_plan("{} names column '{}' twice, must name it once", "unit"_field, one_line(*column));
    }
  }
  return columns;
}

nlohmann::json unit_json(const std::vector<std::string>& columns) {
  return columns.size() == 1 ? nlohmann::json(columns.front()) : nlohmann::json(columns);
}

UnitOfPrivacy unit_of(const UnitFields& said, const ReadingFields& reading) {
  if (said.column.has_value() != said.most.has_value()) {
    if (said.column)
      refuse_plan("{} is missing: {} needs a public number of rows, of which no more are used of a unit", "most"_field, "unit"_field);
    refuse_plan("{} is missing: {} is the number of rows that are used of a unit, so name its column", "unit"_field, "most"_field);
  }
  if (!said.column) {
    if (said.empty) refuse_plan("{} is for {}, which is missing", "empty-unit"_field, "unit"_field);
    return {};
  }
  const auto columns = said.columns();
  return unit_of_columns(columns, Count{*said.most}, rule_of(columns, said.empty, reading));
}

std::optional<std::string> period_of(const UnitFields& said, const UnitOfPrivacy& unit) {
  if (!said.period) return std::nullopt;
  const auto columns = columns_of(unit);
  if (columns.size() < 2) {
    refuse_plan("{} is '{}', must be left out unless {} is a combination of columns such as user,day", "unit-period"_field,
                one_line(*said.period), "unit"_field);
  }
  // Quoted as in the unit, or as it is.
  for (const auto& column : columns) {
    if (*said.period == column || *said.period == columns_text({column})) return column;
  }
  refuse_plan("{} is '{}', must be one of the columns {}", "unit-period"_field, one_line(*said.period), one_line(columns_text(columns)));
}

UnitOfPrivacy unit_of_records(const UnitFields& said, const ReadingFields& reading) {
  auto unit = unit_of(said, reading);
  for (const auto& column : columns_of(unit)) {
    if (!reading.csv().missing.contains(column)) continue;
    refuse_plan("what a missing cell of column '{}' counts as is said, must not be: it names the unit, for which {} says it",
                one_line(column), "empty-unit"_field);
  }
  return unit;
}

}  // namespace surety::jobs
