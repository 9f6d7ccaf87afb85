// A model as a linear map of the cells of its columns, where it is one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <surety/data/features/features.h>
#include <surety/optimizers/models/model.h>

namespace surety::optimizers {

/// score + the label's centre = intercept + the sum over columns of coefficient x cell, of cells within the bounds of their columns, outside of which they
/// count as the nearer bound: of squared loss what is predicted. Of a column of categories a coefficient is what its text adds.
struct LinearMap {
  std::vector<data::FeatureName> names;  ///< of the coefficients
  std::vector<double>
      coefficients;  ///< as many as names, for each class of a model of several, in units of the label over units of the column
  std::vector<double> intercepts;  ///< one, or one for each class
};

/// What is not linear: rows that are divided by their norms, additive terms or pairs, or a column that enters by its logarithm; nothing where all is. O(columns).
[[nodiscard]] std::optional<std::string> why_not_linear(const Model& model);

/// \throws Error{unsupported} with what is not linear.
/// \pre model.validate() passes. \complexity O(weights)
[[nodiscard]] LinearMap linear_map(const Model& model);

}  // namespace surety::optimizers
