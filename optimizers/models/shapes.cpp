#include <surety/optimizers/models/shapes.h>

#include <cstddef>
#include <cstdint>
#include <variant>

namespace surety::optimizers {

AdditiveTerms additive_terms(const Model& model) {
  const auto& map = model.features;
  AdditiveTerms terms;
  const auto* const columns = std::get_if<data::NamedColumns>(&map.inputs);
  if (columns == nullptr) return terms;
  const std::size_t features = map.features();
  const auto weight = [&](std::size_t of_class, std::size_t feature) {
    return map.row_scale * model.weights[of_class * features + feature];
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
          const double number = 2 * static_cast<double>(k) / (column.knots - 1) - 1;
          values.push_back(weight(one, first) * number + weight(one, first + 1 + k));
        }
        if (column.tells_missing()) shape.missing.push_back(weight(one, first + 1 + column.knots));
      }
      terms.shapes.push_back(std::move(shape));
    }
    first += column.features();
  }
  for (const auto& pair : map.pairs) {
    auto& term = terms.pairs.emplace_back(PairTerm{.columns = pair, .values = {}});
    for (std::size_t one = 0; one < model.classes(); ++one) term.values.push_back(weight(one, first));
    ++first;
  }
  return terms;
}

}  // namespace surety::optimizers
