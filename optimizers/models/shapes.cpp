#include <surety/optimizers/models/shapes.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

namespace surety::optimizers {

std::vector<std::vector<std::pair<std::size_t, double>>> value_functions(const data::FeatureMap& map) {
  std::vector<std::vector<std::pair<std::size_t, double>>> found;
  const auto* const columns = std::get_if<data::NamedColumns>(&map.inputs);
  if (columns == nullptr) return found;
  std::size_t first = 0;
  for (const auto& column : *columns) {
    for (std::uint32_t k = 0; k < column.knots; ++k) {
      found.push_back({{first, map.row_scale * data::knot_at(k, column.knots)}, {first + 1 + k, map.row_scale}});
    }
    if (column.tells_missing()) found.push_back({{first + 1 + column.knots, map.row_scale}});
    first += column.features();
  }
  for (std::size_t k = 0; k < map.pairs.size(); ++k) found.push_back({{first + k, map.row_scale}});
  return found;
}

AdditiveTerms additive_terms(const Model& model) {
  const auto& map = model.features;
  AdditiveTerms terms;
  const auto* const columns = std::get_if<data::NamedColumns>(&map.inputs);
  if (columns == nullptr) return terms;
  const std::size_t features = map.features();
  const auto weight = [&](std::size_t of_class, std::size_t feature) {
    return map.row_scale * model.weights[of_class * features + feature];
  };
  std::span<const double> errors = model.standard_errors;
  const auto next_errors = [&](std::size_t count) {
    const auto own = errors.first(count);
    errors = errors.subspan(count);
    return own;
  };
  std::size_t first = 0;
  for (const auto& column : *columns) {
    if (column.knots > 0) {
      const auto& bounds = std::get<data::Bounds>(column.map);
      Shape shape{.column = column.name, .at = {}, .values = {}};
      for (std::uint32_t k = 0; k < column.knots; ++k) shape.at.push_back(data::knot_at(bounds, k, column.knots));
      for (std::size_t one = 0; one < model.classes(); ++one) {
        auto& values = shape.values.emplace_back();
        for (std::uint32_t k = 0; k < column.knots; ++k) {
          const double number = data::knot_at(k, column.knots);
          values.push_back(weight(one, first) * number + weight(one, first + 1 + k));
        }
        if (column.tells_missing()) shape.missing.push_back(weight(one, first + 1 + column.knots));
      }
      if (!errors.empty()) {
        const auto own = next_errors(column.knots);
        shape.errors.assign(own.begin(), own.end());
        if (column.tells_missing()) shape.missing_error = next_errors(1).front();
      }
      terms.shapes.push_back(std::move(shape));
    }
    first += column.features();
  }
  for (const auto& pair : map.pairs) {
    auto& term = terms.pairs.emplace_back(PairTerm{.columns = pair, .values = {}});
    for (std::size_t one = 0; one < model.classes(); ++one) term.values.push_back(weight(one, first));
    if (!errors.empty()) term.error = next_errors(1).front();
    ++first;
  }
  return terms;
}

}  // namespace surety::optimizers
