// What the additive terms of a model say: of each column a curve, and of each pair one number.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <surety/optimizers/models/model.h>

namespace surety::optimizers {

/// What a cell of a column adds to the score, of a row that is not divided by its norm yet where rows have unit norm: linear between knots, and beyond the
/// bounds what it is there. A number may be moved from one curve to another, or to the intercept: hat functions of a column add up to 1.
struct Shape {
  std::string column;
  std::vector<double> at;                   ///< its knots, ascending, in the column's unit
  std::vector<std::vector<double>> values;  ///< at each of them, for each class of several
  std::vector<double> missing =
      {};  ///< what a missing cell adds to that of the number that it counts as, likewise; none where it adds nothing
  std::vector<double> errors = {};  ///< standard errors of the values, where the model has some: of squared loss, which has one class
  double missing_error = 0;         ///< likewise
};

/// What the product of two columns' numbers, each scaled from its bounds to [-1, 1], is multiplied by.
struct PairTerm {
  data::ColumnPair columns;
  std::vector<double> values;  ///< for each class of several
  double error = 0;            ///< the standard error, where the model has some
};

struct AdditiveTerms {
  std::vector<Shape> shapes;  ///< of columns with hat functions
  std::vector<PairTerm> pairs;
};

/// All values of the additive terms of models of a map, each as a sum of weights, by their places among those of one class, times factors: of each column in their
/// order its curve at each knot and what a missing cell adds, then the pairs. \complexity O(features)
[[nodiscard]] std::vector<std::vector<std::pair<std::size_t, double>>> value_functions(const data::FeatureMap& map);

/// Both empty for a model of linear terms. \pre model.validate() passes. \complexity O(weights)
[[nodiscard]] AdditiveTerms additive_terms(const Model& model);

}  // namespace surety::optimizers
