#include <surety/jobs/predict/shown_model.h>

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>
#include <surety/base/text/error.h>
#include <surety/base/text/report_lines.h>
#include <surety/optimizers/models/effects.h>
#include <surety/optimizers/models/linear_map.h>
#include <surety/optimizers/models/shapes.h>
#include <surety/optimizers/problem/loss.h>

namespace surety::jobs {
namespace {

using optimizers::Model;

/// Of each feature that is no intercept; nothing of cells that may be any number.
std::vector<std::optional<data::Bounds>> bounds_of(const data::FeatureMap& features, std::size_t count) {
  std::vector<std::optional<data::Bounds>> found;
  if (const auto* const columns = std::get_if<data::NamedColumns>(&features.inputs)) {
    for (const auto& column : *columns) {
      if (std::holds_alternative<data::Categories>(column.map)) {
        found.insert(found.end(), column.features(), std::nullopt);
      } else if (const auto* const bounds = std::get_if<data::Bounds>(&column.map)) {
        found.emplace_back(*bounds);
      } else if (const auto* const older = std::get_if<data::BoundsToUnitInterval>(&column.map)) {
        found.emplace_back(data::Bounds{older->lower, older->upper});
      } else {
        found.emplace_back();
      }
    }
  }
  found.resize(count);
  return found;
}

std::string shown(double number) { return fmt::format("{:.6g}", number + 0.0); }  // without the sign of -0

/// "the log-odds of yes", and whatever else a score is.
std::string score_of(const Model& model) {
  if (model.classes() > 1) {
    return model.classes_by == optimizers::ClassesBy::softmax ? "one score for each class, in whose softmax differences alone count"
                                                              : "the log-odds of each class against the rest";
  }
  if (model.loss == optimizers::SquaredLoss::name) return "what is predicted";
  const auto own = optimizers::class_names(model).back();
  return model.loss == optimizers::LogisticLoss::name ? "the log-odds of " + own : fmt::format("a score that is at least 0 for {}", own);
}

std::string table_of(const Model& model) {
  const auto linear = optimizers::linear_map(model);
  const auto bounds = bounds_of(model.features, linear.names.size());
  ReportTable table;
  std::vector<std::string> head{"column", "from", "to"};
  if (model.classes() > 1) {
    head.insert(head.end(), model.label->classes.begin(), model.label->classes.end());
  } else {
    head.emplace_back("coefficient");
  }
  const bool adds_odds = model.classes() == 1 && optimizers::has_odds(model);
  if (adds_odds) head.emplace_back("odds");
  table.add(std::move(head));
  for (std::size_t j = 0; j < linear.names.size(); ++j) {
    const auto& [column, category] = linear.names[j];
    std::vector<std::string> row{category ? *column + "=" + *category : *column, bounds[j] ? shown(bounds[j]->lower) : "",
                                 bounds[j] ? shown(bounds[j]->upper) : ""};
    for (std::size_t k = 0; k < model.classes(); ++k) row.push_back(shown(linear.coefficients[k * linear.names.size() + j]));
    if (adds_odds && !category) row.push_back(fmt::format("x {}", shown(std::exp(linear.coefficients[j]))));
    table.add(std::move(row));
  }
  std::vector<std::string> intercepts{"(intercept)", "", ""};
  for (const double one : linear.intercepts) intercepts.push_back(shown(one));
  table.add(std::move(intercepts));
  return table.text();
}

bool has_terms(const Model& model) { return model.features.is_additive() || !model.features.pairs.empty(); }

std::string where_rows_are_divided(const Model& model) { return model.features.unit_norm ? ", before a row is divided by its norm" : ""; }

constexpr double normal_quantile = 1.959964;  ///< exceeded on either side with probability .05
constexpr std::string_view needs_of_bands =
    "about 95 % for each point alone, over noise and sampling, where records are independent, labels are what such a model says and an error of one variance, and hardly any record is clipped, damaged or beyond the label's bounds";
constexpr std::string_view why_no_bands =
    "this model holds no standard errors. sufficient-statistics gives them: squared loss, a public number of records that are rows, and noise that hides no direction of the features";

/// Standard errors of values of one column or pair: at each place, and of a missing cell.
struct Errors {
  std::vector<double> values = {};
  double missing = 0;
};

std::map<std::string, Errors> errors_by_column(const Model& model) {
  std::map<std::string, Errors> found;
  if (model.standard_errors.empty()) return found;
  auto terms = optimizers::additive_terms(model);
  for (auto& shape : terms.shapes) found[shape.column] = {std::move(shape.errors), shape.missing_error};
  for (const auto& pair : terms.pairs) found[pair.columns.first + ":" + pair.columns.second] = {{pair.error}};
  return found;
}

std::string shown(const optimizers::Interval& interval) {
  const auto lower = shown(interval.lower);
  const auto upper = shown(interval.upper);
  return lower == upper ? lower : fmt::format("{} to {}", lower, upper);
}

std::string place_of(const optimizers::ColumnEffect& effect, std::size_t place) {
  if (effect.kind == optimizers::EffectOf::pair) return {};
  return effect.kind == optimizers::EffectOf::number ? shown(effect.at[place]) : effect.categories[place];
}

std::string table_of_effects(const Model& model, const std::vector<optimizers::ColumnEffect>& effects) {
  ReportTable table;
  const bool adds_odds = optimizers::has_odds(model);
  const bool adds_changes = !adds_odds && model.classes() == 1 && model.features.unit_norm;
  const auto errors = errors_by_column(model);
  std::vector<std::string> head{"column", "importance", "at"};
  if (model.classes() > 1) {
    head.insert(head.end(), model.label->classes.begin(), model.label->classes.end());
  } else {
    head.emplace_back("adds");
  }
  if (!errors.empty()) head.emplace_back("+-");
  if (adds_odds) head.emplace_back("odds");
  if (adds_changes) head.emplace_back("changes");
  table.add(std::move(head));
  for (const auto& effect : effects) {
    const auto own = errors.find(effect.column);
    std::string importance = effect.importance ? fmt::format("{:.3g}", *effect.importance) : "no bounds";
    const auto add = [&](std::string at, const auto& value_of, std::optional<double> error, std::string against_reference) {
      std::vector<std::string> row{effect.column, std::exchange(importance, {}), std::move(at)};
      for (std::size_t k = 0; k < model.classes(); ++k) row.push_back(shown(value_of(k)));
      if (!errors.empty()) row.push_back(error ? fmt::format("{:.2g}", normal_quantile * *error) : "");
      row.push_back(std::move(against_reference));
      table.add(std::move(row));
    };
    for (std::size_t place = 0; place < effect.norms.size(); ++place) {
      std::optional<optimizers::Interval> against;
      if (adds_odds) against = optimizers::odds(effect, place);
      if (adds_changes) against = optimizers::change(effect, 0, place);
      add(
          place_of(effect, place), [&](std::size_t k) { return effect.values[k][place]; },
          own == errors.end() ? std::nullopt : std::optional{own->second.values[place]},
          against ? (adds_odds ? "x " : "") + shown(*against) : std::string{});
    }
    if (!effect.missing.empty()) {
      add("missing", [&](std::size_t k) { return effect.missing[k]; },
          own == errors.end() ? std::nullopt : std::optional{own->second.missing}, {});
    }
  }
  return table.text();
}

nlohmann::json json_of(const std::optional<optimizers::Interval>& interval) {
  return interval ? nlohmann::json{interval->lower, interval->upper} : nlohmann::json{};
}

std::string_view name_of(optimizers::EffectOf kind) {
  switch (kind) {
    case optimizers::EffectOf::number: return "number";
    case optimizers::EffectOf::categories: return "categories";
    case optimizers::EffectOf::pair: return "pair";
  }
  return {};
}

nlohmann::json effects_json(const Model& model) {
  auto list = nlohmann::json::array();
  const auto optional = [](const auto& value) { return value ? nlohmann::json(*value) : nlohmann::json{}; };
  const auto unless_empty = [](const auto& values) { return values.empty() ? nlohmann::json{} : nlohmann::json(values); };
  for (const auto& effect : optimizers::column_effects(model)) {
    const std::size_t places = effect.norms.size();
    auto changes = nlohmann::json::array();
    for (std::size_t k = 0; k < model.classes(); ++k) {
      auto& of_class = changes.emplace_back(nlohmann::json::array());
      for (std::size_t place = 0; place < places; ++place) of_class.push_back(json_of(optimizers::change(effect, k, place)));
    }
    nlohmann::json factors;
    nlohmann::json per_unit;
    if (optimizers::has_odds(model)) {
      factors = nlohmann::json::array();
      for (std::size_t place = 0; place < places; ++place) factors.push_back(json_of(optimizers::odds(effect, place)));
      per_unit = optional(optimizers::odds_per_unit(effect));
    }
    list.push_back({{"column", effect.column},
                    {"kind", name_of(effect.kind)},
                    {"at", unless_empty(effect.at)},
                    {"categories", unless_empty(effect.categories)},
                    {"values", effect.values},
                    {"missing", unless_empty(effect.missing)},
                    {"importance", optional(effect.importance)},
                    {"per_unit", unless_empty(effect.per_unit)},
                    {"reference", effect.reference},
                    {"changes", std::move(changes)},
                    {"odds", std::move(factors)},
                    {"odds_per_unit", std::move(per_unit)}});
  }
  return list;
}

}  // namespace

std::string shown_text(const Model& model) {
  const auto& [target, event, not_private, unit] = model.guarantee;
  std::string lines;
  const auto add = [&](std::string_view field, std::string_view value) { lines += report_line(field, value); };
  add("loss", model.loss);
  if (model.label) add("label", describe(*model.label));
  if (model.classes() > 1) add("classes by", name(model.classes_by));
  if (model.label_centre != 0) add("centre", fmt::format("{} is added to what the weights predict", model.label_centre));
  if (const auto& rule = model.record_weights) add("weights", data::describe(*rule));
  add("adjacency", name(target.adjacency));
  add("unit", describe(unit));
  add("promise", fmt::format("epsilon = {} at delta = {}", target.epsilon, target.delta));
  add("released", describe(event));
  if (not_private) add("NOT PRIVATE", "the noise was replayed from a known seed");
  const auto why = optimizers::why_not_linear(model);
  if (why) {
    add("coefficients", "none: " + *why);
  } else {
    add("coefficients", fmt::format("of {}: what it moves by where a cell between from and to moves by 1", score_of(model)));
  }
  const auto effects = optimizers::column_effects(model);
  if (!effects.empty()) {
    add("effects",
        fmt::format("on {}: what a cell adds{}, at these places; of a pair, times the product of both cells, each scaled to [-1, 1]",
                    score_of(model), where_rows_are_divided(model)));
    add("importance", "the largest effect of a column less the smallest, within its bounds");
    const std::string_view which_rows =
        model.features.unit_norm ? ", over all rows; empty where the norm of the row changes as well, or in a pair" : "";
    if (optimizers::has_odds(model)) {
      add("odds", fmt::format("the factor against the column's lower bound, 0 without bounds, or first category, other cells unchanged{}",
                              which_rows));
    } else if (model.features.unit_norm && model.classes() == 1) {
      add("changes", fmt::format("of the score, against the column's lower bound or first category, other cells unchanged{}", which_rows));
    }
  }
  if (!model.standard_errors.empty()) add("+-", needs_of_bands);
  if (!why) lines += "\n" + table_of(model);
  if (!effects.empty()) lines += "\n" + table_of_effects(model, effects);
  return lines;
}

nlohmann::json shown_json(const Model& model) {
  const auto& [target, event, not_private, unit] = model.guarantee;
  nlohmann::json object{{"loss", model.loss},
                        {"label", model.label ? nlohmann::json(describe(*model.label)) : nlohmann::json{}},
                        {"adjacency", name(target.adjacency)},
                        {"unit", to_json(unit)},
                        {"promise", {{"epsilon", target.epsilon.value()}, {"delta", target.delta.value()}}},
                        {"event", describe(event)},
                        {"not_private", not_private},
                        {"why_not_linear", nullptr},
                        {"coefficients", nullptr},
                        {"intercepts", nullptr}};
  if (model.classes() > 1) {
    object["classes"] = model.label->classes;
    object["classes_by"] = name(model.classes_by);
  }
  if (model.label_centre != 0) object["label_centre"] = model.label_centre;
  if (const auto& rule = model.record_weights) object["record_weights"] = {{"column", rule->column}, {"bound", rule->bound}};
  if (std::holds_alternative<data::NamedColumns>(model.features.inputs)) object["effects"] = effects_json(model);
  if (has_terms(model)) {
    const auto terms = optimizers::additive_terms(model);
    const bool has_errors = !model.standard_errors.empty();
    if (has_errors) object["needs_of_half_widths"] = needs_of_bands;
    const auto half_width = [](double error) { return normal_quantile * error; };
    object["shapes"] = nlohmann::json::array();
    for (const auto& shape : terms.shapes) {
      object["shapes"].push_back({{"column", shape.column},
                                  {"at", shape.at},
                                  {"values", shape.values},
                                  {"missing", shape.missing.empty() ? nlohmann::json{} : nlohmann::json(shape.missing)}});
      if (!has_errors) continue;
      auto& half_widths = object["shapes"].back()["half_widths"] = nlohmann::json::array();
      for (const double error : shape.errors) half_widths.push_back(half_width(error));
      if (!shape.missing.empty()) object["shapes"].back()["missing_half_width"] = half_width(shape.missing_error);
    }
    object["pairs"] = nlohmann::json::array();
    for (const auto& pair : terms.pairs) {
      object["pairs"].push_back({{"columns", {pair.columns.first, pair.columns.second}}, {"values", pair.values}});
      if (has_errors) object["pairs"].back()["half_width"] = half_width(pair.error);
    }
  }
  if (const auto why = optimizers::why_not_linear(model)) {
    object["why_not_linear"] = *why;
    return object;
  }
  const auto linear = optimizers::linear_map(model);
  const auto bounds = bounds_of(model.features, linear.names.size());
  auto coefficients = nlohmann::json::array();
  for (std::size_t j = 0; j < linear.names.size(); ++j) {
    const auto& [column, category] = linear.names[j];
    std::vector<double> values;
    for (std::size_t k = 0; k < model.classes(); ++k) values.push_back(linear.coefficients[k * linear.names.size() + j]);
    coefficients.push_back({{"column", *column},
                            {"category", category ? nlohmann::json(*category) : nlohmann::json{}},
                            {"from", bounds[j] ? nlohmann::json(bounds[j]->lower) : nlohmann::json{}},
                            {"to", bounds[j] ? nlohmann::json(bounds[j]->upper) : nlohmann::json{}},
                            {"values", values}});
  }
  object["coefficients"] = std::move(coefficients);
  object["intercepts"] = linear.intercepts;
  return object;
}

ShapePicture picture_of_shapes(const Model& model) {
  if (!model.features.is_additive()) {
    throw Error{ErrorCode::unsupported, "shapes are of models with additive terms, this one has none"};
  }
  const auto& [target, event, not_private, unit] = model.guarantee;
  ShapePicture picture{
      .title = fmt::format("What a cell adds to {}{}. {} at delta = {}, {}, {}", score_of(model), where_rows_are_divided(model),
                           not_private ? std::string{"NOT PRIVATE"} : fmt::format("epsilon = {}", target.epsilon), target.delta,
                           name(target.adjacency), describe(unit)),
      .curves = model.classes() > 1 ? model.label->classes : std::vector<std::string>{},
      .panels = {},
      .note = model.standard_errors.empty() ? fmt::format("No bands: {}.", why_no_bands) : fmt::format("Bands: {}.", needs_of_bands)};
  for (auto& shape : optimizers::additive_terms(model).shapes) {
    for (double& error : shape.errors) error *= normal_quantile;
    picture.panels.push_back(
        {.title = shape.column, .at = std::move(shape.at), .curves = std::move(shape.values), .half_widths = std::move(shape.errors)});
  }
  return picture;
}

}  // namespace surety::jobs
