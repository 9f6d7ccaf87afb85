// surety audit: what a ledger proves.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include <surety/accounting/audit.h>

#include "command.h"
#include "output.h"
#include "validators.h"

namespace surety::cli {
namespace {

struct AuditOptions {
  std::string ledger;
  double delta = 0;
  std::optional<double> epsilon;
  bool json = false;
};

std::string describe_or_nothing(const std::optional<Event>& event) { return event ? describe(*event) : "nothing"; }

std::string state_of(const accounting::Run& run) {
  if (!run.settlement) return "not settled: running or killed, counts in full";
  return fmt::format("settled, stop {}", accounting::name(run.settlement->stopping));
}

nlohmann::json target_json(const Target& target) { return {{"epsilon", target.epsilon.value()}, {"delta", target.delta.value()}}; }

nlohmann::json run_json(const accounting::RunAudit& audited) {
  const auto& run = audited.run;
  nlohmann::json result{{"run", run.id.value},
                        {"created", run.created},
                        {"state", run.settlement ? "settled" : "reserved"},
                        {"planned", describe(run.plan.event)},
                        {"charged", describe_or_nothing(run.charged())},
                        {"note", run.plan.note},
                        {"not_private", run.plan.not_private}};
  if (run.plan.promise) {
    result["promise"] = target_json(*run.plan.promise);
    result["epsilon"] = json(*audited.epsilon);
    result["kept"] = *audited.kept;
  }
  return result;
}

void print_report(const AuditOptions& options, const accounting::Audit& report, bool kept) {
  fmt::print("{:<12} {}\n", "ledger", options.ledger);
  fmt::print("{:<12} {}\n", "adjacency", name(report.adjacency));
  fmt::print("{:<12} {}\n", "released", describe_or_nothing(report.event));
  fmt::print("{:<12} in {} at delta = {} by {}\n", "epsilon", text(report.epsilon), options.delta, report.accountant);
  fmt::print("{:<12} epsilon <= {} by {}\n", "independent", rounded_up(report.independent.upper), report.independent_accountant);
  for (const auto& audited : report.runs) {
    const auto& run = audited.run;
    fmt::print("run {:<8} {}  {}\n", run.id.value, run.created, one_line(run.plan.note));
    fmt::print("  charged    {} ({})\n", describe_or_nothing(run.charged()), state_of(run));
    if (const auto& promise = run.plan.promise) {
      fmt::print("  promise    epsilon = {} at delta = {}: {}, epsilon in {}\n", promise->epsilon, promise->delta,
                 *audited.kept ? "kept" : "BROKEN", text(*audited.epsilon));
    }
    if (run.plan.not_private) fmt::print("  NOT PRIVATE: its noise was replayed from a known seed\n");
  }
  if (report.balance) {
    const auto& balance = *report.balance;
    fmt::print("{:<12} epsilon = {} at delta = {}; {} spent in {} of {} ({} filter)\n", "budget", balance.budget.target.epsilon,
               balance.budget.target.delta, balance.unit, text(balance.spent), text(balance.limit),
               accounting::name(balance.budget.filter));
  }
  if (options.epsilon)
    fmt::print("{:<12} epsilon <= {}: {}\n", "asked", *options.epsilon, report.epsilon.upper <= *options.epsilon ? "kept" : "BROKEN");
  fmt::print("{:<12} {}\n", "verdict",
             kept ? (report.runs.empty() ? "nothing was released" : "every promise is kept")
                  : (report.not_private ? "NOT PRIVATE: noise was replayed from a known seed" : "a promise is BROKEN"));
}

int audit(const AuditOptions& options) {
  const Delta delta{options.delta};
  const auto report = accounting::audit(accounting::Ledger::open(options.ledger), delta);
  const bool kept = report.kept && (!options.epsilon || report.epsilon.upper <= Epsilon{*options.epsilon}.value());
  if (!options.json) {
    print_report(options, report, kept);
    return kept ? exit_code::fine : exit_code::broken;
  }
  auto runs = nlohmann::json::array();
  for (const auto& run : report.runs) runs.push_back(run_json(run));
  nlohmann::json object{{"ledger", options.ledger},
                        {"adjacency", name(report.adjacency)},
                        {"event", describe_or_nothing(report.event)},
                        {"epsilon", json(report.epsilon)},
                        {"epsilon_of_fresh_noise", json(report.epsilon_of_fresh_noise)},
                        {"delta", options.delta},
                        {"accountant", report.accountant},
                        {"independent", {{"accountant", report.independent_accountant}, {"epsilon", json(report.independent)}}},
                        {"runs", std::move(runs)},
                        {"not_private", report.not_private},
                        {"kept", kept}};
  if (report.balance) {
    const auto& balance = *report.balance;
    object["budget"] = target_json(balance.budget.target);
    object["budget"]["filter"] = accounting::name(balance.budget.filter);
    object["budget"]["unit"] = balance.unit;
    object["budget"]["spent"] = json(balance.spent);
    object["budget"]["limit"] = json(balance.limit);
  }
  print(object);
  return kept ? exit_code::fine : exit_code::broken;
}

}  // namespace

void add_audit(CLI::App& app, Action& chosen) {
  auto& command = *app.add_subcommand("audit", "Report what a ledger proves, and whether its runs kept their promises");
  const auto options = std::make_shared<AuditOptions>();
  command.add_option("ledger", options->ledger, "The ledger's file")->required();
  command.add_option("--delta", options->delta, "Report epsilon at this delta")->check(number())->required();
  command.add_option("--epsilon", options->epsilon, "Also require that everything together costs at most this epsilon")->check(number());
  command.add_flag("--json", options->json, "Print one JSON object");
  command.footer(
      "The ledger is all that is read. Exit code 1 when a promise is broken.\n"
      "Examples:\n"
      "  surety audit run.db --delta 1e-5\n"
      "  surety audit run.db --delta 1e-5 --epsilon 2 --json");
  command.callback([options, &chosen] { chosen = [options] { return audit(*options); }; });
}

}  // namespace surety::cli
