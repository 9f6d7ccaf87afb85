// What is minimised: the mean over records of a loss, plus a data-independent regulariser,
//
//     F(w) = (1/n) sum_i loss(<w, x_i>, y_i) + (lambda/2) ||w||_2^2 .
//
// Every loss here is one of a generalized linear model: it sees the record through the score <w, x> alone, so its gradient is
// loss'(score, y) x and a sparse record has a sparse gradient.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/numbers/error.h>
#include <surety/accounting/events/units.h>
#include <surety/data/dataset.h>

namespace surety::optimizers {

struct RegularizationRule : NonNegative {
  static constexpr std::string_view name = "regularization";
};
/// lambda above.
using Regularization = Quantity<RegularizationRule>;

struct StepSizeRule : Positive {
  static constexpr std::string_view name = "step size";
};
using StepSize = Quantity<StepSizeRule>;

/// A loss of scores and labels.
///   name                      of the loss in a model file
///   value(score, label)       the loss
///   derivative(score, label)  its derivative by the score; the gradient by the weights is derivative x row
///   gradient_bound(norm)      at least ||gradient||_2 for every label and every weight vector that the loss was told to expect,
///                             for rows of l2 norm at most `norm`; public
///   gradient_difference_bound(norm)  at least ||gradient at u - gradient at v||_2 for one such row and label and any two weight vectors
///   that
///                             the loss was told to expect; public. At most 2 gradient_bound, and half of that where the derivative has
///                             one sign for each label
///   smoothness(norm)          a Lipschitz constant of the gradient by the weights in l2, for such rows; infinity when there is none;
///   public encode_label(label)       the label as the loss wants it, from this one label alone; nothing when it is no label of this loss
///   label_constraint          what encode_label asks for, for messages: "must be ..."
template <class O>
concept Objective = requires(const O& objective, double number) {
  { O::name } -> std::convertible_to<std::string_view>;
  { O::label_constraint } -> std::convertible_to<std::string_view>;
  { objective.value(number, number) } -> std::same_as<double>;
  { objective.derivative(number, number) } -> std::same_as<double>;
  { objective.gradient_bound(number) } -> std::same_as<double>;
  { objective.gradient_difference_bound(number) } -> std::same_as<double>;
  { objective.smoothness(number) } -> std::same_as<double>;
  { objective.encode_label(number) } -> std::same_as<std::optional<double>>;
};

/// A loss that proofs about minima may rest on: a promise. For every label that `encode_label` returns there is a nondecreasing function of
/// the score, Lipschitz with the constant smoothness(1), from which `derivative` errs at scores of magnitude at most `score` by at most
///   monotone_derivative_error(score)   absolutely: rounding; public
///   derivative_has_one_sign            that function has no two values of opposite signs
template <class O>
concept ConvexObjective = Objective<O> && requires(const O& objective, double number) {
  { objective.monotone_derivative_error(number) } -> std::same_as<double>;
  { O::derivative_has_one_sign } -> std::convertible_to<bool>;
};

/// objective.smoothness(norm), for what rests on it: `purpose`, as in "the default step size".
/// \throws Error{unsupported} when the loss is not smooth.
template <Objective O>
[[nodiscard]] double require_smoothness(const O& objective, double norm, std::string_view purpose) {
  const double smoothness = objective.smoothness(norm);
  if (!std::isfinite(smoothness)) {
    throw Error{ErrorCode::unsupported, fmt::format("smoothness of {} loss is {}, must be finite for {}", O::name, smoothness, purpose)};
  }
  return smoothness;
}

/// The loss of one record. O(nonzeros).
template <Objective O>
[[nodiscard]] double loss(const O& objective, const RowView& row, double label, std::span<const double> weights) {
  return objective.value(row.dot(weights), label);
}

/// Adds the gradient of one record's loss to `gradient`. O(nonzeros).
template <Objective O>
void add_gradient(const O& objective, const RowView& row, double label, std::span<const double> weights, std::span<double> gradient) {
  row.add_scaled_to(objective.derivative(row.dot(weights), label), gradient);
}

/// F(w) on private data: itself private, for tests and for reports that say so. O(stored values).
/// \pre data is not empty, has labels as the objective wants them, and weights.size() == data.features().
template <Objective O>
[[nodiscard]] double regularized_loss(const O& objective, const Dataset& data, std::span<const double> weights, Regularization lambda) {
  double sum = 0;
  for (std::size_t i = 0; i < data.size(); ++i) sum += loss(objective, data.row(i), data.label(i), weights);
  double squared_norm = 0;
  for (const double weight : weights) squared_norm += weight * weight;
  return sum / static_cast<double>(data.size()) + lambda.value() / 2 * squared_norm;
}

/// The records with their labels as `objective` wants them. Call it before any budget is spent.
/// \throws Error{bad_data} naming the first record (from 1) whose label the objective does not know;
///         Error{invalid_argument} when there are no labels.
template <Objective O>
[[nodiscard]] Dataset encode_labels(const O& objective, const Dataset& data) {
  if (!data.has_labels()) throw Error{ErrorCode::invalid_argument, "the data set has no labels"};
  std::vector<double> labels;
  labels.reserve(data.size());
  for (std::size_t i = 0; i < data.size(); ++i) {
    const std::optional<double> label = objective.encode_label(data.label(i));
    if (!label) {
      throw Error{ErrorCode::bad_data,
                  fmt::format("row {}: label is {}, {} for {} loss", i + 1, data.label(i), O::label_constraint, O::name)};
    }
    labels.push_back(*label);
  }
  return data.with_labels(std::move(labels));
}

}  // namespace surety::optimizers
