#include <surety/jobs/plans/reading_fields.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include <surety/base/text/safe_text.h>
#include <surety/data/reading/text_reader.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/jobs/plans/text_lists.h>

namespace surety::jobs {
namespace {

/// The character that a field names, or a schema in its file.
char delimiter_of(const std::string& text, const std::string& schema_file) {
  const char byte = text == "tab" || text == "\\t" ? '\t' : text == "space" ? ' ' : text.size() == 1 ? text.front() : '"';
  if (byte == '"' || byte == '\r' || byte == '\n' || static_cast<unsigned char>(byte) >= 0x80 || byte == 0) {
    constexpr std::string_view constraint = "must be tab, space or one character of ASCII that is no double quote and no line end";
    if (schema_file.empty()) refuse_plan("{} is '{}', {}", "delimiter"_field, one_line(text), constraint);
    refuse_plan("{}: delimiter is '{}', {}", one_line(schema_file), one_line(text), constraint);
  }
  return byte;
}

}  // namespace

void ReadingFields::add_form(FieldTable& table) { table.add("form-is-public", form_is_public, std::string{form_is_public_help}); }

void ReadingFields::add_limits(FieldTable& table) {
  table.add("no-limits", no_limits, "Lift the limits on headers, columns, features, records, models and what decompression makes of them");
}

void ReadingFields::add_csv(FieldTable& table) {
  table.add("delimiter", delimiter, "CSV: the character between cells, where it is no comma: ';', 'tab', 'space' or another one");
  table.add(
      "decimal", decimal,
      "CSV: the character before the decimals of a number in a cell, '.' or ','; a cell with the other one is no number. Options are written with points");
  table.add(
      "thousands", thousands,
      field_text(
          "CSV: the character between groups of three digits of a number in a cell: ',', '.', ''', '_' or space, another one than {}. Where it is the delimiter, cells with it stand in double quotes. A cell with it anywhere else is no number. Options are written without it",
          "decimal"_field));
  table.add(
      "columns", columns,
      "CSV: name,name,...: the names of the columns of a file without a header, whose first line is then a record. One with a comma stands in double quotes");
  table
      .add(
          "quoted-lines", quoted_lines,
          "CSV: how many line ends a cell in double quotes holds at most. Where it would hold more, its first line ends a damaged record and the next line begins another, so that a quote that nobody closes hides no more than that",
          WholeNumber{0, std::uint64_t{1} << 53})
      .standard(fmt::format("{}", data::CsvFormat{}.quoted_lines));
}

void ReadingFields::add_missing(FieldTable& table) {
  table.add(
      "missing", missing,
      "CSV: column=value: what an empty cell of that column counts as, and one that is no number where numbers are used; known without looking at the data. May be repeated. A record with a wrong number of cells stays a damaged one");
}

void ReadingFields::add_complete(FieldTable& table) {
  table.add(
      "complete", complete,
      field_text(
          "CSV: name,name,...: promise that no cell of these columns is missing, so that a sum or a mean under replace-one needs no private count. One that is there all the same counts as 0, clamped; with {} it is an error",
          "form-is-public"_field));
}

void ReadingFields::add_schema(FieldTable& table) {
  table.add("schema", schema_file,
            "CSV: a JSON file as 'surety schema' writes it, filled in: what it says of the columns holds where no option says otherwise");
}

void ReadingFields::load_schema() {
  if (schema_file) schema = read_schema(*schema_file);
}

data::CsvFormat ReadingFields::csv() const {
  data::CsvFormat format;
  if (quoted_lines) format.quoted_lines = *quoted_lines;
  if (delimiter) {
    format.delimiter = delimiter_of(*delimiter, {});
  } else if (schema && schema->delimiter) {
    format.delimiter = delimiter_of(*schema->delimiter, schema->file);
  }
  if (const auto& said = decimal ? decimal : schema ? schema->decimal : std::nullopt) {
    if (*said != "." && *said != ",") refuse_plan("{} is '{}', must be '.' or ','", "decimal"_field, one_line(*said));
    format.decimal = said->front();
  }
  if (const auto& said = thousands ? thousands : schema ? schema->thousands : std::nullopt) {
    const char separator = *said == "space" ? ' ' : said->size() == 1 ? said->front() : '\0';
    if (data::thousands_separators.find(separator) == std::string_view::npos) {
      refuse_plan("{} must be ',', '.', ''', '_' or space (got '{}')", "thousands"_field, one_line(*said));
    }
    if (separator == format.decimal) {
      refuse_plan("{} must differ from the character before decimals (both are '{}'); give another {}", "thousands"_field, separator,
                  "decimal"_field);
    }
    format.thousands = separator;
  }
  if (schema && !schema->has_header && !columns) {
    for (const auto& column : schema->columns) format.columns.push_back(column.name);
  }
  if (columns) {
    format.columns = parse_values(*columns, "columns");
    for (auto name = format.columns.begin(); name != format.columns.end(); ++name) {
      if (name->empty()) refuse_plan("{} is '{}', must have a name between commas", "columns"_field, one_line(*columns));
      if (std::find(format.columns.begin(), name, *name) != name)
        refuse_plan("{} names column '{}' twice", "columns"_field, one_line(*name));
    }
  }
  for (const auto& text : missing) {
    const auto [column, rest] = split_at_column(text, "missing", "column=value", true);
    const auto values = parse_values(rest, "missing");
    if (values.size() != 1 || data::trimmed(values.front()).empty()) {
      refuse_plan("{} is '{}', must be column=value, with quotes around a value with a comma", "missing"_field, one_line(text));
    }
    if (!format.missing.emplace(column, values.front()).second)
      refuse_plan("{} names column '{}' twice", "missing"_field, one_line(column));
  }
  if (complete) {
    for (auto& name : parse_values(*complete, "complete")) {
      if (name.empty()) refuse_plan("{} is '{}', must have a name between commas", "complete"_field, one_line(*complete));
      if (format.missing.contains(name))
        refuse_plan("{} and {} both name column '{}', must be one of them", "complete"_field, "missing"_field, one_line(name));
      format.complete.insert(std::move(name));
    }
  }
  if (schema) {
    for (const auto& column : schema->columns) {  // unless an option says otherwise
      if (format.missing.contains(column.name) || format.complete.contains(column.name)) continue;
      if (column.missing) format.missing.emplace(column.name, *column.missing);
      if (column.is_complete) format.complete.insert(column.name);
    }
  }
  return format;
}

std::string missing_text(const std::map<std::string, std::string>& missing) {
  std::string text;
  for (const auto& [column, value] : missing) text += fmt::format("{}{}={}", text.empty() ? "" : ", ", one_line(column), one_line(value));
  return text;
}

data::DataPolicy ReadingFields::policy() const {
  return {.form = form_is_public ? data::RecordForm::is_public : data::RecordForm::is_private, .limits = limits(), .csv = csv()};
}

}  // namespace surety::jobs
