#include <surety/optimizers/models/metrics.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/base/numbers/long_sum.h>
#include <surety/base/text/error.h>
#include <surety/optimizers/models/model.h>
#include <surety/optimizers/problem/loss.h>

namespace surety::optimizers {

namespace {

void require_predictions(std::size_t predictions, std::size_t labels) {
  if (labels == 0) throw Error{ErrorCode::invalid_argument, "no labels to score against, must be at least one"};
  if (predictions != labels) {
    throw Error{ErrorCode::invalid_argument, fmt::format("{} predictions for {} labels", predictions, labels)};
  }
}

/// The same to the last bit in whatever order the records were read: a file, an Arrow stream and ranks have orders of their own. NaN where a value is.
double mean(std::vector<double> values) {
  std::sort(values.begin(), values.end(), [](double a, double b) { return std::strong_order(a, b) < 0; });
  LongSum sum;
  for (const double value : values) sum += value;
  return static_cast<double>(sum.value() / static_cast<long double>(values.size()));
}

double area_under_the_curve(std::span<const double> log_odds, std::span<const double> labels) {
  std::vector<std::size_t> order(log_odds.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return log_odds[a] < log_odds[b]; });
  // Twice the number of (negative, positive) pairs in the right order, a tie counting one: whole numbers, so exact below 2^53.
  double twice_ordered = 0;
  double negatives = 0;
  double positives = 0;
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    double tied_negatives = 0;
    double tied_positives = 0;
    for (; end < order.size() && log_odds[order[end]] == log_odds[order[begin]]; ++end)
      ++(labels[order[end]] > 0 ? tied_positives : tied_negatives);
    twice_ordered += tied_positives * (2 * negatives + tied_negatives);
    negatives += tied_negatives;
    positives += tied_positives;
  }
  if (negatives == 0 || positives == 0) return std::numeric_limits<double>::quiet_NaN();
  return twice_ordered / (2 * negatives * positives);
}

}  // namespace

BinaryScores binary_scores(std::span<const double> log_odds, std::span<const double> labels) {
  require_predictions(log_odds.size(), labels.size());
  for (const double score : log_odds) {
    // A NaN would make the order, and with it the area, meaningless.
    if (std::isnan(score)) throw Error{ErrorCode::invalid_argument, "a prediction is not a number"};
  }
  std::vector<double> losses(labels.size());
  std::size_t correct = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    losses[i] = LogisticLoss{}.value(log_odds[i], labels[i]);
    if ((log_odds[i] >= 0) == (labels[i] > 0)) ++correct;
  }
  const auto count = static_cast<double>(labels.size());
  return {.log_loss = mean(std::move(losses)),
          .area_under_the_curve = area_under_the_curve(log_odds, labels),
          .accuracy = static_cast<double>(correct) / count};
}

BinaryScores constant_scores(std::span<const double> labels) {
  require_predictions(labels.size(), labels.size());
  const auto count = static_cast<double>(labels.size());
  const auto positives = static_cast<double>(std::count(labels.begin(), labels.end(), 1.0));
  const double negatives = count - positives;
  const auto entropy = [&](double size) { return size > 0 ? -size / count * std::log(size / count) : 0.0; };
  return {
      .log_loss = entropy(positives) + entropy(negatives), .area_under_the_curve = 0.5, .accuracy = std::max(positives, negatives) / count};
}

ClassScores class_scores(std::span<const double> scores, std::span<const double> labels, std::size_t classes, ClassesBy by) {
  require_predictions(scores.size() / classes, labels.size());
  std::vector<double> losses(labels.size());
  double right = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto own = static_cast<std::size_t>(labels[i]);
    const auto of_record = scores.subspan(i * classes, classes);
    losses[i] = -std::log(std::max(class_probabilities(of_record, by)[own], std::numeric_limits<double>::min()));
    if (static_cast<std::size_t>(std::max_element(of_record.begin(), of_record.end()) - of_record.begin()) == own) ++right;
  }
  const auto count = static_cast<double>(labels.size());
  return {.log_loss = mean(std::move(losses)), .accuracy = right / count};
}

ClassScores constant_class_scores(std::span<const double> labels, std::size_t classes) {
  require_predictions(labels.size(), labels.size());
  const auto count = static_cast<double>(labels.size());
  std::vector<double> sizes(classes, 0.0);
  for (const double label : labels) ++sizes[static_cast<std::size_t>(label)];
  double entropy = 0;
  for (const double size : sizes) entropy += size > 0 ? -size / count * std::log(size / count) : 0;
  return {.log_loss = entropy, .accuracy = *std::max_element(sizes.begin(), sizes.end()) / count};
}

double mean_squared_error(std::span<const double> predictions, std::span<const double> labels) {
  require_predictions(predictions.size(), labels.size());
  std::vector<double> squares(labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) squares[i] = (predictions[i] - labels[i]) * (predictions[i] - labels[i]);
  return mean(std::move(squares));
}

double constant_mean_squared_error(std::span<const double> labels) {
  require_predictions(labels.size(), labels.size());
  const std::vector<double> constant(labels.size(), mean({labels.begin(), labels.end()}));
  return mean_squared_error(constant, labels);
}

}  // namespace surety::optimizers
