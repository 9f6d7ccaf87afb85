#include "train_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include <surety/accounting/events/format.h>

#include "../validators.h"

namespace surety::cli {

using namespace optimizers;
using namespace data;

namespace {

/// The most features that a feature map may have.
constexpr std::uint64_t max_features = std::uint64_t{1} << 24;

/// "name=value,value,..." as a name and its values, at the first or the last '=': numbers have none, texts may have some.
std::pair<std::string, std::vector<std::string>> parse_list(const std::string& text, std::string_view option, bool at_first) {
  const auto equals = at_first ? text.find('=') : text.rfind('=');
  if (equals == std::string::npos || equals == 0)
    invalid(fmt::format("{} is '{}', must be column=value,value,...", option, one_line(text)));
  return {text.substr(0, equals), parse_values(text.substr(equals + 1), option)};
}

CsvOptions csv_options(const TrainOptions& options) {
  CsvOptions result{.drop = options.drop};
  for (const auto& text : options.bounds) {
    const auto [column, ends] = parse_list(text, "--bounds", false);
    if (ends.size() != 2) invalid(fmt::format("--bounds is '{}', must be column=lower,upper", one_line(text)));
    if (!result.bounds.emplace(column, Bounds{parse_double(ends[0], "--bounds"), parse_double(ends[1], "--bounds")}).second) {
      invalid(fmt::format("--bounds names column '{}' twice", one_line(column)));
    }
  }
  for (const auto& text : options.categories) {
    auto [column, names] = parse_list(text, "--categories", true);
    if (!result.categories.emplace(column, std::move(names)).second)
      invalid(fmt::format("--categories names column '{}' twice", one_line(column)));
  }
  return result;
}

}  // namespace

void add_shared_options(OptionTable& table, TrainOptions& options, const std::vector<std::string>& algorithms) {
  table.group("Data");
  table.add("data", options.data, "A CSV file with a header, or a LIBSVM file; may be gzip; - for standard input").required().essential();
  table.add("--label", options.label, "CSV: the label's column, or a comparison with a number such as 'visits>0'").essential();
  table.add("--format", options.format, "csv or libsvm", one_of({"csv", "libsvm"})).essential();
  table.add("--features", options.features, "LIBSVM: the number of features", whole_number(1, max_features)).essential();
  table.add("--drop", options.drop, "CSV: a column that is no feature; may be repeated");
  table.add("--bounds", options.bounds,
            "CSV: column=lower,upper, known without looking at the data: clamped, scaled to [0, 1]; may be repeated");
  table.add("--categories", options.categories,
            "CSV: column=text,text,...: one feature for each text; may be repeated. Blanks around a text do not count, and one with "
            "a comma stands in quotes");
  options.reading.add_limits_to(table);

  table.group("Problem and algorithm");
  table
      .add("--loss", options.loss, "logistic, squared, smoothed-hinge or hinge", one_of({"logistic", "squared", "smoothed-hinge", "hinge"}))
      .essential();
  table.add("--label-bound", options.label_bound, "Squared loss: labels are clamped to [-bound, bound]", number()).essential();
  table.add("--smoothing", options.smoothing, "Smoothed hinge: the half width of its parabola", number()).standard("0.5");
  table.add("--algorithm", options.algorithm, fmt::format("{}", fmt::join(algorithms, ", ")), one_of(algorithms)).essential();

  table.group("Secret batches");  // here, before the others, where an algorithm has them
  table.group("Privacy");
  options.run.add_promise_to(table, true);
  options.run.add_ledger_to(table);

  table.group("Output");
  table.add("--model", options.model, "Where to write the model").required().essential();
  table.add("--json", options.json, "Print one JSON object").essential();
  options.run.add_plan_to(table);
}

Source source_of(const TrainOptions& options) {
  if (options.format == "csv") {
    if (options.label.empty()) invalid("--label is missing, a CSV file needs a column or a comparison such as 'visits>0'");
    if (options.features) invalid("--features is for LIBSVM files, a CSV file has its columns");
    return {parse_label_rule(options.label), csv_options(options)};
  }
  if (!options.label.empty() || !options.drop.empty() || !options.bounds.empty() || !options.categories.empty()) {
    invalid("--label, --drop, --bounds and --categories are for CSV files, a LIBSVM file has its own labels and no columns");
  }
  if (!options.features) invalid("--features is missing: the largest index that occurs is private, so say how many features there are");
  if (const auto most = options.reading.limits().features; *options.features > most) {
    invalid(fmt::format("--features is {}, must be at most {} unless --no-limits is given", *options.features, most));
  }
  return {std::nullopt, SparseFeatures{static_cast<std::uint32_t>(*options.features)}};
}

OpenStream open_stream(const TrainOptions& options, const Source& source) {
  if (const auto* csv = std::get_if<CsvOptions>(&source.inputs)) {
    CsvReader reader{options.data, options.reading.policy()};
    FeatureMap features = csv_features(reader, *source.label, *csv);
    return {RecordStream{CsvRecords{std::move(reader), features, source.label}}, features};
  }
  const FeatureMap features{.inputs = std::get<SparseFeatures>(source.inputs)};
  return {RecordStream{LibsvmRecords{options.data, features, options.reading.policy()}}, features};
}

std::uint64_t most_numbers(const TrainOptions& options) {
  if (options.run.target().adjacency == Adjacency::add_or_remove_one) return DataLimits::none().numbers;
  return options.reading.limits().numbers;
}

void require_records(const TrainOptions& options, std::size_t records) {
  if (records > 0 || options.run.target().adjacency == Adjacency::add_or_remove_one) return;
  throw Error{ErrorCode::bad_data, fmt::format("{}: has no records, must have at least one", one_line(options.data))};
}

void require_said_records(const TrainOptions& options, std::size_t records, std::uint64_t said) {
  if (records == said) return;
  throw Error{ErrorCode::bad_data, fmt::format("{}: has {} records, must have the {} of --records", one_line(options.data), records, said)};
}

ReadRecords read(const TrainOptions& options, const Source& source, ObjectiveRef objective) {
  auto [records, features] = open_stream(options, source);
  auto data = read_all(records, objective, features.features(), most_numbers(options));
  require_records(options, data.size());
  return {.data = std::move(data), .features = std::move(features), .damaged = records.damaged()};
}

std::function<void(std::uint64_t)> progress_bar(std::uint64_t steps) {
  if (isatty(STDERR_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) return {};
  return [steps](std::uint64_t done) {
    const auto percent = [&](std::uint64_t step) { return step * 100 / steps; };
    if (done != steps && percent(done) == percent(done - 1)) return;
    // A terminal that went away is no reason to stop, so nothing here throws.
    std::fputs(fmt::format("\rstep {} of {}", done, steps).c_str(), stderr);
    if (done == steps) std::fputs(fmt::format("\r{:40}\r", "").c_str(), stderr);
    std::fflush(stderr);
  };
}

}  // namespace surety::cli
