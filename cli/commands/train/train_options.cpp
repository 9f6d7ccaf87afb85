#include <surety/cli/commands/train/train_options.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include <surety/accounting/events/format.h>
#include <surety/jobs/algorithms/algorithm.h>

namespace surety::cli {

namespace {

/// Of what chooses. \param own where its options go
AlgorithmOptions automatic_options(jobs::AutomaticPlan& own) {
  jobs::FieldTable fields;
  fields.group("Data").add("held-out", own.held_out, "The share of records kept for scores, by a public pseudo-random split",
                           jobs::AnyNumber{});
  jobs::add_records(fields.group("Problem and algorithm"), own.records, "counted where it is public, else needed");
  AlgorithmOptions options{.algorithm = std::string{automatic_name},
                           .summary = "Chooses one of the others, and its options, from public numbers alone, and says so."};
  options.options.add(fields);
  return options;
}

}  // namespace

AlgorithmOptions OfferedAlgorithm::options(jobs::TrainPlan& plan) {
  jobs::FieldTable fields;
  its_->add_fields(fields, own_, plan);
  return options_of(*its_, fields);
}

TrainState::TrainState() {
  for (auto& its : jobs::all_algorithms()) algorithms.emplace_back(std::move(its));
  tables.push_back(automatic_options(automatic));
  for (auto& algorithm : algorithms) tables.push_back(algorithm.options(options.plan));
}

const OfferedAlgorithm& TrainState::chosen() const {
  return *std::find_if(algorithms.begin(), algorithms.end(), [&](const auto& one) { return one.its().name() == options.algorithm; });
}

void add_data_options(OptionTable& table, TrainOptions& options, const std::vector<jobs::DataFormat>& formats) {
  table.group("Data");
  table
      .add("data", options.table.data,
           "A CSV file with a header, or a LIBSVM file; may be compressed by gzip, zstd or bzip2; - for standard input")
      .required()
      .essential();
  table.add_fields([&](auto& fields) { options.table.add(fields, formats); });
  for (const char* name : {"--label", "--format", "--features", "--drop", "--bounds", "--categories"}) table.find(name)->essential();
  table.add_fields([&](auto& fields) {
    options.reading.add_missing(fields);
    options.reading.add_schema(fields);
    options.reading.add_csv(fields);
    options.reading.add_limits(fields);
  });
  for (const char* name : {"--missing", "--schema"}) table.find(name)->essential();
}

void add_shared_options(OptionTable& table, TrainOptions& options, const std::vector<std::string>& algorithms) {
  for (const char* heading : {"Data", "Columns"}) table.group(heading);  // in this order
  add_data_options(table, options, {jobs::DataFormat::csv, jobs::DataFormat::libsvm, jobs::DataFormat::records});
  table.regroup("Columns",
                {"--features", "--drop", "--bounds", "--categories", "--rows", "--terms", "--ranges", "--pairs", "--missing", "--schema"});
  table.group("Problem and algorithm");
  table.add_fields([&](auto& fields) { jobs::add_problem(fields, options.plan.problem); });
  for (const char* name : {"--loss", "--label-bound"}) table.find(name)->essential();
  table.add("--algorithm", options.algorithm, fmt::format("{}", fmt::join(algorithms, ", ")), one_of(algorithms)).essential();

  table.group("Secret batches");  // here, before the others, where an algorithm has them
  table.group("Owners");
  options.run.add_unit_to(table);
  for (const char* name : {"--unit", "--most"}) table.find(name)->essential();
  table.group("Promise");
  options.run.add_promise_to(table, true);
  table.group("Privacy");  // what algorithms have of their own
  table.group("Ledger");
  options.run.add_ledger_to(table);

  table.group("Output");
  table.add("--model", options.model, "Where to write the model").required().essential();
  options.overwrite.add_to(table);
  table.add("--json", options.json, "Print one JSON object").essential();
  options.run.add_plan_to(table);
}

void apply_schema(TrainOptions& options) {
  options.reading.load_schema();
  if (!options.reading.schema) return;
  options.table.take_schema(*options.reading.schema);
  options.run.said_unit.take_schema(*options.reading.schema);
}

jobs::TrainingSource source_of(const TrainOptions& options) {
  auto source = jobs::source_of(options.table, {.reading = options.reading,
                                                .said_unit = options.run.said_unit,
                                                .has_unit = options.run.has_unit(),
                                                .has_unit_of_ledger = options.run.has_unit_of_ledger,
                                                .classes = options.plan.problem.classes,
                                                .weight = options.plan.source.weight,
                                                .weight_bound = options.plan.source.weight_bound});
  source.form_is_public = options.plan.source.form_is_public;
  return source;
}

jobs::TrainPlan plan_of(const TrainOptions& options, const jobs::AlgorithmPlan& own) {
  auto plan = options.plan;
  plan.target = options.run.target();
  plan.unit = options.run.unit;
  plan.period = options.run.period;
  plan.source = source_of(options);
  plan.algorithm = own;
  plan.problem.has_number_of_class = options.run.expected && options.run.expected->version == 1 && jobs::has_number_for_two_classes(plan);
  return plan;
}

}  // namespace surety::cli
