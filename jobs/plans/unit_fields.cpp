#include <surety/jobs/plans/unit_fields.h>

#include <algorithm>

#include <surety/base/text/safe_text.h>
#include <surety/data/reading/text_reader.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/jobs/run/kept_units.h>

namespace surety::jobs {
namespace {

OwnerRule rule_of(const std::string& column, std::optional<EmptyUnit> empty, const ReadingFields& reading) {
  const auto policy = reading.policy();
  OwnerRule rule{.empty = empty.value_or(EmptyUnit::one), .delimiter = policy.csv.delimiter};
  if (reading.no_limits) rule.record_bytes.reset();
  rule.quoted_lines = policy.csv.quoted_lines;
  const auto& columns = policy.csv.columns;
  if (columns.empty()) return rule;
  const auto found = std::find_if(columns.begin(), columns.end(), [&](const auto& one) { return data::trimmed(one) == column; });
  if (found == columns.end()) {
    refuse_plan("{} is '{}', must be one of the {} columns that are named", "unit"_field, one_line(column), columns.size());
  }
  rule.place = {.column = static_cast<std::uint64_t>(found - columns.begin()) + 1, .columns = columns.size()};
  return rule;
}

}  // namespace

void UnitFields::add(FieldTable& table) {
  table
      .add(
          "unit", column,
          field_text(
              "CSV: the column that names the owner of a row. What is promised is then promised to an owner with all rows, of which {} are used; names are compared byte by byte",
              "most"_field))
      .standard("the ledger's, else one row");
  table.add("most", most,
            field_text("How many rows of a {} are used, at most: chosen by a secret hash of that unit's rows alone", "unit"_field),
            WholeNumber{1, std::uint64_t{1} << 53});
  add_empty(table);
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
  const auto& column = *said.column;
  return unit_of_column(column, Count{*said.most}, rule_of(column, said.empty, reading));
}

UnitOfPrivacy unit_of_records(const UnitFields& said, const ReadingFields& reading) {
  auto unit = unit_of(said, reading);
  if (!unit.is_row() && reading.csv().missing.contains(*said.column)) {
    refuse_plan("what a missing cell of column '{}' counts as is said, must not be: it names the unit, for which {} says it",
                one_line(*said.column), "empty-unit"_field);
  }
  return unit;
}

}  // namespace surety::jobs
