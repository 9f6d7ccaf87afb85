#include <surety/cli/commands/train/report.h>

#include <fmt/format.h>

#include <string>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/format.h>
#include <surety/cli/print/output.h>
#include <surety/jobs/train/trained_json.h>

namespace surety::cli {
namespace {

void print_json(const TrainOptions& options, const jobs::TrainedModel& trained) {
  auto object = jobs::to_json(trained);
  object["model"] = options.model;
  if (!options.chosen.empty()) object["chosen"] = options.chosen;
  if (!options.reading.missing_text().empty()) object["missing"] = options.reading.csv().missing;
  object.update(options.run.charge_json(trained.run));
  trained.facts->has_told_weights ? print_line(object) : print(object);
}

std::string table_of(const jobs::TrainingFacts::HeldOut& held_out) {
  if (held_out.is_nothing) return fmt::format("{:<12} {}\n", "held out", "nothing");
  std::string text = fmt::format(
      "\nscores on {} held-out records (computed on private data, so not private themselves: do not publish them)\n", held_out.records);
  text += fmt::format("{:<24} {:>10} {:>22}\n", "", "model", "constant prediction");
  for (const auto& [score, values] : held_out.scores.items()) {
    const auto shown = [](const nlohmann::json& value) {
      return value.is_null() ? std::string{"one class"} : fmt::format("{:.4f}", value.get<double>());
    };
    std::string title = score;
    for (auto& c : title) c = c == '_' ? ' ' : c;
    text += fmt::format("{:<24} {:>10} {:>22}\n", title, shown(values["model"]), shown(values["constant"]));
  }
  return text;
}

}  // namespace

void print_report(const TrainOptions& options, const jobs::TrainedModel& trained) {
  if (options.json) {
    print_json(options, trained);
    return;
  }
  const auto& facts = *trained.facts;
  const auto& released = trained.released;
  say_line("trained", fmt::format("{} loss by {}, {}", trained.plan.problem.loss, options.algorithm, facts.extent));
  if (!options.chosen.empty()) say_line("chosen", options.chosen);
  for (const auto& [field, value] : facts.lines) say_line(field, value);
  if (const auto missing = options.reading.missing_text(); !missing.empty()) say_line("missing", missing);
  say_line("adjacency", options.run.adjacency);
  say_line("unit", describe(options.run.unit));
  say_line("promise", fmt::format("epsilon = {} at delta = {}", options.run.epsilon, options.run.delta));
  if (facts.in_place_of.empty()) {
    if (released.event != released.planned) say_line("planned", released.planned);
    say_line("released", released.event);
  }
  for (const auto& [field, value] : facts.in_place_of) say_line(field, value);
  say_line("epsilon", fmt::format("in {} at delta = {}", text(released.epsilon), options.run.delta));
  if (trained.noise.sigma) say_line("sigma", fmt::format("{:.6g} on each coordinate of the summed gradient", *trained.noise.sigma));
  say_line("ledger", options.run.ledger_and(trained.run));
  say_line("model", shown(options.model));
  if (facts.damaged > 0) {
    say_line("damaged", fmt::format("{} records were damaged and counted as zeros (a number computed on private data: do not publish it)",
                                    facts.damaged));
  }
  if (options.run.replay_seed) say_line("NOT PRIVATE", "the noise was replayed from a known seed");
  if (!facts.held_out) return;
  say_lines(table_of(*facts.held_out));
  if (facts.held_out->chose_among_candidates) {
    say_lines("candidates were chosen on this part: as scores of the model these are slightly too good\n");
  }
}

}  // namespace surety::cli
