// How good predictions are. A score that is computed on private data is not private: it is a release that no event covers,
// whether the data were held out or not. Show it to those who may see the data. The order of the records changes no bit of a score.
#pragma once

#include <cstddef>
#include <span>

#include <surety/optimizers/problem/classes.h>

namespace surety::optimizers {

/// Scores of predicted log-odds against labels -1 and +1.
struct BinaryScores {
  double log_loss;              ///< mean of log(1 + exp(-y s)), in nats
  double area_under_the_curve;  ///< of the receiver operating characteristic; NaN when all labels are of one class
  double accuracy;              ///< share of labels with the sign of the log-odds; log-odds 0 predict +1
};

/// \pre  the spans have one length, every label is -1 or +1. \throws Error{invalid_argument} when they are empty.
/// \complexity O(n log n). The area is that of the Mann-Whitney statistic: a tie between the classes counts one half.
[[nodiscard]] BinaryScores binary_scores(std::span<const double> log_odds, std::span<const double> labels);

/// The scores of the best constant prediction for these labels, the share of +1: its log loss is the entropy of the labels, its
/// area one half. Throws as above.
[[nodiscard]] BinaryScores constant_scores(std::span<const double> labels);

/// Scores of several classes: the share of labels whose class has the largest score, the first of equal ones, and the mean of -log p of the
/// label's class, p the probabilities of `class_probabilities`.
struct ClassScores {
  double log_loss;
  double accuracy;
};

/// \param scores K of them for each label, in its order. \pre labels are 0, ..., K - 1. \throws Error{invalid_argument} when there are none.
[[nodiscard]] ClassScores class_scores(std::span<const double> scores, std::span<const double> labels, std::size_t classes,
                                       ClassesBy by = ClassesBy::one_against_the_rest);
/// Of the shares of the classes: their entropy, and the largest. \pre as above
[[nodiscard]] ClassScores constant_class_scores(std::span<const double> labels, std::size_t classes);

/// Mean of (prediction - label)^2, and that of the best constant prediction, the mean label. Throws as above.
[[nodiscard]] double mean_squared_error(std::span<const double> predictions, std::span<const double> labels);
[[nodiscard]] double constant_mean_squared_error(std::span<const double> labels);

}  // namespace surety::optimizers
