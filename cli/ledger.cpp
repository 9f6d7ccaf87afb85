// surety ledger: make one, with or without a budget; list its runs; show one.
#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include <surety/accounting/accountants/best.h>
#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>
#include <surety/accounting/ledger/ledger.h>

#include "command.h"
#include "files.h"
#include "output.h"
#include "validators.h"

namespace surety::cli {
namespace {

using accounting::Ledger;

struct LedgerOptions {
  std::string path;
  std::string adjacency;
  std::optional<double> epsilon;
  std::optional<double> delta;
  std::string filter = "zcdp";  // admits most of what the commands release
  std::uint64_t run = 0;
  bool json = false;
};

std::string_view settlement_word(const accounting::Run& run) { return run.settlement ? "settled" : "reserved"; }

nlohmann::json event_json(const std::optional<Event>& event) { return event ? to_json(*event) : nlohmann::json{}; }

/// What runs cost at their promises' deltas. Equal runs are accounted for once.
class Costs {
 public:
  /// Nothing without a promise, or where no accountant has a theorem.
  [[nodiscard]] std::optional<Enclosure> of(const accounting::Run& run) {
    if (!run.plan.promise) return std::nullopt;
    const auto charged = run.charged();
    if (!charged) return Enclosure{0, 0};
    const auto delta = run.plan.promise->delta;
    const auto [known, is_new] = known_.try_emplace({to_json(*charged).dump(), delta.value()});
    if (is_new) {
      try {
        known->second = accounting::quick_epsilon(*charged, delta);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::unsupported) throw;
      }
    }
    if (known->second && run.plan.not_private) return Enclosure{known->second->lower, std::numeric_limits<double>::infinity()};
    return known->second;
  }

 private:
  std::map<std::pair<std::string, double>, std::optional<Enclosure>> known_;
};

nlohmann::json run_json(const accounting::Run& run, Costs& costs) {
  nlohmann::json object{{"run", run.id.value},           {"unit", to_json(run.plan.unit)},     {"created", run.created},
                        {"state", settlement_word(run)}, {"planned", to_json(run.plan.event)}, {"charged", event_json(run.charged())},
                        {"note", run.plan.note},         {"not_private", run.plan.not_private}};
  if (run.plan.promise) object["promise"] = {{"epsilon", run.plan.promise->epsilon.value()}, {"delta", run.plan.promise->delta.value()}};
  if (run.settlement) {
    object["settled"] = {{"time", run.settlement->time},
                         {"released", event_json(run.settlement->released)},
                         {"stop", accounting::name(run.settlement->stopping)}};
  }
  if (const auto cost = costs.of(run)) object["epsilon"] = json(*cost);
  return object;
}

int create(const LedgerOptions& options) {
  const auto adjacency = parse_adjacency(options.adjacency);
  if (options.epsilon.has_value() != options.delta.has_value()) {
    invalid("a budget needs both --epsilon and --delta");
  }
  std::optional<accounting::Budget> budget;
  if (options.epsilon) {
    budget = accounting::Budget{.target = {.epsilon = Epsilon{*options.epsilon}, .delta = Delta{*options.delta}, .adjacency = adjacency},
                                .filter = accounting::parse_filter_kind(options.filter)};
  }
  const auto ledger = Ledger::create(options.path, adjacency, budget);
  if (options.json) {
    nlohmann::json object{{"ledger", options.path}, {"adjacency", name(adjacency)}, {"unit", to_json(ledger.unit())}};
    if (budget) object["budget"] = {{"epsilon", *options.epsilon}, {"delta", *options.delta}, {"filter", options.filter}};
    print(object);
  } else if (budget) {
    fmt::print("made {} under {} for {} with a budget of epsilon = {} at delta = {} ({} filter)\n", shown(options.path), name(adjacency),
               describe(ledger.unit()), *options.epsilon, *options.delta, options.filter);
  } else {
    fmt::print("made {} under {} for {} without a budget\n", shown(options.path), name(adjacency), describe(ledger.unit()));
  }
  return exit_code::fine;
}

int list(const LedgerOptions& options) {
  const auto ledger = Ledger::open(options.path);
  const auto runs = ledger.runs();
  Costs costs;
  if (options.json) {
    auto array = nlohmann::json::array();
    for (const auto& run : runs) array.push_back(run_json(run, costs));
    print(
        {{"ledger", options.path}, {"adjacency", name(ledger.adjacency())}, {"unit", to_json(ledger.unit())}, {"runs", std::move(array)}});
    return exit_code::fine;
  }
  for (const auto& run : runs) {
    const auto charged = run.charged();
    const auto cost = costs.of(run);
    fmt::print("{:>4}  {}  {:<8}  {}{}{}  # {}\n", run.id.value, run.created, settlement_word(run),
               charged ? describe(*charged) : "nothing",
               cost ? fmt::format("  epsilon <= {} at delta = {}", rounded_up(cost->upper, 6), run.plan.promise->delta) : "",
               run.plan.not_private ? "  NOT PRIVATE" : "", one_line(run.plan.note));
  }
  fmt::print("{} run{} under {}, each for {}\n", runs.size(), runs.size() == 1 ? "" : "s", name(ledger.adjacency()),
             describe(ledger.unit()));
  return exit_code::fine;
}

int show(const LedgerOptions& options) {
  for (const auto& run : Ledger::open(options.path).runs()) {
    if (run.id.value != options.run) continue;
    Costs costs;
    if (options.json) {
      print(run_json(run, costs));
      return exit_code::fine;
    }
    const auto line = [](std::string_view field, std::string_view value) { fmt::print("{:<12} {}\n", field, value); };
    line("run", fmt::format("{}", run.id.value));
    line("note", one_line(run.plan.note));
    line("created", run.created);
    line("unit", describe(run.plan.unit));
    line("planned", describe(run.plan.event));
    if (run.settlement) {
      line("settled", run.settlement->time);
      line("released", run.settlement->released ? describe(*run.settlement->released) : "nothing");
      line("stop", accounting::name(run.settlement->stopping));
    } else {
      line("settled", "no: running or killed, counts in full");
    }
    if (run.plan.promise) line("promise", fmt::format("epsilon = {} at delta = {}", run.plan.promise->epsilon, run.plan.promise->delta));
    if (const auto cost = costs.of(run)) line("epsilon", fmt::format("in {} at delta = {}", text(*cost), run.plan.promise->delta));
    line("noise", run.plan.not_private ? "NOT PRIVATE: replayed from a known seed" : "fresh");
    return exit_code::fine;
  }
  invalid(fmt::format("run is {}, must be one that 'surety ledger list {}' shows", options.run, one_line(options.path)));
}

}  // namespace

Command ledger_command() {
  Command command{.name = "ledger", .summary = "Make a ledger, list its runs, show one"};
  const auto options = std::make_shared<LedgerOptions>();
  const auto add = [&](const char* word, const char* help, int (*action)(const LedgerOptions&)) -> Command& {
    auto& subcommand = command.commands.emplace_back(Command{.name = word, .summary = help});
    subcommand.options.add("ledger", options->path, "The ledger's file").required();
    subcommand.options.add("--json", options->json, "Print one JSON object");
    subcommand.run = [options, action](const Command&) {
      require_separate({.ledger = NamedFile{"the ledger", options->path}});
      return action(*options);
    };
    return subcommand;
  };
  // Each stays in place until the next is added.
  auto& create_command = add("create", "Make a ledger, with a budget if --epsilon and --delta say one", create);
  create_command.options.add("--adjacency", options->adjacency, "add-or-remove-one, replace-one or zero-out").required();
  create_command.options.add("--epsilon", options->epsilon, "The budget's epsilon", number());
  create_command.options.add("--delta", options->delta, "The budget's delta", number());
  create_command.options.add(
      "--filter", options->filter,
      "The rule that every later run must pass: zcdp (for Gaussian and pure releases), gaussian (costs least, for Gaussian "
      "noise alone) or basic (for pure and approximate releases, also at delta = 0)",
      one_of({"gaussian", "zcdp", "basic"}));
  create_command.footer = "Example:\n  surety ledger create run.db --adjacency replace-one --epsilon 2 --delta 1e-5";
  add("list", "List the runs, what each is charged, and what that costs at its promise's delta", list).footer =
      "Example:\n  surety ledger list run.db";
  auto& show_command = add("show", "Show one run", show);
  show_command.options.add("run", options->run, "The run's number", whole_number()).required();
  show_command.footer = "Example:\n  surety ledger show run.db 1 --json";
  return command;
}

}  // namespace surety::cli
