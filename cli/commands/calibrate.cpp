// surety calibrate: the least noise that meets a target.
#include <fmt/format.h>

#include <optional>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include <surety/accounting/accountants/zcdp/zcdp.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/calibration/accuracy.h>
#include <surety/accounting/calibration/best_cost.h>
#include <surety/accounting/calibration/solve.h>
#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>
#include <surety/cli/commands/command.h>
#include <surety/cli/commands/logs.h>
#include <surety/cli/parser/event_options.h>
#include <surety/cli/print/output.h>

namespace surety::cli {
namespace {

struct CalibrateOptions {
  EventOptions event;
  std::string log;
  std::vector<std::string> readings;
  std::string unknown;
  std::optional<double> epsilon;
  std::optional<double> delta;
  std::optional<double> rho;
  std::optional<double> standard_deviation;
  std::optional<double> sensitivity;
  std::optional<double> advantage;
  std::optional<double> true_positive_rate;
  std::optional<double> false_positive_rate;
  double width = accounting::Effort{}.width;
  bool require_tight = false;
  bool json = false;
};

/// The one target that is asked for: (epsilon, delta), or one of risk. Nothing for the former.
std::optional<RiskTarget> risk_target(const CalibrateOptions& options) {
  const bool is_rate = options.true_positive_rate || options.false_positive_rate;
  if (!options.advantage && !is_rate) {
    for (const auto& [given, option] : {std::pair{&options.epsilon, "--epsilon"}, {&options.delta, "--delta"}}) {
      if (!*given) {
        invalid(fmt::format(
            "{} is required, or in place of --epsilon and --delta either --rho, --advantage or --true-positive-rate and --false-positive-rate",
            option));
      }
    }
    return std::nullopt;
  }
  if (options.epsilon || options.delta || (options.advantage && is_rate)) {
    invalid("one target at a time: --epsilon and --delta, or --advantage, or --true-positive-rate and --false-positive-rate");
  }
  const auto adjacency = parse_adjacency(options.event.adjacency);
  const auto probability = [](const char* option, double value) {
    if (!(value > 0 && value < 1)) invalid(fmt::format("{} is {}, must be greater than 0 and less than 1", option, value));
    return Probability{value};
  };
  if (options.advantage) return RiskTarget{RiskTarget::Advantage{probability("--advantage", *options.advantage)}, adjacency};
  if (!options.true_positive_rate || !options.false_positive_rate) {
    invalid("--true-positive-rate and --false-positive-rate are one target, must be given together");
  }
  return RiskTarget{RiskTarget::Rate{probability("--true-positive-rate", *options.true_positive_rate),
                                     probability("--false-positive-rate", *options.false_positive_rate)},
                    adjacency};
}

std::string neighbour(const std::optional<double>& failing, bool is_proved) {
  if (!failing) return "every other value meets the target, too";
  return fmt::format("{} {} the target", *failing, is_proved ? "does not meet" : "is not proved to meet");
}

/// The line of an answer whose failing neighbour is far away; none of others.
template <class Found>
void say_if_not_tight(const Found& found, std::size_t width) {
  if (!found.is_tight()) say("{:<{}} {}\n", "not tight", width, not_tight(found.gap));
}

/// \throws Error{unreachable} under --require-tight for an answer whose failing neighbour is far away.
template <class Found>
void require_tight(const CalibrateOptions& options, const Found& found) {
  if (options.require_tight && !found.is_tight()) {
    throw Error{ErrorCode::unreachable,
                fmt::format("the answer {:g} is not tight, as --require-tight asks: {}", found.value, not_tight(found.gap))};
  }
}

/// What is found for any target.
template <class Found>
nlohmann::json found_json(const CalibrateOptions& options, const Parameter& parameter, Adjacency adjacency, const Found& found) {
  nlohmann::json object{
      {options.unknown, found.value}, {"parameter", parameter.name}, {"adjacency", name(adjacency)}, {"event", describe(found.event)}};
  if (parameter.name == "noise multiplier") object["noise_multiplier"] = found.value;
  if (found.failing) {
    object["failing"] = *found.failing;
    object["failing_is_proved"] = found.failing_is_proved;
  }
  object["tight"] = found.is_tight();
  return object;
}

/// What the event costs at a delta, and what an independent accountant says of it.
void say_cost(const Event& event, double delta, const accounting::BestAnswer& best) {
  const auto* second = accounting::second_opinion(best);
  say("{:<12} in {} at delta = {}\n", "epsilon", text(best.value), delta);
  say("{:<12} {}\n", "event", describe(event));
  say("{:<12} {}\n", "adjacency", name(event.adjacency()));
  say("{:<12} {}\n", "accountant", best.accountant);
  say("{:<12} {}\n", "independent",
      second != nullptr ? fmt::format("epsilon <= {} by {}", rounded_up(second->value->upper), second->accountant)
                        : accounting::why_no_second_opinion(event, best));
}

/// The same as fields of an answer in JSON.
void add_cost(nlohmann::json& object, double delta, const accounting::BestAnswer& best) {
  object["epsilon"] = json(best.value);
  object["delta"] = delta;
  object["accountant"] = best.accountant;
  const auto* second = accounting::second_opinion(best);
  if (second != nullptr) object["independent"] = {{"accountant", second->accountant}, {"epsilon", json(*second->value)}};
}

/// Zero-concentrated privacy: a target of one number.
int calibrate_rho(const CalibrateOptions& options) {
  if (options.epsilon || options.delta || options.advantage || options.true_positive_rate || options.false_positive_rate) {
    invalid("one target at a time: --rho, or --epsilon and --delta, or --advantage, or --true-positive-rate and --false-positive-rate");
  }
  if (!(*options.rho > 0 && is_finite(*options.rho))) invalid(fmt::format("--rho is {}, must be finite and greater than 0", *options.rho));
  const RhoTarget target{Rho{*options.rho}, parse_adjacency(options.event.adjacency)};
  const EventOfNumber event{options.event.text(), target.adjacency, options.unknown};
  const auto parameter = parameter_of(event);
  const auto found = solve(event, target, parameter);
  require_tight(options, found);
  if (options.json) {
    auto object = found_json(options, parameter, target.adjacency, found);
    object["rho"] = json(found.rho);
    object["accountant"] = accounting::Zcdp::name;
    object["target"] = {{"rho", *options.rho}};
    print(object);
    return exit_code::fine;
  }
  say("{:<12} = {}   ({}; {})\n", options.unknown, found.value, parameter.name, neighbour(found.failing, found.failing_is_proved));
  say_if_not_tight(found, 12);
  say("{:<12} in {}\n", "rho", text(found.rho));
  say("{:<12} {}\n", "event", describe(found.event));
  say("{:<12} {}\n", "adjacency", name(target.adjacency));
  say("{:<12} {}\n", "accountant", accounting::Zcdp::name);
  return exit_code::fine;
}

/// The epsilon that a given standard deviation of the noise costs at a delta.
int calibrate_accuracy(const CalibrateOptions& options) {
  if (options.epsilon || options.rho || options.advantage || options.true_positive_rate || options.false_positive_rate) {
    invalid("--standard-deviation is given with a target of privacy, must be given with --delta alone: what it prints is the epsilon");
  }
  if (!options.delta) invalid("--delta is required with --standard-deviation");
  const auto positive = [](const char* option, double value) {
    if (!(value > 0 && is_finite(value))) invalid(fmt::format("{} is {}, must be finite and greater than 0", option, value));
    return NoiseScale{value};
  };
  Accuracy accuracy{positive("--standard-deviation", *options.standard_deviation), std::nullopt};
  if (options.sensitivity) accuracy.sensitivity = positive("--sensitivity", *options.sensitivity);
  const EventOfNumber event{options.event.text(), parse_adjacency(options.event.adjacency), options.unknown};
  const auto found = noise_of(event, accuracy);
  const auto best = accounting::best_epsilon(found.event, Delta{*options.delta}, {.width = options.width}, accounting::Bounds::all);
  if (options.json) {
    nlohmann::json object{{options.unknown, found.value},
                          {"standard_deviation", found.standard_deviation},
                          {"event", describe(found.event)},
                          {"adjacency", name(event.adjacency())}};
    add_cost(object, *options.delta, best);
    print(object);
    return exit_code::fine;
  }
  say("{:<12} = {}   (standard deviation {})\n", options.unknown, found.value, found.standard_deviation);
  say_cost(found.event, *options.delta, best);
  return exit_code::fine;
}

int calibrate_risk(const CalibrateOptions& options, const RiskTarget& target) {
  const EventOfNumber event{options.event.text(), target.adjacency, options.unknown};
  const auto parameter = parameter_of(event);
  const auto found = solve(event, target, parameter, accounting::Best{.effort = {.width = options.width}});
  const auto* const rate = std::get_if<RiskTarget::Rate>(&target.most);
  require_tight(options, found);
  if (options.json) {
    auto object = found_json(options, parameter, target.adjacency, found);
    if (rate != nullptr) {
      object["true_positive_rate"] = json(found.risk);
      object["false_positive_rate"] = *options.false_positive_rate;
      object["target"] = {{"true_positive_rate", *options.true_positive_rate}, {"false_positive_rate", *options.false_positive_rate}};
    } else {
      object["advantage"] = json(found.risk);
      object["target"] = {{"advantage", *options.advantage}};
    }
    print(object);
    return exit_code::fine;
  }
  say("{:<14} = {}   ({}; {})\n", options.unknown, found.value, parameter.name, neighbour(found.failing, found.failing_is_proved));
  say_if_not_tight(found, 14);
  if (rate != nullptr) {
    say("{:<14} in {} at a false-positive rate of {}\n", "true positives", text(found.risk), *options.false_positive_rate);
  } else {
    say("{:<14} in {}\n", "advantage", text(found.risk));
  }
  say("{:<14} {}\n", "event", describe(found.event));
  say("{:<14} {}\n", "adjacency", name(target.adjacency));
  return exit_code::fine;
}

/// A log names its own number, and has a target of epsilon and delta.
int calibrate_by_log(const CalibrateOptions& options) {
  const std::pair<bool, const char*> others[] = {{!options.event.event.empty(), "--event"},
                                                 {!options.unknown.empty(), "--solve"},
                                                 {options.rho.has_value(), "--rho"},
                                                 {options.standard_deviation.has_value(), "--standard-deviation"},
                                                 {options.sensitivity.has_value(), "--sensitivity"},
                                                 {options.advantage.has_value(), "--advantage"},
                                                 {options.true_positive_rate.has_value(), "--true-positive-rate"},
                                                 {options.false_positive_rate.has_value(), "--false-positive-rate"}};
  for (const auto& [is_given, option] : others) {
    if (is_given) invalid(fmt::format("--log and {} are given, must be one of them", option));
  }
  return calibrate_log({.file = options.log,
                        .adjacency = options.event.adjacency,
                        .epsilon = options.epsilon,
                        .delta = options.delta,
                        .readings = options.readings,
                        .width = options.width,
                        .require_tight = options.require_tight,
                        .json = options.json});
}

int calibrate(const CalibrateOptions& options) {
  if (!options.log.empty()) return calibrate_by_log(options);
  if (!options.readings.empty()) invalid("--reading is given without --log, must be given with it");
  for (const auto& [given, option] :
       {std::pair{&options.event.adjacency, "--adjacency"}, {&options.event.event, "--event"}, {&options.unknown, "--solve"}}) {
    if (given->empty()) invalid(fmt::format("{} is required", option));
  }
  if (options.standard_deviation) return calibrate_accuracy(options);
  if (options.sensitivity) invalid("--sensitivity is given without --standard-deviation, must be given with it");
  if (options.rho) return calibrate_rho(options);
  if (const auto risk = risk_target(options)) return calibrate_risk(options, *risk);
  const Target target{
      .epsilon = Epsilon{*options.epsilon}, .delta = Delta{*options.delta}, .adjacency = parse_adjacency(options.event.adjacency)};
  const EventOfNumber event{options.event.text(), target.adjacency, options.unknown};
  const auto parameter = parameter_of(event);
  accounting::BestCost cost{target, {.width = options.width}};
  const auto found = solve(event, target, parameter, cost.functions());
  const auto best = cost.report(found.event);
  require_tight(options, found);
  if (options.json) {
    auto object = found_json(options, parameter, target.adjacency, found);
    object["target"] = {{"epsilon", *options.epsilon}, {"delta", *options.delta}};
    add_cost(object, *options.delta, best);
    print(object);
    return exit_code::fine;
  }
  say("{:<12} = {}   ({}; {})\n", options.unknown, found.value, parameter.name, neighbour(found.failing, found.failing_is_proved));
  say_if_not_tight(found, 12);
  say_cost(found.event, *options.delta, best);
  return exit_code::fine;
}

}  // namespace

Command calibrate_command() {
  const auto describe = [](Command& command, OptionTable& table, CalibrateOptions& options) {
    options.event.add_optional_to(table);
    table.add("--solve", options.unknown, "The name in the event that stands for the number to find: noise, a scale, a rate, a count");
    table.add("--log", options.log, log_option_help);
    table.add("--reading", options.readings, reading_option_help);
    table.add("--epsilon", options.epsilon, "The target's epsilon", number());
    table.add("--delta", options.delta, "The target's delta", number());
    table.group("In place of --epsilon and --delta");
    table.add("--rho", options.rho, "The target's rho, of zero-concentrated privacy", number());
    table.add("--advantage", options.advantage, "The most by which an attacker's true positives may exceed his false positives", number());
    table.add("--true-positive-rate", options.true_positive_rate, "The most true positives that an attacker may have", number());
    table.add("--false-positive-rate", options.false_positive_rate, "and with how many false positives", number());
    table.group("In place of --epsilon: what an accuracy costs");
    table.add("--standard-deviation", options.standard_deviation,
              "The largest standard deviation that the noise on one number may have; the epsilon at --delta is printed", number());
    table
        .add("--sensitivity", options.sensitivity,
             "Of the query whose noise is a multiple of it, in its units; of record_sum and laplace_record_sum the bound on one record",
             number())
        .standard("1");
    table.group("");
    table.add("--width", options.width, "The width in epsilon that accountants on a grid aim at", number());
    table.add("--require-tight", options.require_tight,
              "Exit with 6 where the nearest value that is not proved to meet the target is more than 1 % away");
    table.add("--json", options.json, "Print one JSON object");
    command.footer = R"(Examples:
  surety calibrate --event 'repeat(100, gaussian(z))' --solve z --epsilon 1 --delta 1e-5 --adjacency replace-one
  surety calibrate --event 'repeat(100000, poisson(0.001, gaussian(z)))' --solve z --epsilon 1 --delta 1e-6 \
                   --adjacency add-or-remove-one
  surety calibrate --event 'repeat(steps, poisson(0.01, gaussian(1)))' --solve steps --epsilon 4 --delta 1e-5 \
                   --adjacency add-or-remove-one
  surety calibrate --event 'repeat(1000, poisson(0.01, gaussian(z)))' --solve z --adjacency add-or-remove-one \
                   --true-positive-rate 0.05 --false-positive-rate 0.01
  surety calibrate --event 'repeat(100, discrete_gaussian(s, 1))' --solve s --rho 0.5 --adjacency replace-one
  surety calibrate --event 'randomized_response(p, 165)' --solve p --epsilon 14 --delta 0 --adjacency replace-one
  surety calibrate --event 'repeat(10, gaussian(z))' --solve z --standard-deviation 50 --sensitivity 2 --delta 1e-6 \
                   --adjacency replace-one
  surety calibrate --log run.json --adjacency zero-out --epsilon 2 --delta 1e-6
  surety calibrate --event 'compose(gaussian(z), repeat(10, gaussian(50)))' --solve z --epsilon 2 --delta 1e-6 \
                   --adjacency add-or-remove-one --json)";
  };
  return make_command("calibrate", "Print the value of one number in an event, or of the noise of a run's log, that meets a target",
                      calibrate, describe);
}

}  // namespace surety::cli
