// What is minimised: the mean over records of a loss, plus a data-independent regulariser,
//
//     F(w) = (1/n) sum_i loss(<w, x_i>, y_i) + (lambda/2) ||w||_2^2 .
//
// Every loss here is one of a generalized linear model: it sees the record through the score <w, x> alone, so its gradient is
// loss'(score, y) x and a sparse record has a sparse gradient.
#pragma once

#include <span>
#include <string_view>

#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/objective.h>
#include <surety/optimizers/problem/units.h>

namespace surety::optimizers {

/// objective.smoothness(norm), for what rests on it: `purpose`, as in "the default step size".
/// \throws Error{unsupported} when the loss is not smooth.
[[nodiscard]] double require_smoothness(ObjectiveRef objective, double norm, std::string_view purpose);

/// For what no theorem gives weights of records. \throws Error{unsupported} where the data have some.
void require_no_weights(const Dataset& data, std::string_view algorithm);

/// The loss of one record. O(nonzeros).
[[nodiscard]] double loss(ObjectiveRef objective, const RowView& row, double label, std::span<const double> weights);

/// Adds `weight` times the gradient of one record's loss to `gradient`. O(nonzeros).
void add_gradient(ObjectiveRef objective, const RowView& row, double label, std::span<const double> weights, std::span<double> gradient,
                  double weight = 1);

/// F(w) on private data: itself private, for tests and for reports that say so. O(stored values).
/// \pre data is not empty, has labels as the objective wants them, and weights.size() == data.features().
[[nodiscard]] double regularized_loss(ObjectiveRef objective, const Dataset& data, std::span<const double> weights, Regularization lambda);

/// The records with their labels as `objective` wants them. Call it before any budget is spent.
/// \throws Error{bad_data} naming the first record (from 1) whose label the objective does not know;
///         Error{invalid_argument} when there are no labels.
[[nodiscard]] Dataset encode_labels(ObjectiveRef objective, const Dataset& data);

}  // namespace surety::optimizers
