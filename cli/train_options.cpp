#include "train_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include <surety/optimizers/gossip/exchange.h>

#include "files.h"

namespace surety::cli {

using namespace optimizers;

namespace {

/// "name=value,value,..." as a name and its values, at the first or the last '=': numbers have none, texts may have some.
std::pair<std::string, std::vector<std::string>> parse_list(const std::string& text, std::string_view option, bool at_first) {
  const auto equals = at_first ? text.find('=') : text.rfind('=');
  if (equals == std::string::npos || equals == 0)
    throw usage(fmt::format("{} is '{}', must be column=value,value,...", option, one_line(text)));
  return {text.substr(0, equals), parse_values(text.substr(equals + 1), option)};
}

CsvOptions csv_options(const TrainOptions& options) {
  CsvOptions result{.drop = options.drop};
  for (const auto& text : options.bounds) {
    const auto [column, ends] = parse_list(text, "--bounds", false);
    if (ends.size() != 2) throw usage(fmt::format("--bounds is '{}', must be column=lower,upper", one_line(text)));
    if (!result.bounds.emplace(column, Bounds{parse_double(ends[0], "--bounds"), parse_double(ends[1], "--bounds")}).second) {
      throw usage(fmt::format("--bounds names column '{}' twice", one_line(column)));
    }
  }
  for (const auto& text : options.categories) {
    auto [column, names] = parse_list(text, "--categories", true);
    if (!result.categories.emplace(column, std::move(names)).second)
      throw usage(fmt::format("--categories names column '{}' twice", one_line(column)));
  }
  return result;
}

}  // namespace

void require_options_of_loss(const TrainOptions& options) {
  const bool is_squared = options.loss == SquaredLoss::name;
  if (options.label_bound && !is_squared)
    throw usage(fmt::format("--label-bound is for squared loss, labels of {} loss are classes", options.loss));
  if (options.smoothing && options.loss != SmoothedHingeLoss::name) {
    throw usage(fmt::format("--smoothing is for smoothed-hinge loss, not for {} loss", options.loss));
  }
  if (!is_squared) return;
  if (!options.label_bound) throw usage("--label-bound is missing: squared loss needs a public bound on the labels' magnitude");
  if (!options.radius && !options.clip)
    throw usage("--radius or --clip is missing: the gradient of squared loss is bounded only where the weights are");
}

Source source_of(const TrainOptions& options) {
  if (options.format == "csv") {
    if (options.label.empty()) throw usage("--label is missing, a CSV file needs a column or a comparison such as 'visits>0'");
    if (options.features) throw usage("--features is for LIBSVM files, a CSV file has its columns");
    return {parse_label_rule(options.label), csv_options(options)};
  }
  if (!options.label.empty() || !options.drop.empty() || !options.bounds.empty() || !options.categories.empty()) {
    throw usage("--label, --drop, --bounds and --categories are for CSV files, a LIBSVM file has its own labels and no columns");
  }
  if (!options.features) throw usage("--features is missing: the largest index that occurs is private, so say how many features there are");
  if (const auto most = options.reading.limits().features; *options.features > most) {
    throw usage(fmt::format("--features is {}, must be at most {} unless --no-limits is given", *options.features, most));
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

void refuse_no_records(const TrainOptions& options) {
  throw Error{ErrorCode::bad_data, fmt::format("{}: has no records, must have at least one", one_line(options.data))};
}

std::string describe_damage(std::uint64_t damaged) {
  return fmt::format("{} records were damaged and counted as zeros (a number computed on private data: do not publish it)", damaged);
}

std::string data_of_learner(const TrainOptions& options, std::uint64_t learner) {
  std::string path = options.data;
  if (const auto place = path.find(learner_word); place != std::string::npos) {
    path.replace(place, learner_word.size(), std::to_string(learner));
  }
  return path;
}

void require_distinct_files(const TrainOptions& options) {
  const bool has_file_for_each = options.learners && options.data.find(learner_word) != std::string::npos;
  Files files{.ledger = NamedFile{"--ledger", options.run.ledger}, .outputs = {{"--model", options.model}}};
  for (std::uint64_t learner = 0; learner < (has_file_for_each ? *options.learners : 1); ++learner) {
    files.inputs.push_back({"the data file", has_file_for_each ? data_of_learner(options, learner) : options.data});
  }
  if (options.graph) files.inputs.push_back({"--graph", *options.graph});
  require_separate(files);
}

std::chrono::milliseconds timeout_of(const TrainOptions& options) {
  if (!options.timeout) return default_timeout;
  constexpr double most = 86'400;
  if (!(*options.timeout >= 0.001 && *options.timeout <= most)) {
    throw usage(fmt::format("--timeout is {}, must be at least 0.001 and at most {} seconds", *options.timeout, most));
  }
  return std::chrono::milliseconds{static_cast<std::int64_t>(std::ceil(*options.timeout * 1000))};
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
