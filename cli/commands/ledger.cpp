// surety ledger: make one, with or without a budget; list its runs; show where its budget stands, or one run.
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>
#include <surety/accounting/ledger/audit_json.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/accounting/ledger/ledger_report.h>
#include <surety/accounting/ledger/standing.h>
#include <surety/cli/commands/command.h>
#include <surety/cli/commands/private_run.h>
#include <surety/cli/files/files.h>
#include <surety/cli/parser/event_options.h>
#include <surety/cli/print/output.h>

namespace surety::cli {
namespace {

using accounting::Ledger;

struct LedgerOptions {
  std::string path;
  bool is_of_variable = false;  ///< whether SURETY_LEDGER says the path
  std::string adjacency;
  jobs::UnitFields unit;
  jobs::ReadingFields reading;  ///< of the files to come, as far as that finds a unit
  std::optional<double> epsilon;
  std::optional<double> delta;
  std::optional<double> rho;
  std::optional<std::string> filter;  // renyi, which admits all that the commands release; with a rho zcdp
  std::optional<double> order;
  std::string planned;
  std::optional<std::uint64_t> run;
  bool json = false;
};

accounting::Budget budget_of_rho(const LedgerOptions& options, Adjacency adjacency) {
  if (!(*options.rho > 0 && is_finite(*options.rho))) invalid(fmt::format("--rho is {}, must be finite and greater than 0", *options.rho));
  if (options.filter && *options.filter != "zcdp") invalid(fmt::format("--rho goes with --filter zcdp, not {}", *options.filter));
  if (options.order || !options.planned.empty()) invalid("--order and --planned go with --filter renyi, not --rho");
  return {.target = accounting::target_of_rho(Rho{*options.rho}, Delta{*options.delta}, adjacency), .filter = accounting::FilterKind::zcdp};
}

int create(const LedgerOptions& options) {
  const auto adjacency = parse_adjacency(options.adjacency);
  const auto unit = jobs::unit_of(options.unit, options.reading);
  if (unit.is_row() &&
      (options.reading.delimiter || options.reading.columns || options.reading.quoted_lines || options.reading.no_limits)) {
    invalid("--delimiter, --columns, --quoted-lines and --no-limits say whose a row of a --unit is, which is missing");
  }
  if (options.rho && options.epsilon) invalid("--rho and --epsilon are given, must be one of them");
  if ((options.epsilon || options.rho) != options.delta.has_value()) {
    invalid("a budget needs both --epsilon and --delta, or --rho and --delta");
  }
  std::optional<accounting::Budget> budget;
  if (options.rho) {
    budget = budget_of_rho(options, adjacency);
  } else if (options.epsilon) {
    const auto filter = options.filter.value_or("renyi");
    budget = accounting::Budget{.target = {.epsilon = Epsilon{*options.epsilon}, .delta = Delta{*options.delta}, .adjacency = adjacency},
                                .filter = accounting::parse_filter_kind(filter)};
    if (options.order) budget->order = accounting::RenyiOrder{*options.order};
    if (!options.planned.empty()) {
      if (budget->filter != accounting::FilterKind::renyi) invalid(fmt::format("--planned goes with --filter renyi, not {}", filter));
      budget->order = accounting::renyi_order(budget->target, event_of(options.planned, adjacency));
    }
  } else if (options.order || !options.planned.empty()) {
    invalid("--order and --planned go with a budget: --epsilon and --delta");
  }
  const auto ledger = Ledger::create(options.path, adjacency, budget, unit);
  budget = ledger.budget();
  if (options.json) {
    nlohmann::json object{{"ledger", options.path}, {"adjacency", name(adjacency)}, {"unit", reported_json(ledger.unit())}};
    if (budget) object["budget"] = accounting::to_json(*budget);
    print(object);
  } else if (budget) {
    say("made {} under {} for {} with a budget of epsilon = {} at delta = {} ({})\n", shown_ledger(options.path, options.is_of_variable),
        name(adjacency), describe(ledger.unit()), budget->target.epsilon, budget->target.delta,
        options.rho ? fmt::format("{}: what rho = {} costs", accounting::filter_words(*budget), *options.rho)
                    : accounting::filter_words(*budget));
  } else {
    say("made {} under {} for {} without a budget\n", shown_ledger(options.path, options.is_of_variable), name(adjacency),
        describe(ledger.unit()));
  }
  return exit_code::fine;
}

int list(const LedgerOptions& options) {
  const auto ledger = Ledger::open(options.path);
  const auto runs = ledger.runs();
  accounting::RunCosts costs;
  if (options.json) {
    // What may be refused is computed before anything is printed.
    for (const auto& run : runs) static_cast<void>(costs.of(run));
    print_with_rows({{"ledger", options.path}, {"adjacency", name(ledger.adjacency())}, {"unit", reported_json(ledger.unit())}}, "runs",
                    runs.size(), [&](std::size_t i) { return accounting::to_json(runs[i], costs); });
    return exit_code::fine;
  }
  for (const auto& run : runs) say_lines(accounting::line_of(run, costs));
  say("{} run{} under {}, each for {}\n", runs.size(), runs.size() == 1 ? "" : "s", name(ledger.adjacency()), describe(ledger.unit()));
  return exit_code::fine;
}

/// Where the ledger stands.
int show_all(const LedgerOptions& options) {
  const accounting::Standing stands{Ledger::open(options.path)};
  if (options.json) {
    auto object = accounting::to_json(stands);
    object["ledger"] = options.path;
    print(object);
    return exit_code::fine;
  }
  say_line("ledger", shown_ledger(options.path, options.is_of_variable));
  say_lines(accounting::report_text(stands));
  return exit_code::fine;
}

int show(const LedgerOptions& options) {
  if (!options.run) return show_all(options);
  for (const auto& run : Ledger::open(options.path).runs()) {
    if (run.id.value != *options.run) continue;
    accounting::RunCosts costs;
    options.json ? print(accounting::to_json(run, costs)) : say_lines(accounting::report_text(run, costs));
    return exit_code::fine;
  }
  invalid(fmt::format("run is {}, must be one that 'surety ledger list {}' shows", *options.run, one_line(options.path)));
}

}  // namespace

Command ledger_command() {
  Command command{.name = "ledger", .summary = "Make a ledger, list its runs, show what its budget has left"};
  const auto options = std::make_shared<LedgerOptions>();
  const auto add = [&](const char* word, const char* help, int (*action)(const LedgerOptions&)) -> Command& {
    auto& subcommand = command.commands.emplace_back(Command{.name = word, .summary = help});
    subcommand.options.add("ledger", options->path, "The ledger's file").required().or_variable(ledger_variable, options->is_of_variable);
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
  create_command.options.add("--unit", options->unit.column, "The column that names the owner of rows, in the runs to come")
      .standard("one row");
  create_command.options.add("--most", options->unit.most, "How many rows of a --unit are used, at most",
                             whole_number(1, std::uint64_t{1} << 53));
  create_command.options.add_fields([&](auto& fields) { options->unit.add_empty(fields); });
  create_command.options.add_fields([&](auto& fields) {
    options->reading.add_csv(fields);
    options->reading.add_limits(fields);
  });
  create_command.options.add("--epsilon", options->epsilon, "The budget's epsilon", number());
  create_command.options.add("--rho", options->rho,
                             "In place of --epsilon: the budget's rho, of zero-concentrated privacy, with a zcdp filter", number());
  create_command.options.add("--delta", options->delta, "The budget's delta", number());
  create_command.options
      .add(
          "--filter", options->filter,
          "The rule that every later run must pass: renyi (for all noise, secret batches and pure releases), gaussian (costs least, for Gaussian noise alone), zcdp, or basic (for pure and approximate releases, also at delta = 0)",
          one_of({"renyi", "gaussian", "zcdp", "basic"}))
      .standard("renyi; with --rho zcdp");
  create_command.options.add("--order", options->order,
                             "The order of a renyi filter; without it, the one that admits the most Gaussian releases", number());
  create_command.options
      .add("--planned", options->planned,
           "An event, @FILE or -: take the order of a renyi filter that admits it most often. Others are admitted, too")
      .excludes("--order");
  create_command.footer =
      "Examples:\n  surety ledger create run.db --adjacency replace-one --epsilon 2 --delta 1e-5\n"
      "  surety ledger create run.db --adjacency replace-one --rho 0.5 --delta 1e-10\n"
      "  surety ledger create run.db --adjacency add-or-remove-one --epsilon 2 --delta 1e-5 \\\n"
      "      --planned 'repeat(1000, poisson(0.01, gaussian(1)))'";
  add("list", "List the runs, what each is charged, and what that costs at its promise's delta", list).footer =
      "Example:\n  surety ledger list run.db";
  auto& show_command = add("show", "Show what the budget has left, or one run", show);
  show_command.options.add("run", options->run, "A run's number", whole_number());
  show_command.footer = "Examples:\n  surety ledger show run.db\n  surety ledger show run.db 1 --json";
  return command;
}

}  // namespace surety::cli
