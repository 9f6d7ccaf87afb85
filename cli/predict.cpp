// surety predict: what a model says about each record of a file. The model is private already, so this costs nothing of the
// training data; what it says of new records is about those records.
#include <fmt/format.h>

#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>
#include <surety/data/csv.h>
#include <surety/data/libsvm.h>
#include <surety/optimizers/models/model.h>

#include "command.h"
#include "data_options.h"
#include "files.h"
#include "output.h"

namespace surety::cli {
namespace {

struct PredictOptions {
  std::string model;
  std::string data;
  DataOptions reading;
  bool json = false;
};

int predict(const PredictOptions& given) {
  auto options = given;
  options.reading.load_schema();
  require_separate({.inputs = {{"the model", options.model}, {"the data file", options.data}}});
  const auto limits = options.reading.limits();
  auto format = options.reading.csv();
  format.missing.clear();  // the model says it
  const auto model = optimizers::read_model(options.model, limits.model_bytes);
  const bool is_csv = std::holds_alternative<data::NamedColumns>(model.features.inputs);
  if (!is_csv && options.reading.is_about_csv()) {
    invalid("--delimiter, --columns and --schema are for CSV files, the model was trained on LIBSVM text");
  }
  const auto data = is_csv ? data::read_csv(options.data, model.features, std::nullopt, limits, format)
                           : data::read_libsvm(options.data, model.features, limits);
  const auto predictions = optimizers::predict(model, data);
  if (options.json) {
    print({{"model", options.model},
           {"data", options.data},
           {"loss", model.loss},
           {"not_private", model.guarantee.not_private},
           {"predictions", predictions}});
    return exit_code::fine;
  }
  for (const double prediction : predictions) fmt::print("{}\n", prediction);
  return exit_code::fine;
}

}  // namespace

Command predict_command() {
  const auto describe = [](Command& command, OptionTable& table, PredictOptions& options) {
    table.add("model", options.model, "A model that 'surety train' wrote").required();
    table.add("data", options.data, "A file with the same columns as the training data; the label may be missing").required();
    options.reading.add_csv_to(table);
    options.reading.add_schema_to(table);
    options.reading.add_limits_to(table);
    table.add("--json", options.json, "Print one JSON object");
    command.footer =
        R"(What is said of a record is said of that record alone, so nothing of the file is kept private: errors show the row and
the cell, but for empty cells of a column that the model was trained with --missing for, which count as they did there.
One number per line: the probability of the label +1 for logistic loss, the value for squared loss, and for
hinge losses a score whose sign is the class.
Example:
  surety predict model.json examples/data/randhie.csv | head)";
  };
  return make_command("predict", "Print what a model says about each record: a probability, or a value", predict, describe);
}

}  // namespace surety::cli
