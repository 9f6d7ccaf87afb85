// How the rows of a table with named columns become records: features and a label. One meaning for every table, wherever it comes from.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/data/features/features.h>
#include <surety/data/reading/condition.h>
#include <surety/data/reading/data_policy.h>
#include <surety/data/reading/text_reader.h>

namespace surety::data {

/// Every column but the label and the dropped ones, in the order of the table.
/// \param table has `header()`, `missing(position)` and `position(column, use)`, of which the last throws for a column that is not there
/// \throws Error{bad_data} for a column that the table does not have; Error{invalid_argument} for a map that is not valid or a column with two roles.
template <class Table>
[[nodiscard]] FeatureMap named_features(Table& table, const LabelRule& label, const CsvOptions& options) {
  const auto& header = table.header();
  const std::set<std::string_view> there{header.begin(), header.end()};
  std::set<std::string> named;
  const auto claim = [&](const std::string& column) {
    if (!there.contains(column)) static_cast<void>(table.position(column, CellUse::presence));
    if (!named.insert(column).second) {
      throw Error{ErrorCode::invalid_argument,
                  fmt::format("column {} has two roles, must have one of label, weight, dropped, bounds, categories", in_quotes(column))};
    }
  };
  claim(label.column);
  for (const auto& column : options.drop) claim(column);
  for (const auto& [column, bounds] : options.bounds) claim(column);
  for (const auto& [column, categories] : options.categories) claim(column);
  for (const auto& column : options.private_ranges) claim(column);

  NamedColumns columns;
  for (std::size_t k = 0; k < header.size(); ++k) {
    const auto& name = header[k];
    if (const auto bounds = options.bounds.find(name); bounds != options.bounds.end()) {
      columns.push_back({name, bounds->second, table.missing(k)});
    } else if (const auto categories = options.categories.find(name); categories != options.categories.end()) {
      columns.push_back({name, Categories{categories->second, categories->second.size() == 2}, table.missing(k)});
    } else if (options.private_ranges.contains(name)) {
      columns.push_back({name, PrivateRange{}, table.missing(k)});
    } else if (!named.contains(name)) {
      const bool is_released = options.ranges == Ranges::released;
      columns.push_back({name, is_released ? ColumnMap{PrivateRange{}} : options.otherwise, table.missing(k)});
    }
  }
  FeatureMap map{.inputs = std::move(columns), .intercept = options.intercept, .unit_norm = options.unit_norm, .pairs = options.pairs};
  if (options.terms == Terms::additive) {
    map = with_additive_terms(std::move(map));
    if (!map.is_additive()) {
      throw Error{ErrorCode::invalid_argument, "terms are additive, must be linear where no column has bounds"};
    }
  }
  if (options.rows_have_common_scale) {
    map.unit_norm = false;
    map.row_scale = map.common_scale();
  }
  map.validate();
  return map;
}

/// Where the columns of a map and the label are in one table.
class NamedRecord {
 public:
  /// \param table has, beside `position`, `count_missing_as(column, value)`. \throws Error{invalid_argument} when the map is not valid or not one of named
  ///        columns; Error{bad_data} for a column that is missing, and of an Arrow stream for one that stands twice.
  template <class Table>
  NamedRecord(Table& table, const FeatureMap& features, const std::optional<LabelRule>& label,
              const std::optional<WeightRule>& weight = std::nullopt)
      : features_{features}, label_{label}, weight_{weight} {
    if (label) label_position_ = table.position(label->column, label->is_of_text() ? CellUse::text : CellUse::number);
    if (weight) weight_position_ = table.position(weight->column, CellUse::number);
    features.validate();
    if (has_private_ranges(features)) throw Error{ErrorCode::invalid_argument, "rows are made with bounds that are not yet released"};
    const auto* const columns = std::get_if<NamedColumns>(&features.inputs);
    if (columns == nullptr) {
      throw Error{ErrorCode::invalid_argument, "the features have no column names, so they cannot be read from a table"};
    }
    for (const auto& column : *columns) {
      positions_.push_back(table.position(column.name, std::holds_alternative<Categories>(column.map) ? CellUse::text : CellUse::number));
      if (column.missing) table.count_missing_as(column.name, *column.missing);
    }
    pairs_ = places_of_pairs(features);
  }

  /// Makes the features of the row in hand, and its label when there is a rule for it; false when a cell of it is damaged.
  /// \param row has by position `text`, `truth` and, with advice, `number`, and `form` and `refuse_record`
  /// \param made of the feature of column k, where it was made of a number already, else NaN: then `row` is asked
  /// \throws Error{bad_data} in place of false where the form is public.
  template <class Row, class Made>
  [[nodiscard]] bool make(Row& row, std::vector<double>& features, double& label, const Made& made) const {
    const auto& columns = std::get<NamedColumns>(features_.inputs);
    for (std::size_t k = 0; k < positions_.size(); ++k) {
      const double feature = made(k);
      if (!std::isnan(feature)) {
        features.push_back(feature);
      } else if (!append(row, positions_[k], columns[k].map, features)) {
        return false;
      }
      if (columns[k].knots > 0) append_hats(features.back(), columns[k].knots, features);
      if (!columns[k].tells_missing()) continue;
      features.push_back(std::isnan(feature) && row.is_missing(positions_[k], CellKind::number) ? 1.0 : 0.0);
    }
    for (const auto& [first, second] : pairs_) features.push_back(features[first] * features[second]);
    if (features_.intercept) features.push_back(1);
    scale_row(features_, features);
    if (!label_) return true;
    if (label_->is_of_text()) return make_label(row, label);
    const std::optional<double> cell = row.number(label_position_, "");
    if (cell) label = (*label_)(*cell);
    return cell.has_value();
  }
  template <class Row>
  [[nodiscard]] bool make(Row& row, std::vector<double>& features, double& label) const {
    return make(row, features, label, [](std::size_t) { return std::numeric_limits<double>::quiet_NaN(); });
  }

  /// The weight of the row in hand over the largest one, 1 without a rule; nothing when the cell is damaged or outside [0, W].
  /// \throws Error{bad_data} in place of nothing where the form is public.
  template <class Row>
  [[nodiscard]] std::optional<double> weight(Row& row) const {
    if (!weight_) return 1;
    const std::optional<double> cell = row.number(weight_position_, "");
    if (!cell) return std::nullopt;
    const auto share = (*weight_)(*cell);
    if (!share && row.form() == RecordForm::is_public) {
      row.refuse_record(
          fmt::format(", column {}: the weight is {}, must be from 0 to {}", in_quotes(weight_->column), *cell, weight_->bound));
    }
    return share;
  }

  [[nodiscard]] std::size_t columns() const noexcept { return positions_.size(); }
  [[nodiscard]] std::size_t position(std::size_t column) const { return positions_[column]; }
  /// Of a column of numbers, nullptr of others.
  [[nodiscard]] const ColumnMap* map_of_numbers(std::size_t column) const {
    const auto& map = std::get<NamedColumns>(features_.inputs)[column].map;
    return std::holds_alternative<Categories>(map) ? nullptr : &map;
  }

 private:
  /// Appends the features of one cell; false, and appends none, when it is damaged.
  template <class Row>
  static bool append(Row& row, std::size_t position, const ColumnMap& map, std::vector<double>& features) {
    if (const auto* const categories = std::get_if<Categories>(&map)) {
      const std::string& text = row.text(position);
      const auto indicator = [&](std::size_t k) { return text == categories->names[k] ? 1.0 : 0.0; };
      if (categories->is_contrast) {
        features.push_back(indicator(1) - indicator(0));
        return true;
      }
      for (std::size_t k = 0; k < categories->names.size(); ++k) features.push_back(indicator(k));
      return true;
    }
    const std::optional<double> value = row.number(position, "; drop the column or give its public list of categories");
    if (!value) return false;
    features.push_back(*value);
    map_numbers(map, std::span{features}.last(1));
    return true;
  }

  template <class Row>
  bool make_label(Row& row, double& label) const {
    const std::string_view text = row.text(label_position_);
    const bool is_public = row.form() == RecordForm::is_public;
    if (trimmed(text).empty()) {
      if (is_public) row.refuse_record(fmt::format(", column {}: the cell is empty, must be a text", in_quotes(label_->column)));
      return false;
    }
    auto known = (*label_)(text);
    // A truth value is the number 1 or 0, too.
    if (const auto truth = known ? std::nullopt : row.truth(label_position_)) known = (*label_)(*truth ? "1" : "0");
    if (!known && is_public) {
      row.refuse_record(fmt::format(", column {}: {} is none of the classes", in_quotes(label_->column), in_quotes(text)));
    }
    label = known.value_or(0);
    return known.has_value();
  }

  FeatureMap features_;
  std::optional<LabelRule> label_;
  std::optional<WeightRule> weight_;
  std::vector<std::size_t> positions_;
  std::vector<std::pair<std::size_t, std::size_t>> pairs_;  ///< features that are multiplied
  std::size_t label_position_ = 0;
  std::size_t weight_position_ = 0;
};

}  // namespace surety::data
