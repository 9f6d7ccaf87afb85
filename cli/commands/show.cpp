// surety show: what a model says of itself. The model is released, so this costs nothing of the people whom it learned from, and nothing but the model is read.
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include <surety/base/system/new_file.h>
#include <surety/cli/commands/command.h>
#include <surety/cli/files/files.h>
#include <surety/cli/print/output.h>
#include <surety/jobs/plans/reading_fields.h>
#include <surety/jobs/predict/shown_model.h>
#include <surety/optimizers/models/model.h>

namespace surety::cli {
namespace {

struct ShowOptions {
  std::string model;
  jobs::ReadingFields reading;
  bool json = false;
  std::optional<std::string> svg;
  OverwriteOption overwrite;
};

int show(const ShowOptions& options) {
  Files files{.inputs = {{"the model", options.model}}};
  if (options.svg) files.outputs.push_back({{"--svg", *options.svg}, jobs::picture_file, options.overwrite.said()});
  require_separate(files);
  const auto model = optimizers::read_model(options.model, options.reading.limits().model_bytes);
  if (options.svg) {
    const auto text = svg(jobs::picture_of_shapes(model));
    NewFile picture{Place{*options.svg}};
    picture.write(text);
    picture.replace(jobs::picture_file, options.overwrite.said());
  }
  if (!options.json) {
    say_lines(jobs::shown_text(model));
    return exit_code::fine;
  }
  auto object = jobs::shown_json(model);
  object["model"] = options.model;
  print(object);
  return exit_code::fine;
}

}  // namespace

Command show_command() {
  const auto describe = [](Command& command, OptionTable& table, ShowOptions& options) {
    table.add("model", options.model, "A model that 'surety train' wrote").required();
    table.add_fields([&](auto& fields) { options.reading.add_limits(fields); });
    table.add("--json", options.json, "Print one JSON object");
    table.add("--svg", options.svg, "Write a picture to this file as well: the shapes of additive terms");
    options.overwrite.add_to(table);
    command.footer =
        R"(Coefficients are in the columns' own units where the score is a linear function of cells within their bounds: rows of one scale
(--rows scaled), and bounds or categories for every column. Elsewhere it says what is not linear.
Then it says what a cell of each column adds to the score, with odds for two classes, the most important column first. Models of sufficient-statistics have bands around it, of about 95 % for
each point alone over noise and sampling, where the release has intervals for the population: independent records that are rows, a public number of them, labels that
are what such a model says and an error of one variance, and hardly any record clipped. Elsewhere there are none: no covariance is released.
Nothing but the model is read, and nothing is charged.
Example:
  surety train examples/data/randhie.csv --label mdvis --loss squared --label-bound 20 --drop idp --rows scaled --epsilon 1 --delta 1e-5 \
    --bounds lncoins=0,5 --bounds lpi=0,8 --bounds fmde=0,9 --bounds physlm=0,1 --bounds disea=0,60 --bounds hlthg=0,1 --bounds hlthf=0,1 \
    --bounds hlthp=0,1 --ledger run.db --model model.json
  surety show model.json)";
  };
  return make_command("show", "Print what a model promises, its coefficients, odds and the importance of columns", show, describe);
}

}  // namespace surety::cli
