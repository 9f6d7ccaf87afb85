#include <surety/jobs/plans/table_fields.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include <surety/base/text/safe_text.h>
#include <surety/data/reading/condition.h>
#include <surety/data/reading/text_reader.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/jobs/plans/text_lists.h>

namespace surety::jobs {

using namespace data;

namespace {

/// The most features that a feature map may have.
constexpr std::uint64_t max_features = std::uint64_t{1} << 24;

/// "name=value,value,..." as a name and its values.
std::pair<std::string, std::vector<std::string>> parse_list(const std::string& text, std::string_view field, bool at_first) {
  auto [column, rest] = split_at_column(text, field, "column=value,value,...", at_first);
  return {std::move(column), parse_values(rest, field)};
}

/// Of "first:second"; a name with a colon stands in quotes.
std::vector<ColumnPair> pairs_of(const std::vector<std::string>& texts) {
  std::vector<ColumnPair> pairs;
  for (const auto& text : texts) {
    auto [first, second] = split_pair(text, "pairs");
    if (first == second) refuse_plan("{} is '{}', must be of two columns", "pairs"_field, one_line(text));
    pairs.push_back({std::move(first), std::move(second)});
  }
  return pairs;
}

CsvOptions csv_options(const TableFields& said, const TableContext& context, const std::string& label) {
  CsvOptions result{.drop = said.drop,
                    .rows_have_common_scale = said.rows == RowScale::scaled,
                    .terms = said.terms,
                    .pairs = pairs_of(said.pairs),
                    .ranges = said.ranges};
  for (const auto& text : said.bounds) {
    const auto [column, ends] = parse_list(text, "bounds", false);
    if (ends == std::vector<std::string>{"private"}) {
      if (result.bounds.contains(column) || !result.private_ranges.insert(column).second) {
        refuse_plan("{} names column '{}' twice", "bounds"_field, one_line(column));
      }
      continue;
    }
    if (ends.size() != 2) refuse_plan("{} is '{}', must be column=lower,upper or column=private", "bounds"_field, one_line(text));
    const Bounds its{parse_double(ends[0], "bounds"), parse_double(ends[1], "bounds")};
    if (!std::isfinite(its.lower) || !std::isfinite(its.upper) || !(its.lower < its.upper)) {
      refuse_plan("bounds of column {} are {} and {}, must be finite and ascend", in_quotes(column), its.lower, its.upper);
    }
    if (result.private_ranges.contains(column) || !result.bounds.emplace(column, its).second) {
      refuse_plan("{} names column '{}' twice", "bounds"_field, one_line(column));
    }
  }
  for (const auto& text : said.categories) {
    auto [column, names] = parse_list(text, "categories", true);
    if (names == std::vector<std::string>{""}) refuse_plan("{} is '{}', must be column=text,text,...", "categories"_field, one_line(text));
    if (!result.categories.emplace(column, std::move(names)).second)
      refuse_plan("{} names column '{}' twice", "categories"_field, one_line(column));
  }
  const auto unit_columns = context.said_unit.columns();
  const auto is_of_unit = [&](const std::string& column) {
    return std::find(unit_columns.begin(), unit_columns.end(), column) != unit_columns.end();
  };
  const auto is_named = [&](const std::string& column) {
    return column == label || column == context.weight || result.bounds.contains(column) || result.private_ranges.contains(column) ||
           result.categories.contains(column) || std::find(result.drop.begin(), result.drop.end(), column) != result.drop.end();
  };
  for (const auto& column : context.reading.schema ? context.reading.schema->columns : std::vector<SchemaColumn>{}) {
    if (is_named(column.name)) continue;
    if (column.is_dropped) {
      result.drop.push_back(column.name);
    } else if (column.categories) {
      result.categories.emplace(column.name, *column.categories);
    } else if (column.bounds) {
      result.bounds.emplace(column.name, Bounds{column.bounds->lower, column.bounds->upper});
    } else if ((column.type == "text" || column.type == "date") && !is_of_unit(column.name)) {
      refuse_plan("column {} of {} is a {}, must {}", in_quotes(column.name), "schema"_field, *column.type,
                  column.type == "text" ? "have categories or be dropped" : "be dropped");
    }
  }
  if (is_of_unit(label)) refuse_plan("{} is {}, must be another column than the label's", "unit"_field, in_quotes(label));
  // A name is no feature, unless the user says which.
  for (const auto& unit : unit_columns) {
    if (result.bounds.contains(unit) || result.private_ranges.contains(unit) || result.categories.contains(unit) ||
        std::find(result.drop.begin(), result.drop.end(), unit) != result.drop.end()) {
      continue;
    }
    result.drop.push_back(unit);
  }
  return result;
}

/// \throws PlanError for a label whose comparison, or one of whose classes, no cell of the declared type can meet.
void require_possible(const LabelRule& label, const Schema* schema) {
  const auto* const column = schema == nullptr ? nullptr : schema->find(label.column);
  if (column == nullptr || !column->type) return;
  const auto why = [&](const std::string& text) { return why_never(parse_condition(text, "label"), {{label.column, *column->type}}); };
  if (label.test) {
    if (const auto never = why(describe(label))) refuse_plan("{} {}", "label"_field, *never);
    return;
  }
  for (const auto& one : label.classes) {
    // In another format than the usual one a number may be written otherwise, and a truth value is the class 1 or 0.
    const bool may_be = *column->type == "boolean" ? one == "1" || one == "0" : one.find_first_of("0123456789") != std::string::npos;
    const auto text = describe(CellComparison{.column = label.column, .relation = Relation::equal, .value = one});
    if (may_be) continue;
    if (const auto never = why(text)) refuse_plan("{} {}", "classes"_field, *never);
  }
}

[[noreturn]] void refuse_unit(const char* format, bool is_of_ledger) {
  constexpr std::string_view reason = "file has no column that names an owner";
  if (is_of_ledger) refuse_plan("the unit of the ledger is for CSV files: a {} {}", format, reason);
  refuse_plan("{} is for CSV files: a {} {}", "unit"_field, format, reason);
}

}  // namespace

void TableFields::add(FieldTable& table, const std::vector<DataFormat>& formats) {
  table.add("label", label, "CSV: the label's column, or a comparison with a number or a text, such as 'visits>0' or 'class==yes'");
  const bool knows_record_files = formats.size() > 2;
  table.add("format", format, knows_record_files ? "csv, libsvm, or records for a file that 'surety convert' made" : "csv or libsvm",
            formats);
  table.add("features", features, "LIBSVM: the number of features", WholeNumber{1, max_features});
  table.add("drop", drop, "CSV: a column that is no feature; may be repeated");
  table.add(
      "bounds", bounds,
      "CSV: column=lower,upper, known without looking at the data: clamped, scaled to [-1, 1]; or column=private: a range that the training releases first; may be repeated");
  table.add(
      "categories", categories,
      "CSV: column=text,text,...: one feature for each text; may be repeated. Blanks around a text do not count, and one with a comma stands in quotes");
  table.add(
      "rows", rows,
      "unit: each row, with the constant 1, is divided by its own norm; scaled: all are divided by the root of one more than the columns, for columns with bounds or categories, whose rows are then no longer than 1");
  table.add(
      "terms", terms,
      field_text(
          "CSV: what columns with bounds become: linear, the number; additive, and hat functions of it; auto, as {} auto chooses, else linear",
          "algorithm"_field));
  table.add(
      "ranges", ranges,
      field_text(
          "CSV: what columns without {} and {} become: asinh, the signed logarithm; private, numbers within a range that the training releases first, within its charge; auto, as {} auto chooses, else asinh",
          "bounds"_field, "categories"_field, "algorithm"_field));
  table.add("pairs", pairs, "CSV: first:second, two columns with bounds whose product is a feature, too; may be repeated");
}

void TableFields::take_rank(std::size_t rank, std::size_t size) {
  constexpr std::string_view mark = "{rank}";
  const auto at = data.find(mark);
  if (at == std::string::npos) return;
  if (size == 1) refuse_plan("the data file is {}, must be a name without {{rank}} in one process", one_line(data));
  for (std::size_t k = 0; k < size; ++k) data_of_ranks.push_back(std::string{data}.replace(at, mark.size(), std::to_string(k)));
  data = data_of_ranks[rank];
}

void TableFields::take_schema(const Schema& schema) {
  if (label.empty() && format == DataFormat::csv) label = schema.label.value_or("");
}

TrainingSource source_of(const TableFields& said, const TableContext& context) {
  TrainingSource source{.path = said.data, .paths_of_ranks = said.data_of_ranks};
  source.weight = context.weight;
  source.weight_bound = context.weight_bound;
  if (context.has_unit && said.format != DataFormat::csv)
    refuse_unit(said.format == DataFormat::libsvm ? "LIBSVM" : "record", context.has_unit_of_ledger);
  if (said.format == DataFormat::csv) {
    if (said.label.empty()) refuse_plan("{} is missing, a CSV file needs a column or a comparison such as 'visits>0'", "label"_field);
    if (said.features) refuse_plan("{} is for LIBSVM files, a CSV file has its columns", "features"_field);
    source.reading = context.reading.policy();  // refused before anything is charged
    auto label = parse_label_rule(said.label);
    if (!context.classes.empty()) {
      label = with_classes(std::move(label), parse_values(context.classes, "classes"));
    }
    require_possible(label, context.reading.schema ? &*context.reading.schema : nullptr);
    source.inputs = csv_options(said, context, label.column);
    source.label = std::move(label);
    return source;
  }
  if (said.format == DataFormat::records) {
    if (!said.label.empty() || !said.drop.empty() || !said.bounds.empty() || !said.categories.empty() || said.features ||
        said.rows != RowScale::unit || said.terms != Terms::automatic || said.ranges != Ranges::automatic || !said.pairs.empty() ||
        context.reading.is_about_csv()) {
      refuse_plan("{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {} and {} were said when the record file was converted",
                  "label"_field, "features"_field, "drop"_field, "bounds"_field, "categories"_field, "rows"_field, "terms"_field,
                  "ranges"_field, "pairs"_field, "delimiter"_field, "decimal"_field, "thousands"_field, "columns"_field, "missing"_field,
                  "schema"_field);
    }
    if (!context.classes.empty()) refuse_plan("{} is for CSV files, whose label is a text", "classes"_field);
    if (said.data == TextReader::standard_input) refuse_plan("the data file is -, must be a file for {} records", "format"_field);
    source.reading = context.reading.policy();
    const auto file = std::make_shared<const RecordFile>(said.data);
    source.label = file->description().label;
    source.inputs = file;
    return source;
  }
  if (said.terms == Terms::additive || !said.pairs.empty() || said.ranges != Ranges::automatic) {
    refuse_plan("{} additive, {} and {} are for CSV files with bounds, a LIBSVM file has no columns", "terms"_field, "pairs"_field,
                "ranges"_field);
  }
  if (!said.label.empty() || !said.drop.empty() || !said.bounds.empty() || !said.categories.empty()) {
    refuse_plan("{}, {}, {} and {} are for CSV files, a LIBSVM file has its own labels and no columns", "label"_field, "drop"_field,
                "bounds"_field, "categories"_field);
  }
  if (context.reading.is_about_csv())
    refuse_plan("{}, {}, {}, {}, {} and {} are for CSV files, a LIBSVM file has no such cells", "delimiter"_field, "decimal"_field,
                "thousands"_field, "columns"_field, "missing"_field, "schema"_field);
  if (!context.classes.empty()) refuse_plan("{} is for CSV files, whose label is a text", "classes"_field);
  if (!said.features)
    refuse_plan("{} is missing: the largest index that occurs is private, so say how many features there are", "features"_field);
  if (const auto most = context.reading.limits().features; *said.features > most) {
    refuse_plan("{} is {}, must be at most {} unless {} is given", "features"_field, *said.features, most, "no-limits"_field);
  }
  source.reading = context.reading.policy();
  source.inputs = SparseFeatures{static_cast<std::uint32_t>(*said.features)};
  source.rows_have_common_scale = said.rows == RowScale::scaled;
  return source;
}

}  // namespace surety::jobs
