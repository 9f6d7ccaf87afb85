#include "report.h"

#include <fmt/format.h>

#include <surety/accounting/events/format.h>

#include "../output.h"

namespace surety::cli {
namespace {

void print_json(const Report& report) {
  const auto& options = report.options;
  nlohmann::json object{{"algorithm", options.algorithm},
                        {"loss", options.loss},
                        {"adjacency", options.run.adjacency},
                        {"promise", {{"epsilon", options.run.epsilon}, {"delta", options.run.delta}}},
                        {"event", report.released.event},
                        {"epsilon", json(report.released.epsilon)},
                        {"delta", options.run.delta},
                        {"model", options.model},
                        {"not_private", options.run.replay_seed.has_value()},
                        {"damaged_records_not_private", report.damaged}};
  if (report.in_place_of.empty()) {
    object["planned"] = report.released.planned;
    object["noise_multiplier"] = report.noise.value;
  }
  if (!options.chosen.empty()) object["chosen"] = options.chosen;
  if (!options.reading.missing_text().empty()) object["missing"] = options.reading.missing_json();
  object.update(report.fields);
  object.update(options.run.charge_json(report.run));
  report.is_one_line ? print_line(object) : print(object);
}

}  // namespace

void print_report(const Report& report) {
  const auto& options = report.options;
  if (options.json) {
    print_json(report);
    return;
  }
  say_line("trained", fmt::format("{} loss by {}, {}", options.loss, options.algorithm, report.extent));
  if (!options.chosen.empty()) say_line("chosen", options.chosen);
  for (const auto& [field, value] : report.lines) say_line(field, value);
  if (const auto missing = options.reading.missing_text(); !missing.empty()) say_line("missing", missing);
  say_line("adjacency", options.run.adjacency);
  say_line("unit", describe(options.run.unit));
  say_line("promise", fmt::format("epsilon = {} at delta = {}", options.run.epsilon, options.run.delta));
  if (report.in_place_of.empty()) {
    if (report.released.event != report.released.planned) say_line("planned", report.released.planned);
    say_line("released", report.released.event);
  }
  for (const auto& [field, value] : report.in_place_of) say_line(field, value);
  say_line("epsilon", fmt::format("in {} at delta = {}", text(report.released.epsilon), options.run.delta));
  if (report.noise.sigma) say_line("sigma", fmt::format("{:.6g} on each coordinate of the summed gradient", *report.noise.sigma));
  say_line("ledger", options.run.ledger_and(report.run));
  say_line("model", shown(options.model));
  if (report.damaged > 0) {
    say_line("damaged", fmt::format("{} records were damaged and counted as zeros (a number computed on private data: do not publish it)",
                                    report.damaged));
  }
  if (options.run.replay_seed) say_line("NOT PRIVATE", "the noise was replayed from a known seed");
  say_lines(report.scores);
}

}  // namespace surety::cli
