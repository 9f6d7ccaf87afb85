// surety audit: what a ledger proves, or whether a claim about an event holds.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include <surety/accounting/calibration/judgement.h>
#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>
#include <surety/accounting/ledger/audit.h>
#include <surety/accounting/ledger/audit_json.h>
#include <surety/accounting/ledger/ledger_report.h>
#include <surety/cli/commands/command.h>
#include <surety/cli/commands/logs.h>
#include <surety/cli/files/files.h>
#include <surety/cli/parser/event_options.h>
#include <surety/cli/print/output.h>

namespace surety::cli {
namespace {

struct AuditOptions {
  std::string ledger;
  EventOptions event;
  std::string log;
  std::vector<std::string> readings;
  std::optional<double> delta;
  std::optional<double> epsilon;
  bool json = false;
};

constexpr const char* delta_is_missing = "--delta is required";

/// A claim about an event, as a paper or a program makes it: what it really costs at both numbers of the claim.
int audit_claim(const AuditOptions& options) {
  if (!options.epsilon) invalid("--event needs --epsilon: the claim to be audited is at --epsilon and --delta");
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

int audit(const AuditOptions& options) {
  if (!options.log.empty()) {
    for (const auto& [given, option] : {std::pair{&options.ledger, "a ledger"}, {&options.event.event, "--event"}}) {
      if (!given->empty()) invalid(fmt::format("--log and {} are given, must be one of them", option));
    }
    return audit_log({.file = options.log,
                      .adjacency = options.event.adjacency,
                      .epsilon = options.epsilon,
                      .delta = options.delta,
                      .readings = options.readings,
                      .json = options.json});
  }
  if (!options.readings.empty()) invalid("--reading is given without --log, must be given with it");
  if (!options.delta) invalid(delta_is_missing);
  if (!options.event.event.empty()) return audit_claim(options);
  if (options.ledger.empty()) invalid("what is audited is missing: a ledger's file, --event or --log");
  if (!options.event.adjacency.empty()) invalid("--adjacency goes with --event: a ledger has its own");
  require_separate({.ledger = NamedFile{"the ledger", options.ledger}});
  const Delta delta{*options.delta};
  const auto report = accounting::audit(accounting::Ledger::open(options.ledger), delta);
  const auto asked = options.epsilon ? std::optional{Epsilon{*options.epsilon}} : std::nullopt;
  const bool kept = accounting::is_kept(report, asked);
  const int code = kept ? exit_code::fine : exit_code::broken;
  if (!options.json) {
    say_line("ledger", shown(options.ledger));
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
    table.add("ledger", options.ledger, "The ledger's file");
    options.event.add_optional_to(table).excludes("ledger");
    table.add("--log", options.log, log_option_help);
    table.add("--reading", options.readings, reading_option_help);
    table.add("--delta", options.delta, "Report epsilon at this delta; with --log, where the log says none", number());
    table.add("--epsilon", options.epsilon,
              "Also require that everything together costs at most this epsilon; with --event and --log, what is claimed", number());
    table.add("--json", options.json, "Print one JSON object");
    command.footer = R"(The ledger is all that is read. Exit code 1 when a promise is broken, and when a claim is not kept.
A log is one JSON object: docs/reference/log.md. Its epsilon is the claim, which has to hold for the batches that the log says it had.
Examples:
  surety audit run.db --delta 1e-5
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
