#include <surety/optimizers/models/effects.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include <surety/optimizers/problem/loss.h>

namespace surety::optimizers {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Bounds of the square of a length.
struct Squares {
  double least;
  double most;
};

// Proved: docs/proofs/data.md#effects
/// Of the features of a column, over all cells.
Squares squares_of(const data::Column& column) {
  if (std::holds_alternative<data::SignedLogarithm>(column.map) || std::holds_alternative<data::Unchanged>(column.map))
    return {0, infinity};
  return {column.knots > 0 ? 0.5 : 0.0, column.most_squared_length()};
}

// Proved so far.

/// Cells at which values are given, and the place of the reference among them.
std::pair<std::vector<double>, std::size_t> places_of(const data::Column& column) {
  if (column.knots > 0) {
    std::vector<double> at;
    for (std::uint32_t k = 0; k < column.knots; ++k) at.push_back(data::knot_at(std::get<data::Bounds>(column.map), k, column.knots));
    return {at, 0};
  }
  if (const auto* const bounds = std::get_if<data::Bounds>(&column.map)) return {{bounds->lower, bounds->upper}, 0};
  if (const auto* const older = std::get_if<data::BoundsToUnitInterval>(&column.map)) return {{older->lower, older->upper}, 0};
  if (std::holds_alternative<data::Unchanged>(column.map)) return {{0, 1}, 0};
  return {{-1000, -100, -10, -1, 0, 1, 10, 100, 1000}, 4};
}

/// The features of a number at a place, but the one that tells missing cells: the number, and which hat function is 1.
std::vector<double> numbers_of(const data::Column& column, const std::vector<double>& at) {
  std::vector<double> numbers = at;
  if (column.knots > 0) {
    for (std::uint32_t k = 0; k < column.knots; ++k) numbers[k] = data::knot_at(k, column.knots);
  } else {
    data::map_numbers(column.map, numbers);
  }
  return numbers;
}

double spread(const std::vector<double>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return *most - *least;
}

class Effects {
 public:
  explicit Effects(const Model& model) : model_{model}, columns_{std::get<data::NamedColumns>(model.features.inputs)} {
    for (const auto& pair : model.features.pairs) in_pairs_.insert({pair.first, pair.second});
  }

  [[nodiscard]] std::vector<ColumnEffect> all() const {
    std::vector<ColumnEffect> found;
    std::size_t first = 0;
    for (const auto& column : columns_) {
      found.push_back(std::holds_alternative<data::Categories>(column.map) ? of_categories(column, first) : of_number(column, first));
      first += column.features();
    }
    for (const auto& pair : model_.features.pairs) {
      ColumnEffect effect{.column = pair.first + ":" + pair.second, .kind = EffectOf::pair, .at = {}, .categories = {}, .values = {}};
      double most = 0;
      for (std::size_t one = 0; one < model_.classes(); ++one) {
        effect.values.push_back({weight(one, first)});
        most = std::max(most, 2 * std::abs(effect.values.back().front()));
      }
      effect.importance = most;
      effect.norms = {std::nullopt};
      found.push_back(std::move(effect));
      ++first;
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const ColumnEffect& a, const ColumnEffect& b) { return a.importance.value_or(-1) > b.importance.value_or(-1); });
    return found;
  }

 private:
  [[nodiscard]] double weight(std::size_t of_class, std::size_t feature) const {
    return model_.features.row_scale * model_.weights[of_class * model_.features.features() + feature];
  }

  [[nodiscard]] ColumnEffect of_categories(const data::Column& column, std::size_t first) const {
    const auto& categories = std::get<data::Categories>(column.map);
    ColumnEffect effect{
        .column = column.name, .kind = EffectOf::categories, .at = {}, .categories = categories.names, .values = {}, .importance = 0};
    for (std::size_t one = 0; one < model_.classes(); ++one) {
      auto& values = effect.values.emplace_back();
      for (std::size_t k = 0; k < categories.names.size(); ++k) {
        values.push_back(categories.is_contrast ? (k == 0 ? -1 : 1) * weight(one, first) : weight(one, first + k));
      }
      effect.importance = std::max(*effect.importance, spread(values));
    }
    effect.norms = norms_of(column, std::vector<double>(categories.names.size(), 1.0), 0);
    return effect;
  }

  [[nodiscard]] ColumnEffect of_number(const data::Column& column, std::size_t first) const {
    auto [at, reference] = places_of(column);
    const auto numbers = numbers_of(column, at);
    const bool is_bounded = std::isfinite(squares_of(column).most);
    ColumnEffect effect{.column = column.name, .kind = EffectOf::number, .at = {}, .categories = {}, .values = {}, .reference = reference};
    double most = 0;
    for (std::size_t one = 0; one < model_.classes(); ++one) {
      auto& values = effect.values.emplace_back();
      for (std::size_t k = 0; k < at.size(); ++k) {
        values.push_back(weight(one, first) * numbers[k] + (column.knots > 0 ? weight(one, first + 1 + k) : 0));
      }
      if (column.tells_missing()) effect.missing.push_back(weight(one, first + 1 + column.knots));
      most = std::max(most, spread(values));
      const bool is_line = column.knots == 0 && !std::holds_alternative<data::SignedLogarithm>(column.map);
      // In halves, whose difference does not overflow.
      if (is_line && !model_.features.unit_norm && !in_pairs_.contains(column.name)) {
        effect.per_unit.push_back((values.back() - values.front()) / 2 / (at.back() / 2 - at.front() / 2));
      }
    }
    if (is_bounded) effect.importance = most;
    std::vector<double> squares;
    for (const double number : numbers) squares.push_back(number * number + (column.knots > 0 ? 1 : 0));
    effect.norms = norms_of(column, squares, reference);
    effect.at = std::move(at);
    return effect;
  }

  /// \param squares of the length of the column's features at each place
  [[nodiscard]] std::vector<std::optional<NormRange>> norms_of(const data::Column& own, const std::vector<double>& squares,
                                                               std::size_t reference) const {
    std::vector<std::optional<NormRange>> norms(squares.size());
    // Proved: docs/proofs/data.md#effects
    if (in_pairs_.contains(own.name)) return norms;
    Squares others{model_.features.intercept ? 1.0 : 0.0, model_.features.intercept ? 1.0 : 0.0};
    others.most += static_cast<double>(model_.features.pairs.size());
    for (const auto& column : columns_) {
      if (&column == &own) continue;
      const auto [least, most] = squares_of(column);
      others.least += least;
      others.most += most;
    }
    constexpr double rounding = 0x1p-40;
    for (std::size_t k = 0; k < squares.size(); ++k) {
      if (!model_.features.unit_norm) {
        norms[k] = NormRange{};
      } else if (std::abs(squares[k] - squares[reference]) <= rounding && squares[k] > 0) {
        norms[k] = NormRange{std::sqrt(squares[k] + others.least), std::sqrt(squares[k] + others.most)};
      }
    }
    // Proved so far.
    return norms;
  }

  const Model& model_;
  const data::NamedColumns& columns_;
  std::set<std::string_view> in_pairs_;
};

Interval divided(double difference, const NormRange& norms) {
  const double one = difference / norms.least;
  const double other = difference / norms.most;
  return {std::min(one, other), std::max(one, other)};
}

}  // namespace

std::vector<ColumnEffect> column_effects(const Model& model) {
  if (!std::holds_alternative<data::NamedColumns>(model.features.inputs)) return {};
  return Effects{model}.all();
}

std::optional<Interval> change(const ColumnEffect& effect, std::size_t of_class, std::size_t place) {
  if (!effect.norms[place]) return std::nullopt;
  const auto& values = effect.values[of_class];
  return divided(values[place] - values[effect.reference], *effect.norms[place]);
}

bool has_odds(const Model& model) noexcept {
  return model.loss == LogisticLoss::name && (model.classes() == 1 || (model.classes() == 2 && model.classes_by == ClassesBy::softmax));
}

std::optional<Interval> odds(const ColumnEffect& effect, std::size_t place) {
  if (!effect.norms[place]) return std::nullopt;
  double difference = effect.values.back()[place] - effect.values.back()[effect.reference];
  if (effect.values.size() > 1) difference -= effect.values.front()[place] - effect.values.front()[effect.reference];
  const auto [lower, upper] = divided(difference, *effect.norms[place]);
  return Interval{std::exp(lower), std::exp(upper)};
}

std::optional<double> odds_per_unit(const ColumnEffect& effect) {
  if (effect.per_unit.empty()) return std::nullopt;
  return std::exp(effect.per_unit.back() - (effect.per_unit.size() > 1 ? effect.per_unit.front() : 0));
}

}  // namespace surety::optimizers
