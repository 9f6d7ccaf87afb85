// What a model says of itself: what it promises, and its coefficients by name in units of the columns, where it is a linear map of their cells. It reads
// nothing but the model, which is released, so this charges nothing.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include <surety/jobs/pictures/shape_picture.h>
#include <surety/optimizers/models/model.h>

namespace surety::jobs {

/// For people: a line for each fact, then a table of a row for each column, or text of one, and one of the intercept, which is the score where all cells are 0, with a coefficient for each class of several. A
/// coefficient is what the score moves by, in units of the label, where a cell within its bounds moves by 1 in the column's own unit. In the place of the table
/// it says why there is none. Then a table with what each column adds to the score, its importance and the odds (`optimizers::ColumnEffect`).
/// \pre model.validate() passes. \complexity O(weights)
[[nodiscard]] std::string shown_text(const optimizers::Model& model);

/// The same, as one object: `coefficients` is a list of `{"column", "category", "from", "to", "values"}`, one value for each class of several, whose
/// `category`, `from` and `to` are null where there are none, and `intercepts` has one number for each class; both are null where `why_not_linear` is a text. Of a model with additive terms
/// `shapes` is a list of `{"column", "at", "values", "missing"}` and `pairs` one of `{"columns", "values"}` (`optimizers::AdditiveTerms`).
/// Of named columns `effects` is a list with one object for each column and pair, by falling importance: `column`, `kind` ("number", "categories", "pair"), `at`
/// or `categories`, `values` and `changes` by class and place, `missing`, `importance`, `per_unit`, `reference`, `odds` by place, `odds_per_unit`
/// (`optimizers::ColumnEffect`); changes and odds are [lower, upper], or null; null stands for whatever does not exist.
[[nodiscard]] nlohmann::json shown_json(const optimizers::Model& model);

/// The shapes of its additive terms. \throws Error{unsupported} for a model without any. \pre as above
[[nodiscard]] ShapePicture picture_of_shapes(const optimizers::Model& model);

}  // namespace surety::jobs
