#include <surety/optimizers/models/linear_map.h>

#include <fmt/format.h>

#include <cstddef>
#include <type_traits>
#include <variant>

#include <surety/base/text/error.h>
#include <surety/base/text/safe_text.h>

namespace surety::optimizers {
namespace {

/// feature = slope x cell + offset.
struct Line {
  double slope = 1;
  double offset = 0;
};

/// \pre it does not enter by its logarithm
Line line_of(const data::Column& column) {
  return std::visit(
      [&](const auto& map) -> Line {
        using Map = std::decay_t<decltype(map)>;
        if constexpr (std::is_same_v<Map, data::Bounds>) {
          // In halves, whose difference does not overflow.
          const double half = map.upper / 2 - map.lower / 2;
          return {1 / half, -(map.lower / 2 + map.upper / 2) / half};
        } else if constexpr (std::is_same_v<Map, data::BoundsToUnitInterval>) {
          const double half = map.upper / 2 - map.lower / 2;
          return {0.5 / half, -(map.lower / 2) / half};
        } else {
          return {};
        }
      },
      column.map);
}

}  // namespace

std::optional<std::string> why_not_linear(const Model& model) {
  const auto& map = model.features;
  if (map.unit_norm) return "each row is divided by its norm, where rows are not scaled";
  if (const auto* const columns = std::get_if<data::NamedColumns>(&map.inputs)) {
    if (map.is_additive() || !map.pairs.empty()) return "its terms are not linear";
    for (const auto& column : *columns) {
      if (std::holds_alternative<data::SignedLogarithm>(column.map)) {
        return fmt::format("column '{}' has no bounds and enters as asinh(x)", one_line(column.name));
      }
    }
  }
  return std::nullopt;
}

LinearMap linear_map(const Model& model) {
  const auto& map = model.features;
  if (const auto why = why_not_linear(model)) {
    throw Error{ErrorCode::unsupported, fmt::format("coefficients in units of the columns are of linear models: {}", *why)};
  }
  LinearMap linear{.names = data::feature_names(map), .coefficients = {}, .intercepts = {}};
  const std::size_t features = linear.names.size();
  if (map.intercept) linear.names.pop_back();
  std::vector<Line> lines(linear.names.size());
  if (const auto* const columns = std::get_if<data::NamedColumns>(&map.inputs)) {
    std::size_t next = 0;
    for (const auto& column : *columns) {
      for (std::size_t k = 0; k < column.features(); ++k) lines[next++] = line_of(column);
    }
  }
  for (std::size_t k = 0; k < model.classes(); ++k) {
    const double* const weights = model.weights.data() + k * features;
    double intercept = map.intercept ? weights[features - 1] : 0;
    for (std::size_t j = 0; j < lines.size(); ++j) {
      linear.coefficients.push_back(map.row_scale * weights[j] * lines[j].slope);
      intercept += weights[j] * lines[j].offset;
    }
    linear.intercepts.push_back(map.row_scale * intercept + model.label_centre);
  }
  return linear;
}

}  // namespace surety::optimizers
