// surety calibrate: the least noise that meets a target.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <surety/accounting/calibration/best_cost.h>
#include <surety/accounting/calibration/solve.h>
#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>

#include "command.h"
#include "event_options.h"
#include "output.h"
#include "validators.h"

namespace surety::cli {
namespace {

struct CalibrateOptions {
  EventOptions event;
  std::string unknown;
  double epsilon = 0;
  double delta = 0;
  double width = accounting::Effort{}.width;
  bool json = false;
};

int calibrate(const CalibrateOptions& options) {
  const Target target{
      .epsilon = Epsilon{options.epsilon}, .delta = Delta{options.delta}, .adjacency = parse_adjacency(options.event.adjacency)};
  const auto parameter = parameter_of(options.event.event, target.adjacency, options.unknown);
  accounting::BestCost cost{target, {.width = options.width}};
  const auto found = solve(
      [&](double value) {
        return options.event.parse({{options.unknown, value}});
      },
      target, parameter, cost.functions());
  const auto best = cost.report(found.event);
  const auto* second = accounting::second_opinion(best);
  if (options.json) {
    nlohmann::json object{{options.unknown, found.value},        {"parameter", parameter.name},
                          {"epsilon", json(best.value)},         {"delta", options.delta},
                          {"adjacency", name(target.adjacency)}, {"accountant", best.accountant},
                          {"event", describe(found.event)},      {"target", {{"epsilon", options.epsilon}, {"delta", options.delta}}}};
    if (parameter.name == "noise multiplier") object["noise_multiplier"] = found.value;
    if (found.failing) {
      object["failing"] = *found.failing;
      object["failing_is_proved"] = found.failing_is_proved;
    }
    if (second != nullptr) object["independent"] = {{"accountant", second->accountant}, {"epsilon", json(*second->value)}};
    print(object);
    return exit_code::fine;
  }
  const auto neighbour = [&]() -> std::string {
    if (!found.failing) return "every other value meets the target, too";
    return fmt::format("{} {} the target", *found.failing, found.failing_is_proved ? "does not meet" : "is not proved to meet");
  };
  fmt::print("{:<12} = {}   ({}; {})\n", options.unknown, found.value, parameter.name, neighbour());
  fmt::print("{:<12} in {} at delta = {}\n", "epsilon", text(best.value), options.delta);
  fmt::print("{:<12} {}\n", "event", describe(found.event));
  fmt::print("{:<12} {}\n", "adjacency", name(target.adjacency));
  fmt::print("{:<12} {}\n", "accountant", best.accountant);
  if (second != nullptr) fmt::print("{:<12} epsilon <= {} by {}\n", "independent", rounded_up(second->value->upper), second->accountant);
  return exit_code::fine;
}

}  // namespace

Command calibrate_command() {
  const auto describe = [](Command& command, OptionTable& table, CalibrateOptions& options) {
    options.event.add_to(table);
    table.add("--solve", options.unknown, "The name in the event that stands for the number to find: noise, a scale, a rate, a count")
        .required();
    table.add("--epsilon", options.epsilon, "The target's epsilon", number()).required();
    table.add("--delta", options.delta, "The target's delta", number()).required();
    table.add("--width", options.width, "The width in epsilon that accountants on a grid aim at", number());
    table.add("--json", options.json, "Print one JSON object");
    command.footer = R"(Examples:
  surety calibrate --event 'repeat(100, gaussian(z))' --solve z --epsilon 1 --delta 1e-5 --adjacency replace-one
  surety calibrate --event 'repeat(100000, poisson(0.001, gaussian(z)))' --solve z --epsilon 1 --delta 1e-6 \
                   --adjacency add-or-remove-one
  surety calibrate --event 'repeat(steps, poisson(0.01, gaussian(1)))' --solve steps --epsilon 4 --delta 1e-5 \
                   --adjacency add-or-remove-one
  surety calibrate --event 'compose(gaussian(z), repeat(10, gaussian(50)))' --solve z --epsilon 2 --delta 1e-6 \
                   --adjacency add-or-remove-one --json)";
  };
  return make_command("calibrate", "Print the value of one number in an event that meets a target", calibrate, describe);
}

}  // namespace surety::cli
