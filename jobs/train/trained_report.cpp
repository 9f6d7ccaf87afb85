#include <surety/jobs/train/trained_report.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json_values.h>
#include <surety/base/numbers/rounded_text.h>
#include <surety/base/text/report_lines.h>
#include <surety/base/text/safe_text.h>
#include <surety/jobs/algorithms/algorithm.h>
#include <surety/jobs/plans/choice_text.h>
#include <surety/jobs/plans/reading_fields.h>
#include <surety/jobs/run/released.h>

namespace surety::jobs {
namespace {

std::string table_of(const TrainingFacts::HeldOut& held_out) {
  if (held_out.is_nothing) return report_line("held out", "nothing");
  std::string text = fmt::format(
      "\nscores on {} held-out records (computed on private data, so not private themselves: do not publish them)\n", held_out.records);
  text += fmt::format("{:<24} {:>10} {:>22}\n", "", "model", "constant prediction");
  for (const auto& [score, values] : held_out.scores.items()) {
    const auto shown = [](const nlohmann::json& value) {
      return value.is_null() ? std::string{"one class"} : fmt::format("{:.4f}", accounting::number_of(value, "a score"));
    };
    std::string title = score;
    for (auto& c : title) c = c == '_' ? ' ' : c;
    text += safe_format("{:<24} {:>10} {:>22}\n", title, shown(values["model"]), shown(values["constant"]));
  }
  return text;
}

}  // namespace

namespace {

/// To which bounds numbers are clamped: of labels, and of the first columns that have some. Empty where none are.
std::string clamped_text(const TrainPlan& plan) {
  constexpr std::size_t most = 8;
  std::vector<std::string> parts;
  if (const auto labels = plan.problem.loss == Loss::squared ? label_range(plan.problem) : std::nullopt) {
    parts.push_back(fmt::format("labels to [{}, {}]", labels->centre - labels->bound.value(), labels->centre + labels->bound.value()));
  }
  std::size_t columns = 0;
  if (const auto* const inputs = std::get_if<data::CsvOptions>(&plan.source.inputs)) {
    for (const auto& [column, its] : inputs->bounds) {
      if (columns++ < most) parts.push_back(fmt::format("{} to [{}, {}]", one_line(column), its.lower, its.upper));
    }
  }
  auto text = fmt::format("{}", fmt::join(parts, "; "));
  return columns > most ? fmt::format("{}; and {} more columns", text, columns - most) : text;
}

}  // namespace

std::string report_text(const TrainedModel& trained, const TrainedPlaces& places) {
  const auto& facts = *trained.facts;
  const auto& released = trained.released;
  const auto& promise = trained.plan.target;
  std::string lines;
  const auto add = [&](std::string_view field, std::string_view value) { lines += report_line(field, value); };
  add("trained", fmt::format("{} loss by {}, {}", trained.plan.problem.loss, trained.plan.algorithm_name(), facts.extent));
  if (!places.chosen.empty()) add("chosen", places.chosen);
  for (const auto& [field, value] : facts.lines) add(field, value);
  if (const double centre = trained.model.label_centre; centre != 0)
    add("centre", fmt::format("{} is taken from labels, and predictions add it", centre));
  if (const auto& rule = trained.model.record_weights) add("weights", data::describe(*rule) + "; scores count each record once");
  if (const auto clamped = clamped_text(trained.plan); !clamped.empty()) add("clamped", clamped);
  if (const auto missing = missing_text(trained.plan.source.reading.csv.missing); !missing.empty()) add("missing", missing);
  add("adjacency", name(promise.adjacency));
  add("unit", describe(trained.plan.unit));
  add("promise", fmt::format("epsilon = {} at delta = {}", promise.epsilon, promise.delta));
  if (facts.in_place_of.empty()) {
    if (released.event != released.planned) add("planned", released.planned);
    add("released", released.event);
  }
  for (const auto& [field, value] : facts.in_place_of) add(field, value);
  add("epsilon", fmt::format("in {} at delta = {}", text(released.epsilon), promise.delta));
  if (const auto over = over_periods(trained.plan.unit, trained.plan.period, trained.noise.event, promise.delta))
    lines += report_lines(*over);
  if (trained.noise.sigma) add("sigma", fmt::format("{:.6g} on each coordinate of the summed gradient", *trained.noise.sigma));
  add("ledger", places.ledger);
  add("model", places.model);
  if (facts.damaged > 0) {
    add("damaged",
        fmt::format("{} records were damaged and counted as zeros (a number computed on private data: do not publish it)", facts.damaged));
  }
  if (trained.model.guarantee.not_private) add("NOT PRIVATE", "the noise was replayed from a known seed");
  if (!facts.held_out) return lines;
  lines += table_of(*facts.held_out);
  if (facts.held_out->chose_among_candidates) {
    lines += "candidates were chosen on this part: as scores of the model these are slightly too good\n";
  }
  return lines;
}

}  // namespace surety::jobs
