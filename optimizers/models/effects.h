// What each column of a model adds to the score, for people who look at it: values, importance and what odds follow from.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <surety/optimizers/models/model.h>

namespace surety::optimizers {

/// Bounds of the l2 norm of rows before division, 1 where rows are not divided by their norms. The upper bound may be infinite.
struct NormRange {
  double least = 1;
  double most = 1;
};

/// An interval of numbers.
struct Interval {
  double lower;
  double upper;
};

enum class EffectOf { number, categories, pair };

/// What one column, or the product of two, adds to the score. Of rows that are divided by their norms: before this division.
struct ColumnEffect {
  std::string column;  ///< "first:second" of a pair
  EffectOf kind = EffectOf::number;
  /// Of a number, in its unit: the knots of its curve, or its bounds; without bounds 0 and 1, or of asinh(x) -1000, -100, ..., 1000. Linear between these places,
  /// but of asinh(x), and constant beyond bounds.
  std::vector<double> at;
  std::vector<std::string> categories;  ///< of a column of categories; another text adds 0
  std::vector<std::vector<double>>
      values;  ///< for each class of several, at each place of `at` or `categories`; of a pair what the product of both numbers, each scaled to [-1, 1], is multiplied by
  std::vector<double> missing = {};  ///< for each class: what a missing cell adds to the value of the number that it counts as
  /// The largest value less the smallest, within the bounds of a number, over listed categories, of a pair over all products; the largest of all classes. Nothing
  /// without bounds.
  std::optional<double> importance = {};
  /// For each class: what the score changes by where the cell changes by 1, within its bounds. Empty where it depends on the cell or on other cells.
  std::vector<double> per_unit = {};
  std::size_t reference = 0;  ///< the place that others are compared with: the lower bound, 0 without bounds, or the first category
  /// For each place, and any cells of the other columns: where only this cell changes from the reference to the place, the score changes by the difference of
  /// their values, divided by a norm in this range. Nothing where no such norm exists: in a pair, and where both rows may have different norms.
  std::vector<std::optional<NormRange>> norms = {};
};

/// One for each column and each pair, by falling importance, those without importance last; of LIBSVM text none.
/// \pre model.validate() passes. \complexity O(weights + columns^2) \source docs/proofs/data.md#effects
[[nodiscard]] std::vector<ColumnEffect> column_effects(const Model& model);

/// What the score of a class changes by from the reference to a place, over all rows; nothing as `ColumnEffect::norms`.
/// \pre of_class and place are in values
[[nodiscard]] std::optional<Interval> change(const ColumnEffect& effect, std::size_t of_class, std::size_t place);

/// Whether the model gives odds of its second class against its first: logistic loss with one score, or two classes by softmax.
[[nodiscard]] bool has_odds(const Model& model) noexcept;
/// The factor by which these odds change from the reference to a place, over all rows; nothing as `ColumnEffect::norms`. \pre has_odds(model)
[[nodiscard]] std::optional<Interval> odds(const ColumnEffect& effect, std::size_t place);
/// The same factor for 1 more in the cell; nothing where `per_unit` is empty. \pre as above
[[nodiscard]] std::optional<double> odds_per_unit(const ColumnEffect& effect);

}  // namespace surety::optimizers
