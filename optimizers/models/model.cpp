#include <surety/optimizers/models/model.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <surety/accounting/events/json.h>
#include <surety/accounting/events/json_values.h>
#include <surety/base/text/error.h>
#include <surety/data/features/row_reader.h>
#include <surety/data/reading/text_reader.h>
#include <surety/optimizers/problem/loss.h>

namespace surety::optimizers {

namespace {

// Version 2 has labels that are texts, columns whose missing cells count as something, and units of several rows; version 3 has bounds that are
// scaled to [-1, 1]; version 4 has several classes; version 5 has rows of a common scale; version 6 has units that say their rule;
// version 7 has labels with a centre; version 8 has classes by softmax; version 9 has hat functions of columns, and pairs;
// version 10 has standard errors of what these add; version 11 has weights of records.
constexpr int newest_version = 11;
constexpr std::array known_losses{LogisticLoss::name, SquaredLoss::name, SmoothedHingeLoss::name, HingeLoss::name};

[[noreturn]] void invalid_model(const std::string& reason) { invalid(fmt::format("model: {}", reason)); }

std::string text_field(const nlohmann::json& json, const char* field) {
  if (!json[field].is_string()) invalid_model(fmt::format("{} is not a text", field));
  return accounting::text_of(json[field], field);
}

double number_field(const nlohmann::json& json, const char* field) {
  if (!json[field].is_number()) invalid_model(fmt::format("{} is not a number", field));
  return accounting::number_of(json[field], field);
}

Guarantee guarantee_from_json(const nlohmann::json& json) {
  const bool has_unit = json.is_object() && json.contains("unit");
  has_unit ? accounting::require_fields(json, {"private", "epsilon", "delta", "adjacency", "event", "unit"}, "guarantee")
           : accounting::require_fields(json, {"private", "epsilon", "delta", "adjacency", "event"}, "guarantee");
  if (!json["private"].is_boolean()) invalid_model("private is not true or false");
  const Adjacency adjacency = parse_adjacency(text_field(json, "adjacency"));
  return {
      .target = {.epsilon = Epsilon{number_field(json, "epsilon")}, .delta = Delta{number_field(json, "delta")}, .adjacency = adjacency},
      .event = parse_event(text_field(json, "event"), adjacency),
      .not_private = !accounting::truth_of(json["private"], "private"),
      .unit = has_unit ? unit_from_json(json["unit"]) : UnitOfPrivacy{}};
}

data::WeightRule weight_rule_from_json(const nlohmann::json& json) {
  accounting::require_fields(json, {"column", "bound"}, "record_weights");
  return {.column = text_field(json, "column"), .bound = number_field(json, "bound")};
}

/// The oldest one that can say it, so that models which need nothing new are read by every version of Surety.
int version_of(const Model& model) {
  if (model.record_weights) return 11;
  if (!model.standard_errors.empty()) return 10;
  if (model.features.is_additive() || !model.features.pairs.empty()) return 9;
  if (model.classes_by == ClassesBy::softmax) return 8;
  if (model.label_centre != 0) return 7;
  const auto* const columns = std::get_if<data::NamedColumns>(&model.features.inputs);
  if (const auto& unit = model.guarantee.unit; !unit.is_row() && unit.says_rule()) return 6;
  if (model.features.row_scale != 1) return 5;
  if (model.classes() > 1) return 4;
  const auto has_column = [&](const auto& holds) { return columns != nullptr && std::any_of(columns->begin(), columns->end(), holds); };
  if (has_column([](const data::Column& column) { return std::holds_alternative<data::Bounds>(column.map); })) return 3;
  const bool has_missing = has_column([](const data::Column& column) { return column.missing.has_value(); });
  return has_missing || !(model.guarantee.unit == UnitOfPrivacy{}) || (model.label && model.label->is_of_text()) ? 2 : 1;
}

Model model_from_json(const nlohmann::json& json) {
  if (!json.is_object() || !json.contains("surety_model")) invalid_model("not a model of surety");
  const auto& version = json["surety_model"];
  if (!version.is_number_integer() || version < 1 || version > newest_version) {
    invalid_model(fmt::format("version is {}, must be from 1 to {}", data::in_quotes(version.dump()), newest_version));
  }
  const bool has_classes = json.contains("classes");
  const bool has_centre = json.contains("label_centre");
  std::vector<std::string_view> known{"surety_model", "loss", "label", "features", "weights", "guarantee"};
  const bool has_errors = json.contains("standard_errors");
  if (has_errors) known.emplace_back("standard_errors");
  const bool has_classes_by = json.contains("classes_by");
  if (has_classes) known.emplace_back("classes");
  if (has_classes_by) known.emplace_back("classes_by");
  if (has_centre) known.emplace_back("label_centre");
  const bool has_weights = json.contains("record_weights");
  if (has_weights) known.emplace_back("record_weights");
  accounting::require_fields(json, known, "model");
  if (has_classes_by && json["classes_by"] != name(ClassesBy::softmax)) invalid_model("classes_by is not softmax");
  if (has_centre && !(json["label_centre"].is_number() && json["label_centre"] != 0))
    invalid_model("the label's centre is not a number other than 0");
  auto weights = accounting::numbers_of(json["weights"], "weights");
  std::vector<double> errors;
  if (has_errors) {
    // None at all are not written.
    if (!json["standard_errors"].is_array() || json["standard_errors"].empty())
      invalid_model("standard_errors are not a list of at least one");
    errors = accounting::numbers_of(json["standard_errors"], "standard_errors");
  }
  Model model{.loss = text_field(json, "loss"),
              .label = json["label"].is_null() ? std::nullopt : std::optional{data::parse_label_rule(text_field(json, "label"))},
              .label_centre = has_centre ? accounting::number_of(json["label_centre"], "label_centre") : 0,
              .record_weights = has_weights ? std::optional{weight_rule_from_json(json["record_weights"])} : std::nullopt,
              .features = data::feature_map_from_json(json["features"]),
              .weights = std::move(weights),
              .standard_errors = std::move(errors),
              .classes_by = has_classes_by ? parse_classes_by(text_field(json, "classes_by")) : ClassesBy::one_against_the_rest,
              .guarantee = guarantee_from_json(json["guarantee"])};
  if (has_classes) {
    if (!model.label) invalid_model("it has classes and no label");
    model.label = data::with_classes(*std::move(model.label), accounting::texts_of(json["classes"], "classes"));
  }
  model.validate();
  if (version_of(model) != json["surety_model"]) {
    invalid_model(fmt::format("version is {}, must be {} for what it says", json["surety_model"].dump(), version_of(model)));
  }
  return model;
}

std::string read_all(const std::filesystem::path& path, std::size_t most_bytes) {
  data::TextReader reader{path};
  std::string text;
  for (auto bytes = reader.available(); !bytes.empty(); bytes = reader.available()) {
    if (bytes.size() > most_bytes - text.size()) {
      reader.refuse_file(fmt::format("has more than {} bytes, must have fewer for a model unless --no-limits is given", most_bytes));
    }
    text += bytes;
    reader.skip(bytes.size());
  }
  return text;
}

/// More bytes than a model with these names can take: they may be escaped sixfold, a number has at most 24 characters and a separator, and
/// the rest (loss, guarantee, event) is generously rounded up.
std::size_t largest_text(const data::FeatureMap& features, const std::optional<data::LabelRule>& label) {
  constexpr std::size_t per_weight = 25;
  constexpr std::size_t escaped = 6;
  constexpr std::size_t rest = std::size_t{1} << 16;
  std::size_t of_label = label ? escaped * describe(*label).size() : 0;
  std::size_t models = 1;
  if (label && !label->classes.empty()) {
    models = label->classes.size();
    for (const auto& one : label->classes) of_label += escaped * one.size() + 3;
  }
  return data::to_json(features).dump(-1, ' ', true).size() + of_label +
         per_weight * (features.features() * models + features.values_of_terms()) + rest;
}

}  // namespace

void Model::validate() const {
  if (std::find(known_losses.begin(), known_losses.end(), loss) == known_losses.end()) {
    invalid_model(fmt::format("loss is {}, must be {}", data::in_quotes(loss), fmt::join(known_losses, ", ")));
  }
  features.validate();
  if (classes() > 1 && loss != LogisticLoss::name) {
    invalid_model(fmt::format("loss is {}, must be {} for several classes", loss, LogisticLoss::name));
  }
  if (classes_by == ClassesBy::softmax && classes() == 1) invalid_model("its classes are told by softmax, must be several");
  if (label_centre != 0 && !(loss == SquaredLoss::name && std::isfinite(label_centre))) {
    invalid_model(fmt::format("the label's centre is {}, must be finite, and 0 unless the loss is {}", label_centre, SquaredLoss::name));
  }
  if (record_weights && !(record_weights->bound > 0 && std::isfinite(record_weights->bound))) {
    invalid_model(fmt::format("the bound of record_weights is {}, must be greater than 0 and finite", record_weights->bound));
  }
  if (weights.size() != features.features() * classes()) {
    invalid_model(classes() == 1
                      ? fmt::format("{} weights for {} features", weights.size(), features.features())
                      : fmt::format("{} weights for {} features and {} classes", weights.size(), features.features(), classes()));
  }
  if (!std::all_of(weights.begin(), weights.end(), [](double weight) { return std::isfinite(weight); })) {
    invalid_model("a weight is not finite");
  }
  if (!standard_errors.empty()) {
    if (loss != SquaredLoss::name) invalid_model(fmt::format("it has standard_errors and loss {}, must be {}", loss, SquaredLoss::name));
    const std::size_t values = features.values_of_terms();
    if (standard_errors.size() != values) {
      invalid_model(fmt::format("{} standard_errors for {} values of additive terms and pairs", standard_errors.size(), values));
    }
    if (!std::all_of(standard_errors.begin(), standard_errors.end(), [](double error) { return error >= 0 && std::isfinite(error); })) {
      invalid_model("one of standard_errors is negative or not finite");
    }
  }
  if (guarantee.target.adjacency != guarantee.event.adjacency()) {
    invalid_model(fmt::format("the guarantee is {} but the event {}", name(guarantee.target.adjacency), name(guarantee.event.adjacency())));
  }
}

std::string write_model(const Model& model) {
  model.validate();
  const auto& guarantee = model.guarantee;
  nlohmann::ordered_json json;
  json["surety_model"] = version_of(model);
  json["loss"] = model.loss;
  json["label"] = nullptr;
  if (model.label) json["label"] = describe(*model.label);
  if (model.label_centre != 0) json["label_centre"] = model.label_centre;
  if (const auto& rule = model.record_weights) json["record_weights"] = {{"column", rule->column}, {"bound", rule->bound}};
  if (model.classes() > 1) json["classes"] = model.label->classes;
  if (model.classes_by == ClassesBy::softmax) json["classes_by"] = name(model.classes_by);
  json["features"] = data::to_json(model.features);
  json["weights"] = model.weights;
  if (!model.standard_errors.empty()) json["standard_errors"] = model.standard_errors;
  json["guarantee"] = {{"private", !guarantee.not_private},
                       {"epsilon", guarantee.target.epsilon.value()},
                       {"delta", guarantee.target.delta.value()},
                       {"adjacency", name(guarantee.target.adjacency)},
                       {"event", describe(guarantee.event)}};
  if (!(guarantee.unit == UnitOfPrivacy{})) json["guarantee"]["unit"] = to_json(guarantee.unit);
  return accounting::translating_json_errors(
      "model", [&] { return json.dump() + '\n'; }, "a column or category is not UTF-8 text");
}

Model parse_model(std::string_view text, std::string_view name) {
  constexpr int deepest = 8;
  try {
    return accounting::translating_json_errors("model",
                                               [&] { return model_from_json(accounting::parse_strict_json(text, deepest, "model")); });
  } catch (const Error& error) {
    throw Error{ErrorCode::bad_data, fmt::format("{}: {}", one_line(name), error.what())};
  }
}

Model read_model(const std::filesystem::path& path, std::size_t most_bytes) {
  return parse_model(read_all(path, most_bytes), path.string());
}

std::vector<double> scores(const Model& model, const Dataset& data) {
  if (data.features() != model.features.features()) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("the data have {} features, the model {}", data.features(), model.features.features())};
  }
  std::vector<double> result;
  result.reserve(data.size() * model.classes());
  data::RowReader reader{data};
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto of_row = scores(model, reader.row(i));
    result.insert(result.end(), of_row.begin(), of_row.end());
  }
  return result;
}

std::vector<double> scores(const Model& model, const data::RowView& row) {
  const std::size_t d = model.features.features();
  std::vector<double> result;
  for (std::size_t k = 0; k < model.classes(); ++k) result.push_back(row.dot(std::span{model.weights}.subspan(k * d, d)));
  return result;
}

std::size_t predicted_place(const Model& model, std::span<const double> scores) {
  if (model.classes() == 1) return scores.front() >= 0 ? 1 : 0;
  return static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

const std::string& predicted_class(const Model& model, std::span<const double> scores) {
  return model.label->classes[predicted_place(model, scores)];
}

double predict(const Model& model, double score) {
  return model.loss == LogisticLoss::name ? 1 / (1 + std::exp(-score)) : score + model.label_centre;
}

bool tells_classes(const Model& model) noexcept { return model.loss != SquaredLoss::name; }

std::vector<std::string> class_names(const Model& model) {
  if (!tells_classes(model)) invalid_model("the squared loss has no classes");
  if (model.classes() > 1) return model.label->classes;
  if (!model.label || !model.label->test) return {"-1", "1"};
  return {describe(opposite(*model.label)), describe(*model.label)};
}

std::string predicted_class(const Model& model, double score) { return class_names(model)[predicted_place(model, {&score, 1})]; }

std::vector<double> predict(const Model& model, const Dataset& data) {
  std::vector<double> result = scores(model, data);
  for (double& value : result) value = predict(model, value);
  return result;
}

void require_writable_names(const data::FeatureMap& features, const std::optional<data::LabelRule>& label) {
  const auto require = [](const std::string& text, std::string_view what, std::string_view advice) {
    if (is_utf8(text)) return;
    throw Error{ErrorCode::invalid_argument, fmt::format("{} {} is not UTF-8, must be{}", what, data::in_quotes(text), advice)};
  };
  if (label) require(label->column, "label", "");
  if (label && label->test && label->test->text) require(*label->test->text, "label", "");
  if (label) {
    for (const auto& one : label->classes) require(one, "class", "");
  }
  const auto* const columns = std::get_if<data::NamedColumns>(&features.inputs);
  if (columns == nullptr) return;
  for (const auto& column : *columns) {
    require(column.name, "column", " where a model names it: drop it or convert the file");
    if (column.missing) require(*column.missing, "what a missing cell counts as,", "");
    const auto* const categories = std::get_if<data::Categories>(&column.map);
    if (categories == nullptr) continue;
    for (const auto& category : categories->names) require(category, "category", "");
  }
}

namespace {

NewFile new_file(const std::filesystem::path& path, const data::FeatureMap& features, const std::optional<data::LabelRule>& label,
                 Overwrite overwrite) {
  require_writable_names(features, label);
  Place place{path};
  require_replaceable(place, model_file, overwrite);
  return NewFile{std::move(place), largest_text(features, label)};
}

}  // namespace

ModelFile::ModelFile(const std::filesystem::path& path, const data::FeatureMap& features, const std::optional<data::LabelRule>& label,
                     Overwrite overwrite)
    : file_{new_file(path, features, label, overwrite)}, overwrite_{overwrite} {}

void ModelFile::commit(const Model& model, std::optional<std::time_t> time) {
  if (is_written_) throw Error{ErrorCode::invalid_argument, "the model is written already"};
  const std::string text = write_model(model);
  is_written_ = true;
  file_.write(text);
  if (time) file_.show_change(*time);
  file_.replace(model_file, overwrite_);
}

}  // namespace surety::optimizers
