#include <surety/jobs/release/written_release.h>

#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/json_values.h>
#include <surety/base/text/error.h>
#include <surety/jobs/plans/plan_json.h>
#include <surety/jobs/release/queries.h>
#include <surety/jobs/release/queries_json.h>
#include <surety/jobs/release/release_fields.h>
#include <surety/jobs/run/promise_notes.h>

namespace surety::jobs {

WrittenRelease read_release_plan(std::string_view text) {
  const auto json = parse_plan(text, "release");
  const int version = static_cast<int>(accounting::whole_number_of(json["version"], "version"));
  ReleaseFields fields;
  fields.set_version(version);
  SaidFields said;
  for (const auto& [field, value] : json["options"].items()) {
    const auto* const known = fields.table().find(field);
    if (known == nullptr) refuse_unknown_field(field, fields.table());
    if (field == "query") {
      require_type(*known, value);
      fields.set_queries(value);
    } else {
      set_field(*known, value);
    }
    said.insert(field);
  }
  if (said.contains("query") && said.contains("queries"))
    refuse_option("{} and {} are both said, must be one of them", "query"_field, "queries"_field);
  auto written = fields.written(target_in(json));
  written.said = std::move(said);
  written.text = text;
  if (version == 1) written.notes.emplace_back(note_of_version_1);
  for (auto& note : notes_of(written.plan.target, std::nullopt)) written.notes.push_back(std::move(note));
  return written;
}

void require_follows(const WrittenRelease& written, const Solution& cost) {
  require_follows(written, Follows{.unit = written.plan.unit, .event = cost.event, .noise = cost.value});
}

namespace {

using nlohmann::json;

json options_of(const ReleasePlan& plan) {
  json options{{"query", queries_json(plan.queries)}, {"confidence", plan.confidence}, {"noise", name(plan.noise)}};
  write_reading(options, plan.reading);
  write_unit(options, plan.unit, plan.period);
  if (!plan.note.empty()) options["note"] = plan.note;
  return options;
}

}  // namespace

std::string plan_text(const ReleasePlan& plan) {
  if (plan.queries.size() > ReleasePlan::most_queries) has_no_text("it has too many queries");
  auto text = plan_json("release", options_of(plan), plan.target).dump(-1, ' ', false, json::error_handler_t::replace);
  if (!(read_release_plan(text).plan == plan)) has_no_text("what would be read of it is another one");
  return text;
}

}  // namespace surety::jobs
