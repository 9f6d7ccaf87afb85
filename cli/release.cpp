// surety release: one private statistic, charged to a ledger before its noise is drawn.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/accountants/best.h>
#include <surety/accounting/calibration/best_cost.h>
#include <surety/accounting/calibration/solve.h>
#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>
#include <surety/accounting/events/words.h>
#include <surety/data/text_reader.h>
#include <surety/statistics/statistics.h>

#include "command.h"
#include "data_options.h"
#include "files.h"
#include "output.h"
#include "private_run.h"
#include "validators.h"

namespace surety::cli {
namespace {

using namespace data;
using namespace statistics;

struct ReleaseOptions {
  std::string data;
  std::string query;
  std::optional<std::string> where;
  std::optional<std::string> bounds;
  std::optional<std::uint64_t> bins;
  std::optional<std::string> categories;

  DataOptions reading;
  PrivateRunOptions run;
  std::string noise = "best";
  double confidence = 0.95;
  bool json = false;
};

/// "sum(age)" as a function and its column.
std::pair<std::string, std::string> parse_query(const std::string& text) {
  const auto open = text.find('(');
  const auto query = trimmed(text);
  if (open == std::string::npos || !query.ends_with(')')) {
    invalid(fmt::format("--query is '{}', must be count(), sum(column), mean(column) or histogram(column)", one_line(text)));
  }
  const auto column = std::string_view{text}.substr(open + 1, text.rfind(')') - open - 1);
  return {std::string{trimmed(std::string_view{text}.substr(0, open))}, std::string{trimmed(column)}};
}

Bounds parse_bounds(const std::string& text) {
  const auto [lower, upper] = parse_ends(text, "--bounds");
  return {lower, upper};
}

LabelRule parse_condition(const std::string& text) {
  try {
    if (auto rule = parse_label_rule(text); rule.test) return rule;
  } catch (const Error&) {  // which speaks of a label
  }
  invalid(fmt::format("--where is '{}', must be a comparison with a number such as 'visits>0'", one_line(text)));
}

/// What is asked, as far as options say it. \throws Error{invalid_argument} for an option that is missing or out of place.
Statistic parse_statistic(const ReleaseOptions& options) {
  const auto [function, column] = parse_query(options.query);
  const auto refuse_option = [&function = function](bool is_given, std::string_view option) {
    if (is_given) invalid(fmt::format("{} is not for {}(), must be left out", option, function));
  };
  const auto bounds = [&, &function = function] {
    if (!options.bounds) invalid(fmt::format("--bounds is missing: {}() needs public bounds lower,upper", function));
    return parse_bounds(*options.bounds);
  };
  if (function != "count" && function != "sum" && function != "mean" && function != "histogram") {
    invalid(fmt::format("--query has '{}', must be count, sum, mean or histogram there{}", one_line(function),
                        did_you_mean(function, std::array<std::string_view, 4>{"count", "sum", "mean", "histogram"})));
  }
  const bool is_histogram = function == "histogram";
  if (function == "count") {
    if (!column.empty()) invalid(fmt::format("--query is '{}', must be count(): a condition goes to --where", one_line(options.query)));
    refuse_option(options.bounds.has_value(), "--bounds");
  } else if (column.empty()) {
    invalid(fmt::format("--query is '{}', must name a column", one_line(options.query)));
  }
  if (!is_histogram) {
    refuse_option(options.bins.has_value(), "--bins");
    refuse_option(options.categories.has_value(), "--categories");
  }
  Statistic statistic{.of = CountOf{}, .adjacency = parse_adjacency(options.run.adjacency)};
  if (options.where) statistic.where = parse_condition(*options.where);
  if (function == "sum") {
    statistic.of = SumOf{column, bounds()};
  } else if (function == "mean") {
    statistic.of = MeanOf{column, bounds()};
  } else if (is_histogram && options.categories) {
    refuse_option(options.bounds.has_value(), "--bounds beside --categories");
    refuse_option(options.bins.has_value(), "--bins beside --categories");
    statistic.of = HistogramOf{column, Categories{parse_values(*options.categories, "--categories")}};
  } else if (is_histogram) {
    if (!options.bins) invalid("--bins or --categories is missing: the cells of a histogram are public");
    statistic.of = HistogramOf{column, Bins{bounds(), *options.bins}};
  }
  statistic.validate();
  return statistic;
}

/// A mechanism that meets the target, with the empty sum that it is for.
struct Candidate {
  Solution cost;
  StatisticSum sum;
  StatisticNoise noise;
};

using EventOf = std::function<Event(double)>;

/// The cost of `event(value)` where its certified bounds meet the target.
std::optional<Solution> meeting(const EventOf& event, double value, const Target& target, const CostFunctions& cost) {
  const Event made = event(value);
  const Enclosure epsilon = cost.epsilon(made, target.delta);
  if (epsilon.upper > target.epsilon.value()) return std::nullopt;
  const Enclosure delta = cost.delta(made, target.epsilon);
  if (delta.upper > target.delta.value()) return std::nullopt;
  return Solution{.value = value, .event = made, .epsilon = epsilon, .delta = delta, .failing = std::nullopt};
}

/// The scale b of laplace(b) that meets the target. Its curve 1 - exp((epsilon - 1 / b) / 2) proposes, and the accountant decides, which
/// spares a search: all values but a few are far from the target.
Solution solve_laplace(const EventOf& event, const Target& target, const CostFunctions& cost) {
  const double proposed = 1 / (target.epsilon.value() - 2 * std::log1p(-target.delta.value()));
  constexpr double lowest = 0x1p-600;
  constexpr double highest = 0x1p600;
  if (target.epsilon.value() > 0 && proposed > lowest && proposed < highest) {
    for (double margin = 0x1p-52; margin < 0x1p-20; margin *= 2) {
      if (auto found = meeting(event, proposed * (1 + margin), target, cost)) return *std::move(found);
    }
  }
  return solve(event, target, {.name = "scale", .lowest = lowest, .highest = highest}, cost);
}

Candidate calibrated(const Statistic& statistic, const Target& target, bool is_gaussian) {
  const EventOf event = [&](double value) {
    return is_gaussian ? gaussian(NoiseMultiplier{value}, target.adjacency)
                       : surety::release(Event::Laplace{NoiseScale{value}}, target.adjacency);
  };
  const CostFunctions cost = accounting::best_cost(target);
  auto found = is_gaussian ? solve(event, target, {.name = "noise multiplier", .lowest = 0x1p-600, .highest = 0x1p600}, cost)
                           : solve_laplace(event, target, cost);
  StatisticSum sum{statistic, grid_for(statistic, NoiseMultiplier{found.value})};
  StatisticNoise noise = noise_for(sum, found.event);
  return {std::move(found), std::move(sum), std::move(noise)};
}

/// The mechanism asked for, or the one whose noise has the smaller standard deviation. Public.
Candidate choose(const Statistic& statistic, const Target& target, const std::string& noise) {
  if (noise == "gaussian") return calibrated(statistic, target, true);
  auto laplace = calibrated(statistic, target, false);
  if (noise == "laplace" || target.delta.value() == 0) return laplace;
  auto gaussian = calibrated(statistic, target, true);
  return standard_deviation(gaussian.noise) < standard_deviation(laplace.noise) ? gaussian : laplace;
}

struct ReleaseReport {
  Candidate chosen;
  accounting::RunId run;
  std::uint64_t records;
  std::vector<Estimate> estimates;
};

void print_report(const ReleaseOptions& options, const ReleaseReport& report) {
  const auto line = [](std::string_view field, const std::string& value) { fmt::print("{:<12} {}\n", field, value); };
  const auto& sum = report.chosen.sum;
  const auto value = [&](double number) { return sum.counts() ? fmt::format("{:.0f}", number) : fmt::format("{:.10g}", number); };
  const auto interval = [&](const Estimate& estimate) {
    if (sum.counts()) return fmt::format("[{:.0f}, {:.0f}]", estimate.lower, estimate.upper);
    return fmt::format("[{}, {}]", rounded_down(estimate.lower), rounded_up(estimate.upper));
  };
  line("query", describe(sum.statistic()));
  if (report.estimates.size() == 1 && !sum.is_histogram()) {
    line("value", value(report.estimates.front().value));
    line("interval", fmt::format("{} with confidence {}, over the noise alone", interval(report.estimates.front()), options.confidence));
  }
  line("adjacency", options.run.adjacency);
  line("unit", describe(options.run.unit));
  line("promise", fmt::format("epsilon = {} at delta = {}", options.run.epsilon, options.run.delta));
  line("released", describe(report.chosen.cost.event));
  line("epsilon", fmt::format("in {} at delta = {}", text(report.chosen.cost.epsilon), options.run.delta));
  line("noise", fmt::format("{}, standard deviation {:.6g} on {}", name(report.chosen.noise), standard_deviation(report.chosen.noise),
                            sum.what_is_released()));
  line("ledger", options.run.ledger_and(report.run));
  if (options.run.replay_seed) line("NOT PRIVATE", "the noise was replayed from a known seed");
  if (!sum.is_histogram()) return;
  const auto names = sum.names();
  std::size_t width = 4;
  for (const auto& cell : names) width = std::max(width, cell.size());
  fmt::print("\n{:<{}} {:>12}   interval with confidence {} for each cell alone, over the noise\n", "cell", width, "count",
             options.confidence);
  for (std::size_t k = 0; k < names.size(); ++k) {
    fmt::print("{:<{}} {:>12}   {}\n", one_line(names[k]), width, value(report.estimates[k].value), interval(report.estimates[k]));
  }
}

void print_json(const ReleaseOptions& options, const ReleaseReport& report) {
  const auto& sum = report.chosen.sum;
  const auto number = [&](double value) -> nlohmann::json {
    if (std::isinf(value)) return accounting::json_number(value);
    if (sum.counts()) return static_cast<std::int64_t>(value);
    return value;
  };
  const auto estimate_json = [&](const Estimate& estimate) {
    return nlohmann::json{{"value", number(estimate.value)}, {"interval", {number(estimate.lower), number(estimate.upper)}}};
  };
  nlohmann::json object{{"query", describe(sum.statistic())},
                        {"adjacency", options.run.adjacency},
                        {"promise", {{"epsilon", options.run.epsilon}, {"delta", options.run.delta}}},
                        {"event", describe(report.chosen.cost.event)},
                        {"epsilon", json(report.chosen.cost.epsilon)},
                        {"delta", options.run.delta},
                        {"noise", name(report.chosen.noise)},
                        {"standard_deviation", standard_deviation(report.chosen.noise)},
                        {"noise_is_on", sum.what_is_released()},
                        {"l1_sensitivity", sum.l1_sensitivity().value()},
                        {"l2_sensitivity", sum.l2_sensitivity().value()},
                        {"grid_step", sum.grid().step()},
                        {"confidence", options.confidence},
                        {"not_private", options.run.replay_seed.has_value()}};
  object.update(options.run.charge_json(report.run));
  if (sum.statistic().has_public_count()) object["records"] = report.records;
  if (sum.is_histogram()) {
    const auto names = sum.names();
    object["cells"] = nlohmann::json::array();
    for (std::size_t k = 0; k < names.size(); ++k) {
      auto cell = estimate_json(report.estimates[k]);
      cell["cell"] = names[k];
      object["cells"].push_back(std::move(cell));
    }
  } else {
    object.update(estimate_json(report.estimates.front()));
  }
  print(object);
}

int release(const ReleaseOptions& options, const OptionTable& given) {
  // Parameters, budget and entropy fail here, before private data is read.
  if (!(options.confidence > 0 && options.confidence < 1)) {
    invalid(fmt::format("--confidence is {}, must be greater than 0 and less than 1", options.confidence));
  }
  const Target target = options.run.target();
  const auto statistic = parse_statistic(options);
  require_separate({.ledger = NamedFile{"--ledger", options.run.ledger}, .inputs = options.run.inputs({{"the data file", options.data}})});
  auto chosen = choose(statistic, target, options.noise);
  const auto planned = options.run.plan(chosen.cost.event, describe(statistic));
  if (options.run.is_only_planned({.command = "release",
                                   .options = given,
                                   .target = target,
                                   .unit = options.run.unit,
                                   .event = chosen.cost.event,
                                   .noise = chosen.cost.value})) {
    return exit_code::fine;
  }
  options.run.check(planned);
  RunBits bits{options.run.replay_seed};
  const double reach = chosen.sum.reach(chosen.noise, options.confidence);

  const auto records = read_statistic(options.data, chosen.sum, options.reading.policy());
  auto reservation = options.run.reserve(planned);

  // From here on nothing depends on data but the values.
  const auto released = statistics::release(chosen.sum, chosen.noise, reservation, bits.source());

  auto estimates = chosen.sum.estimates(released, reach, records);
  const ReleaseReport report{.chosen = std::move(chosen), .run = reservation.id(), .records = records, .estimates = std::move(estimates)};
  return report_and_settle(reservation, options.run.ledger,
                           [&] { options.json ? print_json(options, report) : print_report(options, report); });
}

}  // namespace

Command release_command(const PlannedArguments& given) {
  Command command{.name = "release", .summary = "Release one private statistic and write what it spent into a ledger"};
  auto& table = command.options;
  const auto options = std::make_shared<ReleaseOptions>();
  table.add("data", options->data, "A CSV file with a header, plain or gzip").required();

  table.group("Query");
  table.add("--query", options->query, "count(), sum(column), mean(column) or histogram(column)").required();
  table.add("--where", options->where, "Only records that meet a comparison with a number, such as 'visits>0'");
  table.add("--bounds", options->bounds, "lower,upper, known without looking at the data: numbers are clamped to them");
  table.add("--bins", options->bins, "Histogram: this many cells of equal width between the bounds", whole_number(2, Statistic::most_bins));
  table.add("--categories", options->categories,
            "Histogram: text,text,...: one cell for each text, known without looking at the data; others are in no cell. Blanks "
            "around a text do not count, and one with a comma stands in quotes: 'Rome, \"New York, NY\"'");
  table.add("--confidence", options->confidence, "Of the interval that holds the statistic of the clamped records", number());
  options->reading.add_form_to(table);
  options->reading.add_limits_to(table);

  table.group("Privacy");
  options->run.add_promise_to(table, false);
  table.add("--noise", options->noise, "laplace, gaussian, or best: the one of smaller standard deviation (laplace at delta = 0)",
            one_of({"best", "laplace", "gaussian"}));
  options->run.add_ledger_to(table);

  table.group("Output");
  table.add("--json", options->json, "Print one JSON object");
  options->run.add_plan_to(table);
  options->run.expected = given.expected;
  command.footer =
      "The number of records is public under replace-one and zero-out, unless --where selects some: a mean is then the noisy sum over\n"
      "that number. Elsewhere a mean is the ratio of a sum and a count that share one release, half of the noise's reach each.\n"
      "Under replace-one a record moves a sum by upper - lower, and where it may cease to meet --where by the larger magnitude of the\n"
      "bounds, too; under add-or-remove-one and zero-out, whose records come and go, by that magnitude alone.\n"
      "The interval is about the noise: it knows nothing of sampling, nor of numbers beyond the bounds.\n"
      "Every line end outside quotes ends a record. A cell that is missing or no number counts as 0, clamped to --bounds, is in no cell\n"
      "of a histogram and meets no --where, by which it can be left out; so does every cell of a record with a wrong number of them.\n"
      "Examples:\n"
      "  surety release examples/data/randhie.csv --query 'mean(mdvis)' --bounds 0,20 --epsilon 0.5 --ledger run.db\n"
      "  surety release examples/data/randhie.csv --query 'count()' --where 'mdvis>0' --epsilon 0.5 --ledger run.db\n"
      "  surety release examples/data/randhie.csv --query 'histogram(hlthg)' --categories 0,1 --epsilon 1 --delta 1e-6 \\\n"
      "                 --ledger run.db";
  command.run = [options](const Command& said) { return release(*options, said.options); };
  return command;
}

}  // namespace surety::cli
