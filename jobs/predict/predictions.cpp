#include <surety/jobs/predict/predictions.h>

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <surety/base/text/error.h>
#include <surety/base/text/safe_text.h>
#include <surety/data/arrow/arrow_records.h>
#include <surety/data/csv/csv.h>
#include <surety/data/csv/libsvm.h>
#include <surety/data/features/record_file.h>
#include <surety/data/reading/text_reader.h>

namespace surety::jobs {
namespace {

/// Tells of every record that `next` reads and `score` scores.
template <class Next, class Score>
Predicted tell_each(const TellScores& tell, Next next, Score score) {
  Predicted all;
  for (;; ++all.records) {
    try {
      if (!next()) return all;
    } catch (const data::DamagedRecord& damaged) {
      if (all.damaged++ == 0) all.first_damaged = damaged.what();
      tell({});
      continue;
    }
    tell(score());
  }
}

/// Of dense rows with names.
template <class Records>
Predicted predict_named(const optimizers::Model& model, Records records, const TellScores& tell) {
  std::vector<double> row;
  double label = 0;
  return tell_each(
      tell, [&] { return records.next(row, label); },
      [&] {
        return optimizers::scores(model, data::RowView{{}, row, 0});
      });
}

/// Of sparse rows. Indices without values are those of an empty row, whose view would pass for a dense one: its score is 0 either way.
template <class Records>
Predicted predict_sparse(const optimizers::Model& model, Records records, const TellScores& tell) {
  data::SparseRecord record;
  return tell_each(
      tell, [&] { return records.next(record); },
      [&] {
        return optimizers::scores(model, data::RowView{record.indices, record.values, 0});
      });
}

Predicted predict_file(const optimizers::Model& model, const std::filesystem::path& path, const data::DataPolicy& policy,
                       const TellScores& tell) {
  if (std::holds_alternative<data::NamedColumns>(model.features.inputs)) {
    return predict_named(model, data::CsvRecords{data::CsvReader{path, policy}, model.features, std::nullopt}, tell);
  }
  return predict_sparse(model, data::LibsvmRecords{path, model.features, policy}, tell);
}

}  // namespace

void Predicted::require_undamaged(std::string_view fate) const {
  if (damaged == 0) return;
  throw Error{ErrorCode::bad_data, fmt::format("{} of {} records {} damaged, {}; the first: {}", damaged, records,
                                               damaged == 1 ? "is" : "are", fate, first_damaged)};
}

Predicted predict_each(const optimizers::Model& model, const std::filesystem::path& path, data::DataPolicy policy, const TellScores& tell) {
  if (path != data::TextReader::standard_input && data::is_record_file(path)) {
    throw Error{ErrorCode::bad_data, fmt::format("{}: is a record file, must be CSV or LIBSVM text for predict", one_line(path.string()))};
  }
  policy.form = data::RecordForm::is_public;
  policy.csv.missing.clear();
  auto predicted = predict_file(model, path, policy, tell);
  if (predicted.records == 0) throw Error{ErrorCode::bad_data, fmt::format("{}: has no records", one_line(path.string()))};
  return predicted;
}

Predicted predict_each(const optimizers::Model& model, data::ArrowStream rows, const TellScores& tell) {
  if (!std::holds_alternative<data::NamedColumns>(model.features.inputs)) {
    invalid("the model was trained on LIBSVM text or a sparse matrix, must be one of named columns for the rows of an Arrow stream");
  }
  data::ArrowReader reader{std::move(rows), data::public_form};
  auto predicted = predict_named(model, data::ArrowRecords{std::move(reader), model.features, std::nullopt}, tell);
  if (predicted.records == 0) throw Error{ErrorCode::bad_data, "Arrow stream: has no records"};
  return predicted;
}

Predicted predict_each(const optimizers::Model& model, data::SparseMatrix rows, const TellScores& tell) {
  if (std::holds_alternative<data::NamedColumns>(model.features.inputs)) {
    invalid("the model was trained on named columns, must be one of LIBSVM text or a sparse matrix for the rows of a sparse matrix");
  }
  rows.labels = {};
  auto predicted = predict_sparse(model, data::SparseRows{std::move(rows), model.features, data::RecordForm::is_public}, tell);
  if (predicted.records == 0) throw Error{ErrorCode::bad_data, "sparse matrix: has no records"};
  return predicted;
}

std::vector<double> predictions(const optimizers::Model& model, std::span<const double> scores) {
  if (model.classes() > 1) return optimizers::class_probabilities(scores, model.classes_by);
  return {optimizers::predict(model, scores.front())};
}

}  // namespace surety::jobs
