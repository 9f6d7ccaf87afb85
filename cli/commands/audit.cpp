// surety audit: what a ledger proves, or whether a claim about an event holds.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include <surety/accounting/answers/explanation.h>
#include <surety/accounting/answers/risk.h>
#include <surety/accounting/calibration/judgement.h>
#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>
#include <surety/accounting/ledger/audit.h>
#include <surety/accounting/ledger/audit_json.h>
#include <surety/accounting/ledger/ledger_report.h>
#include <surety/cli/commands/command.h>
#include <surety/cli/commands/logs.h>
#include <surety/cli/commands/private_run.h>
#include <surety/cli/commands/risk.h>
#include <surety/cli/files/files.h>
#include <surety/cli/parser/event_options.h>
#include <surety/cli/print/output.h>

namespace surety::cli {
namespace {

struct AuditOptions {
  std::string ledger;
  bool is_of_variable = false;  ///< whether SURETY_LEDGER names the ledger
  EventOptions event;
  std::string log;
  std::vector<std::string> readings;
  std::optional<double> delta;
  std::optional<double> epsilon;
  bool risk = false;
  std::optional<double> prior;
  bool json = false;
};

/// A claim about an event, as a paper or a program makes it: what it really costs at both numbers of the claim.
int audit_claim(const AuditOptions& options) {
  if (!options.epsilon) invalid("--event needs --epsilon: the claim to be audited is at --epsilon and --delta");
  if (!options.delta) invalid("--event needs --delta: the claim to be audited is at --epsilon and --delta");
  if (options.event.adjacency.empty()) invalid("--event needs --adjacency");
  const Event event = options.event.parse();
  const Target claim{.epsilon = Epsilon{*options.epsilon}, .delta = Delta{*options.delta}, .adjacency = event.adjacency()};
  const auto [epsilon, delta, accountant, kept, refuted] = accounting::judge(event, claim);
  if (options.json) {
    print({{"event", describe(event)},
           {"adjacency", name(event.adjacency())},
           {"claim", accounting::to_json(claim)},
           {"epsilon", json(epsilon)},
           {"delta", json(delta)},
           {"accountant", accountant},
           {"kept", kept},
           {"refuted", refuted}});
    return kept ? exit_code::fine : exit_code::broken;
  }
  say("{:<12} {}\n", "event", describe(event));
  say("{:<12} {}\n", "adjacency", name(event.adjacency()));
  say("{:<12} epsilon = {} at delta = {}\n", "claim", claim.epsilon, claim.delta);
  say("{:<12} in {} at delta = {} by {}\n", "epsilon", text(epsilon), claim.delta, accountant);
  say("{:<12} in {} at epsilon = {}\n", "delta", text(delta), claim.epsilon);
  say("{:<12} {}\n", "verdict",
      kept      ? "the claim is kept"
      : refuted ? "the claim is BROKEN: some data sets cost more"
                : "the claim is not proved: the bounds lie on both sides of it");
  return kept ? exit_code::fine : exit_code::broken;
}

/// What an attacker gets who sees all that a ledger is charged for.
int audit_risk(const AuditOptions& options) {
  const auto questions = risk_questions(options.prior);
  const auto ledger = accounting::Ledger::open(options.ledger);
  const auto event = ledger.event();
  const auto runs = ledger.runs();
  const auto is_replayed = [](const accounting::Run& run) { return run.plan.not_private; };
  if (std::any_of(runs.begin(), runs.end(), is_replayed)) {
    throw Error{ErrorCode::unsupported,
                "--risk is given for a ledger with a run whose noise was replayed from a known seed: nothing bounds its risk"};
  }
  if (!event) throw Error{ErrorCode::unsupported, "--risk is given for a ledger that is charged for nothing, must hold a run"};
  const auto risk = accounting::risk(*event, questions);
  if (options.json) {
    auto object = accounting::to_json(risk, questions);
    object["adjacency"] = name(ledger.adjacency());
    object["unit"] = reported_json(ledger.unit());
    object["event"] = describe(*event);
    object["ledger"] = options.ledger;
    print(object);
    return exit_code::fine;
  }
  say("{:<14} {}\n", "ledger", shown_ledger(options.ledger, options.is_of_variable));
  say_risk(risk, questions);
  say("{:<14} {}\n", "released", describe(*event));
  say("{:<14} {}\n", "adjacency", name(ledger.adjacency()));
  say("{:<14} {}\n", "unit", describe(ledger.unit()));
  return exit_code::fine;
}

Delta delta_of(const AuditOptions& options, const accounting::Ledger& ledger) {
  if (options.delta) return Delta{*options.delta};
  if (const auto promised = accounting::promised_delta(ledger)) return *promised;
  invalid("--delta is required: the ledger has neither a budget nor a promise, whose delta would be used");
}

int audit(const AuditOptions& options) {
  if (options.prior && !options.risk) invalid("--prior is given without --risk, must be given with it");
  if (options.risk) {
    if (!options.event.event.empty()) invalid("--risk goes with a ledger or --log; for an event: surety account --risk");
    for (const auto& [given, option] : {std::pair{&options.delta, "--delta"}, {&options.epsilon, "--epsilon"}}) {
      if (*given) invalid(fmt::format("--risk and {} are given, must be one of them", option));
    }
  }
  if (!options.log.empty()) {
    for (const auto& [given, option] : {std::pair{&options.ledger, "a ledger"}, {&options.event.event, "--event"}}) {
      if (!given->empty()) invalid(fmt::format("--log and {} are given, must be one of them", option));
    }
    const LogOptions log{.file = options.log,
                         .adjacency = options.event.adjacency,
                         .epsilon = options.epsilon,
                         .delta = options.delta,
                         .readings = options.readings,
                         .json = options.json};
    return options.risk ? audit_log_risk(log, risk_questions(options.prior)) : audit_log(log);
  }
  if (!options.readings.empty()) invalid("--reading is given without --log, must be given with it");
  if (!options.event.event.empty()) return audit_claim(options);
  if (options.ledger.empty()) invalid("a ledger's file, --event or --log is required");
  if (!options.event.adjacency.empty()) invalid("--adjacency goes with --event: a ledger has its own");
  require_separate({.ledger = NamedFile{"the ledger", options.ledger}});
  if (options.risk) return audit_risk(options);
  const auto ledger = accounting::Ledger::open(options.ledger);
  const auto report = accounting::audit(ledger, delta_of(options, ledger));
  const auto asked = options.epsilon ? std::optional{Epsilon{*options.epsilon}} : std::nullopt;
  const bool kept = accounting::is_kept(report, asked);
  const int code = kept ? exit_code::fine : exit_code::broken;
  if (!options.json) {
    say_line("ledger", shown_ledger(options.ledger, options.is_of_variable));
    say_lines(accounting::report_text(report, asked));
    return code;
  }
  auto object = accounting::to_json(report);
  object["ledger"] = options.ledger;
  object["kept"] = kept;
  print(object);
  return code;
}

}  // namespace

Command audit_command() {
  const auto describe = [](Command& command, OptionTable& table, AuditOptions& options) {
    table.add("ledger", options.ledger, "The ledger's file").or_variable(ledger_variable, options.is_of_variable, {"--event", "--log"});
    options.event.add_optional_to(table).excludes("ledger");
    table.add("--log", options.log, log_option_help);
    table.add("--reading", options.readings, reading_option_help);
    table.add(
        "--delta", options.delta,
        "Report epsilon at this delta; without it that of the budget, or the largest of the promises; with --log, where the log says none",
        number());
    table.add("--epsilon", options.epsilon,
              "Also require that everything together costs at most this epsilon; with --event and --log, what is claimed", number());
    table.add("--risk", options.risk, "In place of epsilon: what an attacker gets who sees all that was released, of a ledger or a --log");
    table.add("--prior", options.prior, prior_option_help, number());
    table.add("--json", options.json, "Print one JSON object");
    command.footer = R"(The ledger is all that is read. Exit code 1 when a promise is broken, and when a claim is not kept.
A log is one JSON object: docs/reference/log.md. Its epsilon is the claim, which has to hold for the batches that the log says it had.
Examples:
  surety audit run.db
  surety audit run.db --delta 1e-5
  surety audit run.db --risk
  surety audit run.db --delta 1e-5 --epsilon 2 --json
  surety audit --log run.json --adjacency zero-out
  surety audit --event 'repeat(75000, without_replacement(200000, 1, gaussian(0.0045)))' --adjacency replace-one --epsilon 0.2 --delta 1e-3)";
  };
  return make_command(
      "audit",
      "Report what a ledger proves and whether its runs kept their promises, or whether a claim about an event or a run's log holds", audit,
      describe);
}

}  // namespace surety::cli
