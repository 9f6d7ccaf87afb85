#include <surety/jobs/train/written_plan.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/words.h>
#include <surety/accounting/numbers/safe_text.h>
#include <surety/data/text_reader.h>
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
  if (name == "auto") refuse_text("options: @algorithm is auto, must be named in a plan");
  refuse_text("options: @algorithm is '{}', must be one of {}{}", one_line(name), fmt::format("{}", fmt::join(names, ", ")),
              did_you_mean(name, names));
}

[[noreturn]] void refuse_field(const std::string& name, const Algorithm& algorithm, FieldTable& known) {
  std::vector<std::string> knowing;
  for (const auto& other : all_algorithms()) {
    TrainFields fields{*other};
    if (fields.table().find(name) != nullptr) knowing.push_back(other->name());
  }
  for (const auto& [field, reason] : algorithm.refusals()) {
    if (field == name) refuse_text("options: @{} {}", name, with_marks(reason, ""));
  }
  if (!knowing.empty())
    refuse_text("options: @{} is for {}, not for {}", name, fmt::format("{}", fmt::join(knowing, ", ")), algorithm.name());
  refuse_unknown_field(name, known);
}

}  // namespace

TrainFields::TrainFields(const Algorithm& algorithm) {
  plan_.algorithm = algorithm.standard();
  table_.group("Data");
  table_.add("data", records_.data, "A CSV, LIBSVM or record file; may be compressed by gzip, zstd or bzip2; - for standard input");
  records_.add(table_, {"csv", "libsvm", "records"});
  reading_.add_missing(table_);
  reading_.add_schema(table_);
  reading_.add_csv(table_);
  reading_.add_limits(table_);
  table_.group("Problem and algorithm");
  add_problem(table_, plan_.problem);
  table_.group("Privacy");
  unit_.add(table_);
  run_.add(table_);
  table_.group("Output");
  table_.add("model", model_, "Where to write the model");
  algorithm.add_fields(table_, plan_.algorithm, plan_);
}

WrittenTraining TrainFields::written(const Target& target, NamedRecords named) {
  if (records_.data.empty() && (named == NamedRecords::always || records_.format == "records")) {
    refuse_text("options: @data is missing, must name the records");
  }
  reading_.load_schema();
  if (reading_.schema) {
    records_.take_schema(*reading_.schema);
    unit_.take_schema(*reading_.schema);
  }
  WrittenTraining result{{}, plan_};
  result.plan.target = target;
  result.plan.unit = unit_of_records(unit_, reading_);
  const bool form_is_public = plan_.source.form_is_public;
  result.plan.source =
      source_of(records_, {.reading = reading_, .said_unit = unit_, .has_unit = result.plan.has_unit(), .classes = plan_.problem.classes});
  result.plan.source.form_is_public = form_is_public;
  result.model = model_;
  run_.write_to(result);
  result.schema_sha256 = reading_.schema_sha256();
  return result;
}

WrittenTraining read_train_plan(std::string_view text, NamedRecords named) {
  const auto json = parse_plan(text, "train");
  const auto& options = json["options"];
  if (!options.contains("algorithm")) refuse_text("field 'algorithm' is missing");
  const auto& name = options["algorithm"];
  if (!name.is_string()) refuse_text("options: @algorithm is {}, must be a text", one_line(name.dump()));
  const auto algorithm = algorithm_named(name.get<std::string>());
  TrainFields fields{*algorithm};
  SaidFields said;
  for (const auto& [field, value] : options.items()) {
    if (field == "algorithm") continue;
    const auto* const known = fields.table().find(field);
    if (known == nullptr) refuse_field(field, *algorithm, fields.table());
    set_field(*known, value);
    said.insert(field);
  }
  auto written = fields.written(target_in(json), named);
  written.said = std::move(said);
  written.text = text;
  return written;
}

void require_follows(const WrittenTraining& written, const CalibratedNoise& noise) {
  require_follows(written, Follows{.unit = written.plan.unit, .event = noise.event, .noise = noise.value});
}

}  // namespace surety::jobs
