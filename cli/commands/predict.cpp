// surety predict: what a model says about each record of a file. The model is private already, so this costs nothing of the
// training data; what it says of new records is about those records.
#include <fmt/format.h>

#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>
#include <surety/cli/commands/command.h>
#include <surety/cli/files/files.h>
#include <surety/cli/print/output.h>
#include <surety/data/features/features.h>
#include <surety/jobs/plans/reading_fields.h>
#include <surety/jobs/predict/predictions.h>
#include <surety/optimizers/models/model.h>

namespace surety::cli {
namespace {

struct PredictOptions {
  std::string model;
  std::string data;
  jobs::ReadingFields reading;
  bool classes = false;
  bool json = false;
};

/// What is said of the records, in their order: a line each, or one JSON object.
class Said {
 public:
  Said(const PredictOptions& options, const optimizers::Model& model) : options_{options}, model_{model} {}

  /// Nothing of a damaged record.
  void say(std::span<const double> scores) {
    if (scores.empty()) return say_nothing();
    if (model_.classes() == 1) return say_score(scores.front());
    if (options_.classes) {
      const std::string& found = optimizers::predicted_class(model_, scores);
      return options_.json ? predictions_.push_back(found) : void(lines_ += one_line(found) + '\n');
    }
    const auto probabilities = jobs::predictions(model_, scores);
    if (options_.json) return predictions_.push_back(probabilities);
    fmt::format_to(std::back_inserter(lines_), "{}\n", fmt::join(probabilities, ","));
  }

  /// \throws Error{bad_data}, when all is printed, where a record was damaged.
  int finish(const jobs::Predicted& predicted) {
    if (options_.json) {
      nlohmann::json object{{"model", options_.model},
                            {"data", options_.data},
                            {"loss", model_.loss},
                            {"not_private", model_.guarantee.not_private},
                            {"records", predicted.records},
                            {"damaged", predicted.damaged},
                            {"predictions", std::move(predictions_)}};
      if (model_.classes() > 1) object["classes"] = model_.label->classes;
      print(object);
    }
    say_lines(lines_);
    if (predicted.damaged > 0) finish_output();
    predicted.require_undamaged(options_.json ? "their predictions are null" : "their lines are empty");
    return exit_code::fine;
  }

 private:
  void say_score(double score) {
    if (options_.json) {
      options_.classes ? predictions_.push_back(optimizers::predicted_class(model_, score))
                       : predictions_.push_back(optimizers::predict(model_, score));
    } else if (options_.classes) {
      lines_ += one_line(optimizers::predicted_class(model_, score)) + '\n';
    } else {
      fmt::format_to(std::back_inserter(lines_), "{}\n", optimizers::predict(model_, score));
    }
  }
  void say_nothing() {
    if (options_.json) {
      predictions_.push_back(nullptr);
    } else {
      lines_ += '\n';
    }
  }

  const PredictOptions& options_;
  const optimizers::Model& model_;
  std::string lines_;  // printed in the end: of a file that cannot be read to its end nothing is said
  nlohmann::json predictions_ = nlohmann::json::array();
};

int predict(const PredictOptions& given) {
  auto options = given;
  options.reading.load_schema();
  require_separate({.inputs = {{"the model", options.model}, {"the data file", options.data}}});
  const auto limits = options.reading.limits();
  const auto model = optimizers::read_model(options.model, limits.model_bytes);
  if (options.classes && !optimizers::tells_classes(model)) {
    invalid("--class is for models that tell classes, this one was trained with the squared loss");
  }
  const bool is_csv = std::holds_alternative<data::NamedColumns>(model.features.inputs);
  if (!is_csv && options.reading.is_about_csv()) {
    invalid("--delimiter, --decimal, --thousands, --columns and --schema are for CSV files, the model was trained on LIBSVM text");
  }
  Said said{options, model};
  return said.finish(jobs::predict_each(model, options.data, {.limits = limits, .csv = options.reading.csv()},
                                        [&](std::span<const double> scores) { said.say(scores); }));
}

}  // namespace

Command predict_command() {
  const auto describe = [](Command& command, OptionTable& table, PredictOptions& options) {
    table.add("model", options.model, "A model that 'surety train' wrote").required();
    table.add("data", options.data, "A file with the same columns as the training data; the label may be missing").required();
    table.add_fields([&](auto& fields) {
      options.reading.add_csv(fields);
      options.reading.add_schema(fields);
      options.reading.add_limits(fields);
    });
    table.add("--class", options.classes,
              "Print the class of each record: 'class==yes' or 'class!=yes' for a model with that label, or the text of one of several");
    table.add("--json", options.json, "Print one JSON object");
    command.footer =
        R"(What is said of a record is said of that record alone, so nothing of the file is kept private: errors show the row and
the cell, but for empty cells of a column that the model was trained with --missing for, which count as they did there.
A damaged record has an empty line (null in JSON) and the rest is read on; in the end one line of error says how many there were and
shows the first, and the exit code is 3.
One number per line: the probability of the label +1 for logistic loss, the value for squared loss, and for
hinge losses a score whose sign is the class. Of several classes their probabilities in the order of --classes, with commas between.
Example:
  surety predict model.json examples/data/randhie.csv | head)";
  };
  return make_command("predict", "Print what a model says about each record: a probability, or a value", predict, describe);
}

}  // namespace surety::cli
