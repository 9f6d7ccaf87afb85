#include <surety/jobs/algorithms/reading.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include <surety/base/text/error.h>
#include <surety/base/text/safe_text.h>
#include <surety/data/arrow/arrow_records.h>
#include <surety/data/csv/libsvm.h>
#include <surety/data/features/private_ranges.h>
#include <surety/data/reading/text_reader.h>
#include <surety/jobs/plans/plan_error.h>

namespace surety::jobs {

using namespace data;
using namespace optimizers;

std::string data_of_learner(std::string path, std::uint64_t learner) {
  if (const auto place = path.find(learner_word); place != std::string::npos) {
    path.replace(place, learner_word.size(), std::to_string(learner));
  }
  return path;
}

FeatureMap sparse_map_of(const TrainingSource& source) {
  FeatureMap features{.inputs = std::get<SparseFeatures>(source.inputs)};
  if (source.rows_have_common_scale) {
    features.unit_norm = false;
    features.row_scale = features.common_scale();
  }
  return features;
}

namespace {

/// The options by which columns become features: that of weights becomes none.
CsvOptions without_weights(const CsvOptions& options, const TrainingSource& source) {
  auto result = options;
  if (source.weight && std::find(options.drop.begin(), options.drop.end(), *source.weight) == options.drop.end()) {
    result.drop.push_back(*source.weight);
  }
  return result;
}

OpenStream open_rows(const TrainingSource& source, ArrowStream rows) {
  const auto* const csv = std::get_if<CsvOptions>(&source.inputs);
  if (csv == nullptr)
    source.rows->refuse(field_text("must be a file or a sparse matrix for {} libsvm, a file for records", "format"_field));
  ArrowReader reader{std::move(rows), source.policy()};
  FeatureMap features = arrow_features(reader, *source.label, without_weights(*csv, source));
  ArrowRecords records{std::move(reader), map_before_ranges(features), source.label, source.weight_rule()};
  if (auto& of_units = source.rows->units) {
    of_units->kept = std::make_shared<const KeptRows>(records.keep_units(of_units->which));
  }
  return {RecordStream{std::move(records)}, features};
}

OpenStream open_rows(const TrainingSource& source, SparseMatrix rows) {
  if (!std::holds_alternative<SparseFeatures>(source.inputs))
    source.rows->refuse(field_text("must be a table or a file unless {} is libsvm", "format"_field));
  const FeatureMap features = sparse_map_of(source);
  return {RecordStream{SparseRows{std::move(rows), features, source.policy().form}}, features};
}

}  // namespace

OpenStream open_stream(const TrainingSource& source, const KeptUnits* units) {
  if (source.rows) return std::visit([&](auto rows) { return open_rows(source, std::move(rows)); }, source.rows->take());
  const auto* const file = std::get_if<std::shared_ptr<const RecordFile>>(&source.inputs);
  if (file == nullptr && source.path != TextReader::standard_input && is_record_file(source.path)) {
    refuse(ErrorCode::bad_data, "{}: is a record file, must be read with {} records", one_line(source.path), "format"_field);
  }
  const auto policy = source.policy();
  if (const auto* csv = std::get_if<CsvOptions>(&source.inputs)) {
    CsvReader reader{source.path, policy};
    if (units != nullptr) units->keep_only(reader);
    FeatureMap features = csv_features(reader, *source.label, without_weights(*csv, source));
    return {RecordStream{CsvRecords{std::move(reader), map_before_ranges(features), source.label, source.weight_rule()}}, features};
  }
  if (file != nullptr) return {RecordStream{StoredRecords{*file, policy.form}}, (*file)->description().features};
  const FeatureMap features = sparse_map_of(source);
  return {RecordStream{LibsvmRecords{source.path, features, policy}}, features};
}

namespace {

/// How many numbers a data set may hold: not limited where the number of records is private.
std::uint64_t most_numbers(const TrainPlan& plan) {
  if (plan.target.adjacency == Adjacency::add_or_remove_one || plan.has_unit()) return DataLimits::none().numbers;
  return plan.source.reading.limits.numbers;
}

}  // namespace

void require_records(const TrainPlan& plan, std::size_t records) {
  if (records > 0 || plan.target.adjacency == Adjacency::add_or_remove_one) return;
  throw Error{ErrorCode::bad_data, fmt::format("{}: has no records, must have at least one", one_line(plan.source.path))};
}

void require_said_records(const TrainPlan& plan, std::size_t records, std::uint64_t said) {
  if (records == said) return;
  refuse(ErrorCode::bad_data, "{}: has {} records, must have the {} of {}", one_line(plan.source.path), records, said, "records"_field);
}

ReadRecords read(const TrainPlan& plan, ObjectiveRef objective, const KeptUnits* units, KeepRows keep) {
  if (const auto* file = std::get_if<std::shared_ptr<const RecordFile>>(&plan.source.inputs);
      file != nullptr && keep == KeepRows::in_their_file) {
    auto found = read_in_place(*file, objective, plan.source.policy().form);
    require_records(plan, found.data.size());
    return {.data = std::move(found.data), .features = (*file)->description().features, .damaged = found.damaged};
  }
  auto [records, features] = open_stream(plan.source, units);
  auto data = read_all(records, objective, map_before_ranges(features).features(), most_numbers(plan), features.features());
  if (units != nullptr) units->file.require_unchanged();
  require_records(plan, data.size());
  return {.data = std::move(data), .features = std::move(features), .damaged = records.damaged()};
}

}  // namespace surety::jobs
