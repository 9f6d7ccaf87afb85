// What a model says of each record of a file. The model is private already, so this costs nothing of the people whom it learned from; what is said of new
// records is about those records, so their form counts as public.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <surety/data/arrow/arrow_stream.h>
#include <surety/data/features/sparse_matrix.h>
#include <surety/data/reading/data_policy.h>
#include <surety/optimizers/models/model.h>

namespace surety::jobs {

/// The scores of a record, one for each class of a model that has several; none where the record is damaged, of which nothing can be said.
using TellScores = std::function<void(std::span<const double> scores)>;

struct Predicted {
  std::uint64_t records = 0;
  std::uint64_t damaged = 0;       ///< of them
  std::string first_damaged = {};  ///< what is wrong with the first of these, and where

  /// \throws Error{bad_data} where one was damaged. \param fate what was said of these: "their lines are empty"
  void require_undamaged(std::string_view fate) const;
};

/// CSV for a model of named columns, LIBSVM text for one of sparse features; `-` is standard input. Memory does not grow with the records.
/// \param policy whose `csv.missing` is not asked: the model says it. \throws Error{bad_data} for a column that is missing, a record file, what cannot be read on,
///         and where there is no record; what `tell` throws.
[[nodiscard]] Predicted predict_each(const optimizers::Model& model, const std::filesystem::path& path, data::DataPolicy policy,
                                     const TellScores& tell);

/// Of every row of an Arrow stream, for a model of named columns. \throws the same.
[[nodiscard]] Predicted predict_each(const optimizers::Model& model, data::ArrowStream rows, const TellScores& tell);
/// Of every row of a sparse matrix, for a model of sparse features; labels are not asked. \throws the same; Error{invalid_argument} for another number of columns.
[[nodiscard]] Predicted predict_each(const optimizers::Model& model, data::SparseMatrix rows, const TellScores& tell);

/// What is said for these scores: `predict` of one, `class_probabilities` of several.
[[nodiscard]] std::vector<double> predictions(const optimizers::Model& model, std::span<const double> scores);

}  // namespace surety::jobs
