#include "answers.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/answers/explanation.h>
#include <surety/accounting/answers/risk.h>
#include <surety/accounting/answers/tradeoff.h>
#include <surety/accounting/calibration/accuracy.h>
#include <surety/accounting/calibration/best_cost.h>
#include <surety/accounting/calibration/solve.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/event_text.h>
#include <surety/accounting/logs/log_json.h>

#include "arguments.h"
#include "calls.h"
#include "texts.h"

namespace surety::python {
namespace {

using Ends = std::pair<double, double>;
Ends ends(const Enclosure& enclosure) { return {enclosure.lower, enclosure.upper}; }

using Answer = std::tuple<double, double, std::string>;
Answer answer(const accounting::BestAnswer& best) { return {best.value.lower, best.value.upper, std::string{best.accountant}}; }

/// The events that it is one of each of; itself where it is nothing of the kind.
std::vector<Event> parts_of(const Event& event) {
  if (const auto* const composed = std::get_if<Event::Composed>(&event.node())) return composed->events;
  return {event};
}

/// `lower` and `upper` become the ends of `value(curve, x)` at each x of `at`.
template <class Value>
void fill_curve(const Event& event, std::optional<double> width, LimitSeconds seconds, const Block& at, const Block& lower,
                const Block& upper, const Value& value) {
  const auto effort = effort_of(width);
  const auto x = at.doubles("at");
  const auto low = lower.doubles("lower");
  const auto high = upper.doubles("upper");
  if (low.size() != x.size() || high.size() != x.size()) invalid("the results have another length than what is asked for");
  asked(seconds, [&] {
    const accounting::QuickCurve quick{event, effort};
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Enclosure found = value(quick, x[i]);
      low[i] = found.lower;
      high[i] = found.upper;
    }
  });
}

/// An audit or a calibration of a log, as JSON.
template <auto answer>
auto log_function() {
  return [](const std::string& log, const std::optional<std::string>& adjacency, std::optional<double> epsilon, std::optional<double> delta,
            const std::vector<std::string>& readings, std::optional<double> width, LimitSeconds seconds) {
    return asked(seconds, [&] {
      accounting::LogQuestion question{.effort = effort_of(width)};
      if (adjacency) question.adjacency = parse_adjacency(*adjacency);
      if (epsilon) question.epsilon = Epsilon{*epsilon};
      if (delta) question.delta = Delta{*delta};
      for (const auto& reading : readings) question.only.push_back(accounting::parse_logged_sampler(reading));
      return answer(log, question);
    });
  };
}

void curve(const Event& event, nb::handle epsilons, nb::handle lower, nb::handle upper, std::optional<double> width, LimitSeconds seconds) {
  fill_curve(event, width, seconds, Block{epsilons, "epsilons"}, Block{lower, "lower"}, Block{upper, "upper"},
             [](const accounting::QuickCurve& quick, double at) { return quick(Epsilon{at}); });
}

void tradeoff(const Event& event, nb::handle rates, nb::handle lower, nb::handle upper, std::optional<double> width, LimitSeconds seconds) {
  fill_curve(event, width, seconds, Block{rates, "false_positive_rates"}, Block{lower, "lower"}, Block{upper, "upper"},
             [](const accounting::QuickCurve& quick, double at) { return accounting::tradeoff(quick, Probability{at}); });
}

auto risk(const Event& event, const std::vector<double>& rates, double prior, double floor, std::optional<double> width,
          LimitSeconds seconds) {
  return asked(seconds, [&] {
    accounting::RiskQuestions questions{.false_positive_rates = {}, .prior = Probability{prior}, .floor = Delta{floor}};
    for (const double rate : rates) questions.false_positive_rates.emplace_back(rate);
    const auto found = accounting::risk(event, questions, effort_of(width));
    std::vector<std::pair<double, Ends>> at;
    for (const auto& one : found.rates) at.emplace_back(one.false_positive_rate.value(), ends(one.true_positive_rate));
    return std::tuple{ends(found.advantage), at, ends(found.accuracy), ends(found.mu), ends(found.mu_above_floor)};
  });
}

auto solve_target(const std::string& text, const std::string& unknown, const std::string& adjacency, double epsilon, double delta,
                  std::optional<double> width, LimitSeconds seconds) {
  return asked(seconds, [&] {
    const Target target{.epsilon = Epsilon{epsilon}, .delta = Delta{delta}, .adjacency = parse_adjacency(adjacency)};
    const EventOfNumber event{text, target.adjacency, unknown};
    const auto parameter = parameter_of(event);
    accounting::BestCost cost{target, effort_of(width)};
    const auto found = solve(event, target, parameter, cost.functions());
    return std::tuple{found.value,    found.failing, found.failing_is_proved,         found.gap,
                      parameter.name, found.event,   answer(cost.report(found.event))};
  });
}

auto solve_risk(const std::string& text, const std::string& unknown, const std::string& adjacency, double most,
                std::optional<double> false_positive_rate, std::optional<double> width, LimitSeconds seconds) {
  return asked(seconds, [&] {
    RiskTarget target{.most = RiskTarget::Advantage{Probability{most}}, .adjacency = parse_adjacency(adjacency)};
    if (false_positive_rate) target.most = RiskTarget::Rate{Probability{most}, Probability{*false_positive_rate}};
    const EventOfNumber event{text, target.adjacency, unknown};
    const auto parameter = parameter_of(event);
    const auto found = solve(event, target, parameter, accounting::Best{.effort = effort_of(width)});
    return std::tuple{found.value, found.failing, found.failing_is_proved, found.gap, parameter.name, found.event, ends(found.risk)};
  });
}

auto solve_rho(const std::string& text, const std::string& unknown, const std::string& adjacency, double rho, LimitSeconds seconds) {
  return asked(seconds, [&] {
    const RhoTarget target{Rho{rho}, parse_adjacency(adjacency)};
    const EventOfNumber event{text, target.adjacency, unknown};
    const auto parameter = parameter_of(event);
    const auto found = solve(event, target, parameter);
    return std::tuple{found.value, found.failing, found.failing_is_proved, found.gap, parameter.name, found.event, ends(found.rho)};
  });
}

auto noise_of_accuracy(const std::string& text, const std::string& unknown, const std::string& adjacency, double standard_deviation,
                       std::optional<double> sensitivity) {
  return unlocked([&] {
    Accuracy accuracy{NoiseScale{standard_deviation}, std::nullopt};
    if (sensitivity) accuracy.sensitivity = NoiseScale{*sensitivity};
    const EventOfNumber event{text, parse_adjacency(adjacency), unknown};
    const auto found = noise_of(event, accuracy);
    return std::tuple{found.value, parameter_of(event).name, found.event};
  });
}

}  // namespace

using namespace nb::literals;

void add_answers(nb::module_& module) {
  nb::class_<Event>(module, "Event", nb::is_final())
      .def("text", [](const Event& event) { return unlocked([&] { return describe(event); }); })
      .def("json", [](const Event& event) { return unlocked([&] { return to_json_text(event); }); })
      .def("adjacency", [](const Event& event) { return std::string{name(event.adjacency())}; })
      .def("parts", &parts_of);
  module.def(
      "parse_event",
      [](const std::string& text, const std::string& adjacency, const std::map<std::string, double>& values) {
        return unlocked([&] { return parse_event(text, parse_adjacency(adjacency), values); });
      },
      "text"_a, "adjacency"_a, "values"_a);
  module.def(
      "parse_json", [](const std::string& text) { return unlocked([&] { return event_from_json(text); }); }, "text"_a);
  module.def(
      "repeat", [](nb::handle count, const Event& event) { return repeat(count_of(count, "count"), event); }, "count"_a, "event"_a);
  module.def(
      "compose", [](const std::vector<Event>& events) { return unlocked([&] { return compose(events); }); }, "events"_a);

  module.def(
      "epsilon",
      [](const Event& event, double delta, std::optional<double> width, LimitSeconds seconds) {
        return asked(seconds,
                     [&] { return answer(accounting::best_epsilon(event, Delta{delta}, effort_of(width), accounting::Bounds::needed)); });
      },
      "event"_a, "delta"_a, "width"_a.none(), "limit_seconds"_a.none());
  module.def(
      "delta",
      [](const Event& event, double epsilon, std::optional<double> width, LimitSeconds seconds) {
        return asked(seconds,
                     [&] { return answer(accounting::best_delta(event, Epsilon{epsilon}, effort_of(width), accounting::Bounds::needed)); });
      },
      "event"_a, "epsilon"_a, "width"_a.none(), "limit_seconds"_a.none());
  module.def(
      "explain",
      [](const Event& event, std::optional<double> delta, std::optional<double> epsilon, std::optional<double> width,
         LimitSeconds seconds) {
        if (delta.has_value() == epsilon.has_value()) invalid("one of delta and epsilon must be given");
        return asked(seconds, [&] {
          const auto question = delta ? accounting::Question{Delta{*delta}} : accounting::Question{Epsilon{*epsilon}};
          return accounting::explained_json_text(event, question, effort_of(width));
        });
      },
      "event"_a, "delta"_a.none(), "epsilon"_a.none(), "width"_a.none(), "limit_seconds"_a.none());
  module.def("audit_log", log_function<accounting::audit_log_text>(), "log"_a, "adjacency"_a.none(), "epsilon"_a.none(), "delta"_a.none(),
             "readings"_a, "width"_a.none(), "limit_seconds"_a.none());
  module.def("calibrate_log", log_function<accounting::calibrate_log_text>(), "log"_a, "adjacency"_a.none(), "epsilon"_a.none(),
             "delta"_a.none(), "readings"_a, "width"_a.none(), "limit_seconds"_a.none());
  module.def("curve", &curve, "event"_a, "epsilons"_a, "lower"_a, "upper"_a, "width"_a.none(), "limit_seconds"_a.none());
  module.def("tradeoff", &tradeoff, "event"_a, "false_positive_rates"_a, "lower"_a, "upper"_a, "width"_a.none(), "limit_seconds"_a.none());
  module.def("risk", &risk, "event"_a, "false_positive_rates"_a, "prior"_a, "floor"_a, "width"_a.none(), "limit_seconds"_a.none());
  module.def("solve", &solve_target, "text"_a, "unknown"_a, "adjacency"_a, "epsilon"_a, "delta"_a, "width"_a.none(),
             "limit_seconds"_a.none());
  module.def("solve_risk", &solve_risk, "text"_a, "unknown"_a, "adjacency"_a, "most"_a, "false_positive_rate"_a.none(), "width"_a.none(),
             "limit_seconds"_a.none());
  module.def("solve_rho", &solve_rho, "text"_a, "unknown"_a, "adjacency"_a, "rho"_a, "limit_seconds"_a.none());
  module.def("noise_of_accuracy", &noise_of_accuracy, "text"_a, "unknown"_a, "adjacency"_a, "standard_deviation"_a, "sensitivity"_a.none());
}

}  // namespace surety::python
