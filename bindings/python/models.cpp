#include "models.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/format.h>
#include <surety/base/text/error.h>
#include <surety/data/reading/called_off.h>
#include <surety/jobs/plans/plan_json.h>
#include <surety/jobs/plans/reading_fields.h>
#include <surety/jobs/predict/predictions.h>
#include <surety/jobs/predict/shown_model.h>
#include <surety/optimizers/models/linear_map.h>
#include <surety/optimizers/models/model.h>

#include "plans.h"
#include "sources.h"
#include "texts.h"

namespace surety::python {
namespace {

using namespace nb::literals;
using optimizers::Model;

using Names = std::vector<std::pair<std::optional<std::string>, std::optional<std::string>>>;

Names pairs_of(const std::vector<data::FeatureName>& names) {
  Names pairs;
  for (const auto& name : names) pairs.emplace_back(name.column, name.category);
  return pairs;
}

/// How a file of records to predict is read.
struct ReadingTable {
  ReadingTable() {
    reading.add_csv(table.group(""));
    reading.add_limits(table);
  }
  ReadingTable(const ReadingTable&) = delete;
  ReadingTable& operator=(const ReadingTable&) = delete;

  jobs::ReadingFields reading;
  jobs::FieldTable table;
};

std::vector<FieldRow> reading_rows() { return rows_of(ReadingTable{}.table); }

data::DataPolicy policy_of(const std::string& options) {
  ReadingTable known;
  const auto said = nlohmann::json::parse(options);  // to which the items refer
  for (const auto& [name, value] : said.items()) {
    const auto* const field = known.table.find(name);
    if (field == nullptr) jobs::refuse_unknown_field(name, known.table);
    jobs::set_field(*field, value);
  }
  return {.limits = known.reading.limits(), .csv = known.reading.csv()};
}

/// What is said of each record, one after another.
enum class Said : std::uint8_t { scores, predictions, places };

void append(std::vector<double>& all, const Model& model, std::span<const double> scores, Said said) {
  switch (said) {
    case Said::scores: all.insert(all.end(), scores.begin(), scores.end()); return;
    case Said::predictions:
      for (const double one : jobs::predictions(model, scores)) all.push_back(one);
      return;
    case Said::places: all.push_back(static_cast<double>(optimizers::predicted_place(model, scores))); return;
  }
}

/// \param said "scores", "predictions" (probabilities or values) or "places" of classes. \param keeps_damaged whether numbers of a damaged record are NaN; else
/// one damaged record is an error \return doubles, as bytes
nb::bytes predict(const Model& model, Source& source, const std::string& said, const std::string& options, bool keeps_damaged) {
  const auto what = said == "scores" ? Said::scores : said == "places" ? Said::places : Said::predictions;
  std::vector<double> all;
  Signals signals;
  try {
    with_signals(signals, [&] {
      in_order([&] {
        std::function<bool()> is_called_off;
        if (signals.is_of_main_thread()) is_called_off = [&signals] { return signals.are_raised(); };
        const data::CalledOff may_be_called_off{is_called_off};
        const auto tell = [&](std::span<const double> scores) {
          data::require_not_called_off();
          if (!scores.empty()) {
            append(all, model, scores, what);
          } else {
            all.insert(all.end(), what == Said::places ? 1 : model.classes(), std::numeric_limits<double>::quiet_NaN());
          }
        };
        auto records = source.take();
        const auto* const path = std::get_if<std::filesystem::path>(&records);
        const auto predicted = path != nullptr ? jobs::predict_each(model, *path, policy_of(options), tell)
                               : std::holds_alternative<data::SparseMatrix>(records)
                                   ? jobs::predict_each(model, std::get<data::SparseMatrix>(std::move(records)), tell)
                                   : jobs::predict_each(model, std::get<data::ArrowStream>(std::move(records)), tell);
        if (!keeps_damaged) predicted.require_undamaged("nothing is said of any");
      });
    });
  } catch (const Error&) {
    source.rethrow();
    throw;
  }
  return nb::bytes{all.data(), all.size() * sizeof(double)};
}

std::string text_of(const Model& model) {
  auto text = optimizers::write_model(model);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

std::tuple<Names, std::vector<double>, std::vector<double>> parts_of_linear_map(const Model& model) {
  auto linear = optimizers::linear_map(model);
  return {pairs_of(linear.names), std::move(linear.coefficients), std::move(linear.intercepts)};
}

}  // namespace

void add_models(nb::module_& module) {
  nb::class_<Model>(module, "Model", nb::is_final())
      .def("text", [](const Model& model) { return unlocked([&] { return text_of(model); }); })
      .def(
          "save",
          [](const Model& model, const std::filesystem::path& path) {
            unlocked([&] { optimizers::ModelFile{path, model.features, model.label}.commit(model); });
          },
          "path"_a)
      .def("loss", [](const Model& model) { return model.loss; })
      .def("label", [](const Model& model) { return model.label ? std::optional{describe(*model.label)} : std::nullopt; })
      .def(
          "classes",
          [](const Model& model) { return optimizers::tells_classes(model) ? optimizers::class_names(model) : std::vector<std::string>{}; })
      .def("columns",
           [](const Model& model) {
             std::vector<std::string> names;
             if (const auto* const columns = std::get_if<data::NamedColumns>(&model.features.inputs)) {
               for (const auto& column : *columns) names.push_back(column.name);
             }
             return names;
           })
      .def("names", [](const Model& model) { return pairs_of(data::feature_names(model.features)); })
      .def("weights", [](const Model& model) { return model.weights; })
      .def("linear_map", [](const Model& model) { return unlocked([&] { return parts_of_linear_map(model); }); })
      .def("effects",
           [](const Model& model) {
             return unlocked([&] {
               const auto shown = jobs::shown_json(model);
               return shown.contains("effects") ? std::optional{shown["effects"].dump()} : std::nullopt;
             });
           })
      .def("event", [](const Model& model) { return model.guarantee.event; })
      .def("promise",
           [](const Model& model) {
             const auto& target = model.guarantee.target;
             return std::pair{target.epsilon.value(), target.delta.value()};
           })
      .def("unit", [](const Model& model) { return describe(model.guarantee.unit); })
      .def("not_private", [](const Model& model) { return model.guarantee.not_private; })
      .def("predict", &predict, "source"_a, "said"_a, "options"_a, "keeps_damaged"_a);
  module.def(
      "load_model", [](const std::filesystem::path& path) { return unlocked([&] { return optimizers::read_model(path); }); }, "path"_a);
  module.def(
      "parse_model",
      [](const std::string& text) { return unlocked([&] { return optimizers::parse_model(text, "the text of the model"); }); }, "text"_a);
  module.def("reading_fields", [] { return unlocked(reading_rows); });
}

}  // namespace surety::python
