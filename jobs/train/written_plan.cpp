#include <surety/jobs/train/written_plan.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/json_values.h>
#include <surety/accounting/events/words.h>
#include <surety/base/text/safe_text.h>
#include <surety/data/reading/text_reader.h>
#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/jobs/plans/plan_json.h>
#include <surety/jobs/plans/text_lists.h>
#include <surety/jobs/train/train_fields.h>

namespace surety::jobs {
namespace {

std::unique_ptr<Algorithm> algorithm_named(const std::string& name) {
  auto all = all_algorithms();
  std::vector<std::string_view> names;
  for (auto& one : all) {
    if (one->name() == name) return std::move(one);
    names.push_back(one->name());
  }
  if (name == "auto") refuse_option("{} is auto, must be named in a plan", "algorithm"_field);
  refuse_option("{} is '{}', must be one of {}{}", "algorithm"_field, one_line(name), fmt::format("{}", fmt::join(names, ", ")),
                did_you_mean(name, names));
}

[[noreturn]] void refuse_field(const std::string& name, const Algorithm& algorithm, FieldTable& known) {
  std::vector<std::string> knowing;
  for (const auto& other : all_algorithms()) {
    TrainFields fields{*other};
    if (fields.table().find(name) != nullptr) knowing.push_back(other->name());
  }
  for (const auto& [field, reason] : algorithm.refusals()) {
    if (field == name) refuse_option("{} {}", FieldName{name}, reason);
  }
  if (!knowing.empty())
    refuse_option("{} is for {}, not for {}", FieldName{name}, fmt::format("{}", fmt::join(knowing, ", ")), algorithm.name());
  refuse_unknown_field(name, known);
}

}  // namespace

WrittenTraining read_train_plan(std::string_view text, NamedRecords named) {
  auto json = parse_plan(text, "train");
  const auto& options = json["options"];
  if (!options.contains("algorithm")) refuse_text("field 'algorithm' is missing");
  const auto& name = options["algorithm"];
  if (!name.is_string()) refuse_option("{} is {}, must be a text", "algorithm"_field, one_line(name.dump()));
  const auto algorithm = algorithm_named(accounting::text_of(name, "algorithm"));
  TrainFields fields{*algorithm};
  const bool says_no_count = options.contains("count-records") || options.contains("no-count-records");
  set_count(json, fields.table());
  const bool is_uncounted_by_version = !says_no_count && options.contains("no-count-records");
  SaidFields said;
  for (const auto& [field, value] : options.items()) {
    if (field == "algorithm") continue;
    const auto* const known = fields.table().find(field);
    if (known == nullptr) refuse_field(field, *algorithm, fields.table());
    set_field(*known, value);
    said.insert(field);
  }
  auto written = fields.written(target_in(json), named);
  auto& problem = written.plan.problem;
  problem.has_number_of_class = json["version"] == 1 && has_number_for_two_classes(written.plan);
  require_label_of_loss(written.plan);
  written.said = std::move(said);
  written.text = text;
  written.notes = notes_of(written.plan, std::nullopt);
  if (is_uncounted_by_version) {
    written.notes.emplace_back("the plan is of version 1: usable records are not counted; print it to get version 2");
  }
  return written;
}

void require_follows(const WrittenTraining& written, const CalibratedNoise& noise) {
  require_follows(written, Follows{.unit = written.plan.unit, .event = noise.event, .noise = noise.value});
}

namespace {

using nlohmann::json;

/// All rows of an algorithm for the fields of one plan, which stays where it is.
FieldTable own_rows(const Algorithm& algorithm, TrainPlan& plan) {
  FieldTable rows;
  rows.group("");
  add_problem(rows, plan.problem);
  algorithm.add_fields(rows, plan.algorithm, plan);
  return rows;
}

void write_source(json& options, const TrainingSource& source) {
  if (source.rows) has_no_text("its rows are another program's");
  if (!source.paths_of_ranks.empty()) has_no_text("each rank has a file of its own");
  if (!source.path.empty()) options["data"] = source.path;
  if (std::holds_alternative<std::shared_ptr<const data::RecordFile>>(source.inputs)) {
    options["format"] = "records";
    return;
  }
  if (const auto* const sparse = std::get_if<data::SparseFeatures>(&source.inputs)) {
    options["format"] = "libsvm";
    options["features"] = sparse->count;
    if (source.rows_have_common_scale) options["rows"] = "scaled";
    return;
  }
  const auto& inputs = std::get<data::CsvOptions>(source.inputs);
  if (source.label) options["label"] = describe(*source.label);
  if (!inputs.drop.empty()) options["drop"] = inputs.drop;
  for (const auto& [column, its] : inputs.bounds) {
    options["bounds"].push_back(fmt::format("{}={},{}", list_text({column}), its.lower, its.upper));
  }
  for (const auto& column : inputs.private_ranges) options["bounds"].push_back(list_text({column}) + "=private");
  for (const auto& [column, names] : inputs.categories) options["categories"].push_back(list_text({column}) + "=" + list_text(names));
  if (inputs.rows_have_common_scale) options["rows"] = "scaled";
  if (inputs.terms != data::Terms::automatic) options["terms"] = data::name(inputs.terms);
  if (inputs.ranges != data::Ranges::automatic) options["ranges"] = fmt::format("{}", inputs.ranges);
  for (const auto& [first, second] : inputs.pairs) options["pairs"].push_back(pair_text(first, second));
}

json options_of(const TrainPlan& plan) {
  const auto algorithm = algorithm_named(std::string{plan.algorithm_name()});
  auto held = plan;
  auto usual = plan;
  usual.problem = {};
  usual.search = {};
  usual.source.form_is_public = false;
  usual.source.weight = std::nullopt;
  usual.source.weight_bound = std::nullopt;
  usual.algorithm = algorithm->standard();
  const auto rows = own_rows(*algorithm, held);
  auto usual_rows = own_rows(*algorithm, usual);
  json options{{"algorithm", plan.algorithm_name()}};
  for (const auto& group : rows.groups()) {
    for (const auto& field : group.fields) {
      if (auto value = held_by(field); value != held_by(*usual_rows.find(field.name()))) options[field.name()] = std::move(value);
    }
  }
  write_source(options, plan.source);
  write_reading(options, plan.source.reading);
  write_unit(options, plan.unit, plan.period);
  return options;
}

}  // namespace

std::string plan_text(const TrainPlan& plan) {
  auto object = plan_json("train", options_of(plan), plan.target);
  // A plan that was read in version 1 says whether usable records are counted: `set_count` saw to it.
  if (plan.problem.has_number_of_class) object["version"] = 1;
  auto text = object.dump(-1, ' ', false, json::error_handler_t::replace);
  auto again = read_train_plan(text, NamedRecords::or_given_later).plan;
  // The head of a record file is read again.
  if (std::holds_alternative<std::shared_ptr<const data::RecordFile>>(plan.source.inputs)) again.source.inputs = plan.source.inputs;
  if (!(again == plan)) has_no_text("what would be read of it is another one");
  return text;
}

}  // namespace surety::jobs
