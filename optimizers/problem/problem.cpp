#include <surety/optimizers/problem/problem.h>

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/base/text/error.h>

namespace surety::optimizers {

double require_smoothness(ObjectiveRef objective, double norm, std::string_view purpose) {
  const double smoothness = objective.smoothness(norm);
  if (!std::isfinite(smoothness)) {
    throw Error{ErrorCode::unsupported,
                fmt::format("smoothness of {} loss is {}, must be finite for {}", objective.name(), smoothness, purpose)};
  }
  return smoothness;
}

void require_no_weights(const Dataset& data, std::string_view algorithm) {
  if (data.has_weights()) throw Error{ErrorCode::unsupported, fmt::format("records have weights, must have none for {}", algorithm)};
}

double loss(ObjectiveRef objective, const RowView& row, double label, std::span<const double> weights) {
  return objective.value(row.dot(weights), label);
}

void add_gradient(ObjectiveRef objective, const RowView& row, double label, std::span<const double> weights, std::span<double> gradient,
                  double weight) {
  row.add_scaled_to(weight * objective.derivative(row.dot(weights), label), gradient);
}

double regularized_loss(ObjectiveRef objective, const Dataset& data, std::span<const double> weights, Regularization lambda) {
  double sum = 0;
  for (std::size_t i = 0; i < data.size(); ++i) sum += loss(objective, data.row(i), data.label(i), weights);
  double squared_norm = 0;
  for (const double weight : weights) squared_norm += weight * weight;
  return sum / static_cast<double>(data.size()) + lambda.value() / 2 * squared_norm;
}

Dataset encode_labels(ObjectiveRef objective, const Dataset& data) {
  if (!data.has_labels()) invalid("the data set has no labels");
  std::vector<double> labels;
  labels.reserve(data.size());
  for (std::size_t i = 0; i < data.size(); ++i) {
    const std::optional<double> label = objective.encode_label(data.label(i));
    if (!label) {
      throw Error{ErrorCode::bad_data,
                  fmt::format("row {}: label is {}, {} for {} loss", i + 1, data.label(i), objective.label_constraint(), objective.name())};
    }
    labels.push_back(*label);
  }
  return data.with_labels(std::move(labels));
}

}  // namespace surety::optimizers
