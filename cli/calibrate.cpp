// surety calibrate: the least noise that meets a target.
#include <fmt/format.h>

#include <memory>

#include <surety/accounting/calibrate.h>
#include <surety/accounting/zcdp.h>

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
  bool json = false;
};

int calibrate(const CalibrateOptions& options) {
  const Target target{
      .epsilon = Epsilon{options.epsilon}, .delta = Delta{options.delta}, .adjacency = parse_adjacency(options.event.adjacency)};
  const auto event = [&](NoiseMultiplier z) { return options.event.parse({{options.unknown, z.value()}}); };
  if (event(NoiseMultiplier{1}) == event(NoiseMultiplier{2})) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("--solve is '{}', must be a name in the event '{}'", options.unknown, options.event.event)};
  }
  const auto found = surety::calibrate(event, target);
  const auto independent = accounting::epsilon(accounting::Zcdp{}, found.event, target.delta);
  if (options.json) {
    print({{options.unknown, found.value.value()},
           {"noise_multiplier", found.value.value()},
           {"epsilon", json(found.epsilon)},
           {"delta", options.delta},
           {"adjacency", name(target.adjacency)},
           {"accountant", accounting::ClosedForm::name},
           {"event", describe(found.event)},
           {"target", {{"epsilon", options.epsilon}, {"delta", options.delta}}},
           {"largest_failing", found.largest_failing},
           {"independent", {{"accountant", accounting::Zcdp::name}, {"epsilon", json(independent)}}}});
    return exit_code::fine;
  }
  fmt::print("{:<12} = {}   (noise multiplier; {} does not meet the target)\n", options.unknown, found.value, found.largest_failing);
  fmt::print("{:<12} in {} at delta = {}\n", "epsilon", text(found.epsilon), options.delta);
  fmt::print("{:<12} {}\n", "event", describe(found.event));
  fmt::print("{:<12} {}\n", "adjacency", name(target.adjacency));
  fmt::print("{:<12} {}\n", "accountant", accounting::ClosedForm::name);
  fmt::print("{:<12} epsilon <= {} by {}\n", "independent", rounded_up(independent.upper), accounting::Zcdp::name);
  return exit_code::fine;
}

}  // namespace

void add_calibrate(CLI::App& app, Action& chosen) {
  auto& command = *app.add_subcommand("calibrate", "Print the smallest noise multiplier that meets a target");
  const auto options = std::make_shared<CalibrateOptions>();
  options->event.add_to(command);
  command.add_option("--solve", options->unknown, "The name in the event that stands for the noise multiplier")->required();
  command.add_option("--epsilon", options->epsilon, "The target's epsilon")->check(number())->required();
  command.add_option("--delta", options->delta, "The target's delta")->check(number())->required();
  command.add_flag("--json", options->json, "Print one JSON object");
  command.footer(
      "Examples:\n"
      "  surety calibrate --event 'repeat(100, gaussian(z))' --solve z --epsilon 1 --delta 1e-5 --adjacency replace-one\n"
      "  surety calibrate --event 'compose(gaussian(z), repeat(10, gaussian(50)))' --solve z --epsilon 2 --delta 1e-6 \\\n"
      "                   --adjacency add-or-remove-one --json");
  command.callback([options, &chosen] { chosen = [options] { return calibrate(*options); }; });
}

}  // namespace surety::cli
