#include "train_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include <surety/accounting/events/format.h>
#include <surety/data/text_reader.h>
#include <surety/jobs/plans/text_lists.h>

#include "../validators.h"

namespace surety::cli {

using namespace data;

namespace {

/// The most features that a feature map may have.
constexpr std::uint64_t max_features = std::uint64_t{1} << 24;

/// "name=value,value,..." as a name and its values.
std::pair<std::string, std::vector<std::string>> parse_list(const std::string& text, std::string_view field, bool at_first) {
  auto [column, rest] = jobs::split_at_column(text, field, "column=value,value,...", at_first);
  return {std::move(column), jobs::parse_values(rest, field)};
}

CsvOptions csv_options(const TrainOptions& options, const std::string& label) {
  CsvOptions result{.drop = options.drop, .rows_have_common_scale = options.rows == "scaled"};
  for (const auto& text : options.bounds) {
    const auto [column, ends] = parse_list(text, "bounds", false);
    if (ends.size() != 2) invalid(fmt::format("--bounds is '{}', must be column=lower,upper", one_line(text)));
    if (!result.bounds.emplace(column, Bounds{jobs::parse_double(ends[0], "bounds"), jobs::parse_double(ends[1], "bounds")}).second) {
      invalid(fmt::format("--bounds names column '{}' twice", one_line(column)));
    }
  }
  for (const auto& text : options.categories) {
    auto [column, names] = parse_list(text, "categories", true);
    if (!result.categories.emplace(column, std::move(names)).second)
      invalid(fmt::format("--categories names column '{}' twice", one_line(column)));
  }
  const auto is_named = [&](const std::string& column) {
    return column == label || result.bounds.contains(column) || result.categories.contains(column) ||
           std::find(result.drop.begin(), result.drop.end(), column) != result.drop.end();
  };
  for (const auto& column : options.reading.schema ? options.reading.schema->columns : std::vector<SchemaColumn>{}) {
    if (is_named(column.name)) continue;
    if (column.is_dropped) {
      result.drop.push_back(column.name);
    } else if (column.categories) {
      result.categories.emplace(column.name, *column.categories);
    } else if (column.bounds) {
      result.bounds.emplace(column.name, Bounds{column.bounds->lower, column.bounds->upper});
    } else if ((column.type == "text" || column.type == "date") && column.name != options.run.said_unit.column) {
      invalid(fmt::format("column {} of --schema is a {}, must {}", in_quotes(column.name), *column.type,
                          column.type == "text" ? "have categories or be dropped" : "be dropped"));
    }
  }
  // A name is no feature, unless the user says which.
  if (const auto& unit = options.run.said_unit.column; unit && !result.bounds.contains(*unit) && !result.categories.contains(*unit) &&
                                                       std::find(result.drop.begin(), result.drop.end(), *unit) == result.drop.end()) {
    result.drop.push_back(*unit);
  }
  return result;
}

}  // namespace

void add_data_options(OptionTable& table, TrainOptions& options, std::vector<std::string> formats) {
  table.group("Data");
  table
      .add("data", options.data,
           "A CSV file with a header, or a LIBSVM file; may be compressed by gzip, zstd or bzip2; - for standard input")
      .required()
      .essential();
  table
      .add("--label", options.label, "CSV: the label's column, or a comparison with a number or a text, such as 'visits>0' or 'class==yes'")
      .essential();
  const bool knows_record_files = formats.size() > 2;
  table
      .add("--format", options.format,
           knows_record_files ? "csv, libsvm, or records for a file that 'surety convert' made" : "csv or libsvm",
           one_of(std::move(formats)))
      .essential();
  table.add("--features", options.features, "LIBSVM: the number of features", whole_number(1, max_features)).essential();
  table.add("--drop", options.drop, "CSV: a column that is no feature; may be repeated");
  table.add("--bounds", options.bounds,
            "CSV: column=lower,upper, known without looking at the data: clamped, scaled to [-1, 1]; may be repeated");
  table.add("--categories", options.categories,
            "CSV: column=text,text,...: one feature for each text; may be repeated. Blanks around a text do not count, and one with "
            "a comma stands in quotes");
  table.add("--rows", options.rows,
            "unit: each row, with the constant 1, is divided by its own norm; scaled: all are divided by the root of one more than the "
            "columns, for "
            "columns with bounds or categories, whose rows are then no longer than 1",
            one_of({"unit", "scaled"}));
  options.reading.add_missing_to(table);
  options.reading.add_schema_to(table);
  options.reading.add_csv_to(table);
  options.reading.add_limits_to(table);
}

void add_shared_options(OptionTable& table, TrainOptions& options, const std::vector<std::string>& algorithms) {
  add_data_options(table, options, {"csv", "libsvm", "records"});
  table.group("Problem and algorithm");
  table
      .add("--loss", options.plan.problem.loss, "logistic, squared, smoothed-hinge or hinge",
           one_of({"logistic", "squared", "smoothed-hinge", "hinge"}))
      .essential();
  table.add("--label-bound", options.plan.problem.label_bound, "Squared loss: labels are clamped to [-bound, bound]", number()).essential();
  table.add("--smoothing", options.plan.problem.smoothing, "Smoothed hinge: the half width of its parabola", number()).standard("0.5");
  table.add("--algorithm", options.algorithm, fmt::format("{}", fmt::join(algorithms, ", ")), one_of(algorithms)).essential();

  table.group("Secret batches");  // here, before the others, where an algorithm has them
  table.group("Privacy");
  options.run.add_promise_to(table, true);
  options.run.add_unit_to(table);
  options.run.add_ledger_to(table);

  table.group("Output");
  table.add("--model", options.model, "Where to write the model").required().essential();
  options.overwrite.add_to(table);
  table.add("--json", options.json, "Print one JSON object").essential();
  options.run.add_plan_to(table);
}

void take_rank(TrainOptions& options, std::size_t rank, std::size_t size) {
  constexpr std::string_view mark = "{rank}";
  const auto at = options.data.find(mark);
  if (at == std::string::npos) return;
  if (size == 1) invalid(fmt::format("the data file is {}, must be a name without {{rank}} in one process", one_line(options.data)));
  for (std::size_t k = 0; k < size; ++k)
    options.data_of_ranks.push_back(std::string{options.data}.replace(at, mark.size(), std::to_string(k)));
  options.data = options.data_of_ranks[rank];
}

void apply_schema(TrainOptions& options) {
  options.reading.load_schema();
  if (!options.reading.schema) return;
  const auto& schema = *options.reading.schema;
  if (options.label.empty() && options.format == "csv") options.label = schema.label.value_or("");
  options.run.take_schema(schema);
}

jobs::TrainingSource source_of(const TrainOptions& options) {
  jobs::TrainingSource source{
      .path = options.data, .paths_of_ranks = options.data_of_ranks, .form_is_public = options.plan.source.form_is_public};
  if (options.run.has_unit() && options.format != "csv")
    invalid(fmt::format("{} is for CSV files: a {} file has no column that names an owner", options.run.unit_words(),
                        options.format == "libsvm" ? "LIBSVM" : "record"));
  if (options.format == "csv") {
    if (options.label.empty()) invalid("--label is missing, a CSV file needs a column or a comparison such as 'visits>0'");
    if (options.features) invalid("--features is for LIBSVM files, a CSV file has its columns");
    source.reading = options.reading.policy();  // refused before anything is charged
    auto label = parse_label_rule(options.label);
    if (!options.plan.problem.classes.empty()) {
      label = with_classes(std::move(label), jobs::parse_values(options.plan.problem.classes, "classes"));
    }
    source.inputs = csv_options(options, label.column);
    source.label = std::move(label);
    return source;
  }
  if (options.format == "records") {
    if (!options.label.empty() || !options.drop.empty() || !options.bounds.empty() || !options.categories.empty() || options.features ||
        options.rows != "unit" || options.reading.is_about_csv()) {
      invalid(
          "--label, --features, --drop, --bounds, --categories, --rows, --delimiter, --decimal, --columns, --missing and --schema were "
          "said when the "
          "record "
          "file was converted");
    }
    if (!options.plan.problem.classes.empty()) invalid("--classes is for CSV files, whose label is a text");
    if (options.data == TextReader::standard_input) invalid("the data file is -, must be a file for --format records");
    source.reading = options.reading.policy();
    const auto file = std::make_shared<const RecordFile>(options.data);
    source.label = file->description().label;
    source.inputs = file;
    return source;
  }
  if (!options.label.empty() || !options.drop.empty() || !options.bounds.empty() || !options.categories.empty()) {
    invalid("--label, --drop, --bounds and --categories are for CSV files, a LIBSVM file has its own labels and no columns");
  }
  if (options.reading.is_about_csv())
    invalid("--delimiter, --decimal, --columns, --missing and --schema are for CSV files, a LIBSVM file has no such cells");
  if (!options.plan.problem.classes.empty()) invalid("--classes is for CSV files, whose label is a text");
  if (!options.features) invalid("--features is missing: the largest index that occurs is private, so say how many features there are");
  if (const auto most = options.reading.limits().features; *options.features > most) {
    invalid(fmt::format("--features is {}, must be at most {} unless --no-limits is given", *options.features, most));
  }
  source.reading = options.reading.policy();
  source.inputs = SparseFeatures{static_cast<std::uint32_t>(*options.features)};
  source.rows_have_common_scale = options.rows == "scaled";
  return source;
}

jobs::TrainPlan plan_of(const TrainOptions& options, const jobs::AlgorithmPlan& own) {
  auto plan = options.plan;
  plan.target = options.run.target();
  plan.unit = options.run.unit;
  plan.source = source_of(options);
  plan.algorithm = own;
  return plan;
}

}  // namespace surety::cli
