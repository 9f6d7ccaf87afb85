#include <surety/jobs/predict/shown_model.h>

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>
#include <surety/accounting/numbers/report_lines.h>
#include <surety/optimizers/models/linear_map.h>
#include <surety/optimizers/problem/loss.h>

namespace surety::jobs {
namespace {

using optimizers::Model;

/// Of each feature that is no intercept; nothing of cells that may be any number.
std::vector<std::optional<data::Bounds>> bounds_of(const data::FeatureMap& features, std::size_t count) {
  std::vector<std::optional<data::Bounds>> found;
  if (const auto* const columns = std::get_if<data::NamedColumns>(&features.inputs)) {
    for (const auto& column : *columns) {
      if (const auto* const categories = std::get_if<data::Categories>(&column.map)) {
        found.insert(found.end(), categories->names.size(), std::nullopt);
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

std::string shown(double number) { return fmt::format("{:.6g}", number); }

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
  table.add(std::move(head));
  for (std::size_t j = 0; j < linear.names.size(); ++j) {
    const auto& [column, category] = linear.names[j];
    std::vector<std::string> row{category ? *column + "=" + *category : *column, bounds[j] ? shown(bounds[j]->lower) : "",
                                 bounds[j] ? shown(bounds[j]->upper) : ""};
    for (std::size_t k = 0; k < model.classes(); ++k) row.push_back(shown(linear.coefficients[k * linear.names.size() + j]));
    table.add(std::move(row));
  }
  std::vector<std::string> intercepts{"(intercept)", "", ""};
  for (const double one : linear.intercepts) intercepts.push_back(shown(one));
  table.add(std::move(intercepts));
  return table.text();
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
  add("adjacency", name(target.adjacency));
  add("unit", describe(unit));
  add("promise", fmt::format("epsilon = {} at delta = {}", target.epsilon, target.delta));
  add("released", describe(event));
  if (not_private) add("NOT PRIVATE", "the noise was replayed from a known seed");
  if (const auto why = optimizers::why_not_linear(model)) {
    add("coefficients", "none: " + *why);
    return lines;
  }
  add("coefficients", fmt::format("of {}: what it moves by where a cell between from and to moves by 1", score_of(model)));
  return lines + "\n" + table_of(model);
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

}  // namespace surety::jobs
